//! One line in the embedded metric format.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The most metrics of one line. Further ones are left out.
pub const METRICS_MAX: usize = 100;

/// The most values of one metric in a line.
pub const METRIC_VALUES_MAX: usize = 100;

/// The usual length of a line with a dozen metrics, in bytes.
const LINE_BYTES_USUAL: usize = 2_048;

/// The one dimension. A function's name is unique in its account and region, so two deployments don't mix.
const DIMENSION: &str = "FunctionName";

/// A metric with its value in one invocation. It is serialized without the value: as its definition.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[must_use]
pub struct Metric {
    name: &'static str,
    unit: Unit,
    #[serde(skip)]
    value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Unit {
    Count,
    Milliseconds,
    Seconds,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum Value {
    Whole(u64),
    Fraction(f64),
    Many(Vec<u64>),
}

impl Metric {
    /// A metric that counts.
    pub fn count(name: &'static str, count: u64) -> Self {
        Self { name, unit: Unit::Count, value: Value::Whole(count) }
    }

    /// A metric that counts with fractions, such as capacity units.
    pub fn amount(name: &'static str, amount: f64) -> Self {
        Self { name, unit: Unit::Count, value: Value::Fraction(amount) }
    }

    /// A metric of one duration, in milliseconds.
    pub fn time(name: &'static str, milliseconds: f64) -> Self {
        Self { name, unit: Unit::Milliseconds, value: Value::Fraction(milliseconds) }
    }

    /// A metric of one duration, in seconds.
    pub fn seconds(name: &'static str, seconds: u64) -> Self {
        Self { name, unit: Unit::Seconds, value: Value::Whole(seconds) }
    }

    /// A metric of durations in milliseconds: at most [`METRIC_VALUES_MAX`], evenly spaced by length.
    pub fn times(name: &'static str, milliseconds: Vec<u64>) -> Self {
        Self { name, unit: Unit::Milliseconds, value: Value::Many(spread(milliseconds)) }
    }

    /// Returns true if the metric has a number. A metric without one must not be named in the line.
    fn has_value(&self) -> bool {
        match &self.value {
            Value::Whole(_) => true,
            Value::Fraction(value) => value.is_finite(),
            Value::Many(values) => !values.is_empty(),
        }
    }
}

fn spread(mut values: Vec<u64>) -> Vec<u64> {
    if values.len() <= METRIC_VALUES_MAX {
        return values;
    }
    values.sort_unstable();
    let last = values.len() - 1;
    (0..METRIC_VALUES_MAX).filter_map(|n| values.get(n * last / (METRIC_VALUES_MAX - 1)).copied()).collect()
}

pub(super) struct Line<'a> {
    pub(super) namespace: &'a str,
    pub(super) function: &'a str,
    pub(super) timestamp: u64,
    pub(super) metrics: &'a [Metric],
}

impl Line<'_> {
    /// Returns the JSON with a line feed, to be written at once.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = Vec::with_capacity(LINE_BYTES_USUAL);
        serde_json::to_writer(&mut bytes, self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metrics: Vec<&Metric> = self.metrics.iter().filter(|metric| metric.has_value()).take(METRICS_MAX).collect();
        let directive = Directive { namespace: self.namespace, dimensions: [[DIMENSION]], metrics: &metrics };
        let mut root = serializer.serialize_map(None)?;
        root.serialize_entry("_aws", &Metadata { timestamp: self.timestamp, cloud_watch_metrics: [directive] })?;
        root.serialize_entry(DIMENSION, self.function)?;
        for metric in metrics {
            root.serialize_entry(metric.name, &metric.value)?;
        }
        root.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Metadata<'a> {
    timestamp: u64,
    cloud_watch_metrics: [Directive<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Directive<'a> {
    namespace: &'a str,
    dimensions: [[&'static str; 1]; 1],
    metrics: &'a [&'a Metric],
}
