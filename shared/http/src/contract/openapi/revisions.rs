//! The calls about revisions.

use super::params::{
    Fields, Idempotency, Known, OfNode, OfRevision, OfTopic, Order, Paging, Preconditions, Prefer, Strongly,
    TopicPrefix,
};
use super::problems::{OfChange, OfDelete, OfList, OfPut, OfThing};
use crate::contract::{CreateRevision, LatestBody, Page, RevisionBody};

/// Append a revision
///
/// It gets the next number of its topic; there needn't be a node of this id. Costs 1 read unit (the newest revision) and
/// 1 write unit per KB; the stream then writes the `v0_` copy.
#[utoipa::path(
    post, path = "/nodes/{id}/revisions/{topic}", tag = "Write",
    params(OfTopic, Preconditions, Prefer, Idempotency),
    request_body(content = CreateRevision, example = json!({"attributes": {"by": "anna", "result": "passed"}})),
    responses(
        (status = 201, description = "It is appended.", body = RevisionBody,
            headers(("Location" = String, description = "Where it is."), ("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept.")),
            example = json!({"id": "CUSTOMER#7", "topic": "Audit", "version": 3, "attributes": {"by": "anna", "result": "passed"}, "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna", "updated_at": "2026-02-03T04:05:06.789Z", "updated_by": "anna"})),
        (status = 202, description = "It is appended, and isn't copied yet after the wait.", body = RevisionBody,
            headers(("Location" = String, description = "Where it is."), ("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept."))),
        OfPut,
    )
)]
fn append_revision() {}

/// Amend a revision
///
/// Refused (403) unless the deployment allows it (`REVISIONS_MUTABLE`): audits are kept. Costs 1 read unit and 1 write unit
/// per KB.
#[utoipa::path(
    put, path = "/nodes/{id}/revisions/{topic}/{version}", tag = "Write",
    params(OfRevision, Preconditions, Prefer),
    request_body(content = CreateRevision, example = json!({"attributes": {"by": "anna", "result": "failed"}})),
    responses(
        (status = 200, description = "It is amended.", body = RevisionBody,
            headers(("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept."))),
        (status = 202, description = "It is amended, and isn't copied yet after the wait.", body = RevisionBody,
            headers(("ETag" = String, description = "Its entity tag."), ("Preference-Applied" = String, description = "The wait that was kept."))),
        OfChange,
    )
)]
fn amend_revision() {}

/// Remove a revision
///
/// Refused (403) unless the deployment allows it (`REVISIONS_MUTABLE`). Costs 1 read unit and 1 write unit per KB; the
/// stream then copies the newest one that is left.
#[utoipa::path(
    delete, path = "/nodes/{id}/revisions/{topic}/{version}", tag = "Write",
    params(OfRevision, Preconditions),
    responses((status = 204, description = "It is removed."), OfDelete)
)]
fn remove_revision() {}

/// The newest revision of every topic
///
/// By topic, as the stream has copied them. Half a read unit per 4 KB.
#[utoipa::path(
    get, path = "/nodes/{id}/latest", tag = "Read",
    params(OfNode, TopicPrefix, Paging, Fields, Strongly),
    responses(
        (status = 200, description = "A page of them.", body = Page<LatestBody>,
            example = json!({"items": [{"topic": "Audit", "version": 3, "attributes": {"by": "anna"}}]})),
        OfList,
    )
)]
fn list_latest() {}

/// The newest revision of a topic
///
/// As the stream has copied it. Half a read unit per 4 KB.
#[utoipa::path(
    get, path = "/nodes/{id}/latest/{topic}", tag = "Read",
    params(OfTopic, Fields, Strongly),
    responses(
        (status = 200, description = "Its copy.", body = LatestBody, example = json!({"topic": "Audit", "version": 3, "attributes": {"by": "anna"}})),
        OfList,
    )
)]
fn get_latest() {}

/// The history of all topics
///
/// By version, then topic. One Query, half a read unit per 4 KB.
#[utoipa::path(
    get, path = "/nodes/{id}/revisions", tag = "Read",
    params(OfNode, Order, Paging, Fields, Strongly),
    responses((status = 200, description = "A page of revisions.", body = Page<RevisionBody>), OfList)
)]
fn list_revisions() {}

/// The history of a topic
///
/// By version. One Query with few topics; with many, the revisions are read by number, 100 a call. Half a read unit per
/// 4 KB, at least half a unit per revision.
#[utoipa::path(
    get, path = "/nodes/{id}/revisions/{topic}", tag = "Read",
    params(OfTopic, Order, Paging, Fields, Strongly),
    responses(
        (status = 200, description = "A page of revisions.", body = Page<RevisionBody>,
            example = json!({"items": [{"id": "CUSTOMER#7", "topic": "Audit", "version": 3, "attributes": {"by": "anna"}}], "cursor": "AYz5"})),
        OfList,
    )
)]
fn list_topic() {}

/// One revision
///
/// Half a read unit per 4 KB.
#[utoipa::path(
    get, path = "/nodes/{id}/revisions/{topic}/{version}", tag = "Read",
    params(OfRevision, Fields, Strongly, Known),
    responses(
        (status = 200, description = "The revision.", body = RevisionBody, headers(("ETag" = String, description = "Its entity tag.")),
            example = json!({"id": "CUSTOMER#7", "topic": "Audit", "version": 3, "attributes": {"by": "anna"}, "created_at": "2026-02-03T04:05:06.789Z", "created_by": "anna", "updated_at": "2026-02-03T04:05:06.789Z", "updated_by": "anna"})),
        OfThing,
    )
)]
fn get_revision() {}
