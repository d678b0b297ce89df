//! The log: lines of JSON with a time and a level. Lambda takes a line as INFO if it lacks the time or has a level that
//! Lambda doesn't know ([AWS: log-level filtering][aws]).
//!
//! [aws]: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html

#[cfg(test)]
mod tests;

mod invocation;

use std::fmt::Display;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

pub use invocation::{Invocation, Keys};

/// The keys of the invocation that this Lambda function is at work on. Lambda gives a process one at a time.
static KEYS: Keys = Keys::none();

/// Writes the log of this Lambda function, panics included, to standard output, with the keys of each invocation that
/// [`began`]. Only the first call has an effect. It reads `AWS_LAMBDA_LOG_LEVEL` and the variables of [`Keys`].
pub fn init(variable: impl Fn(&str) -> Option<String>) {
    let level = variable("AWS_LAMBDA_LOG_LEVEL");
    KEYS.name(variable);
    let to = KEYS.in_front_of(std::io::stdout);
    drop(tracing::subscriber::set_global_default(subscriber(level.as_deref(), to)));
    std::panic::set_hook(Box::new(panicked));
}

/// Has the lines from now on have the keys of this invocation.
pub fn began(invocation: &Invocation<'_>) {
    KEYS.began(invocation);
}

/// The crates whose lines below INFO are written. Others log tokens, bodies and items there.
const OURS: [&str; 5] = ["sapwood_", "api_reader", "api_writer", "auditor", "stream_handler"];

/// Makes a subscriber that writes the log. `level` is that of `AWS_LAMBDA_LOG_LEVEL`, by default INFO.
pub fn subscriber<W>(level: Option<&str>, to: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level = filter(level);
    let ours = Targets::new().with_targets(OURS.map(|target| (target, level)));
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_ansi(false)
        // A line that can't be written is lost. Reporting it on a standard error that is broken as well would panic.
        .log_internal_errors(false)
        .with_max_level(level)
        .with_writer(to)
        .finish()
        .with(ours.with_default(level.min(LevelFilter::INFO)))
}

/// Returns the filter of one of Lambda's levels. `LevelFilter`'s parser takes "" for ERROR, and `off`.
fn filter(level: Option<&str>) -> LevelFilter {
    match level.unwrap_or_default().trim().to_ascii_uppercase().as_str() {
        "TRACE" => LevelFilter::TRACE,
        "DEBUG" => LevelFilter::DEBUG,
        "WARN" => LevelFilter::WARN,
        // No line of the log is fatal.
        "ERROR" | "FATAL" => LevelFilter::ERROR,
        _ => LevelFilter::INFO,
    }
}

/// Logs where a panic happened. The message isn't logged, because it may quote anything.
pub fn panicked(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(location, "panic");
}

/// Returns how a process ends, and logs the error that ended it too early.
pub fn ended<E: Display>(ended: Result<(), E>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the function can't run");
            ExitCode::FAILURE
        }
    }
}
