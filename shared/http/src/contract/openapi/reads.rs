//! The calls that read nodes and trees.

use super::params::{
    Continued, Fields, IdPrefix, Known, MaxDepth, NextSegments, OfNode, OfPath, OfRoot, Paging, Strongly, Window,
};
use super::problems::{OfAnyList, OfList, OfRoots, OfThing};
use crate::contract::{
    AncestorBody, CountBody, DescendantBody, FanoutBody, NodeBody, Page, PathBody, RootBody, TreeBody,
};

/// All trees
///
/// The roots, by id, where the deployment keeps root rows (`ROOT_ROWS`, on by default; 404 without them). One Query, half a
/// read unit per 4 KB.
#[utoipa::path(
    get, path = "/roots", tag = "Read",
    params(Paging, Fields, Strongly),
    responses(
        (status = 200, description = "A page of roots.", body = Page<RootBody>, example = json!({"items": [{"id": "REGION#EU", "attributes": {"name": "Europe"}}]})),
        OfRoots,
    )
)]
fn list_roots() {}

/// A node
///
/// Half a read unit per 4 KB.
#[utoipa::path(
    get, path = "/nodes/{id}", tag = "Read",
    params(OfNode, Fields, Strongly, Known),
    responses(
        (status = 200, description = "The node.", body = NodeBody, headers(("ETag" = String, description = "Its entity tag.")),
            example = json!({"id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"}, "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna", "updated_at": "2026-02-03T04:05:06.789Z", "updated_by": "anna"})),
        OfThing,
    )
)]
fn get_node() {}

/// The way up
///
/// The ancestors, nearest first. One call, half a read unit per 4 KB of the node and of its lineage; with `fields` one call
/// more, and half a unit for each ancestor.
#[utoipa::path(
    get, path = "/nodes/{id}/ancestors", tag = "Read",
    params(OfNode, Paging, Fields, Strongly),
    responses(
        (status = 200, description = "A page of ancestors.", body = Page<AncestorBody>, example = json!({"items": [{"id": "REGION#EU", "depth": 1}, {"id": "WORLD", "depth": 2}]})),
        OfList,
    )
)]
fn list_ancestors() {}

/// The children
///
/// By id. Where there is no such node the list is of orphans that wait for it, and may be empty. One Query, half a read unit
/// per 4 KB.
#[utoipa::path(
    get, path = "/nodes/{id}/children", tag = "Read",
    params(OfNode, Paging, Fields, Strongly),
    responses(
        (status = 200, description = "A page of children.", body = Page<DescendantBody>, example = json!({"items": [{"id": "CUSTOMER#7", "parent": "REGION#EU", "depth": 1, "attributes": {"name": "Acme"}}]})),
        OfAnyList,
    )
)]
fn list_children() {}

/// All that is below
///
/// By depth, then id; with `min_depth=0` the node itself comes first. `id_prefix` with one level is a query by type. Where
/// there is no such node the list is of orphans that wait for it, and may be empty. One Query whatever the levels, half a
/// read unit per 4 KB.
#[utoipa::path(
    get, path = "/nodes/{id}/descendants", tag = "Read",
    params(OfNode, Window, IdPrefix, Paging, Fields, Strongly),
    responses(
        (status = 200, description = "A page of descendants.", body = Page<DescendantBody>, example = json!({"items": [{"id": "CUSTOMER#7", "parent": "REGION#EU", "depth": 1, "attributes": {"name": "Acme"}}], "cursor": "AYz5"})),
        OfAnyList,
    )
)]
fn list_descendants() {}

/// All that is below, nested
///
/// The node with its children, each with its own: at most 5,000 nodes and 5 MB, then it is cut and says so. Half a read unit
/// per 4 KB.
#[utoipa::path(
    get, path = "/nodes/{id}/tree", tag = "Read",
    params(OfNode, MaxDepth, Continued, Fields, Strongly),
    responses(
        (status = 200, description = "The tree.", body = TreeBody,
            example = json!({"id": "REGION#EU", "depth": 0, "attributes": {"name": "Europe"}, "children": [{"id": "CUSTOMER#7", "parent": "REGION#EU", "depth": 1, "attributes": {"name": "Acme"}, "children": []}]})),
        OfList,
    )
)]
fn get_tree() {}

/// How many are below
///
/// Costs as much as the list of them: half a read unit per 4 KB of rows.
#[utoipa::path(
    get, path = "/nodes/{id}/count", tag = "Read",
    params(OfNode, Window, Strongly),
    responses((status = 200, description = "How many.", body = CountBody, example = json!({"count": 1204})), OfList)
)]
fn count_descendants() {}

/// A whole tree by path
///
/// All that is below a root, each node followed by what is below it. One Query, half a read unit per 4 KB.
#[utoipa::path(
    get, path = "/paths/{root}", tag = "Read",
    params(OfRoot, MaxDepth, NextSegments, Paging, Fields, Strongly),
    responses(
        (status = 200, description = "A page of nodes.", body = Page<PathBody>, example = json!({"items": [{"id": "ne", "parent": "USA", "path": ["NE"], "depth": 1, "attributes": {"name": "Nebraska"}}]})),
        OfList,
    )
)]
fn list_root_paths() {}

/// A subtree by path
///
/// The nodes at a path, each followed by what is below it. With `from` or `to`, what is below the path and whose next
/// segment lies between the two: zip codes 68100 to 68199 are `/paths/USA/NE/OMAHA?from=68100&to=68199`. One Query, half a
/// read unit per 4 KB.
#[utoipa::path(
    get, path = "/paths/{root}/{path}", tag = "Read",
    params(OfPath, MaxDepth, NextSegments, Paging, Fields, Strongly),
    responses(
        (status = 200, description = "A page of nodes.", body = Page<PathBody>, example = json!({"items": [{"id": "68102", "parent": "omaha", "path": ["NE", "OMAHA", "68102"], "depth": 3, "attributes": {}}]})),
        OfList,
    )
)]
fn list_paths() {}

/// Whether derived rows are up to date
///
/// Whether what is derived from the node says what its base record says. Reads strongly: 1 read unit per 4 KB of each
/// node above it and of each of its rows.
#[utoipa::path(
    get, path = "/nodes/{id}/fanout", tag = "Read",
    params(OfNode),
    responses((status = 200, description = "Whether they are.", body = FanoutBody, example = json!({"up_to_date": true, "ancestors": 2, "missing": 0, "stale": 0})), OfList)
)]
fn get_fanout() {}
