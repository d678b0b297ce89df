//! The event source mapping in a template.

use std::time::Duration;

use super::TemplateError;
use super::document::Property;

/// The settings of an event source mapping. Settings that the template leaves out have AWS's defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSource {
    /// The filter patterns, as JSON texts. A record passes if it matches any of them, or if there are none.
    pub filter_patterns: Vec<String>,
    /// The most records of an invocation.
    pub batch_size_max: usize,
    /// How long a batch that isn't full waits for more records.
    pub batching_window: Duration,
    /// The number of concurrent batches of one shard.
    pub parallelization_factor: usize,
    /// True if the function reports the records that failed (`ReportBatchItemFailures`).
    pub reports_batch_item_failures: bool,
    /// True if a failed batch is bisected before it is retried.
    pub bisects_on_error: bool,
    /// The most retries of a batch. None: retries go on until the records are too old.
    pub retries_max: Option<u32>,
    /// The age at which a record is discarded. None: only the stream limits it.
    pub record_age_max: Option<Duration>,
    /// The position at which a mapping without a saved one starts.
    pub starting_position: StartingPosition,
    /// True if the mapping has an on-failure destination.
    pub has_failure_destination: bool,
}

/// The position at which a mapping without a saved one starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartingPosition {
    /// The oldest record in the stream.
    TrimHorizon,
    /// The first record that is written from now on.
    Latest,
}

/// The settings that `aws lambda update-event-source-mapping` can change, and that have an effect on one machine.
const SETTINGS: [&str; 6] = [
    "BatchSize",
    "MaximumBatchingWindowInSeconds",
    "ParallelizationFactor",
    "MaximumRetryAttempts",
    "MaximumRecordAgeInSeconds",
    "BisectBatchOnFunctionError",
];
const SETTABLE: &str = "BatchSize, MaximumBatchingWindowInSeconds, ParallelizationFactor, MaximumRetryAttempts, \
    MaximumRecordAgeInSeconds and BisectBatchOnFunctionError are";

impl EventSource {
    pub(super) fn of(properties: &Property<'_>) -> Result<Self, TemplateError> {
        for name in ["TumblingWindowInSeconds", "FilterEncryption", "KmsKeyArn"] {
            if let Some(property) = properties.get(name) {
                return Err(property.unsupported("leave it out"));
            }
        }
        if let Some(enabled) = properties.get("Enabled")
            && !enabled.boolean()?
        {
            return Err(enabled.unsupported("only true is"));
        }
        let mut event_source = EventSource {
            filter_patterns: filter_patterns(properties)?,
            batch_size_max: 100,
            batching_window: Duration::ZERO,
            parallelization_factor: 1,
            reports_batch_item_failures: reports_batch_item_failures(properties)?,
            bisects_on_error: false,
            retries_max: None,
            record_age_max: None,
            starting_position: starting_position(properties)?,
            has_failure_destination: properties
                .get("DestinationConfig")
                .and_then(|config| config.get("OnFailure"))
                .is_some(),
        };
        for name in SETTINGS {
            if let Some(property) = properties.get(name) {
                event_source.set(name, &property)?;
            }
        }
        Ok(event_source)
    }

    /// Sets one of [`SETTINGS`].
    pub(super) fn set(&mut self, name: &str, property: &Property<'_>) -> Result<(), TemplateError> {
        let count =
            |from, to| property.integer(from, to).map(|n| usize::try_from(n).unwrap_or(from.unsigned_abs() as usize));
        let seconds = |n: i64| Duration::from_secs(n.unsigned_abs());
        match name {
            "BatchSize" => self.batch_size_max = count(1, 10_000)?,
            "MaximumBatchingWindowInSeconds" => self.batching_window = seconds(property.integer(0, 300)?),
            "ParallelizationFactor" => self.parallelization_factor = count(1, 10)?,
            "MaximumRetryAttempts" => self.retries_max = u32::try_from(property.integer(-1, 10_000)?).ok(),
            "MaximumRecordAgeInSeconds" => {
                let age = property.integer(-1, 604_800)?;
                if (0..60).contains(&age) {
                    return Err(property.must_be("-1 or 60 and more"));
                }
                self.record_age_max = (age >= 0).then(|| seconds(age));
            }
            "BisectBatchOnFunctionError" => self.bisects_on_error = property.boolean()?,
            _ => return Err(property.unsupported(SETTABLE)),
        }
        Ok(())
    }
}

fn filter_patterns(properties: &Property<'_>) -> Result<Vec<String>, TemplateError> {
    let Some(criteria) = properties.get("FilterCriteria") else { return Ok(Vec::new()) };
    let filters = criteria.require("Filters")?.list()?;
    filters.iter().map(|filter| filter.require("Pattern")?.text()).collect()
}

fn reports_batch_item_failures(properties: &Property<'_>) -> Result<bool, TemplateError> {
    let Some(types) = properties.get("FunctionResponseTypes") else { return Ok(false) };
    let types = types.list()?;
    for one in &types {
        if one.text()? != "ReportBatchItemFailures" {
            return Err(one.unsupported("ReportBatchItemFailures is"));
        }
    }
    Ok(!types.is_empty())
}

fn starting_position(properties: &Property<'_>) -> Result<StartingPosition, TemplateError> {
    let position = properties.require("StartingPosition")?;
    match position.text()?.as_str() {
        "TRIM_HORIZON" => Ok(StartingPosition::TrimHorizon),
        "LATEST" => Ok(StartingPosition::Latest),
        _ => Err(position.unsupported("TRIM_HORIZON and LATEST are")),
    }
}
