//! The operations on revisions.

use serde_json::json;

use super::{
    Answer, Body, CHANGED, CREATED, ETAG, Operation, PREFERENCE_APPLIED, WRITTEN, parameters, problems, written,
};
use crate::contract::{CreateRevision, LatestBody, RevisionBody};

pub(super) static OPERATIONS: [Operation; 8] = [
    of_writer!(POST AppendRevision: "append_revision", "/nodes/{id}/revisions/{topic}" {
        summary: "Append a revision",
        description: "The revision gets the next number of its topic. A node of this id need not exist. Costs 1 \
            read unit for the copy of the newest revision, 1 per 4 KB of the node's newest revisions, and 1 write unit \
            per KB. The stream then writes the `v0_` copy.",
        parameters: &[&[
            parameters::id,
            parameters::topic,
            parameters::if_newest,
            parameters::if_none_newest,
            parameters::prefer,
            parameters::idempotency_key,
        ]],
        body: Some(Body::json::<CreateRevision>(|| {
            json!({"example": {"attributes": {"by": "anna", "result": "passed"}}})
        })),
        answers: &[
            Answer::json::<RevisionBody>(201, "The revision is appended.")
                .headers(CREATED)
                .example(|| written(json!({
                    "id": "CUSTOMER#7", "topic": "Audit", "version": 3, "attributes": {"by": "anna", "result": "passed"},
                }), false)),
            Answer::json::<RevisionBody>(202, "The revision is appended, but wasn't copied within the wait.")
                .headers(CREATED),
            Answer::minimal("The revision is appended (`return=minimal`).").headers(CREATED),
        ],
        problems: problems::PUT,
    }),
    of_writer!(PUT AmendRevision: "amend_revision", "/nodes/{id}/revisions/{topic}/{version}" {
        summary: "Amend a revision",
        description: "Refused (403) unless the deployment allows it (`RevisionsMutable`), because audits are kept. \
            Costs 1 read unit and 1 write unit per KB.",
        parameters: &[&[parameters::id, parameters::topic, parameters::version], parameters::WRITE],
        body: Some(Body::json::<CreateRevision>(|| {
            json!({"example": {"attributes": {"by": "anna", "result": "failed"}}})
        })),
        answers: &[
            Answer::json::<RevisionBody>(200, "The revision is amended.").headers(CHANGED),
            Answer::json::<RevisionBody>(202, "The revision is amended, but wasn't copied within the wait.")
                .headers(CHANGED),
            Answer::minimal("The revision is amended (`return=minimal`)."),
        ],
        problems: problems::CHANGE,
    }),
    of_writer!(DELETE DeleteRevision: "remove_revision", "/nodes/{id}/revisions/{topic}/{version}" {
        summary: "Delete a revision",
        description: "Refused (403) unless the deployment allows it (`RevisionsMutable`). Costs 1 read unit and 1 \
            write unit per KB. The stream then copies the newest remaining revision.",
        parameters: &[
            &[parameters::id, parameters::topic, parameters::version],
            parameters::WRITE,
            &[parameters::idempotency_key],
        ],
        body: None,
        answers: &[Answer::empty(204, "The revision is deleted.").headers(&[PREFERENCE_APPLIED, WRITTEN])],
        problems: problems::DELETE,
    }),
    of_reader!(Read ListLatest: "list_latest", "/nodes/{id}/latest" {
        summary: "List the newest revision of each topic",
        description: "The copies that the stream has made, by topic. Half a read unit per 4 KB.",
        parameters: &[
            &[parameters::id, parameters::topic_prefix],
            parameters::PAGE,
            &[parameters::expand_record],
            parameters::READ,
        ],
        answers: &[Answer::page_of::<LatestBody>("A page of copies.")
            .example(|| json!({"items": [{"topic": "Audit", "version": 3, "attributes": {"by": "anna"}}]}))],
        problems: problems::LIST,
    }),
    of_reader!(Read GetLatest: "get_latest", "/nodes/{id}/latest/{topic}" {
        summary: "Read the newest revision of a topic",
        description: "The copy that the stream has made. Half a read unit per 4 KB.",
        parameters: &[
            &[parameters::id, parameters::topic, parameters::fields, parameters::expand_record],
            parameters::READ,
        ],
        answers: &[Answer::json::<LatestBody>(200, "The copy.").headers(&[PREFERENCE_APPLIED]).example(|| json!({
            "topic": "Audit", "version": 3, "attributes": {"by": "anna"},
        }))],
        problems: problems::LIST,
    }),
    of_reader!(Read ListRevisions: "list_revisions", "/nodes/{id}/revisions" {
        summary: "List the revisions of all topics",
        description: "The revisions by version, then topic. One Query, half a read unit per 4 KB.",
        parameters: &[&[parameters::id, parameters::order], parameters::PAGE, parameters::READ],
        answers: &[Answer::page_of::<RevisionBody>("A page of revisions.")],
        problems: problems::LIST,
    }),
    of_reader!(Read ListTopic: "list_topic", "/nodes/{id}/revisions/{topic}" {
        summary: "List the revisions of a topic",
        description: "The revisions by version. One Query if the id has few topics. With many topics the revisions \
            are read by number, 100 a call. Half a read unit per 4 KB, and at least half a unit per revision.",
        parameters: &[&[parameters::id, parameters::topic, parameters::order], parameters::PAGE, parameters::READ],
        answers: &[Answer::page_of::<RevisionBody>("A page of revisions.")
            .example(|| {
                json!({
                    "items": [{"id": "CUSTOMER#7", "topic": "Audit", "version": 3, "attributes": {"by": "anna"}}],
                    "cursor": "AYz5",
                })
            })],
        problems: problems::LIST,
    }),
    of_reader!(Read GetRevision: "get_revision", "/nodes/{id}/revisions/{topic}/{version}" {
        summary: "Read a revision",
        description: "Half a read unit per 4 KB.",
        parameters: &[
            &[parameters::id, parameters::topic, parameters::version, parameters::fields],
            parameters::READ,
            &[parameters::if_match, parameters::known],
        ],
        answers: &[Answer::json::<RevisionBody>(200, "The revision.").headers(&[ETAG, PREFERENCE_APPLIED])
            .example(|| written(json!({
                "id": "CUSTOMER#7", "topic": "Audit", "version": 3, "attributes": {"by": "anna"},
            }), false))],
        problems: problems::THING,
    }),
];
