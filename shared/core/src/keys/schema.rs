//! The schema: how the table's keys are written and read.

use super::error::{KeyError, bounded};
use super::ranges::SortRange;
use super::sort_key::{self, LANES, SortKey};
use super::{Id, ItemKey, NodeRef, PARTITION_KEY_BYTES_MAX, Tenant};

/// The names of a table's key attributes, of the attributes that place a node, and of a base record's sort key. The
/// defaults are `PK`, `SK`, `parent`, `segment` and `NODE`; existing tables may use others, such as `METADATA`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The partition key's attribute.
    pub partition_key: String,
    /// The sort key's attribute.
    pub sort_key: String,
    /// The attribute that holds the id of the node's parent.
    pub parent: String,
    /// The attribute that holds the node's name inside a path.
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

/// Writes and reads every key of a table.
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
const TRASH: &str = "TRASH";
const ORPHANS: &str = "ORPHANS#";
const OPERATIONS: &str = "OPERATIONS";
const IDEMPOTENCY: &str = "IDEMPOTENCY#";
const CHANGES: &str = "CHANGES#";
/// The partition of the items that belong to the table as a whole. It has no tenant.
const OWN: &str = "SAPWOOD";

/// The number of partitions of the register of orphans. A single one would limit how fast orphans can be imported.
const ORPHAN_SHARDS: u32 = 16;

impl Schema {
    /// Makes a schema of these names, with or without tenants.
    ///
    /// # Errors
    /// [`KeyError::Name`] for a name that is empty, used twice, begins with `_` (which is reserved), or is the sort key
    /// of another kind of item.
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

    /// Returns the names.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns true if every partition key has a tenant.
    #[must_use]
    pub fn has_tenants(&self) -> bool {
        self.tenants
    }

    /// Returns the partition key of a node: its id, or `TENANT#<tenant>#<id>`. The longest [`Id`] and [`Tenant`] fit.
    #[must_use]
    pub fn partition(&self, node: &NodeRef) -> String {
        Self::in_tenant(node.tenant.as_ref(), node.id.as_str())
    }

    /// Returns the partition key of the list of all trees, `ROOTS`.
    #[must_use]
    pub fn roots_partition(&self, tenant: Option<&Tenant>) -> String {
        Self::in_tenant(tenant, ROOTS)
    }

    /// Returns the partition key of the list of what was put into the trash, `TRASH`.
    #[must_use]
    pub fn trash_partition(&self, tenant: Option<&Tenant>) -> String {
        Self::in_tenant(tenant, TRASH)
    }

    /// Returns the partition key of the register of orphans with the children of `parent`, `ORPHANS#0` to `ORPHANS#f`.
    #[must_use]
    pub fn orphans_partition(&self, parent: &NodeRef) -> String {
        // FNV-1a. Any hash would do that never changes while the table exists.
        let hash = parent
            .id
            .as_str()
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Self::in_tenant(parent.tenant.as_ref(), &format!("{ORPHANS}{:x}", hash % ORPHAN_SHARDS))
    }

    /// Returns the partition key of the feed of a tree, `CHANGES#<root>`.
    #[must_use]
    pub fn changes_partition(&self, tree: &NodeRef) -> String {
        Self::in_tenant(tree.tenant.as_ref(), &format!("{CHANGES}{}", tree.id))
    }

    /// Returns the key of an entry in the feed of a tree. The stamp is in milliseconds since 1970. Fails for an id of
    /// more than 1,001 bytes, and where the tree's id and tenant leave no room.
    pub fn change_key(&self, tree: &NodeRef, stamp: u64, id: &Id) -> Result<ItemKey, KeyError> {
        let pk = self.changes_partition(tree);
        bounded("the partition key", &pk, PARTITION_KEY_BYTES_MAX)?;
        Ok(ItemKey { pk, sk: self.sort_key(&SortKey::Change { stamp, id: id.clone() })? })
    }

    /// Returns the range of entries with these stamps, the second one excluded.
    pub fn changes_range(&self, from: u64, to: u64) -> SortRange {
        let of = |stamp: u64| format!("{}{stamp:015}", sort_key::CHANGE);
        SortRange { from: of(from), to: of(to) }
    }

    /// True if this is the key of a partition of a feed.
    #[must_use]
    pub fn is_of_changes(&self, pk: &str) -> bool {
        let owner = self.parse_partition(pk).ok();
        owner.and_then(|owner| Some(!owner.id.as_str().strip_prefix(CHANGES)?.is_empty())).unwrap_or_default()
    }

    /// True if this is the key of a partition of the register of orphans.
    #[must_use]
    pub fn is_of_orphans(&self, pk: &str, tenant: Option<&Tenant>) -> bool {
        pk.strip_prefix(&Self::in_tenant(tenant, ORPHANS))
            .is_some_and(|shard| (0..ORPHAN_SHARDS).any(|of_all| format!("{of_all:x}") == shard))
    }

    fn in_tenant(tenant: Option<&Tenant>, rest: &str) -> String {
        match tenant {
            Some(tenant) => format!("{TENANT}{}#{rest}", tenant.as_str()),
            None => rest.to_owned(),
        }
    }

    /// Returns the node of a partition key. Without tenants every partition key is an id; with them it fails if there
    /// is none, and as [`Id::new`] and [`Tenant::new`] do.
    pub fn parse_partition(&self, pk: &str) -> Result<NodeRef, KeyError> {
        if !self.tenants {
            return Ok(Id::new(pk)?.into());
        }
        let (tenant, id) =
            pk.strip_prefix(TENANT).and_then(|rest| rest.split_once('#')).ok_or(KeyError::Tenancy { tenants: true })?;
        Ok(NodeRef { tenant: Some(Tenant::new(tenant)?), id: Id::new(id)? })
    }

    /// The sort key of an item. Fails over [`SORT_KEY_BYTES_MAX`](super::SORT_KEY_BYTES_MAX), or if a part is out of
    /// range.
    pub fn sort_key(&self, key: &SortKey) -> Result<String, KeyError> {
        sort_key::write(key, &self.names.node)
    }

    /// Returns what an item is by its sort key. `None` means that the item is the table owner's own, and is left alone.
    #[must_use]
    pub fn parse_sort_key(&self, sk: &str) -> Option<SortKey> {
        sort_key::parse(sk, &self.names.node)
    }

    /// Returns the id of the node that a row with this sort key shows, however its path is spelled: only a handler's
    /// spelling can be parsed. `None` for keys that no row has.
    #[must_use]
    pub fn shown(&self, sk: &str) -> Option<String> {
        if let Some(key) = self.parse_sort_key(sk) {
            return key.shown().map(str::to_owned);
        }
        let last = sk.strip_prefix(sort_key::PATH)?.rsplit('#').next()?;
        unspelled(last.split_once('!').map_or(last, |(_, id)| id))
    }

    /// True if a sort key begins as that of a row, whether or not it can be one: a query for all of these returns it.
    #[must_use]
    pub fn begins_as_row(&self, sk: &str) -> bool {
        sk.strip_prefix(&self.names.node).is_some_and(|rest| rest.starts_with('#')) || sort_key::begins_as_row(sk)
    }

    /// Returns the key of an item in a node's partition. Fails as [`Schema::sort_key`] does, and if the node has a
    /// tenant while tenants are off, or none while they are on.
    pub fn item_key(&self, node: &NodeRef, key: &SortKey) -> Result<ItemKey, KeyError> {
        if node.tenant.is_some() != self.tenants {
            return Err(KeyError::Tenancy { tenants: self.tenants });
        }
        let pk = self.partition(node);
        bounded("the partition key", &pk, PARTITION_KEY_BYTES_MAX)?;
        Ok(ItemKey { pk, sk: self.sort_key(key)? })
    }

    /// Returns the key of a node's base record.
    pub fn node_key(&self, node: &NodeRef) -> ItemKey {
        self.fixed(node, &SortKey::Node)
    }

    /// Returns the key of a node's lineage.
    pub fn lineage_key(&self, node: &NodeRef) -> ItemKey {
        self.fixed(node, &SortKey::Lineage)
    }

    /// Returns the key of a node's cascade cursor.
    pub fn cascade_key(&self, node: &NodeRef) -> ItemKey {
        self.fixed(node, &SortKey::Cascade)
    }

    /// Returns the key of the record that the API has deleted a node, in the node's own partition.
    pub fn deleted_key(&self, node: &NodeRef) -> ItemKey {
        self.fixed(node, &SortKey::Deleted)
    }

    /// Returns the key of what a node was counted as in the totals of its ancestors.
    pub fn counted_key(&self, node: &NodeRef) -> ItemKey {
        self.fixed(node, &SortKey::Counted)
    }

    /// Returns the key of one lane of a node's totals.
    pub fn totals_key(&self, node: &NodeRef, epoch: u32, lane: u32) -> ItemKey {
        self.fixed(node, &SortKey::Totals { epoch, lane })
    }

    /// Returns the keys of all lanes of a node's totals.
    pub fn totals_keys(&self, node: &NodeRef, epoch: u32) -> impl Iterator<Item = ItemKey> {
        (0..LANES).map(move |lane| self.totals_key(node, epoch, lane))
    }

    /// Returns the key of the claim of a name among the children of `parent`, or among the roots of the tenant of
    /// `node`. The name is as names are compared, with at most [`NAME_BYTES_MAX`](super::NAME_BYTES_MAX) bytes.
    pub fn name_key(&self, node: &NodeRef, parent: Option<&Id>, name: String) -> ItemKey {
        let (pk, sk) = match parent {
            Some(parent) => (Self::in_tenant(node.tenant.as_ref(), parent.as_str()), SortKey::Name(name)),
            None => (self.roots_partition(node.tenant.as_ref()), SortKey::RootName(name)),
        };
        // A name has room, however long it is.
        ItemKey { pk, sk: sort_key::write(&sk, &self.names.node).unwrap_or_default() }
    }

    /// Returns the key of an operation of the API. All operations are in one partition, so that one Query lists them.
    /// Their ids sort by the time at which they have begun.
    pub fn operation_key(&self, tenant: Option<&Tenant>, operation: &str) -> ItemKey {
        // An id is a UUID of the API's, so its key has room.
        let sk = sort_key::write(&SortKey::Operation(operation.to_owned()), &self.names.node).unwrap_or_default();
        ItemKey { pk: self.operations_partition(tenant), sk }
    }

    /// Returns the partition key of a tenant's operations.
    #[must_use]
    pub fn operations_partition(&self, tenant: Option<&Tenant>) -> String {
        Self::in_tenant(tenant, OPERATIONS)
    }

    /// Returns the key of one part of a request's stored answer, by the hash of its `Idempotency-Key`.
    pub fn idempotency_key(&self, tenant: Option<&Tenant>, hash: &str, part: usize) -> ItemKey {
        let sk = sort_key::write(&SortKey::Idempotency { part }, &self.names.node).unwrap_or_default();
        ItemKey { pk: Self::in_tenant(tenant, &format!("{IDEMPOTENCY}{hash}")), sk }
    }

    /// Returns the key of what the handler announces about itself.
    pub fn settings_key(&self) -> ItemKey {
        ItemKey::new(OWN, sort_key::SETTINGS)
    }

    /// Returns the key of the auditor's state.
    pub fn audit_key(&self) -> ItemKey {
        ItemKey::new(OWN, sort_key::AUDIT)
    }

    /// Returns the key of the epoch of all totals.
    pub fn epoch_key(&self) -> ItemKey {
        ItemKey::new(OWN, sort_key::EPOCH)
    }

    /// Returns the key of the copy of that epoch, by which a lost or altered one is seen.
    pub fn epoch_copy_key(&self) -> ItemKey {
        ItemKey::new(OWN, sort_key::EPOCH_COPY)
    }

    /// Returns the key of the name of all feeds.
    pub fn feed_key(&self) -> ItemKey {
        ItemKey::new(OWN, sort_key::FEED)
    }

    /// Returns the key of one of the trails that handlers leave for the auditor.
    pub fn trail_key(&self, number: u8) -> ItemKey {
        ItemKey::new(OWN, format!("{}{number:02}", sort_key::TRAIL))
    }

    /// Returns the range of all trails.
    pub fn trail_range(&self) -> SortRange {
        SortRange { from: self.trail_key(0).sk, to: self.trail_key(99).sk }
    }

    /// True for the key of an item that Sapwood keeps about itself, and not about a node.
    #[must_use]
    pub fn is_own(&self, key: &ItemKey) -> bool {
        key.pk == OWN
            && ([sort_key::SETTINGS, sort_key::AUDIT, sort_key::EPOCH, sort_key::EPOCH_COPY, sort_key::FEED]
                .contains(&key.sk.as_str())
                || self.trail_range().contains(&key.sk))
    }

    /// Returns a key in a node's partition whose sort key has no parts, and therefore can't fail.
    fn fixed(&self, node: &NodeRef, key: &SortKey) -> ItemKey {
        let sk = sort_key::write(key, &self.names.node).unwrap_or_default();
        ItemKey { pk: self.partition(node), sk }
    }

    /// True if the event source filter passes records of items with this sort key to the handler.
    #[must_use]
    pub fn passes_filter(&self, sk: &str) -> bool {
        sort_key::is_trigger(sk, &self.names.node)
    }

    /// Returns the sort keys that the event source filter matches exactly and passes to the handler.
    #[must_use]
    pub fn filter_exact(&self) -> Vec<String> {
        sort_key::exact_triggers(&self.names.node)
    }

    /// Returns the prefixes of sort keys that the event source filter passes to the handler.
    #[must_use]
    pub fn filter_prefixes(&self) -> Vec<String> {
        sort_key::revision_prefixes().collect()
    }
}

/// A part of a path, whatever is escaped in it.
fn unspelled(text: &str) -> Option<String> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let escaped = match rest {
            [b'%', high, low, ..] => {
                digit(high).zip(digit(low)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &rest[3..] } else { after };
    }
    String::from_utf8(bytes).ok()
}
