//! The log of a function: lines of JSON with the time and the level, since Lambda takes a line without a time as INFO.

use tracing::level_filters::LevelFilter;

/// Writes the log to standard output from now on. The level is what `AWS_LAMBDA_LOG_LEVEL` says; INFO where it says nothing that
/// is a level. Once a process: a second time nothing changes.
pub fn init(level: Option<&str>) {
    let level = level.and_then(|level| level.parse().ok()).unwrap_or(LevelFilter::INFO);
    let written = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_ansi(false)
        .with_max_level(level)
        .finish();
    drop(tracing::subscriber::set_global_default(written));
}
