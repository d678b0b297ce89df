//! The operations on revisions.

use axum::http::Method;
use serde_json::json;

use super::Function::{Reader, Writer};
use super::{Answer, Body, ETAG, LINK, LOCATION, Operation, PREFERENCE_APPLIED, ReaderCall, Tag, WRITTEN, WriterCall};
use super::{parameters, problems};
use crate::contract::{CreateRevision, LatestBody, Page, RevisionBody};

pub(super) static OPERATIONS: [Operation; 8] = [
    Operation {
        id: "append_revision",
        method: Method::POST,
        path: "/nodes/{id}/revisions/{topic}",
        function: Writer(WriterCall::AppendRevision),
        tag: Tag::Write,
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
            json!({
                "example": {"attributes": {"by": "anna", "result": "passed"}},
            })
        })),
        answers: &[
            Answer::json::<RevisionBody>(201, "The revision is appended.")
                .headers(&[LOCATION, ETAG, PREFERENCE_APPLIED, WRITTEN])
                .example(|| {
                    json!({
                        "id": "CUSTOMER#7", "topic": "Audit", "version": 3,
                        "attributes": {"by": "anna", "result": "passed"}, "created_at": "2026-02-03T04:05:06.789Z",
                        "created_by": "anna", "updated_at": "2026-02-03T04:05:06.789Z", "updated_by": "anna",
                    })
                }),
            Answer::json::<RevisionBody>(202, "The revision is appended, but wasn't copied within the wait.")
                .headers(&[LOCATION, ETAG, PREFERENCE_APPLIED, WRITTEN]),
            Answer::minimal("The revision is appended (`return=minimal`).").headers(&[
                LOCATION,
                ETAG,
                PREFERENCE_APPLIED,
                WRITTEN,
            ]),
        ],
        problems: problems::PUT,
    },
    Operation {
        id: "amend_revision",
        method: Method::PUT,
        path: "/nodes/{id}/revisions/{topic}/{version}",
        function: Writer(WriterCall::AmendRevision),
        tag: Tag::Write,
        summary: "Amend a revision",
        description: "Refused (403) unless the deployment allows it (`RevisionsMutable`), because audits are kept. \
            Costs 1 read unit and 1 write unit per KB.",
        parameters: &[&[parameters::id, parameters::topic, parameters::version], parameters::WRITE],
        body: Some(Body::json::<CreateRevision>(|| {
            json!({
                "example": {"attributes": {"by": "anna", "result": "failed"}},
            })
        })),
        answers: &[
            Answer::json::<RevisionBody>(200, "The revision is amended.").headers(&[ETAG, PREFERENCE_APPLIED, WRITTEN]),
            Answer::json::<RevisionBody>(202, "The revision is amended, but wasn't copied within the wait.")
                .headers(&[ETAG, PREFERENCE_APPLIED, WRITTEN]),
            Answer::minimal("The revision is amended (`return=minimal`)."),
        ],
        problems: problems::CHANGE,
    },
    Operation {
        id: "remove_revision",
        method: Method::DELETE,
        path: "/nodes/{id}/revisions/{topic}/{version}",
        function: Writer(WriterCall::DeleteRevision),
        tag: Tag::Write,
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
    },
    Operation {
        id: "list_latest",
        method: Method::GET,
        path: "/nodes/{id}/latest",
        function: Reader(ReaderCall::ListLatest),
        tag: Tag::Read,
        summary: "List the newest revision of each topic",
        description: "The copies that the stream has made, by topic. Half a read unit per 4 KB.",
        parameters: &[
            &[parameters::id, parameters::topic_prefix],
            parameters::PAGE,
            &[parameters::expand_record],
            parameters::READ,
        ],
        body: None,
        answers: &[Answer::json::<Page<LatestBody>>(200, "A page of copies.")
            .headers(&[LINK, PREFERENCE_APPLIED])
            .example(|| {
                json!({
                    "items": [{"topic": "Audit", "version": 3, "attributes": {"by": "anna"}}],
                })
            })],
        problems: problems::LIST,
    },
    Operation {
        id: "get_latest",
        method: Method::GET,
        path: "/nodes/{id}/latest/{topic}",
        function: Reader(ReaderCall::GetLatest),
        tag: Tag::Read,
        summary: "Read the newest revision of a topic",
        description: "The copy that the stream has made. Half a read unit per 4 KB.",
        parameters: &[
            &[parameters::id, parameters::topic, parameters::fields, parameters::expand_record],
            parameters::READ,
        ],
        body: None,
        answers: &[Answer::json::<LatestBody>(200, "The copy.").headers(&[PREFERENCE_APPLIED]).example(|| {
            json!({
                "topic": "Audit", "version": 3, "attributes": {"by": "anna"},
            })
        })],
        problems: problems::LIST,
    },
    Operation {
        id: "list_revisions",
        method: Method::GET,
        path: "/nodes/{id}/revisions",
        function: Reader(ReaderCall::ListRevisions),
        tag: Tag::Read,
        summary: "List the revisions of all topics",
        description: "The revisions by version, then topic. One Query, half a read unit per 4 KB.",
        parameters: &[&[parameters::id, parameters::order], parameters::PAGE, parameters::READ],
        body: None,
        answers: &[Answer::json::<Page<RevisionBody>>(200, "A page of revisions.").headers(&[LINK, PREFERENCE_APPLIED])],
        problems: problems::LIST,
    },
    Operation {
        id: "list_topic",
        method: Method::GET,
        path: "/nodes/{id}/revisions/{topic}",
        function: Reader(ReaderCall::ListTopic),
        tag: Tag::Read,
        summary: "List the revisions of a topic",
        description: "The revisions by version. One Query if the id has few topics. With many topics the revisions \
            are read by number, 100 a call. Half a read unit per 4 KB, and at least half a unit per revision.",
        parameters: &[&[parameters::id, parameters::topic, parameters::order], parameters::PAGE, parameters::READ],
        body: None,
        answers: &[Answer::json::<Page<RevisionBody>>(200, "A page of revisions.")
            .headers(&[LINK, PREFERENCE_APPLIED])
            .example(|| {
                json!({
                    "items": [{"id": "CUSTOMER#7", "topic": "Audit", "version": 3, "attributes": {"by": "anna"}}],
                    "cursor": "AYz5",
                })
            })],
        problems: problems::LIST,
    },
    Operation {
        id: "get_revision",
        method: Method::GET,
        path: "/nodes/{id}/revisions/{topic}/{version}",
        function: Reader(ReaderCall::GetRevision),
        tag: Tag::Read,
        summary: "Read a revision",
        description: "Half a read unit per 4 KB.",
        parameters: &[
            &[parameters::id, parameters::topic, parameters::version, parameters::fields],
            parameters::READ,
            &[parameters::if_match, parameters::known],
        ],
        body: None,
        answers: &[Answer::json::<RevisionBody>(200, "The revision.").headers(&[ETAG, PREFERENCE_APPLIED]).example(
            || {
                json!({
                    "id": "CUSTOMER#7", "topic": "Audit", "version": 3, "attributes": {"by": "anna"},
                    "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna",
                    "updated_at": "2026-02-03T04:05:06.789Z", "updated_by": "anna",
                })
            },
        )],
        problems: problems::THING,
    },
];
