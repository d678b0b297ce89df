//! The log: lines of JSON with the time and the level. Lambda takes a line without a time, or without a level that it knows, as INFO
//! ([AWS: log-level filtering][aws]).
//!
//! [aws]: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Writes the log to standard output from now on, panics included. Once a process: a second time nothing changes.
pub fn init(level: Option<&str>) {
    drop(tracing::subscriber::set_global_default(subscriber(level, std::io::stdout)));
    std::panic::set_hook(Box::new(panicked));
}

/// What writes the log. The level is what `AWS_LAMBDA_LOG_LEVEL` says; INFO where it says nothing that is a level.
pub fn subscriber<W>(level: Option<&str>, to: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_ansi(false)
        // A line that can't be written is lost; to say so on a standard error that is broken as well would panic.
        .log_internal_errors(false)
        .with_max_level(filter(level))
        .with_writer(to)
        .finish()
}

/// Lambda's levels, no more: `LevelFilter` itself would take an empty text for ERROR, and `off` for nothing at all.
fn filter(level: Option<&str>) -> LevelFilter {
    match level.unwrap_or_default().trim().to_ascii_uppercase().as_str() {
        "TRACE" => LevelFilter::TRACE,
        "DEBUG" => LevelFilter::DEBUG,
        "WARN" => LevelFilter::WARN,
        // Nothing here is fatal.
        "ERROR" | "FATAL" => LevelFilter::ERROR,
        _ => LevelFilter::INFO,
    }
}

/// Logs a panic: where it was, and not what it said, since that may quote anything.
pub fn panicked(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, "panic");
}

/// How a process ends: what ended it too early is logged.
pub fn ended<E: Display>(ended: Result<(), E>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the function can't run");
            ExitCode::FAILURE
        }
    }
}
