//! Ids of nodes, names of tenants, and primary keys.

use std::fmt;

use super::error::{KeyError, bounded};
use super::{ID_BYTES_MAX, PARTITION_KEY_BYTES_MAX};

/// The id of a node: any text of 1 to [`ID_BYTES_MAX`] bytes. Every row's key has room for the longest.
///
/// ```
/// use sapwood_core::keys::Id;
/// assert_eq!(Id::new("ORDER#98765")?.as_str(), "ORDER#98765");
/// assert!(Id::new("").is_err());
/// # Ok::<(), sapwood_core::keys::KeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

impl Id {
    /// Makes an id of a text. Fails if it is empty or too long.
    pub fn new(id: impl Into<String>) -> Result<Self, KeyError> {
        let id = id.into();
        bounded("the id", &id, ID_BYTES_MAX)?;
        Ok(Self(id))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a tenant: a text without `#`. Its limit leaves room for the longest id in a partition key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(String);

/// Longest tenant in bytes: what `TENANT#<tenant>#<id>` leaves beside the longest id.
const TENANT_BYTES_MAX: usize = PARTITION_KEY_BYTES_MAX - ID_BYTES_MAX - "TENANT##".len();

impl Tenant {
    /// Makes a tenant's name of a text. Fails if it is empty, too long or contains `#`.
    pub fn new(name: impl Into<String>) -> Result<Self, KeyError> {
        let name = name.into();
        bounded("the tenant", &name, TENANT_BYTES_MAX)?;
        if name.contains('#') {
            return Err(KeyError::Separator { part: "the tenant", separator: '#' });
        }
        Ok(Self(name))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A reference to a node: its id, and its tenant where the schema has tenants on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef {
    /// The node's tenant.
    pub tenant: Option<Tenant>,
    /// The node's id.
    pub id: Id,
}

impl NodeRef {
    /// Returns another node of the same tenant. Parents and rows never cross from one tenant to another.
    #[must_use]
    pub fn sibling(&self, id: Id) -> Self {
        Self { tenant: self.tenant.clone(), id }
    }
}

impl From<Id> for NodeRef {
    fn from(id: Id) -> Self {
        Self { tenant: None, id }
    }
}

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
