//! `sapwood catch-up`: waits for the stream handler of a running `sapwood dev`.

use anyhow::{Result, anyhow, bail};
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use clap::Args;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use sapwood_api::problem::Kind;
use serde_json::{Value, json};

use crate::arguments::endpoint;
use crate::exit::Exit;
use crate::say::say;

/// The path of the calls of `sapwood dev` that aren't the API's.
pub(crate) const PREFIX: &str = "/dev";
/// The path of the call that waits.
pub(crate) const PATH: &str = "/dev/catch-up";
/// How long is waited where nobody says how long.
pub(crate) const SECONDS: u64 = 10;
/// The longest wait of a call.
pub(crate) const SECONDS_MAX: u64 = 60;

/// The most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 100_000;

/// Wait until `sapwood dev` has handled what was written before.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood catch-up
  sapwood catch-up --http http://127.0.0.1:3000 --seconds 60

It asks GET /dev/catch-up of the port of --http or --container. It ends with 0 when all is handled, with 1 if the stream handler doesn't run there, \
with 2 for wrong arguments, with 3 if the time is over before, and with 4 if nothing answers.")]
pub(crate) struct Arguments {
    /// Call the HTTP API of `sapwood dev` at this address.
    #[arg(long, value_name = "URL", value_parser = endpoint, default_value = "http://127.0.0.1:3000")]
    http: String,
    /// Wait at most so long.
    #[arg(long, value_name = "SECONDS", default_value_t = SECONDS, value_parser = clap::value_parser!(u64).range(..=SECONDS_MAX))]
    seconds: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    let Arguments { http, seconds, json } = arguments;
    let url = format!("{}{PATH}?seconds={seconds}", http.trim_end_matches('/'));
    let request = Request::get(&url).body(Body::empty()).ok().filter(|_| http.starts_with("http://"));
    let request = request.ok_or_else(|| {
        Exit::Usage.because(format!("{http} isn't the address of `sapwood dev`, for example http://127.0.0.1:3000"))
    })?;
    let silent =
        |reason: String| anyhow!("{http} doesn't answer: {reason}. Start it with `sapwood dev --http 127.0.0.1:3000`");
    let client = Client::builder(TokioExecutor::new()).build_http();
    let answer = client.request(request).await.map_err(|error| {
        silent(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
    })?;
    let status = answer.status();
    let bytes = to_bytes(Body::new(answer.into_body()), ANSWER_BYTES_MAX).await;
    let bytes = bytes.map_err(|error| silent(error.to_string()))?;
    let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let has_caught_up = match status {
        StatusCode::OK if said["caught_up"] == true => true,
        // Other servers may have these statuses, too.
        StatusCode::SERVICE_UNAVAILABLE if said["type"] == Kind::Unavailable.uri() => false,
        _ => {
            let detail = said["detail"].as_str().unwrap_or("this isn't an answer of `sapwood dev`").to_owned();
            if said["type"] == Kind::NotFound.uri() {
                return Err(Exit::Wrong.because(detail));
            }
            bail!("{http} answers {status}: {detail}");
        }
    };
    if json {
        say!("{}", json!({"caught_up": has_caught_up}));
    } else {
        say!("{}", if has_caught_up { "caught up" } else { "not caught up yet" });
    }
    Ok(Exit::Unfinished.unless(has_caught_up))
}
