//! The operations that read nodes and trees.

use axum::http::Method;
use serde_json::json;

use super::Function::Reader;
use super::{Answer, ETAG, Operation, ReaderCall, Tag, parameters, problems};
use crate::contract::{
    AncestorBody, CountBody, DescendantBody, FanoutBody, NodeBody, Page, PathBody, RootBody, TreeBody,
};

pub(super) static OPERATIONS: [Operation; 10] = [
    Operation {
        id: "list_roots",
        method: Method::GET,
        path: "/roots",
        function: Reader(ReaderCall::ListRoots),
        tag: Tag::Read,
        summary: "List all roots",
        description: "The roots by id, if the deployment keeps root rows (`ROOT_ROWS`, on by default; 404 without \
            them). One Query, half a read unit per 4 KB.",
        parameters: &[parameters::limit, parameters::cursor, parameters::fields, parameters::consistent],
        body: None,
        answers: &[Answer::json::<Page<RootBody>>(200, "A page of roots.").example(|| {
            json!({
                "items": [{"id": "REGION#EU", "attributes": {"name": "Europe"}}],
            })
        })],
        problems: problems::ROOTS,
    },
    Operation {
        id: "get_node",
        method: Method::GET,
        path: "/nodes/{id}",
        function: Reader(ReaderCall::GetNode),
        tag: Tag::Read,
        summary: "Read a node",
        description: "Half a read unit per 4 KB.",
        parameters: &[
            parameters::id,
            parameters::fields,
            parameters::consistent,
            parameters::if_match,
            parameters::known,
        ],
        body: None,
        answers: &[Answer::json::<NodeBody>(200, "The node.").headers(&[ETAG]).example(|| {
            json!({
                "id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"},
                "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna",
                "updated_at": "2026-02-03T04:05:06.789Z", "updated_by": "anna",
            })
        })],
        problems: problems::THING,
    },
    Operation {
        id: "list_ancestors",
        method: Method::GET,
        path: "/nodes/{id}/ancestors",
        function: Reader(ReaderCall::ListAncestors),
        tag: Tag::Read,
        summary: "List the ancestors of a node",
        description: "The ancestors, nearest first. One call, at half a read unit per 4 KB of the node and of its \
            lineage. With `fields` another call, at half a unit for each ancestor.",
        parameters: &[
            parameters::id,
            parameters::limit,
            parameters::cursor,
            parameters::fields,
            parameters::consistent,
        ],
        body: None,
        answers: &[Answer::json::<Page<AncestorBody>>(200, "A page of ancestors.").example(|| {
            json!({
                "items": [{"id": "REGION#EU", "depth": 1}, {"id": "WORLD", "depth": 2}],
            })
        })],
        problems: problems::LIST,
    },
    Operation {
        id: "list_children",
        method: Method::GET,
        path: "/nodes/{id}/children",
        function: Reader(ReaderCall::ListChildren),
        tag: Tag::Read,
        summary: "List the children of a node",
        description: "The children by id. If the node doesn't exist, the list has the orphans that wait for it, and \
            may be empty. One Query, half a read unit per 4 KB.",
        parameters: &[
            parameters::id,
            parameters::limit,
            parameters::cursor,
            parameters::fields,
            parameters::consistent,
        ],
        body: None,
        answers: &[Answer::json::<Page<DescendantBody>>(200, "A page of children.").example(|| {
            json!({
                "items": [{"id": "CUSTOMER#7", "parent": "REGION#EU", "depth": 1, "attributes": {"name": "Acme"}}],
            })
        })],
        problems: problems::ANY_LIST,
    },
    Operation {
        id: "list_descendants",
        method: Method::GET,
        path: "/nodes/{id}/descendants",
        function: Reader(ReaderCall::ListDescendants),
        tag: Tag::Read,
        summary: "List the descendants of a node",
        description: "The descendants by depth, then id. With `min_depth=0` the node itself comes first. \
            `id_prefix` with one level is a query by type. If the node doesn't exist, the list has the orphans that \
            wait for it, and may be empty. One Query for any number of levels, half a read unit per 4 KB.",
        parameters: &[
            parameters::id,
            parameters::min_depth,
            parameters::max_depth_of_window,
            parameters::id_prefix,
            parameters::limit,
            parameters::cursor,
            parameters::fields,
            parameters::consistent,
        ],
        body: None,
        answers: &[Answer::json::<Page<DescendantBody>>(200, "A page of descendants.").example(|| {
            json!({
                "items": [{"id": "CUSTOMER#7", "parent": "REGION#EU", "depth": 1, "attributes": {"name": "Acme"}}],
                "cursor": "AYz5",
            })
        })],
        problems: problems::ANY_LIST,
    },
    Operation {
        id: "get_tree",
        method: Method::GET,
        path: "/nodes/{id}/tree",
        function: Reader(ReaderCall::GetTree),
        tag: Tag::Read,
        summary: "Read a node with its descendants, nested",
        description: "The node with its children, each with its own. A tree of more than 5,000 nodes or 5 MB is \
            cut, and continues on the next page. Half a read unit per 4 KB.",
        parameters: &[
            parameters::id,
            parameters::max_depth,
            parameters::cursor,
            parameters::fields,
            parameters::consistent,
        ],
        body: None,
        answers: &[Answer::json::<TreeBody>(200, "The tree.").example(|| {
            json!({
                "id": "REGION#EU", "depth": 0, "attributes": {"name": "Europe"},
                "children": [
                                {
                                    "id": "CUSTOMER#7", "parent": "REGION#EU", "depth": 1,
                                    "attributes": {"name": "Acme"}, "children": [],
                                },
                            ],
            })
        })],
        problems: problems::LIST,
    },
    Operation {
        id: "count_descendants",
        method: Method::GET,
        path: "/nodes/{id}/count",
        function: Reader(ReaderCall::CountDescendants),
        tag: Tag::Read,
        summary: "Count the descendants of a node",
        description: "Costs as much as their list: half a read unit per 4 KB of rows. A call reads at most 20 MB of rows. If there are more, \
            the answer has a `cursor`; count on from there, and add the counts.",
        parameters: &[
            parameters::id,
            parameters::min_depth,
            parameters::max_depth_of_window,
            parameters::cursor,
            parameters::consistent,
        ],
        body: None,
        answers: &[Answer::json::<CountBody>(200, "The number of descendants.").example(|| json!({"count": 1204}))],
        problems: problems::LIST,
    },
    Operation {
        id: "list_root_paths",
        method: Method::GET,
        path: "/paths/{root}",
        function: Reader(ReaderCall::ListRootPaths),
        tag: Tag::Read,
        summary: "List a whole tree by path",
        description: "All descendants of a root, each node followed by its own descendants. One Query, half a read \
            unit per 4 KB.",
        parameters: &[
            parameters::root,
            parameters::max_depth,
            parameters::from,
            parameters::to,
            parameters::limit,
            parameters::cursor,
            parameters::fields,
            parameters::consistent,
        ],
        body: None,
        answers: &[Answer::json::<Page<PathBody>>(200, "A page of nodes.").example(|| {
            json!({
                "items": [
                             {
                                 "id": "ne", "parent": "USA", "path": ["NE"], "depth": 1,
                                 "attributes": {"name": "Nebraska"},
                             },
                         ],
            })
        })],
        problems: problems::LIST,
    },
    Operation {
        id: "list_paths",
        method: Method::GET,
        path: "/paths/{root}/{path}",
        function: Reader(ReaderCall::ListPaths),
        tag: Tag::Read,
        summary: "List a subtree by path",
        description: "The nodes at a path, each followed by its descendants. With `from` or `to`, the nodes below \
            the path whose next segment lies between the two: zip codes 68100 to 68199 are \
            `/paths/USA/NE/OMAHA?from=68100&to=68199`. One Query, half a read unit per 4 KB.",
        parameters: &[
            parameters::root,
            parameters::path,
            parameters::max_depth,
            parameters::from,
            parameters::to,
            parameters::limit,
            parameters::cursor,
            parameters::fields,
            parameters::consistent,
        ],
        body: None,
        answers: &[Answer::json::<Page<PathBody>>(200, "A page of nodes.").example(|| {
            json!({
                "items": [
                             {
                                 "id": "68102", "parent": "omaha", "path": ["NE", "OMAHA", "68102"],
                                 "depth": 3, "attributes": {},
                             },
                         ],
            })
        })],
        problems: problems::LIST,
    },
    Operation {
        id: "get_fanout",
        method: Method::GET,
        path: "/nodes/{id}/fanout",
        function: Reader(ReaderCall::GetFanout),
        tag: Tag::Read,
        summary: "Tell whether derived rows are up to date",
        description: "Compares the rows that are derived from a node with its base record. Reads strongly: 1 read \
            unit per 4 KB of each ancestor and of each row.",
        parameters: &[parameters::id],
        body: None,
        answers: &[Answer::json::<FanoutBody>(200, "Whether the rows are up to date.").example(|| {
            json!({
                "up_to_date": true, "ancestors": 2, "missing": 0, "stale": 0,
            })
        })],
        problems: problems::LIST,
    },
];
