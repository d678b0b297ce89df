//! Why a write isn't done, by what to tell the caller.

use thiserror::Error;

use crate::keys::{DEPTH_MAX, Id, ItemKey, KeyError};
use crate::model::{DeletionMark, Item, LinkFault, Unreadable};
use crate::plan::conditions::TooManyAttributes;

/// Why a write isn't done. Nothing of it is, unless the outcome is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Refusal {
    /// There is no such node or revision.
    #[error("the node or the revision doesn't exist")]
    NotFound,
    /// There is one already.
    #[error("a node with this id exists already")]
    Exists,
    /// The parent isn't there.
    #[error("the parent `{0}` doesn't exist; create it first")]
    ParentMissing(Id),
    /// The parent's record can't be understood, so nothing can be put under it.
    #[error("the record of the parent `{id}` is invalid: {source}")]
    ParentUnreadable { id: Id, source: Unreadable },
    /// The node would come to be below itself.
    #[error("can't move `{node}` under itself or its descendant `{parent}`; choose another parent")]
    Cycle { node: Id, parent: Id },
    /// The ancestor path of the new parent is a circle, which another client has made.
    #[error("the ancestors of `{0}` form a cycle; make one of its nodes a root first")]
    Circle(Id),
    /// The node, or what is below it, would come to be too deep: so deep at least.
    #[error("the node would be {depth} levels deep, over the limit of {DEPTH_MAX}; choose a higher parent")]
    TooDeep { depth: usize },
    /// The transaction has no room for the checks of the paths and for all else that the move writes.
    #[error(
        "the path of the new parent has too many nodes to be checked in one transaction; choose a parent further up, or move the node in a request without `position`, `revision` and Idempotency-Key"
    )]
    TooDeepToCheck,
    /// The node's record can't be understood.
    #[error("the node's record is invalid: {0}")]
    Unreadable(Unreadable),
    /// The node is in the trash, and the write would be lost on one that is.
    #[error("the node is in the trash; restore it first (`POST /nodes/{{id}}/restore`)")]
    InTrash,
    /// The node isn't in the trash, or a node above it is, and that one would have to be restored.
    #[error("the node wasn't put into the trash; if an ancestor was, restore that one, or move this node out of it")]
    NotInTrash,
    /// The new parent is in the trash, by itself or with a node above it.
    #[error("`{parent}` is in the trash, since `{top}` was put there; restore that first, or choose another parent")]
    ParentInTrash { parent: Id, top: Id },
    /// A node in the trash can't go back below the parent that it had.
    #[error("the node can't be restored under `{parent}`: {why}; name another `parent`, or null for a root")]
    NoWayBack { parent: Id, why: NoWayBack },
    /// A sibling has the name.
    #[error("`{id}` is named `{name}` there; choose another name or another parent, or rename `{id}`")]
    NameTaken { name: String, id: Id },
    /// Another name is asked for where a sibling has the node's, and siblings may have one name.
    #[error("siblings may share a name in this deployment; omit `on_conflict`, or set `UniqueNames`")]
    NamesNotUnique,
    /// An item of another client stands where the claim of the name would.
    #[error("an item of another client has the key `{}`, `{}`, which Sapwood needs for this name; give that item another key", .0.pk, .0.sk)]
    NameObstructed(ItemKey),
    /// The children of a node in the trash would come to be live roots, or live children.
    #[error("the node is in the trash, where only `children=delete` and `restrict` are possible; restore it first")]
    ChildrenInTrash,
    /// The node, or one above it or above its new parent, is being deleted: by this operation, if it was read.
    #[error("`{id}` is being deleted")]
    BeingDeleted { id: Id, operation: Option<String> },
    /// The node has children, and the caller said that it must have none.
    #[error("the node has children; set `children` to `delete`, `adopt` or `detach`, or move them first")]
    HasChildren,
    /// The rows don't show yet where the node is, so they can't show either that it has no children.
    #[error("the node's rows aren't up to date yet, so they don't show whether it has children; retry later")]
    NotUpToDate,
    /// The rows don't show yet which siblings there are.
    #[error(
        "the siblings' rows aren't up to date yet, so they don't show which sibling is next to the node; retry later"
    )]
    SiblingsNotUpToDate,
    /// A precondition doesn't hold of what is there.
    #[error(
        "the precondition failed; read the node, then retry. A weak tag (W/) in If-Match never matches; if you receive one, a proxy has weakened it"
    )]
    PreconditionFailed(Precondition),
    /// Siblings aren't ordered by hand in this deployment.
    #[error(
        "siblings aren't ordered by hand in this deployment; set `OrderAttribute` and `OrderByHand=on`, or omit `position`"
    )]
    NotByHand,
    /// Roots have no order, since there are no root rows.
    #[error("roots have no order, since `RootRows` is off; omit `position`, or name a parent")]
    RootsUnordered,
    /// The attribute that a place writes is given as well.
    #[error("`position` writes the attribute `{0}`; send one or the other")]
    PlacedTwice(String),
    /// The node that another is to be next to isn't its sibling.
    #[error("`{0}` isn't a child of that parent; read the children again")]
    NotASibling(Id),
    /// A sibling has something else than text where its place is.
    #[error(
        "the attribute `{attribute}` of `{id}` isn't a string, so no node can be put next to it; make it a string, or remove it"
    )]
    PlaceNotText { id: Id, attribute: String },
    /// No text fits between two siblings, or too many of them would have to get others.
    #[error("no sort value fits between these siblings; change their `{attribute}`, or choose another position")]
    NoRoom { attribute: String },
    /// Siblings that would get other values are too large for one transaction. The largest that was looked at is named.
    #[error(
        "its siblings have to get other values, and are too large to be written at once: `{id}` has {bytes} bytes. Make it smaller, give siblings values by a `PATCH` of each, or place the node elsewhere"
    )]
    SiblingsTooLarge { id: Id, bytes: usize },
    /// The node can't have the links that it asks for.
    #[error(transparent)]
    Link(#[from] LinkFault),
    /// An attribute's name is the table's own.
    #[error("`{0}` is a reserved name; give the attribute another one")]
    ReservedName(String),
    /// The item would be too large.
    #[error("it has {bytes} bytes as an item, over the limit of {limit}; make it smaller")]
    TooLarge { bytes: usize, limit: usize },
    /// The item's JSON would be too long to be answered, by the API or by DynamoDB.
    #[error(
        "it has about {bytes} bytes as JSON, over the limit of {limit}; make it smaller. A number counts with all of its digits: 1E125 has 126"
    )]
    TooLongAsJson { bytes: usize, limit: usize },
    /// The record can't be compared with what was read.
    #[error(transparent)]
    TooManyAttributes(#[from] TooManyAttributes),
    /// No key can be made of an id, a topic or a version, or a segment can't be one.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Others kept writing the same records, until the attempts or the time were used up.
    #[error("too much write contention; retry")]
    Contended,
    /// An attempt got no answer, and what stands in the table now doesn't tell whether it was carried out.
    #[error(
        "the table gave no answer, so it may have been done or not; read what is there before you send it again. A POST or DELETE with an Idempotency-Key can be sent again as it is"
    )]
    OutcomeUnknown,
    /// So many copies go on.
    #[error("{0} copies are running, the most allowed; retry when one has finished (`GET /operations`)")]
    TooManyCopies(usize),
    /// Another request with this idempotency key is under way, or has crashed: its lease ends in so many seconds.
    #[error(
        "a request with this key is still being worked on, or was cut off; after {0} seconds at most the key is free, or the outcome there"
    )]
    InProgress(u64),
    /// The idempotency key came with another request before.
    #[error("this idempotency key was used for another request; use a new one")]
    IdempotencyMismatch,
    /// The request was carried out before, and its outcome can't be read any more.
    #[error("the stored outcome of this key is unreadable; use a new key")]
    OutcomeUnreadable,
}

impl Refusal {
    /// The node of this record is being deleted.
    pub(super) fn being_deleted(id: &Id, record: &Item) -> Self {
        let operation = DeletionMark::read(record).map(|mark| mark.operation);
        Self::BeingDeleted { id: id.clone(), operation }
    }
}

/// Why a node in the trash can't go back where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoWayBack {
    /// The parent isn't there.
    #[error("that node no longer exists")]
    Gone,
    /// The parent was deleted, and another node has its id.
    #[error("that node was deleted, and another one has its id")]
    OtherLife,
    /// The parent is in the trash as well.
    #[error("that node is in the trash, too")]
    InTrash,
    /// The parent is below the node.
    #[error("that node is a descendant of this one")]
    Cycle,
}

/// The precondition of a request that doesn't hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// `If-Match`.
    IfMatch,
    /// `If-None-Match`.
    IfNoneMatch,
    /// The `if_match` of a revision that is appended with its node.
    IfMatchOfRevision,
}
