//! One line in the embedded metric format.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// The most metrics of one line. Further ones are left out.
pub const METRICS_MAX: usize = 100;

/// The most values of one metric in a line.
pub const METRIC_VALUES_MAX: usize = 100;

/// The usual length of a line with a dozen metrics, in bytes.
const LINE_BYTES_USUAL: usize = 2_048;

/// The one dimension. A function's name is unique in its account and region, so two deployments don't mix.
const DIMENSION: &str = "FunctionName";

/// A metric with its value in one invocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    name: &'static str,
    unit: Unit,
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
    #[must_use]
    pub fn count(name: &'static str, count: u64) -> Self {
        Self { name, unit: Unit::Count, value: Value::Whole(count) }
    }

    /// A metric that counts with fractions, such as capacity units.
    #[must_use]
    pub fn amount(name: &'static str, amount: f64) -> Self {
        Self { name, unit: Unit::Count, value: Value::Fraction(amount) }
    }

    /// A metric of one duration, in milliseconds.
    #[must_use]
    pub fn time(name: &'static str, milliseconds: f64) -> Self {
        Self { name, unit: Unit::Milliseconds, value: Value::Fraction(milliseconds) }
    }

    /// A metric of one duration, in seconds.
    #[must_use]
    pub fn seconds(name: &'static str, seconds: u64) -> Self {
        Self { name, unit: Unit::Seconds, value: Value::Whole(seconds) }
    }

    /// A metric of durations in milliseconds: at most [`METRIC_VALUES_MAX`], evenly spaced by length.
    #[must_use]
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

    fn metrics(&self) -> impl Iterator<Item = &Metric> {
        self.metrics.iter().filter(|metric| metric.has_value()).take(METRICS_MAX)
    }
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut root = serializer.serialize_map(None)?;
        root.serialize_entry("_aws", &Metadata(self))?;
        root.serialize_entry(DIMENSION, self.function)?;
        for metric in self.metrics() {
            root.serialize_entry(metric.name, &metric.value)?;
        }
        root.end()
    }
}

struct Metadata<'a>(&'a Line<'a>);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct Directive<'a> {
            namespace: &'a str,
            dimensions: [[&'static str; 1]; 1],
            metrics: Definitions<'a>,
        }
        let Self(line) = self;
        let directive = Directive { namespace: line.namespace, dimensions: [[DIMENSION]], metrics: Definitions(line) };
        let mut metadata = serializer.serialize_map(Some(2))?;
        metadata.serialize_entry("Timestamp", &line.timestamp)?;
        metadata.serialize_entry("CloudWatchMetrics", &[directive])?;
        metadata.end()
    }
}

struct Definitions<'a>(&'a Line<'a>);

impl Serialize for Definitions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct Definition {
            name: &'static str,
            unit: Unit,
        }
        let mut definitions = serializer.serialize_seq(None)?;
        for Metric { name, unit, .. } in self.0.metrics() {
            definitions.serialize_element(&Definition { name, unit: *unit })?;
        }
        definitions.end()
    }
}
