//! The operations about the API itself. None of them reads the table.

use axum::http::Method;
use serde_json::json;

use super::Function::Reader;
use super::{Answer, Operation, ReaderCall, Tag, problems};
use crate::contract::HealthBody;

pub(super) static OPERATIONS: [Operation; 3] = [
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
];
