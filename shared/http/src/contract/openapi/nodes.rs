//! The calls that write nodes.

use super::params::{Idempotency, OfNode, OfOperation, Preconditions, Prefer, Removal};
use super::problems::{OfChange, OfDelete, OfList, OfPut};
use crate::contract::{Batch, BatchResults, CreateNode, NodeBody, OperationBody, PatchNode, ReplaceNode};

/// Create a node
///
/// An id is made for the node if none is given. Costs 1 read unit for the parent and 1 write unit per KB; with an id of the
/// caller's, 1 read unit more (that something hangs under it already makes it a move). The stream then writes a row for
/// each of its ancestors, and its root row or path row, at 1 write unit per KB.
#[utoipa::path(
    post, path = "/nodes", tag = "Write",
    params(Preconditions, Prefer, Idempotency),
    request_body(content = CreateNode, example = json!({"id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme", "credit": 12500.5}})),
    responses(
        (status = 201, description = "It is created.", body = NodeBody,
            headers(("Location" = String, description = "Where it is."), ("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept.")),
            example = json!({"id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme", "credit": 12500.5}, "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna", "updated_at": "2026-02-03T04:05:06.789Z", "updated_by": "anna"})),
        (status = 202, description = "It is created, and its rows aren't right yet after the wait.", body = NodeBody,
            headers(("Location" = String, description = "Where it is."), ("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept."))),
        OfPut,
    )
)]
fn create_node() {}

/// Create or replace a node
///
/// The parent must be said (null for a root), so that no forgotten field uproots a subtree; attributes that aren't named go.
/// Another parent than it has makes this a move: the ways up from both are read strongly, and one transaction changes the
/// parent while it checks the nodes below the lowest common ancestor. Costs 1 read unit for the node and one for the
/// parent, and 1 write unit per KB; a move reads 1 unit per node on both ways and writes 2 units per KB and 2 for each
/// node that is checked. The stream then writes a row for each ancestor of each node that is affected.
#[utoipa::path(
    put, path = "/nodes/{id}", tag = "Write",
    params(OfNode, Preconditions, Prefer),
    request_body(content = ReplaceNode, example = json!({"parent": "REGION#EU", "attributes": {"name": "Acme"}})),
    responses(
        (status = 200, description = "It is replaced.", body = NodeBody,
            headers(("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept.")),
            example = json!({"id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"}, "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna", "updated_at": "2026-02-04T05:06:07.890Z", "updated_by": "ben"})),
        (status = 201, description = "It is created.", body = NodeBody,
            headers(("Location" = String, description = "Where it is."), ("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept."))),
        (status = 202, description = "It is written, and its rows aren't right yet after the wait.", body = NodeBody,
            headers(("Location" = String, description = "Where it is."), ("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept."))),
        OfPut,
    )
)]
fn put_node() {}

/// Change or move a node
///
/// A JSON merge patch (RFC 7396): what isn't named keeps its value and type. `parent` moves the node with all that is below
/// it, and null makes it a root; an attribute that is null goes (`PUT` can store a null). `id` can't be changed: 400.
/// Costs as `PUT` does.
#[utoipa::path(
    patch, path = "/nodes/{id}", tag = "Write",
    params(OfNode, Preconditions, Prefer),
    request_body(content = PatchNode, content_type = "application/merge-patch+json", examples(
        ("move" = (summary = "Move it", value = json!({"parent": "REGION#US"}))),
        ("uproot" = (summary = "Make it a root", value = json!({"parent": null}))),
        ("change" = (summary = "Change attributes", value = json!({"attributes": {"credit": 99.5, "address": {"zip": "68100"}, "note": null}}))),
    )),
    responses(
        (status = 200, description = "It is changed.", body = NodeBody,
            headers(("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept.")),
            example = json!({"id": "CUSTOMER#7", "parent": "REGION#US", "attributes": {"name": "Acme", "credit": 99.5}, "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna", "updated_at": "2026-02-04T05:06:07.890Z", "updated_by": "ben"})),
        (status = 202, description = "It is changed, and its rows aren't right yet after the wait.", body = NodeBody,
            headers(("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept."))),
        OfChange,
    )
)]
fn patch_node() {}

/// Delete a node
///
/// Without children it is gone at once: 1 read unit and 1 write unit per KB. With `children=delete`, `adopt` or `detach`, or
/// `revisions=delete`, the answer is an operation that the stream carries out, level by level: 2 write units to begin,
/// then those of each node that is removed or moved and of its rows. The node counts as being deleted from then on (409).
#[utoipa::path(
    delete, path = "/nodes/{id}", tag = "Write",
    params(OfNode, Removal, Preconditions),
    responses(
        (status = 204, description = "It is deleted."),
        (status = 202, description = "Its removal is begun.", body = OperationBody,
            headers(("Location" = String, description = "Where to ask how far it is.")),
            example = json!({"id": "4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52", "status": "running", "mode": "delete", "node": "CUSTOMER#7", "created_at": "2026-02-03T04:05:06.789Z"})),
        OfDelete,
    )
)]
fn delete_node() {}

/// How far a removal is
///
/// Kept for 7 days. Costs 1 read unit for the operation and one for the node; where the node is gone, a Query of what is
/// left below it.
#[utoipa::path(
    get, path = "/operations/{id}", tag = "Write",
    params(OfOperation),
    responses(
        (status = 200, description = "How far it is.", body = OperationBody,
            example = json!({"id": "4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52", "status": "done", "mode": "delete", "node": "CUSTOMER#7", "created_at": "2026-02-03T04:05:06.789Z"})),
        OfList,
    )
)]
fn get_operation() {}

/// Do up to 100 operations
///
/// They are done in order, each on its own: one that fails stops none of the others, and a child may follow its parent. An
/// operation whose values can't be kept fails alone; a batch that isn't of this shape fails as a whole, before it begins.
/// A batch has no state of its own to compare, so one with `If-Match` or `If-None-Match` is refused (412). Costs what its
/// operations cost.
#[utoipa::path(
    post, path = "/batch", tag = "Write",
    params(Idempotency),
    request_body(content = Batch, example = json!({"operations": [
        {"put": {"id": "REGION#EU", "parent": null, "attributes": {"name": "Europe"}}},
        {"put": {"id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"}}},
        {"patch": {"id": "CUSTOMER#8", "parent": "REGION#EU"}},
        {"delete": {"id": "CUSTOMER#9", "children": "adopt"}},
        {"revision": {"id": "CUSTOMER#7", "topic": "Audit", "attributes": {"by": "anna"}}},
    ]})),
    responses(
        (status = 200, description = "What became of each, in their order.", body = BatchResults,
            example = json!({"results": [
                {"status": 201, "location": "/nodes/REGION~23EU", "body": {"id": "REGION#EU", "attributes": {"name": "Europe"}}},
                {"status": 422, "problem": {"type": "urn:sapwood:problem:parent-missing", "title": "The parent doesn't exist", "status": 422, "detail": "create the parent first", "field": "parent"}},
            ]})),
        OfPut,
    )
)]
fn batch() {}
