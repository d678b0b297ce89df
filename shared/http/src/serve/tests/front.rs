//! What stands before the API on a local port.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::routing::get;

use super::super::{Front, Guard, Pages};
use super::client::{Sent, Server};
use super::*;
use sapwood_api::caller::Claims;
use sapwood_api::problem::{Kind, Problem};

fn pages() -> Pages {
    Pages { prefix: "/page", router: Router::new().route("/page/{file}", get(async || "a page")) }
}

#[tokio::test]
async fn pages_stand_beside_the_api_and_take_no_path_of_it() {
    let other = Pages { prefix: "/other", router: Router::new().route("/other", get(async || "another page")) };
    let front = Front { pages: vec![pages(), other], ..Front::default() };
    let server = Server::behind(front, options(), Claims::new()).await;
    let status = async |target: &str| server.send(&Sent::new("GET", target)).await.status;
    assert_eq!(server.send(&Sent::new("GET", "/page/a")).await.body, b"a page");
    assert_eq!(server.send(&Sent::new("GET", "/other")).await.body, b"another page");
    assert_eq!(status("/nodes/V").await, 200);
    assert_eq!(status("/page").await, 404);
    // The API's own answer, not a page's.
    assert_eq!(server.send(&Sent::new("GET", "/pages/a")).await.problem(), "not-found");
    server.stop().await;
}

#[tokio::test]
async fn a_gate_refuses_requests_for_pages_and_for_the_api() {
    let gate = Arc::new(|request: &Request| match *request.method() {
        Method::GET => Ok(()),
        _ => Err(Problem::new(Kind::Forbidden, "this port only reads")),
    });
    let front = Front { gate: Some(gate), pages: vec![pages()], ..Front::default() };
    let server = Server::behind(front, options(), Claims::new()).await;
    let status = async |method: &'static str, target: &str| server.send(&Sent::new(method, target)).await.status;
    for target in ["/page/a", "/nodes/V"] {
        assert_eq!((status("GET", target).await, status("POST", target).await), (200, 403), "{target}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_guard_keeps_others_from_pages_as_well() {
    let front = Front {
        guard: Some(Guard::new(([127, 0, 0, 1], 1).into(), Vec::new(), Vec::new())),
        gate: None,
        pages: vec![pages()],
    };
    let server = Server::behind(front, options(), Claims::new()).await;
    // Its requests name example.com.
    for target in ["/page/a", "/nodes/V"] {
        assert_eq!(server.send(&Sent::new("GET", target)).await.status, 403, "{target}");
    }
    server.stop().await;
}
