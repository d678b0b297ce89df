use std::time::Duration;

use super::TemplateError;
use super::document::Property;

/// The settings of an event source mapping. What the template leaves out has AWS's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSource {
    /// Filter patterns, JSON texts: a record that matches any of them passes. None at all: every record does.
    pub filter_patterns: Vec<String>,
    /// How many records an invocation gets at most.
    pub batch_size_max: usize,
    /// How long a batch that isn't full waits for more.
    pub batching_window: Duration,
    /// How many batches of one shard are handled at the same time.
    pub parallelization_factor: usize,
    /// Whether the function names the records that failed (`ReportBatchItemFailures`).
    pub reports_batch_item_failures: bool,
    /// Whether a batch that failed is halved before it is tried again.
    pub bisects_on_error: bool,
    /// How often a batch is tried again. None: until its records are too old.
    pub retries_max: Option<u32>,
    /// How old a record may get. None: as old as the stream lets it.
    pub record_age_max: Option<Duration>,
    /// Where a mapping without a position starts.
    pub starting_position: StartingPosition,
    /// Whether records that were given up are kept somewhere.
    pub has_failure_destination: bool,
}

/// Where a mapping without a position starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartingPosition {
    /// With the oldest record that the stream has.
    TrimHorizon,
    /// With the records written from now on.
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
            return Err(enabled.unsupported("true is"));
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
