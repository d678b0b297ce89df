//! The operations that write nodes.

use axum::http::Method;
use serde_json::json;

use super::Function::Writer;
use super::{Answer, Body, ETAG, LOCATION, OPERATION_LOCATION, Operation, PREFERENCE_APPLIED, Tag, WriterCall};
use super::{parameters, problems};
use crate::contract::{Batch, BatchResults, CreateNode, NodeBody, OperationBody, PatchNode, ReplaceNode};

pub(super) static OPERATIONS: [Operation; 6] = [
    Operation {
        id: "create_node",
        method: Method::POST,
        path: "/nodes",
        function: Writer(WriterCall::CreateNode),
        tag: Tag::Write,
        summary: "Create a node",
        description: "An id is made for the node if none is given. Costs 1 read unit for the parent and 1 write \
            unit per KB; with an id of the caller's, 1 read unit more (that something hangs under it already makes \
            it a move). The stream then writes a row for each of its ancestors, and its root row or path row, at 1 \
            write unit per KB.",
        parameters: &[parameters::if_match, parameters::if_none_match, parameters::prefer, parameters::idempotency_key],
        body: Some(Body::json::<CreateNode>(|| {
            json!({
                "example": {
                               "id": "CUSTOMER#7", "parent": "REGION#EU",
                               "attributes": {"name": "Acme", "credit": 12500.5},
                           },
            })
        })),
        answers: &[
            Answer::json::<NodeBody>(201, "It is created.").headers(&[LOCATION, ETAG, PREFERENCE_APPLIED]).example(
                || {
                    json!({
                        "id": "CUSTOMER#7", "parent": "REGION#EU",
                        "attributes": {"name": "Acme", "credit": 12500.5},
                        "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna",
                        "updated_at": "2026-02-03T04:05:06.789Z", "updated_by": "anna",
                    })
                },
            ),
            Answer::json::<NodeBody>(202, "It is created, and its rows aren't right yet after the wait.").headers(&[
                LOCATION,
                ETAG,
                PREFERENCE_APPLIED,
            ]),
        ],
        problems: problems::PUT,
    },
    Operation {
        id: "put_node",
        method: Method::PUT,
        path: "/nodes/{id}",
        function: Writer(WriterCall::PutNode),
        tag: Tag::Write,
        summary: "Create or replace a node",
        description: "The parent must be said (null for a root), so that no forgotten field uproots a subtree; \
            attributes that aren't named go. Another parent than it has makes this a move: the ways up from both \
            are read strongly, and one transaction changes the parent while it checks the nodes below the lowest \
            common ancestor. Costs 1 read unit for the node and one for the parent, and 1 write unit per KB; a move \
            reads 1 unit per node on both ways and writes 2 units per KB and 2 for each node that is checked. The \
            stream then writes a row for each ancestor of each node that is affected.",
        parameters: &[parameters::id, parameters::if_match, parameters::if_none_match, parameters::prefer],
        body: Some(Body::json::<ReplaceNode>(
            || json!({"example": {"parent": "REGION#EU", "attributes": {"name": "Acme"}}}),
        )),
        answers: &[
            Answer::json::<NodeBody>(200, "It is replaced.").headers(&[ETAG, PREFERENCE_APPLIED]).example(|| {
                json!({
                    "id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"},
                    "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna",
                    "updated_at": "2026-02-04T05:06:07.890Z", "updated_by": "ben",
                })
            }),
            Answer::json::<NodeBody>(201, "It is created.").headers(&[LOCATION, ETAG, PREFERENCE_APPLIED]),
            Answer::json::<NodeBody>(202, "It is written, and its rows aren't right yet after the wait.").headers(&[
                LOCATION,
                ETAG,
                PREFERENCE_APPLIED,
            ]),
        ],
        problems: problems::PUT,
    },
    Operation {
        id: "patch_node",
        method: Method::PATCH,
        path: "/nodes/{id}",
        function: Writer(WriterCall::PatchNode),
        tag: Tag::Write,
        summary: "Change or move a node",
        description: "A JSON merge patch (RFC 7396): what isn't named keeps its value and type. `parent` moves the \
            node with all that is below it, and null makes it a root; an attribute that is null goes (`PUT` can \
            store a null). `id` can't be changed: 400. Costs as `PUT` does.",
        parameters: &[parameters::id, parameters::if_match, parameters::if_none_match, parameters::prefer],
        body: Some(Body::merge_patch::<PatchNode>(|| {
            json!({
                "examples": {
                                "move": {"summary": "Move it", "value": {"parent": "REGION#US"}},
                                "uproot": {"summary": "Make it a root", "value": {"parent": null}},
                                "change": {
                                              "summary": "Change attributes",
                                              "value": {
                                                           "attributes": {
                                                                             "credit": 99.5,
                                                                             "address": {"zip": "68100"},
                                                                             "note": null,
                                                                         },
                                                       },
                                          },
                            },
            })
        })),
        answers: &[
            Answer::json::<NodeBody>(200, "It is changed.").headers(&[ETAG, PREFERENCE_APPLIED]).example(|| {
                json!({
                    "id": "CUSTOMER#7", "parent": "REGION#US", "attributes": {"name": "Acme", "credit": 99.5},
                    "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna",
                    "updated_at": "2026-02-04T05:06:07.890Z", "updated_by": "ben",
                })
            }),
            Answer::json::<NodeBody>(202, "It is changed, and its rows aren't right yet after the wait.")
                .headers(&[ETAG, PREFERENCE_APPLIED]),
        ],
        problems: problems::CHANGE,
    },
    Operation {
        id: "delete_node",
        method: Method::DELETE,
        path: "/nodes/{id}",
        function: Writer(WriterCall::DeleteNode),
        tag: Tag::Write,
        summary: "Delete a node",
        description: "Without children it is gone at once: 1 read unit and 1 write unit per KB. With \
            `children=delete`, `adopt` or `detach`, or `revisions=delete`, the answer is an operation that the \
            stream carries out, level by level: 2 write units to begin, then those of each node that is removed or \
            moved and of its rows. The node counts as being deleted from then on (409).",
        parameters: &[
            parameters::id,
            parameters::children,
            parameters::revisions,
            parameters::if_match,
            parameters::if_none_match,
        ],
        body: None,
        answers: &[
            Answer::empty(204, "It is deleted."),
            Answer::json::<OperationBody>(202, "Its removal is begun.").headers(&[OPERATION_LOCATION]).example(|| {
                json!({
                    "id": "4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52", "status": "running", "mode": "delete",
                    "node": "CUSTOMER#7", "created_at": "2026-02-03T04:05:06.789Z",
                })
            }),
        ],
        problems: problems::DELETE,
    },
    Operation {
        id: "get_operation",
        method: Method::GET,
        path: "/operations/{id}",
        function: Writer(WriterCall::GetOperation),
        tag: Tag::Write,
        summary: "How far a removal is",
        description: "Kept for 7 days. Costs 1 read unit for the operation and one for the node; where the node is \
            gone, a Query of what is left below it.",
        parameters: &[parameters::operation],
        body: None,
        answers: &[Answer::json::<OperationBody>(200, "How far it is.").example(|| {
            json!({
                "id": "4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52", "status": "done", "mode": "delete",
                "node": "CUSTOMER#7", "created_at": "2026-02-03T04:05:06.789Z",
            })
        })],
        problems: problems::LIST,
    },
    Operation {
        id: "batch",
        method: Method::POST,
        path: "/batch",
        function: Writer(WriterCall::Batch),
        tag: Tag::Write,
        summary: "Do up to 100 operations",
        description: "They are done in order, each on its own: one that fails stops none of the others, and a child \
            may follow its parent. An operation whose values can't be kept fails alone; a batch that isn't of this \
            shape fails as a whole, before it begins. A batch has no state of its own to compare, so one with \
            `If-Match` or `If-None-Match` is refused (412). Costs what its operations cost.",
        parameters: &[parameters::idempotency_key],
        body: Some(Body::json::<Batch>(|| {
            json!({
                "example": {
                               "operations": [
                                                 {
                                                     "put": {
                                                                "id": "REGION#EU", "parent": null,
                                                                "attributes": {"name": "Europe"},
                                                            },
                                                 },
                                                 {
                                                     "put": {
                                                                "id": "CUSTOMER#7", "parent": "REGION#EU",
                                                                "attributes": {"name": "Acme"},
                                                            },
                                                 },
                                                 {"patch": {"id": "CUSTOMER#8", "parent": "REGION#EU"}},
                                                 {"delete": {"id": "CUSTOMER#9", "children": "adopt"}},
                                                 {
                                                     "revision": {
                                                                     "id": "CUSTOMER#7", "topic": "Audit",
                                                                     "attributes": {"by": "anna"},
                                                                 },
                                                 },
                                             ],
                           },
            })
        })),
        answers: &[Answer::json::<BatchResults>(200, "What became of each, in their order.").example(|| {
            json!({
                "results": [
                               {
                                   "status": 201, "location": "/nodes/REGION~23EU",
                                   "body": {"id": "REGION#EU", "attributes": {"name": "Europe"}},
                               },
                               {
                                   "status": 422,
                                   "problem": {
                                                  "type": "urn:sapwood:problem:parent-missing",
                                                  "title": "The parent doesn't exist", "status": 422,
                                                  "detail": "create the parent first", "field": "parent",
                                              },
                               },
                           ],
            })
        })],
        problems: problems::PUT,
    },
];
