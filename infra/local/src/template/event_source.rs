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
        let integer = |name: &str, from, to, default| match properties.get(name) {
            Some(property) => property.integer(from, to),
            None => Ok(default),
        };
        let seconds = |n: i64| Duration::from_secs(n.unsigned_abs());

        let retries = integer("MaximumRetryAttempts", -1, 10_000, -1)?;
        let age = integer("MaximumRecordAgeInSeconds", -1, 604_800, -1)?;
        if let Some(property) = properties.get("MaximumRecordAgeInSeconds")
            && (0..60).contains(&age)
        {
            return Err(TemplateError::wrong(&property.path, "-1 or 60 and more", property.value));
        }
        Ok(EventSource {
            filter_patterns: filter_patterns(properties)?,
            batch_size_max: usize::try_from(integer("BatchSize", 1, 10_000, 100)?).unwrap_or(1),
            batching_window: seconds(integer("MaximumBatchingWindowInSeconds", 0, 300, 0)?),
            parallelization_factor: usize::try_from(integer("ParallelizationFactor", 1, 10, 1)?).unwrap_or(1),
            reports_batch_item_failures: reports_batch_item_failures(properties)?,
            bisects_on_error: match properties.get("BisectBatchOnFunctionError") {
                Some(property) => property.boolean()?,
                None => false,
            },
            retries_max: u32::try_from(retries).ok(),
            record_age_max: (age >= 0).then(|| seconds(age)),
            starting_position: starting_position(properties)?,
            has_failure_destination: properties
                .get("DestinationConfig")
                .and_then(|config| config.get("OnFailure"))
                .is_some(),
        })
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
