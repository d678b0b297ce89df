//! `GET /dev/catch-up`: waits until everything that was written before is handled. Tests ask it between a write and a
//! query, where the write wasn't the API's own (`Prefer: wait`).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sapwood_api::problem::{Kind, Problem};
use sapwood_http::serve::Pages;
use sapwood_local::mapping::Progress;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;

use crate::catch_up::{PATH, PREFIX, SECONDS, SECONDS_MAX};

#[derive(Clone)]
struct Told {
    /// None if the stream handler doesn't run here.
    mapping: Option<Arc<Progress>>,
    /// True once the process ends.
    ending: watch::Receiver<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    seconds: Option<u64>,
}

/// Returns the page that tells.
pub(super) fn pages(mapping: Option<Arc<Progress>>, ending: watch::Receiver<bool>) -> Pages {
    let router = Router::new()
        .route(PATH, get(catch_up))
        .fallback(async || Problem::new(Kind::NotFound, "`sapwood dev` has no such call").into_response());
    Pages { prefix: PREFIX, router: router.with_state(Told { mapping, ending }) }
}

async fn catch_up(State(told): State<Told>, uri: Uri) -> Result<Response, Problem> {
    let Told { mapping, mut ending } = told;
    let bad = |detail: String| Problem::new(Kind::BadParameter, detail).at("seconds");
    let Query(Asked { seconds }) = Query::try_from_uri(&uri).map_err(|error| bad(error.body_text()))?;
    let seconds = seconds.unwrap_or(SECONDS);
    if seconds > SECONDS_MAX {
        return Err(bad(format!("ask for at most {SECONDS_MAX} seconds")));
    }
    let none = "the stream handler doesn't run here: `sapwood dev` was started with --no-handler";
    let mapping = mapping.ok_or_else(|| Problem::new(Kind::NotFound, none))?;
    let has_caught_up = tokio::select! {
        caught_up = tokio::time::timeout(Duration::from_secs(seconds), mapping.settled()) => matches!(caught_up, Ok(Ok(()))),
        _ = ending.wait_for(|is_ending| *is_ending) => false,
    };
    if has_caught_up {
        return Ok(axum::Json(json!({"caught_up": true})).into_response());
    }
    let left = mapping.outstanding();
    let detail = format!("after {seconds} seconds {left} stream records aren't handled, or new ones keep coming");
    Err(Problem::new(Kind::Unavailable, detail))
}
