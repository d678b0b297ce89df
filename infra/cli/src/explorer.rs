//! The explorer on a port: whom it answers, and its address in a browser.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, Method};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use sapwood_api::problem::{Kind, Problem};
use sapwood_dynamodb::DynamoTable;
use sapwood_explorer::PATH;
use sapwood_http::serve::{Gate, Guard, Pages};
use sapwood_store::Deadline;

/// The header in which the page sends the token that it has from its address.
const TOKEN: &str = "x-sapwood-explorer";

/// The explorer of a table of DynamoDB's.
pub(crate) type Explorer = sapwood_explorer::Explorer<DynamoTable>;

/// Makes the table for each request.
pub(crate) fn tables(table: &DynamoTable) -> impl Fn(Deadline) -> DynamoTable + Send + Sync + use<> {
    let table = table.clone();
    move |deadline| table.until(deadline)
}

/// Returns the pages and their calls, for whom this guard lets through.
pub(crate) fn pages(explorer: Explorer, guard: Guard) -> Pages {
    let router = explorer.router().layer(from_fn(move |request: Request, next: Next| {
        let refused = guard.check(request.method(), request.headers()).err();
        async move {
            match refused {
                Some(refusal) => Problem::new(Kind::Forbidden, refusal.to_string()).into_response(),
                None => next.run(request).await,
            }
        }
    }));
    Pages { prefix: PATH, router }
}

/// Returns the gate of the page's port: requests need the token of the page's address, and writes the right to write.
pub(crate) fn gate(token: String, writes: bool) -> Gate {
    Arc::new(move |request: &Request| {
        let path = request.uri().path();
        if path.strip_prefix(PATH).is_some_and(|rest| !rest.starts_with("/data")) {
            return Ok(());
        }
        if !has_token(request.headers(), &token) {
            return Err(Problem::new(
                Kind::Forbidden,
                "this request lacks the token of the page's address: open the address that `sapwood explore` has printed",
            ));
        }
        match writes || matches!(*request.method(), Method::GET | Method::HEAD) || path.starts_with("/explorer/data") {
            true => Ok(()),
            false => {
                Err(Problem::new(Kind::Forbidden, "this explorer only reads; start it with --write to change nodes"))
            }
        }
    })
}

fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let given = headers.get(TOKEN).map(axum::http::HeaderValue::as_bytes).unwrap_or_default();
    // All bytes are compared, so that the time tells nothing of them.
    given.len() == token.len() && given.iter().zip(token.as_bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Returns a token that nobody guesses: two names of 122 random bits each.
pub(crate) fn new_token() -> String {
    let source = sapwood_api::writes::Source::system();
    format!("{}{}", source.name(), source.name()).replace('-', "")
}

/// Opens an address in the user's browser. Who has none reads the address.
pub(crate) fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    let begun = std::process::Command::new(program).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if begun.is_err() {
        eprintln!("sapwood: no browser can be opened here ({program} is missing); open {url} yourself");
    }
}
