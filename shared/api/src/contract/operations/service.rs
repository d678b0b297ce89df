//! The operations about the API itself. All but that of the audit read no table.

use serde_json::json;

use super::{Answer, Operation, problems};
use crate::contract::{AuditBody, HealthBody, IndexBody};

pub(super) static OPERATIONS: [Operation; 5] = [
    of_reader!(Service GetIndex: "get_index", "/" {
        summary: "List the calls",
        description: "",
        parameters: &[],
        answers: &[Answer::json::<IndexBody>(200, "The calls, and where they are described.").example(|| {
            json!({
                "version": "0.1.0", "docs": "/docs", "openapi": "/openapi.json",
                "calls": [{"method": "GET", "path": "/nodes/{id}", "summary": "Read a node"}],
            })
        })],
        problems: problems::SERVICE,
    }),
    of_reader!(Service GetOpenapi: "get_openapi", "/openapi.json" {
        summary: "Read this document",
        description: "",
        parameters: &[],
        answers: &[Answer::object("The OpenAPI document.")],
        problems: problems::SERVICE,
    }),
    of_reader!(Service GetDocs: "get_docs", "/docs" {
        summary: "Read the reference",
        description: "",
        parameters: &[],
        answers: &[Answer::page("A page that shows this document.")],
        problems: problems::SERVICE,
    }),
    of_reader!(Service GetHealth: "get_health", "/health" {
        summary: "Tell whether the function answers",
        description: "",
        parameters: &[],
        answers: &[Answer::json::<HealthBody>(200, "The function answers.")
            .example(|| json!({"status": "ok", "version": "0.1.0"}))],
        problems: problems::SERVICE,
    }),
    of_reader!(Service GetAudit: "get_audit", "/health/audit" {
        summary: "Tell what the auditor has found",
        description: "How far the auditor has come with comparing the table with its base records. The numbers are of the whole table, so where \
            the deployment keeps tenants apart there are times alone. 404 as long as no auditor has run, and 503 where a newer version has written \
            the state, so that the auditor of this one stands still. One read unit.",
        parameters: &[],
        answers: &[Answer::json::<AuditBody>(200, "The audit.").example(|| {
            let pass =json!({
                "number": 7, "began_at": "2026-02-03T04:05:06Z", "ended_at": "2026-02-03T04:20:06Z", "items": 48211,
                "differences": 1, "repaired": 1, "left": 0, "still_changing": 0, "skipped": 0, "findings": {"orphan": 2},
            });
            json!({
                "right_as_of": "2026-02-03T04:05:06Z", "age_seconds": 4211, "last_run_at": "2026-02-03T05:10:06Z",
                "suspects": 0, "unconfirmed": 0, "confirmation_window_seconds": 600, "pass": pass, "last_pass": pass,
            })
        })],
        problems: problems::AUDIT,
    }),
];
