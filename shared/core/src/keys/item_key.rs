//! Primary keys.

/// The primary key of an item, as text: partition key and sort key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey {
    /// The partition key.
    pub pk: String,
    /// The sort key.
    pub sk: String,
}

impl ItemKey {
    /// Makes a key of a partition key and a sort key.
    pub fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self { pk: pk.into(), sk: sk.into() }
    }

    /// The size of both keys.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        self.pk.len() + self.sk.len()
    }
}
