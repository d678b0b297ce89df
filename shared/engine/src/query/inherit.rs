//! What a node has from the nodes above it: values, and grants. Both are right by base records: no row is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use sapwood_core::inherit::{
    Chain, ChainEnd, Grant, InheritedValue, Mode, granted_to, grants, inherited, own_values, read_chain,
};
use sapwood_core::keys::{ID_BYTES_MAX, Id, NodeRef, Schema};
use sapwood_core::model::{Item, is_reserved, json_bytes, size_estimate};
use sapwood_store::{RetryPolicy, Table};

use super::{Bounds, Fields, ReadError, Reader};
use crate::run::run;

/// Most bytes of values kept from a chain, as JSON. Numbers take eight times as many in memory.
const KEPT_BYTES_MAX: usize = 32 * 1_024 * 1_024;

/// The most principals of a question: a URL has at most 10,240 bytes.
const PRINCIPALS_MAX: usize = 100;

/// Where what a node inherits comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Above {
    /// How many ancestors the node has.
    pub levels: usize,
    /// The farthest of them; the node itself if it has none.
    pub top: Id,
    /// The reason why the chain ends there.
    pub end: ChainEnd,
    /// True if the node is in the trash.
    pub is_in_trash: bool,
    /// True if the node, or one of its ancestors, is being deleted.
    pub is_deleting: bool,
}

/// The values that a node inherits.
#[derive(Clone, Debug, PartialEq)]
pub struct Inherited {
    /// The values by their attributes. With [`Mode::Nearest`] an attribute has one.
    pub values: BTreeMap<String, Vec<InheritedValue>>,
    /// Where they come from.
    pub above: Above,
}

/// Whether something is granted to one of several principals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// By which records, nearest first. None if it isn't granted.
    pub by: Vec<Grant>,
    /// Where they were looked for.
    pub above: Above,
}

impl Granted {
    /// True if it is granted.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        !self.by.is_empty()
    }
}

/// A question about grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granting {
    attribute: String,
    principals: BTreeSet<String>,
    counts_in_trash: bool,
}

impl Granting {
    /// Asks whether an attribute names one of these principals. `counts_in_trash` has grants count in the trash.
    ///
    /// # Errors
    /// [`ReadError::Reserved`] for an attribute that holds no grants, and [`ReadError::Parameter`] for one that no
    /// expression can have, and for no principals, too many, or one that can't be the id of a node.
    pub fn new(
        attribute: String,
        principals: impl IntoIterator<Item = String>,
        counts_in_trash: bool,
        schema: &Schema,
    ) -> Result<Self, ReadError> {
        own_names("attribute", [attribute.clone()], schema)?;
        // A principal that is named twice counts twice: the document's bound is one of the list.
        let principals: Vec<String> = principals.into_iter().collect();
        let refuse = |reason| Err(ReadError::Parameter { parameter: "principal", reason });
        if !(1..=PRINCIPALS_MAX).contains(&principals.len()) {
            return refuse("give 1 to 100 principals, each as a parameter `principal` of its own");
        }
        if principals.iter().any(|principal| !(1..=ID_BYTES_MAX).contains(&principal.len())) {
            return refuse("a principal has 1 to 1,014 bytes");
        }
        Ok(Self { attribute, principals: principals.into_iter().collect(), counts_in_trash })
    }
}

/// Checks names of attributes that somebody asks for: they are the user's own.
fn own_names(
    parameter: &'static str,
    names: impl IntoIterator<Item = String>,
    schema: &Schema,
) -> Result<BTreeSet<String>, ReadError> {
    let fields = Fields::only(names).map_err(|error| match error {
        ReadError::Parameter { reason, .. } => ReadError::Parameter { parameter, reason },
        error => error,
    })?;
    let names: BTreeSet<String> = fields.names().into_iter().flatten().map(str::to_owned).collect();
    let of_schema = [&schema.names().parent, &schema.names().segment];
    match names.iter().find(|name| is_reserved(name, schema) || of_schema.contains(name)) {
        Some(name) => Err(ReadError::Reserved { parameter, name: name.clone() }),
        None => Ok(names),
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Reads the values of attributes that a node has from the nodes above it, or by itself. It reads strongly, and
    /// takes two requests while the node's lineage is up to date. A chain of nodes that have just moved takes up to two
    /// more for each of them.
    ///
    /// # Errors
    /// [`ReadError::Absent`] and [`ReadError::Unreadable`] for the node itself, [`ReadError::Reserved`] and
    /// [`ReadError::Parameter`] for the names, and [`ReadError::TooLarge`].
    pub async fn inherited(
        &self,
        node: &NodeRef,
        names: impl IntoIterator<Item = String>,
        mode: Mode,
    ) -> Result<Inherited, ReadError> {
        let names = own_names("attributes", names, self.client.schema())?;
        if names.is_empty() {
            let reason = "give the names of 1 to 100 attributes, with commas between them";
            return Err(ReadError::Parameter { parameter: "attributes", reason });
        }
        let kept = AtomicUsize::new(0);
        let keep = |record: &Item| {
            let own = own_values(record, &names);
            let bytes = json_bytes(&own);
            let is_too_much = kept.fetch_add(bytes, Ordering::Relaxed) + bytes > KEPT_BYTES_MAX;
            if is_too_much { Item::new() } else { own }
        };
        let chain = self.chain(node, names.clone(), keep).await?;
        let above = Above::of(&chain, node)?;
        let values = inherited(chain, mode);
        let bytes =
            |found: &InheritedValue| size_estimate(&Item::from([(found.from.to_string(), found.value.clone())]));
        let is_too_large = values.values().flatten().map(bytes).sum::<usize>() > Bounds::BYTES_MAX;
        if is_too_large || kept.into_inner() > KEPT_BYTES_MAX {
            return Err(ReadError::TooLarge { what: "values", instead: "ask for fewer attributes at a time" });
        }
        Ok(Inherited { values, above })
    }

    /// Tells whether a node, or one above it, names one of some principals in an attribute. The requests are those of
    /// [`inherited`](Self::inherited).
    ///
    /// # Errors
    /// [`ReadError::Absent`] and [`ReadError::Unreadable`] for the node itself.
    pub async fn granted(&self, node: &NodeRef, granting: &Granting) -> Result<Granted, ReadError> {
        let Granting { attribute, principals, counts_in_trash } = granting;
        let chain = self.chain(node, [attribute.clone()], |record| granted_to(record, attribute, principals)).await?;
        let above = Above::of(&chain, node)?;
        let by = if above.is_in_trash && !counts_in_trash { Vec::new() } else { grants(chain) };
        Ok(Granted { by, above })
    }

    /// The ids of a node and of all nodes above it, by base records. None if there is no such node.
    pub(super) async fn at_or_above(&self, node: &NodeRef) -> Result<BTreeSet<Id>, ReadError> {
        Ok(self.chain(node, [], |_| ()).await?.nodes.into_iter().map(|(id, ())| id).collect())
    }

    async fn chain<V: Send>(
        &self,
        node: &NodeRef,
        attributes: impl IntoIterator<Item = String>,
        keep: impl Fn(&Item) -> V + Send + Sync,
    ) -> Result<Chain<V>, ReadError> {
        Ok(run(self.client, read_chain(node, attributes, self.client.schema(), keep)).await?)
    }
}

impl Above {
    fn of<V>(chain: &Chain<V>, node: &NodeRef) -> Result<Self, ReadError> {
        let Chain { nodes, end, is_in_trash, is_deleting } = chain;
        match (nodes.last(), end) {
            (None, ChainEnd::Unreadable(unreadable)) => Err(ReadError::Unreadable(unreadable.clone())),
            (None, _) => Err(ReadError::Absent { what: format!("node `{}`", node.id) }),
            (Some((top, _)), end) => Ok(Self {
                levels: nodes.len() - 1,
                top: top.clone(),
                end: end.clone(),
                is_in_trash: *is_in_trash,
                is_deleting: *is_deleting,
            }),
        }
    }
}
