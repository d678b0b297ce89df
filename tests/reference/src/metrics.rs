//! The metrics, of the lines that the functions write and `metrics.yaml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use sapwood_engine::{auditor, fanout};
use sapwood_store::Usage;
use sapwood_telemetry::metrics::{Metric, Metrics};
use serde_json::Value;

use crate::explained;

/// What writes metrics, and when.
const WRITERS: [&str; 3] =
    ["The stream handler, for each batch", "The API functions, for each request", "The auditor, for each run"];

/// The metrics of each function, and before them those that several have.
pub(crate) fn page() -> String {
    let audit = auditor::Report {
        is_saved: true,
        wrong_per_million: Some(0.0),
        pass_time: Some(0),
        ..auditor::Report::default()
    };
    let written = [
        names(sapwood_handlers::stream::metrics_of(1, &[0], &fanout::Report::default(), 0)),
        names(sapwood_http::serve::metrics_of(StatusCode::OK, &Usage::default(), Duration::ZERO)),
        names(sapwood_handlers::audit::metrics_of(&audit)),
    ];
    let mut metrics: Vec<(&str, &str, Vec<usize>)> = Vec::new();
    for (writer, (name, unit)) in written.iter().enumerate().flat_map(|(at, all)| all.iter().map(move |one| (at, one)))
    {
        match metrics.iter_mut().find(|(other, ..)| other == name) {
            Some((_, _, writers)) => writers.push(writer),
            None => metrics.push((name, unit, vec![writer])),
        }
    }
    let entries =
        explained(include_str!("../metrics.yaml"), metrics.iter().map(|(name, ..)| *name), |_, text| text.to_owned());
    let mut lists: BTreeMap<Option<usize>, String> = BTreeMap::new();
    for ((name, unit, writers), text) in metrics.into_iter().zip(entries) {
        let unit = match unit {
            "Milliseconds" => " (ms)",
            "Seconds" => " (s)",
            _ => "",
        };
        let only = Some(writers[0]).filter(|_| writers.len() == 1);
        let _ = writeln!(lists.entry(only).or_default(), "- `{name}`{unit}: {text}");
    }
    let page = lists.into_iter().map(|(of, list)| {
        let of = of.map_or("Several functions", |of| WRITERS[of]);
        format!("{of}:\n\n{list}\n")
    });
    page.collect()
}

/// The names of metrics with their units, as a line in the embedded metric format has them.
#[allow(clippy::expect_used, reason = "the line is JSON")]
fn names(metrics: Vec<Metric>) -> Vec<(String, String)> {
    let line = Line::default();
    Metrics::new("namespace", "function", || 0, line.clone()).write(|_| metrics);
    let line = line.0.lock().unwrap_or_else(PoisonError::into_inner);
    let line: Value = serde_json::from_slice(&line).expect("a line of metrics is JSON");
    let metrics = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("Count").to_owned();
    metrics.iter().map(|metric| (text(&metric["Name"]), text(&metric["Unit"]))).collect()
}

/// Keeps what is written.
#[derive(Clone, Default)]
struct Line(Arc<Mutex<Vec<u8>>>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
