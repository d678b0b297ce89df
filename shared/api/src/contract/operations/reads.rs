//! The operations that read nodes and trees.

use serde_json::json;

use super::{Answer, ETAG_OF_NODE, LINK, Operation, PREFERENCE_APPLIED, parameters, problems, written};
use crate::contract::{
    AncestorBody, ChangeBody, ChangesBody, CountBody, DescendantBody, GrantedBody, InheritedBody, LinkBody, NodeBody,
    NodesBody, OperationBody, PathBody, PropagationBody, RootBody, TotalsBody, TrashBody, TreeBody,
};

pub(super) static OPERATIONS: [Operation; 20] = [
    of_reader!(Read ListRoots: "list_roots", "/roots" {
        summary: "List all roots",
        description: "The roots by id, if the deployment keeps root rows (`RootRows`, on by default; 404 without \
            them); with `order`, in their order, if it keeps one (`OrderAttribute`; 404 without it). One Query, half a read unit per 4 KB. With `order_by` \
            each page reads all roots, unless the deployment keeps this order.",
        parameters: &[
            parameters::SORTED,
            parameters::PAGE,
            &[parameters::expand_record, parameters::totals, parameters::conditions],
            parameters::READ,
        ],
        answers: &[Answer::page_of::<RootBody>("A page of roots.")
            .example(|| json!({"items": [{"id": "REGION#EU", "attributes": {"name": "Europe"}}]}))],
        problems: problems::ROOTS,
    }),
    of_reader!(Read ListTrash: "list_trash", "/trash" {
        summary: "List the trash",
        description: "What was put into the trash, the newest first. What is below such a node has no entry: read the node's children or \
            descendants. One Query, half a read unit per 4 KB.",
        parameters: &[
            &[parameters::order_of_trash],
            parameters::PAGE,
            &[parameters::expand_record, parameters::conditions],
            parameters::READ,
        ],
        answers: &[Answer::page_of::<TrashBody>("A page of the trash.")
            .example(|| {
                json!({
                    "items": [
                        {
                            "id": "CUSTOMER#7", "attributes": {"name": "Acme"},
                            "trashed": {"at": "2026-02-03T04:05:06.789Z", "by": "anna", "parent": "REGION#EU"},
                        },
                    ],
                })
            })],
        problems: problems::SEVERAL,
    }),
    of_reader!(Read GetNode: "get_node", "/nodes/{id}" {
        summary: "Read a node",
        description: "Half a read unit per 4 KB. With `expand`, the units of the lists that it names on top; the answer then has the \
            node's entity tag in its body, because the header would name the whole answer.",
        parameters: &[
            &[parameters::id, parameters::expand, parameters::fields],
            parameters::READ,
            &[parameters::if_match, parameters::known],
        ],
        answers: &[Answer::json::<NodeBody>(200, "The node.").headers(&[ETAG_OF_NODE, PREFERENCE_APPLIED])
            .example(|| written(json!({
                "id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"},
            }), false))],
        problems: problems::THING,
    }),
    of_reader!(Read GetNodes: "get_nodes", "/nodes" {
        summary: "Read several nodes",
        description: "The nodes of these ids, in their order, each with its entity tag, and the ids that there is no node of (`missing`). Half a read \
            unit per 4 KB of each node, and half a unit for each id without one.",
        parameters: &[&[parameters::ids, parameters::cursor, parameters::fields], parameters::READ],
        answers: &[Answer::json::<NodesBody>(200, "A page of nodes.").headers(&[LINK, PREFERENCE_APPLIED]).example(
            || {
                json!({
                    "items": [
                        {
                            "id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"},
                            "etag": "\"n0bY6ZyJHlVYBv8TQ2r6Yw\"",
                        },
                    ],
                    "missing": ["CUSTOMER#8"],
                })
            },
        )],
        problems: problems::SEVERAL,
    }),
    of_reader!(Read ListAncestors: "list_ancestors", "/nodes/{id}/ancestors" {
        summary: "List the ancestors of a node",
        description: "The ancestors, nearest first. One call, at half a read unit per 4 KB of the node and of its \
            lineage. With `fields` another call, at half a unit for each ancestor.",
        parameters: &[&[parameters::id], parameters::PAGE, &[parameters::expand_record], parameters::READ],
        answers: &[Answer::page_of::<AncestorBody>("A page of ancestors.")
            .example(|| json!({"items": [{"id": "REGION#EU", "depth": 1}, {"id": "WORLD", "depth": 2}]}))],
        problems: problems::LIST,
    }),
    of_reader!(Read GetInherited: "get_inherited", "/nodes/{id}/inherited" {
        summary: "Read values that a node inherits",
        description: "The values of attributes that the node has by itself or from the nodes above it, each with the node that has it. It is right by base \
            records: a move counts at once, however far behind the rows are, so there is neither `consistent` nor `written`. Two requests, \
            1 read unit per 4 KB of each record on the way up and of the node's lineage, whichever attributes are asked for. Where nodes on \
            the way up have moved just now, up to two requests and 100 units more for each.",
        parameters: &[&[parameters::id, parameters::inherited_attributes, parameters::mode, parameters::prefer_read]],
        answers: &[Answer::json::<InheritedBody>(200, "The values.").headers(&[PREFERENCE_APPLIED]).example(|| {
            json!({
                "id": "d",
                "nearest": {
                    "owner": {"value": "ada", "from": "V", "levels_up": 1},
                    "quota": {"value": 20, "from": "D", "levels_up": 2},
                },
                "above": {"levels": 2, "top": "D", "ends": "root", "in_trash": false, "deleting": false},
            })
        })],
        problems: problems::STATE,
    }),
    of_reader!(Read GetGranted: "get_granted", "/nodes/{id}/granted" {
        summary: "Ask whether a node is granted to somebody",
        description: "True if the node, or one above it, names one of the principals in an attribute, and by which records. There are no rules that deny. In the \
            trash nothing is granted, unless `in_trash=true`. It is right by base records, with the costs of the values that a node \
            inherits: two requests, 1 read unit per 4 KB of each record on the way up and of the node's lineage.",
        parameters: &[&[
            parameters::id,
            parameters::granting_attribute,
            parameters::principals,
            parameters::in_trash,
            parameters::prefer_read,
        ]],
        answers: &[Answer::json::<GrantedBody>(200, "Whether it is granted.").headers(&[PREFERENCE_APPLIED]).example(
            || {
                json!({
                    "id": "d", "allowed": true, "by": [{"id": "V", "levels_up": 1, "principals": ["GROUP#ops"]}],
                    "above": {"levels": 2, "top": "D", "ends": "root", "in_trash": false, "deleting": false},
                })
            },
        )],
        problems: problems::STATE,
    }),
    of_reader!(Read ListChildren: "list_children", "/nodes/{id}/children" {
        summary: "List the children of a node",
        description: "The children by id; with `order`, in their order, if the deployment keeps one (`OrderAttribute`; 404 without it). If the node \
            doesn't exist, the list has the orphans that wait for it, and may be empty. One Query, half a read unit per 4 KB. With `order_by` \
            each page reads all children, unless the deployment keeps this order.",
        parameters: &[
            &[parameters::id],
            parameters::SORTED,
            parameters::PAGE,
            &[parameters::expand_record, parameters::totals, parameters::conditions],
            parameters::READ,
        ],
        answers: &[Answer::page_of::<DescendantBody>("A page of children.")
            .example(|| {
                json!({
                    "items": [{"id": "CUSTOMER#7", "parent": "REGION#EU", "depth": 1, "attributes": {"name": "Acme"}}],
                })
            })],
        problems: problems::LIST,
    }),
    of_reader!(Read ListDescendants: "list_descendants", "/nodes/{id}/descendants" {
        summary: "List the descendants of a node",
        description: "The descendants by depth, then id. With `min_depth=0` the node itself comes first. \
            `id_prefix` with one level is a query by type. If the node doesn't exist, the list has the orphans that \
            wait for it (404 if there are none). One Query for any number of levels, half a read unit per 4 KB.",
        parameters: &[
            &[parameters::id, parameters::min_depth, parameters::max_depth_of_window, parameters::id_prefix],
            parameters::PAGE,
            &[parameters::expand_record, parameters::conditions],
            parameters::READ,
        ],
        answers: &[Answer::page_of::<DescendantBody>("A page of descendants.")
            .example(|| {
                json!({
                    "items": [{"id": "CUSTOMER#7", "parent": "REGION#EU", "depth": 1, "attributes": {"name": "Acme"}}],
                    "cursor": "AYz5",
                })
            })],
        problems: problems::LIST,
    }),
    of_reader!(Read ListLinks: "list_links", "/nodes/{id}/links/{attribute}" {
        summary: "List the nodes that link to a node",
        description: "The nodes that name this id in an attribute, by their ids, if the deployment keeps links by it (`LinkAttributes`; 404 \
            without them). The id needn't be a node's: it can be a tag, or a principal that grants name. With `ancestor_prefix=CUSTOMER%23&distinct=ancestor`, all customers \
            who ordered a product. One Query, half a read unit per 4 KB. With `ancestor_prefix` or `distinct` a Query reads up to ten links \
            for each item that the page has room for, and a page can be followed by an empty one. The same goes for `below`, with the units \
            of the nodes above that node.",
        parameters: &[
            &[
                parameters::id,
                parameters::attribute,
                parameters::id_prefix_of_links,
                parameters::ancestors,
                parameters::ancestor_prefix,
                parameters::distinct,
                parameters::around,
            ],
            parameters::PAGE,
            &[parameters::expand_record, parameters::conditions],
            parameters::READ,
        ],
        answers: &[Answer::page_of::<LinkBody>("A page of nodes.")
            .example(|| {
                json!({
                    "items": [
                        {
                            "id": "ITEM#ABC", "parent": "ORDER#98765", "ancestors": ["CUSTOMER#7"],
                            "attributes": {"product": "PRODUCT#mouse", "quantity": 1},
                        },
                    ],
                })
            })],
        problems: problems::LIST,
    }),
    of_reader!(Read GetTree: "get_tree", "/nodes/{id}/tree" {
        summary: "Read a node with its descendants, nested",
        description: "The node with its children, each with its own. A tree of more than 5,000 nodes or 5 MB is \
            cut, and continues on the next page. Half a read unit per 4 KB.",
        parameters: &[
            &[parameters::id, parameters::max_depth, parameters::cursor, parameters::fields],
            parameters::READ,
        ],
        answers: &[Answer::json::<TreeBody>(200, "The tree.").headers(&[LINK, PREFERENCE_APPLIED]).example(|| {
            json!({
                "id": "REGION#EU", "depth": 0, "attributes": {"name": "Europe"},
                "children": [
                    {
                        "id": "CUSTOMER#7", "parent": "REGION#EU", "depth": 1, "attributes": {"name": "Acme"},
                        "children": [],
                    },
                ],
            })
        })],
        problems: problems::LIST,
    }),
    of_reader!(Read GetTotals: "get_totals", "/nodes/{id}/totals" {
        summary: "Read how many nodes are below a node, and what their numbers add up to",
        description: "The totals of a node, if the deployment keeps them (`Totals`; 404 without it). They follow the rows, a moment later, and are exact: each node is \
            in them once. What is in the trash isn't in them. One round trip, 1.5 read units however much is below.",
        parameters: &[&[parameters::id, parameters::consistent, parameters::prefer_read]],
        answers: &[Answer::json::<TotalsBody>(200, "The totals.")
            .headers(&[PREFERENCE_APPLIED])
            .example(|| json!({"count": 1110, "children": 10, "sums": {"size": 5532.5}, "left_out": 0}))],
        problems: problems::STATE,
    }),
    of_reader!(Read CountDescendants: "count_descendants", "/nodes/{id}/count" {
        summary: "Count the descendants of a node",
        description: "Costs as much as their list: half a read unit per 4 KB of rows. A call reads at most 20 MB of rows. If there are more, \
            the answer has a `cursor`; count on from there, and add the counts.",
        parameters: &[
            &[parameters::id, parameters::min_depth, parameters::max_depth_of_window, parameters::cursor],
            parameters::READ,
        ],
        answers: &[Answer::json::<CountBody>(200, "The number of descendants.")
            .headers(&[LINK, PREFERENCE_APPLIED])
            .example(|| json!({"count": 1204}))],
        problems: problems::LIST,
    }),
    of_reader!(Read ListChanges: "list_changes", "/nodes/{id}/changes" {
        summary: "Follow the changes of a tree",
        description: "First the nodes of the tree, then what has changed since, if the deployment keeps feeds (`Changes`; 409 without it). Each node is shown \
            as it is now; null means that it isn't in the tree. Neither order nor repetitions matter. Ask again with the `cursor`: at once while `has_more` is true, \
            later otherwise. Answers stay 6 seconds behind. A page costs 1 read unit per 4 KB of entries and 2 per node; a look that finds nothing costs half a unit. \
            Answers 410 if the tree must be listed anew.",
        parameters: &[&[
            parameters::id, parameters::limit_of_changes, parameters::cursor_of_changes, parameters::prefer_changes,
        ]],
        answers: &[Answer::json::<ChangesBody>(200, "A page of the feed.").headers(&[PREFERENCE_APPLIED]).example(|| {
            json!({
                "changes": [
                    {"id": "CUSTOMER#7", "node": {"id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"}}},
                    {"id": "CUSTOMER#8", "node": null},
                ],
                "cursor": "AWF0rw5fbuHwTpFPIFnBbIKetw", "has_more": false,
            })
        })],
        problems: problems::FEED,
    }),
    of_reader!(Read ListRecent: "list_recent", "/nodes/{id}/recent" {
        summary: "List what changed lately in a tree",
        description: "The nodes of a root's tree that changed in the last 30 days, the latest first, if the deployment keeps feeds (`Changes`; 409 without it). A node is \
            once on a page, as it is now; it can come again on the next. It is for people: `GET /nodes/{id}/changes` misses nothing. Half a read unit \
            per 4 KB of entries, and 1 per node.",
        parameters: &[&[
            parameters::id, parameters::limit_of_changes, parameters::cursor, parameters::prefer_read,
        ]],
        answers: &[Answer::page_of::<ChangeBody>("A page of changes.").example(|| {
            json!({"items": [{
                "id": "CUSTOMER#7", "at": "2026-02-03T04:05:06.789Z",
                "node": {"id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"}},
            }]})
        })],
        problems: problems::RECENT,
    }),
    of_reader!(Read ListPaths: "list_paths", "/paths/{root}" {
        summary: "List a tree, or a subtree, by path",
        description: "All descendants of a root, each node followed by its own descendants; with `path`, those at a path. One Query, half a \
            read unit per 4 KB.",
        parameters: &[
            &[parameters::root, parameters::path_of_query, parameters::max_depth, parameters::from, parameters::to],
            parameters::PAGE,
            &[parameters::expand_record],
            parameters::READ,
        ],
        answers: &[Answer::page_of::<PathBody>("A page of nodes.")
            .example(|| {
                json!({
                    "items": [
                        {"id": "ne", "parent": "USA", "path": ["NE"], "depth": 1, "attributes": {"name": "Nebraska"}},
                    ],
                })
            })],
        problems: problems::LIST,
    }),
    of_reader!(Read ListPathsByUrl: "list_paths_by_url", "/paths/{root}/{path}" {
        summary: "List a subtree by path, in the URL",
        description: "The same as `/paths/{root}` with `path`, for people who write URLs. The nodes at a path, each followed by its descendants. With `from` or `to`, the nodes below \
            the path whose next segment lies between the two: zip codes 68100 to 68199 are \
            `/paths/USA/NE/OMAHA?from=68100&to=68199`. One Query, half a read unit per 4 KB.",
        parameters: &[
            &[parameters::root, parameters::path, parameters::max_depth, parameters::from, parameters::to],
            parameters::PAGE,
            &[parameters::expand_record],
            parameters::READ,
        ],
        answers: &[Answer::page_of::<PathBody>("A page of nodes.")
            .example(|| {
                json!({
                    "items": [
                        {
                            "id": "68102", "parent": "omaha", "path": ["NE", "OMAHA", "68102"], "depth": 3,
                            "attributes": {},
                        },
                    ],
                })
            })],
        problems: problems::LIST,
    }),
    of_reader!(Read ListOperations: "list_operations", "/operations" {
        summary: "List the deletions and copies that the stream carries out",
        description: "The operations of the last 7 days, the newest first, each with how far it is. Half a read unit per 4 KB, and for each operation what \
            reading it costs. With `status`, a page can have fewer items than `limit`, or none, and a `cursor` all the same.",
        parameters: &[&[parameters::status, parameters::limit_of_operations, parameters::cursor]],
        answers: &[Answer::page_of::<OperationBody>("A page of operations.")
            .example(|| {
                json!({
                    "items": [
                        {
                            "id": "4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52", "status": "running", "mode": "delete",
                            "node": "CUSTOMER#7", "created_at": "2026-02-03T04:05:06.789Z",
                        },
                    ],
                })
            })],
        problems: problems::QUESTION,
    }),
    of_reader!(Read GetOperation: "get_operation", "/operations/{id}" {
        summary: "Tell how far a deletion or a copy is",
        description: "An operation is kept for 7 days. Costs 1 read unit for the operation, more while copies are under way, and 1 for the node. \
            After the node is deleted, it costs a Query of what is left below it.",
        parameters: &[&[parameters::operation]],
        answers: &[Answer::json::<OperationBody>(200, "The operation.").example(|| {
            json!({
                "id": "4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52", "status": "done", "mode": "delete", "node": "CUSTOMER#7",
                "created_at": "2026-02-03T04:05:06.789Z",
            })
        })],
        problems: problems::STATE,
    }),
    of_reader!(Read GetPropagation: "get_propagation", "/nodes/{id}/propagation" {
        summary: "Tell whether derived rows are up to date, and how far a move is",
        description: "Compares the rows that are derived from a node with its base record. Reads strongly: 1 read \
            unit per 4 KB of each ancestor and of each row.",
        parameters: &[&[parameters::id, parameters::below, parameters::cursor_of_below]],
        answers: &[Answer::json::<PropagationBody>(200, "Whether the rows are up to date.").example(|| {
            json!({
                "up_to_date": true, "ancestors": 2, "missing": 0, "stale": 0,
                "below": {"up_to_date": false, "placed": 311, "deepest": 4, "cursor": "AYz5"},
            })
        })],
        problems: problems::STATE,
    }),
];
