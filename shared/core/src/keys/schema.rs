//! How the table's keys are spelt.

use super::error::{KeyError, bounded};
use super::sort_key::{self, SortKey, SortRange};
use super::{Id, ItemKey, NodeRef, PARTITION_KEY_BYTES_MAX, Tenant};

/// The names in a table: of its key attributes, of the attributes that say where a node stands, and the sort key of a
/// node's base record. The defaults are `PK`, `SK`, `parent`, `segment` and `NODE`; a table that exists may say `pk`,
/// `sk` and `METADATA`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The partition key's attribute.
    pub partition_key: String,
    /// The sort key's attribute.
    pub sort_key: String,
    /// The attribute that holds a node's parent.
    pub parent: String,
    /// The attribute that holds a node's name inside a path.
    pub segment: String,
    /// The sort key of a node's base record.
    pub node: String,
}

impl Default for Names {
    fn default() -> Self {
        let [partition_key, sort_key, parent, segment, node] =
            ["PK", "SK", "parent", "segment", "NODE"].map(str::to_owned);
        Self { partition_key, sort_key, parent, segment, node }
    }
}

/// The one value that makes and reads every key of the table.
///
/// ```
/// use sapwood_core::keys::{Id, Schema, SortKey};
/// let schema = Schema::default();
/// let below = SortKey::Ancestor { depth: 2, id: Id::new("ORDER#98765")? };
/// assert_eq!(schema.sort_key(&below)?, "NODE#0002#ORDER#98765");
/// assert_eq!(schema.parse_sort_key("NODE#0002#ORDER#98765"), Some(below));
/// assert_eq!(schema.parse_sort_key("vacation"), None);
/// # Ok::<(), sapwood_core::keys::KeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Schema {
    names: Names,
    tenants: bool,
}

const TENANT: &str = "TENANT#";
const ROOTS: &str = "ROOTS";
const ORPHANS: &str = "ORPHANS#";
const OPERATION: &str = "OPERATION#";
const IDEMPOTENCY: &str = "IDEMPOTENCY#";

/// How many partitions the register of orphans is spread over: one alone would cap how fast orphans can be imported.
const ORPHAN_SHARDS: u32 = 16;

impl Schema {
    /// A schema of these names, with or without tenants.
    ///
    /// # Errors
    /// [`KeyError::Name`] for a name that is empty, twice there, begins with `_` (ours do), or is the sort key of
    /// another kind of item.
    pub fn new(names: Names, tenants: bool) -> Result<Self, KeyError> {
        let attributes = [
            ("partition key", &names.partition_key),
            ("sort key", &names.sort_key),
            ("parent attribute", &names.parent),
            ("segment attribute", &names.segment),
        ];
        let refuse = |role, name: &str, reason| Err(KeyError::Name { role, name: name.to_owned(), reason });
        for (position, (role, name)) in attributes.into_iter().enumerate() {
            if name.is_empty() {
                return refuse(role, name, "it is empty");
            }
            if name.len() > 255 {
                return refuse(role, name, "it is longer than 255 bytes");
            }
            if name.starts_with('_') {
                return refuse(role, name, "names that begin with `_` are Sapwood's own");
            }
            if attributes[..position].iter().any(|(_, other)| *other == name) {
                return refuse(role, name, "another attribute has it");
            }
        }
        if let Err(reason) = sort_key::check_node_name(&names.node) {
            return refuse("node's sort key", &names.node, reason);
        }
        Ok(Self { names, tenants })
    }

    /// The names.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Whether every partition key carries a tenant.
    #[must_use]
    pub fn has_tenants(&self) -> bool {
        self.tenants
    }

    /// The partition of a node: its id, or `TENANT#<tenant>#<id>`. It is never too long: an [`Id`] and a [`Tenant`] of
    /// any length fit.
    #[must_use]
    pub fn partition(&self, node: &NodeRef) -> String {
        Self::in_tenant(node.tenant.as_ref(), node.id.as_str())
    }

    /// The partition of the list of all trees.
    #[must_use]
    pub fn roots_partition(&self, tenant: Option<&Tenant>) -> String {
        Self::in_tenant(tenant, ROOTS)
    }

    /// The partition of the register of orphans in which the children of `parent` are.
    #[must_use]
    pub fn orphans_partition(&self, parent: &NodeRef) -> String {
        // FNV-1a: any hash will do that stays the same for as long as the table lives.
        let hash = parent
            .id
            .as_str()
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Self::in_tenant(parent.tenant.as_ref(), &format!("{ORPHANS}{:x}", hash % ORPHAN_SHARDS))
    }

    fn in_tenant(tenant: Option<&Tenant>, rest: &str) -> String {
        match tenant {
            Some(tenant) => format!("{TENANT}{}#{rest}", tenant.as_str()),
            None => rest.to_owned(),
        }
    }

    /// The node of a partition. Without tenants any partition key is an id, whatever it looks like.
    ///
    /// # Errors
    /// [`KeyError::Tenancy`] where tenants are on and the key names none, or what [`Id::new`] says.
    pub fn parse_partition(&self, pk: &str) -> Result<NodeRef, KeyError> {
        if !self.tenants {
            return Ok(Id::new(pk)?.into());
        }
        let (tenant, id) =
            pk.strip_prefix(TENANT).and_then(|rest| rest.split_once('#')).ok_or(KeyError::Tenancy { tenants: true })?;
        Ok(NodeRef { tenant: Some(Tenant::new(tenant)?), id: Id::new(id)? })
    }

    /// The sort key of an item.
    ///
    /// # Errors
    /// [`KeyError`] where it would pass [`SORT_KEY_BYTES_MAX`](super::SORT_KEY_BYTES_MAX) or a part is out of range.
    pub fn sort_key(&self, key: &SortKey) -> Result<String, KeyError> {
        sort_key::write(key, &self.names.node)
    }

    /// What an item is by its sort key. `None`: something of the table's owner, which is none of our business.
    #[must_use]
    pub fn parse_sort_key(&self, sk: &str) -> Option<SortKey> {
        sort_key::parse(sk, &self.names.node)
    }

    /// The key of an item in a node's collection.
    ///
    /// # Errors
    /// As [`Schema::sort_key`]; [`KeyError::Tenancy`] where the node's tenant doesn't fit the switch.
    pub fn item_key(&self, node: &NodeRef, key: &SortKey) -> Result<ItemKey, KeyError> {
        if node.tenant.is_some() != self.tenants {
            return Err(KeyError::Tenancy { tenants: self.tenants });
        }
        let pk = self.partition(node);
        bounded("the partition key", &pk, PARTITION_KEY_BYTES_MAX)?;
        Ok(ItemKey { pk, sk: self.sort_key(key)? })
    }

    /// The key of a node's base record.
    #[must_use]
    pub fn node_key(&self, node: &NodeRef) -> ItemKey {
        self.fixed(node, &SortKey::Node)
    }

    /// The key of a node's lineage.
    #[must_use]
    pub fn lineage_key(&self, node: &NodeRef) -> ItemKey {
        self.fixed(node, &SortKey::Lineage)
    }

    /// The key of a node's cascade cursor.
    #[must_use]
    pub fn cascade_key(&self, node: &NodeRef) -> ItemKey {
        self.fixed(node, &SortKey::Cascade)
    }

    /// The key of the record that the API has deleted a node, in the node's own partition.
    #[must_use]
    pub fn deleted_key(&self, node: &NodeRef) -> ItemKey {
        self.fixed(node, &SortKey::Deleted)
    }

    /// The key of an operation of the API.
    #[must_use]
    pub fn operation_key(&self, tenant: Option<&Tenant>, operation: &str) -> ItemKey {
        let sk = sort_key::write(&SortKey::Operation, &self.names.node).unwrap_or_default();
        ItemKey { pk: Self::in_tenant(tenant, &format!("{OPERATION}{operation}")), sk }
    }

    /// The key of a part of what a request was answered, by the hash of its `Idempotency-Key`.
    #[must_use]
    pub fn idempotency_key(&self, tenant: Option<&Tenant>, hash: &str, part: usize) -> ItemKey {
        let sk = sort_key::write(&SortKey::Idempotency { part }, &self.names.node).unwrap_or_default();
        ItemKey { pk: Self::in_tenant(tenant, &format!("{IDEMPOTENCY}{hash}")), sk }
    }

    /// For sort keys that take no part and so can't fail.
    fn fixed(&self, node: &NodeRef, key: &SortKey) -> ItemKey {
        let sk = sort_key::write(key, &self.names.node).unwrap_or_default();
        ItemKey { pk: self.partition(node), sk }
    }

    /// The sort keys of a node's collection from depth `from` to depth `to`: any depth window is one Query. From 0 the
    /// node's base record comes first.
    #[must_use]
    pub fn depth_range(&self, from: usize, to: usize) -> SortRange {
        sort_key::depth_range(&self.names.node, from, to)
    }

    /// The sort keys, under a root, of the node at a path and all that is below it: one range, in pre-order.
    ///
    /// # Errors
    /// [`KeyError`] for a path without segments or one that no key can hold.
    pub fn path_range(&self, segments: &[String]) -> Result<SortRange, KeyError> {
        sort_key::path_range(segments)
    }

    /// The sort keys, under a root, of the nodes at a path alone (several where explicit segments are the same).
    ///
    /// # Errors
    /// As [`Schema::path_range`].
    pub fn path_alone(&self, segments: &[String]) -> Result<SortRange, KeyError> {
        sort_key::path_alone(segments)
    }

    /// The sort keys, under a root, of what is below a path (with no segments: below the root), the next segment being
    /// `from` at the least and `to` at the most, both included, in the order of their bytes. The range is empty where
    /// `from` is past `to`.
    ///
    /// # Errors
    /// As [`Schema::path_range`], but for a path without segments.
    pub fn path_between(&self, above: &[String], from: Option<&str>, to: Option<&str>) -> Result<SortRange, KeyError> {
        sort_key::path_between(above, from, to)
    }

    /// The sort keys of a node's collection at one depth, of the nodes whose id begins with `id_prefix`.
    ///
    /// # Errors
    /// [`KeyError::TooLong`] where no id of a node can begin so.
    pub fn level_range(&self, depth: usize, id_prefix: &str) -> Result<SortRange, KeyError> {
        sort_key::level_range(&self.names.node, depth, id_prefix)
    }

    /// The sort keys of the list of all trees.
    #[must_use]
    pub fn root_range(&self) -> SortRange {
        sort_key::root_range()
    }

    /// The sort keys of a node's `v0_` copies, of the topics that begin with `topic_prefix`.
    ///
    /// # Errors
    /// [`KeyError::TooLong`] where no topic can begin so.
    pub fn latest_range(&self, topic_prefix: &str) -> Result<SortRange, KeyError> {
        sort_key::latest_range(topic_prefix)
    }

    /// The sort keys of the register of orphans.
    #[must_use]
    pub fn orphan_range(&self) -> SortRange {
        sort_key::orphan_range()
    }

    /// The sort keys of a node's revisions, of all topics. The `v0_` copies lie within.
    #[must_use]
    pub fn revision_range(&self) -> SortRange {
        sort_key::revision_range()
    }

    /// The sort keys that the event source's filter lets through to the handler: those that match exactly.
    #[must_use]
    pub fn filter_exact(&self) -> Vec<String> {
        sort_key::exact_triggers(&self.names.node)
    }

    /// The sort keys that the event source's filter lets through to the handler: by how they begin.
    #[must_use]
    pub fn filter_prefixes(&self) -> Vec<String> {
        sort_key::revision_prefixes().collect()
    }
}
