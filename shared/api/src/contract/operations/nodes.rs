//! The operations that write nodes.

use serde_json::json;

use super::{
    Answer, BEGUN, Body, CHANGED, CREATED, LOCATION, MOVED, Operation, PREFERENCE_APPLIED, SAVED, WRITTEN, parameters,
    problems, written,
};
use crate::contract::{
    Batch, BatchResults, CopyNode, CreateNode, NodeBody, OperationBody, PatchNode, ReplaceNode, RestoreNode,
};

pub(super) static OPERATIONS: [Operation; 8] = [
    of_writer!(POST CreateNode: "create_node", "/nodes" {
        summary: "Create a node",
        description: "Without an id the node gets a UUID. Costs 2 read units below a parent, and 1 write unit per KB. \
            With an id it costs 4 read units more (a root: 1), because a node that orphans wait for is created like a \
            move. The stream then writes a row for each of its ancestors, and its root row or path row, at 1 write \
            unit per KB. With a `position` (where siblings are ordered by hand) it costs 1 read unit for a Query and 1 for each of up to 3 siblings more, and \
            next to one of them a transaction: 2 write units per KB, and 2. A `revision` is written in a transaction with the node: 2 write units per KB of both, \
            and with an id of your own 1 read unit per 4 KB of the id's newest 25 revisions. \
            Where siblings have names of their own (`UniqueNames`) it is a \
            transaction as well, with 1 read unit more below a parent, and answers 409 if a sibling has the name: \
            `segment`, or the id. A `PUT` or a `PATCH` that gives the node another name or another parent is one, too, with 2 write units more for the name that it leaves.",
        parameters: &[parameters::WRITE, &[parameters::idempotency_key]],
        body: Some(Body::json::<CreateNode>(|| {
            json!({
                "example": {
                    "id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme", "credit": 12500.5},
                },
            })
        })),
        answers: &[
            Answer::json::<NodeBody>(201, "The node is created.")
                .headers(CREATED)
                .example(|| written(json!({
                    "id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme", "credit": 12500.5},
                }), false)),
            Answer::json::<NodeBody>(202, "The node is created, but its rows weren't up to date within the wait.")
                .headers(CREATED),
            Answer::minimal("The node is created (`return=minimal`).").headers(CREATED),
        ],
        problems: problems::PUT,
    }),
    of_writer!(PUT PutNode: "put_node", "/nodes/{id}" {
        summary: "Create or replace a node",
        description: "The parent is required (null for a root), so that no forgotten field makes a subtree's top a \
            root. Attributes that aren't named are deleted. A change of the parent is a move: the ancestor paths of \
            both parents are read strongly, and one transaction changes the parent and checks the nodes below the \
            lowest common ancestor. Costs 6 read units (a root: 1) and 1 write unit per KB. A move also reads 1 unit \
            per other node on both paths, and writes 2 units per KB and 2 for each node that it checks. The stream \
            then writes a row for each ancestor of each node that is affected. Without a `position` the node keeps the value by which it is ordered \
            by hand; with one it costs more, as in `POST /nodes`. So it does with a `revision`. Sent twice it makes two revisions, unless it has an `Idempotency-Key`.",
        parameters: &[&[parameters::id], parameters::WRITE, &[parameters::idempotency_key_of_revision]],
        body: Some(Body::json::<ReplaceNode>(
            || json!({"example": {"parent": "REGION#EU", "attributes": {"name": "Acme"}}}),
        )),
        answers: &[
            Answer::json::<NodeBody>(200, "The node is replaced.")
                .headers(CHANGED)
                .example(|| written(json!({
                    "id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"},
                }), true)),
            Answer::json::<NodeBody>(201, "The node is created.").headers(CREATED),
            Answer::json::<NodeBody>(202, "The node is written, but its rows weren't up to date within the wait.")
                .headers(SAVED),
            Answer::minimal(
                "The node is created or replaced (`return=minimal`). A node that is created has a `Location`.",
            )
            .headers(SAVED),
        ],
        problems: problems::PUT,
    }),
    of_writer!(PATCH PatchNode: "patch_node", "/nodes/{id}" {
        summary: "Change or move a node",
        description: "A JSON merge patch (RFC 7396): fields that aren't named keep their value and type. `parent` \
            moves the node with all its descendants, and null makes it a root. An attribute that is null is deleted \
            (`PUT` can store a null). `id` can't be changed (400). Costs 1 read unit and 1 write unit per KB. A \
            `parent` makes it cost the same as `PUT`, and a `position` more, as in `POST /nodes`. Both together are drag and drop. A `revision` costs more as well, and makes \
            the node be written even if nothing else changes. Sent twice it makes two revisions, unless the request has an `Idempotency-Key`.",
        parameters: &[&[parameters::id], parameters::WRITE, &[parameters::idempotency_key_of_revision]],
        body: Some(Body::merge_patch::<PatchNode>(|| {
            json!({
                "examples": {
                    "move": {"summary": "Move it", "value": {"parent": "REGION#US"}},
                    "position": {"summary": "Put it after a sibling", "value": {"position": {"after": "CUSTOMER#3"}}},
                    "uproot": {"summary": "Make it a root", "value": {"parent": null}},
                    "save": {
                        "summary": "Change it, and append a revision with it",
                        "value": {
                            "attributes": {"credit": 99.5},
                            "revision": {"topic": "Audit", "attributes": {"auditor": "Padma"}},
                        },
                    },
                    "change": {
                        "summary": "Change attributes",
                        "value": {"attributes": {"credit": 99.5, "address": {"zip": "68100"}, "note": null}},
                    },
                },
            })
        })),
        answers: &[
            Answer::json::<NodeBody>(200, "The node is changed.")
                .headers(MOVED)
                .example(|| written(json!({
                    "id": "CUSTOMER#7", "parent": "REGION#US", "attributes": {"name": "Acme", "credit": 99.5},
                }), true)),
            Answer::json::<NodeBody>(202, "The node is changed, but its rows weren't up to date within the wait.")
                .headers(MOVED),
            Answer::minimal("The node is changed (`return=minimal`).").headers(MOVED),
        ],
        problems: problems::CHANGE,
    }),
    of_writer!(DELETE DeleteNode: "delete_node", "/nodes/{id}" {
        summary: "Delete a node",
        description: "A node without children is deleted at once, at 4 read units, 2 write units per KB and 2 more. \
            With `children=delete`, `adopt` or `detach`, or with `revisions=delete`, the answer is an operation that \
            the stream carries out level by level. It costs 2 read units, 2 write units per KB and 2 more to begin, \
            and then those of each node that is deleted or moved and of its rows. From then on the node counts as \
            being deleted (409), and `GET` says so in `deleting`. With `Prefer: wait` the answer is held until the operation has ended \
            (204); each look costs what reading the operation costs. A node in the trash can't have its children adopted or \
            detached (409).",
        parameters: &[
            &[parameters::id, parameters::children, parameters::revisions, parameters::written_before],
            parameters::WRITE,
            &[parameters::idempotency_key],
        ],
        body: None,
        answers: &[
            Answer::empty(204, "The node is deleted.").headers(&[PREFERENCE_APPLIED, WRITTEN]),
            Answer::json::<OperationBody>(202, "The deletion has begun, and hasn't ended within the wait.")
                .headers(BEGUN)
                .example(|| {
                    json!({
                        "id": "019c2171-b1d5-7a4f-a90b-0f6d6f1f5d52", "status": "running", "mode": "delete",
                        "node": "CUSTOMER#7", "created_at": "2026-02-03T04:05:06.789Z",
                    })
                }),
        ],
        problems: problems::DELETE,
    }),
    of_writer!(POST TrashNode: "trash_node", "/nodes/{id}/trash" {
        summary: "Put a node into the trash",
        description: "The node and all that is below it go into the trash, until the node is restored or deleted (403 unless the deployment has one: \
            `TRASH`). It takes the rights to write and to delete. One write of the node, and what is below follows as in a move: 1 read unit (below a parent 3), and 1 write \
            unit per KB. A node that is in the trash already stays as it is.",
        parameters: &[&[parameters::id], parameters::WRITE, &[parameters::idempotency_key]],
        body: None,
        answers: &[
            Answer::json::<NodeBody>(200, "The node is in the trash.")
                .headers(MOVED)
                .example(|| written(json!({
                    "id": "CUSTOMER#7", "attributes": {"name": "Acme"},
                    "trashed": {"at": "2026-02-03T04:05:06.789Z", "by": "anna", "parent": "REGION#EU"},
                }), false)),
            Answer::json::<NodeBody>(202, "The node is in the trash, but its rows weren't up to date within the wait.")
                .headers(MOVED),
            Answer::minimal("The node is in the trash (`return=minimal`).").headers(MOVED),
        ],
        problems: problems::DELETE,
    }),
    of_writer!(POST RestoreNode: "restore_node", "/nodes/{id}/restore" {
        summary: "Take a node out of the trash",
        description: "The node goes back below the parent that it had, and all that is below it comes along. If that parent is gone, or another \
            node has its id, or it is in the trash itself, the answer is 409 (`no-way-back`): name another `parent`, or null for a root. \
            A node that is below one in the trash isn't restored but moved (`PATCH`). Restoring works whether `TRASH` is on or off. Costs 1 read unit \
            more than a move (`PATCH` with a `parent`).",
        parameters: &[&[parameters::id], parameters::WRITE, &[parameters::idempotency_key]],
        body: Some(
            Body::json::<RestoreNode>(|| {
                json!({
                    "examples": {
                        "back": {"summary": "Where it was", "value": {}},
                        "elsewhere": {"summary": "Below another parent", "value": {"parent": "REGION#US"}},
                        "root": {"summary": "As a root", "value": {"parent": null}},
                    },
                })
            })
            .optional(),
        ),
        answers: &[
            Answer::json::<NodeBody>(200, "The node is back.")
                .headers(MOVED)
                .example(|| written(json!({
                    "id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"},
                }), true)),
            Answer::json::<NodeBody>(202, "The node is back, but its rows weren't up to date within the wait.")
                .headers(MOVED),
            Answer::minimal("The node is back (`return=minimal`).").headers(MOVED),
        ],
        problems: problems::CHANGE,
    }),
    of_writer!(POST CopyNode: "copy_node", "/nodes/{id}/copy" {
        summary: "Copy a node with all that is below it",
        description: "The node at the top of the copy is created at once, and the stream copies what is below, parents before children: the operation \
            tells how far it is. Each node is copied once, as it is at its turn, so the copy isn't a snapshot: what moves to where the copy has been already, or \
            has no rows yet, isn't in it: create what you copy next with `Prefer: wait`. A copy has at most 10,000 nodes, and a tenant 20 copies at once. Attributes, segments, places and links are copied as they are; revisions aren't. A node that is copied below itself never \
            contains copies of its copies. The copies have ids of their own, and a request that is sent again with its `Idempotency-Key` makes no second copy. Costs what \
            `POST /nodes` costs, 3 read units more, twice the write units, and 2; each node below costs 5 read units and 2 write units per KB, and its rows.",
        parameters: &[&[parameters::id], parameters::WRITE, &[parameters::idempotency_key]],
        body: Some(
            Body::json::<CopyNode>(|| {
                json!({
                    "examples": {
                        "beside": {"summary": "Beside the node", "value": {}},
                        "elsewhere": {"summary": "Below another parent", "value": {"parent": "REGION#US"}},
                        "named": {
                            "summary": "As a root, with ids of one's own", "value": {"parent": null, "ids": "acme"},
                        },
                    },
                })
            })
            .optional(),
        ),
        answers: &[
            Answer::json::<OperationBody>(201, "The copy has ended, and what is copied is in the lists (`Prefer: wait`). `status` says whether it is whole.")
                .headers(&[LOCATION, PREFERENCE_APPLIED, WRITTEN])
                .example(|| {
                    json!({
                        "id": "019aa5c2-2be0-7d67-a2b0-0f4f3d9f5c77", "status": "done", "mode": "copy",
                        "node": "4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52", "source": "CUSTOMER#7", "copied": 4,
                        "created_at": "2026-02-03T04:05:06.789Z",
                    })
                }),
            Answer::json::<OperationBody>(202, "The copy has begun, and isn't made within the wait.")
                .headers(BEGUN)
                .example(|| {
                    json!({
                        "id": "019aa5c2-2be0-7d67-a2b0-0f4f3d9f5c77", "status": "running", "mode": "copy",
                        "node": "4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52", "source": "CUSTOMER#7", "copied": 1,
                        "created_at": "2026-02-03T04:05:06.789Z",
                    })
                }),
        ],
        problems: problems::CHANGE,
    }),
    of_writer!(POST Batch: "batch", "/batch" {
        summary: "Carry out up to 100 operations",
        description: "The operations are carried out in order, each on its own: a failure stops none of the others, \
            and a child may follow its parent. An operation whose values can't be kept fails alone. A batch of \
            another shape fails as a whole, before it begins. A batch has no entity tag, so one with `If-Match` or \
            `If-None-Match` is refused (412); its operations have an `if_match` of their own. Costs what its operations cost.",
        parameters: &[&[parameters::prefer, parameters::idempotency_key]],
        body: Some(Body::json::<Batch>(|| {
            json!({
                "example": {
                    "operations": [
                        {"put": {"id": "REGION#EU", "parent": null, "attributes": {"name": "Europe"}}},
                        {"put": {"id": "CUSTOMER#7", "parent": "REGION#EU", "attributes": {"name": "Acme"}}},
                        {
                            "patch": {
                                "id": "CUSTOMER#8", "parent": "REGION#EU", "if_match": "\"n0bY6ZyJHlVYBv8TQ2r6Yw\"",
                            },
                        },
                        {"delete": {"id": "CUSTOMER#9", "children": "adopt"}},
                        {"revision": {"id": "CUSTOMER#7", "topic": "Audit", "attributes": {"by": "anna"}}},
                    ],
                },
            })
        })),
        answers: &[
            Answer::json::<BatchResults>(200, "The results, in the order of the operations.")
                .headers(&[PREFERENCE_APPLIED])
                .example(|| {
                    json!({
                        "results": [
                            {
                                "status": 201, "location": "/nodes/REGION~23EU",
                                "body": {"id": "REGION#EU", "attributes": {"name": "Europe"}},
                            },
                            {
                                "status": 422,
                                "problem": {
                                    "type": "urn:sapwood:problem:parent-missing", "title": "Parent not found",
                                    "status": 422, "detail": "create the parent first", "field": "parent",
                                },
                            },
                        ],
                    })
                }),
            Answer::json::<BatchResults>(
                202,
                "The results, but not all rows were up to date, or not all deletions ended, within the wait.",
            )
            .headers(&[PREFERENCE_APPLIED]),
        ],
        problems: problems::PUT,
    }),
];
