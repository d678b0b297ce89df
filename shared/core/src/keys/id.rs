//! Ids of nodes, and tenants.

use std::fmt;

use super::error::{KeyError, bounded};
use super::{ID_BYTES_MAX, PARTITION_KEY_BYTES_MAX};

/// The id of a node: any text of 1 to [`ID_BYTES_MAX`] bytes, so that every row's key has room for it.
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
    /// An id.
    ///
    /// # Errors
    /// [`KeyError::Empty`] or [`KeyError::TooLong`].
    pub fn new(id: impl Into<String>) -> Result<Self, KeyError> {
        let id = id.into();
        bounded("the id", &id, ID_BYTES_MAX)?;
        Ok(Self(id))
    }

    /// As text.
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

/// The name of a tenant: text without `#`, short enough that an id of any length fits beside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(String);

/// `TENANT#<tenant>#<id>` with the longest id must still be a partition key.
const TENANT_BYTES_MAX: usize = PARTITION_KEY_BYTES_MAX - ID_BYTES_MAX - "TENANT##".len();

impl Tenant {
    /// A tenant's name.
    ///
    /// # Errors
    /// [`KeyError::Empty`], [`KeyError::TooLong`], or [`KeyError::Separator`] where it holds `#`.
    pub fn new(name: impl Into<String>) -> Result<Self, KeyError> {
        let name = name.into();
        bounded("the tenant", &name, TENANT_BYTES_MAX)?;
        if name.contains('#') {
            return Err(KeyError::Separator { part: "the tenant", separator: '#' });
        }
        Ok(Self(name))
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A node: its id, and its tenant where the schema has tenants on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef {
    /// The tenant it belongs to.
    pub tenant: Option<Tenant>,
    /// Its id.
    pub id: Id,
}

impl NodeRef {
    /// A node of the same tenant. No row and no parent ever crosses from one tenant to another.
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
