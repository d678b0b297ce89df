//! The operations about the API itself. All but that of the audit read no table.

use axum::http::Method;
use serde_json::json;

use super::Function::Reader;
use super::{Answer, Operation, ReaderCall, Tag, problems};
use crate::contract::{AuditBody, HealthBody, IndexBody};

pub(super) static OPERATIONS: [Operation; 5] = [
    Operation {
        id: "get_index",
        method: Method::GET,
        path: "/",
        function: Reader(ReaderCall::GetIndex),
        tag: Tag::Service,
        summary: "List the calls",
        description: "",
        parameters: &[],
        body: None,
        answers: &[Answer::json::<IndexBody>(200, "The calls, and where they are described.").example(|| {
            json!({
                "version": "0.1.0", "docs": "/docs", "openapi": "/openapi.json",
                "calls": [{"method": "GET", "path": "/nodes/{id}", "summary": "Read a node"}],
            })
        })],
        problems: problems::SERVICE,
    },
    Operation {
        id: "get_openapi",
        method: Method::GET,
        path: "/openapi.json",
        function: Reader(ReaderCall::GetOpenapi),
        tag: Tag::Service,
        summary: "Read this document",
        description: "",
        parameters: &[],
        body: None,
        answers: &[Answer::object("The OpenAPI document.")],
        problems: problems::SERVICE,
    },
    Operation {
        id: "get_docs",
        method: Method::GET,
        path: "/docs",
        function: Reader(ReaderCall::GetDocs),
        tag: Tag::Service,
        summary: "Read the reference",
        description: "",
        parameters: &[],
        body: None,
        answers: &[Answer::page("A page that shows this document.")],
        problems: problems::SERVICE,
    },
    Operation {
        id: "get_health",
        method: Method::GET,
        path: "/health",
        function: Reader(ReaderCall::GetHealth),
        tag: Tag::Service,
        summary: "Tell whether the function answers",
        description: "",
        parameters: &[],
        body: None,
        answers: &[Answer::json::<HealthBody>(200, "The function answers.")
            .example(|| json!({"status": "ok", "version": "0.1.0"}))],
        problems: problems::SERVICE,
    },
    Operation {
        id: "get_audit",
        method: Method::GET,
        path: "/health/audit",
        function: Reader(ReaderCall::GetAudit),
        tag: Tag::Service,
        summary: "Tell what the auditor has found",
        description: "How far the auditor has come with comparing the table with its base records. The numbers are of the whole table, so where \
            the deployment keeps tenants apart there are times alone. 404 as long as no auditor has run, and 503 where a newer version has written \
            the state, so that the auditor of this one stands still. One read unit.",
        parameters: &[],
        body: None,
        answers: &[Answer::json::<AuditBody>(200, "The audit.").example(|| {
            let pass = json!({
                "number": 7, "began_at": "2026-02-03T04:05:06Z", "ended_at": "2026-02-03T04:20:06Z", "items": 48211,
                "differences": 1, "healed": 1, "left": 0, "still_changing": 0, "skipped": 0, "findings": {"orphan": 2},
            });
            json!({
                "right_as_of": "2026-02-03T04:05:06Z", "age_seconds": 4211, "last_run_at": "2026-02-03T05:10:06Z", "suspects": 0,
                "unconfirmed": 0, "settle_seconds": 600,
                "pass": pass, "last_pass": pass,
            })
        })],
        problems: problems::AUDIT,
    },
];
