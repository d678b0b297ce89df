//! Reads what is around a table: Lambda and CloudWatch. Without the feature `aws` nothing is.

use std::collections::BTreeSet;

use aws_types::SdkConfig;

use super::facts::{Read, SeenAlarm, SeenFunction, SeenMapping};

#[cfg(feature = "aws")]
pub(super) use with_aws::Around;

/// The services around a table, which this build doesn't reach.
#[cfg(not(feature = "aws"))]
pub(super) enum Around {}

#[cfg(not(feature = "aws"))]
impl Around {
    pub(super) fn of(_: &SdkConfig) -> anyhow::Result<Self> {
        Err(crate::connect::no_aws())
    }

    pub(super) async fn mappings(&self, _: &str) -> Read<Vec<SeenMapping>> {
        match *self {}
    }

    pub(super) async fn function(&self, _: &str) -> Read<SeenFunction> {
        match *self {}
    }

    pub(super) async fn alarms(&self, _: &BTreeSet<String>) -> Read<Vec<SeenAlarm>> {
        match *self {}
    }
}

#[cfg(feature = "aws")]
mod with_aws {
    use anyhow::Result;
    use aws_sdk_cloudwatch::types::{MetricAlarm, StateValue};
    use aws_sdk_lambda::types::EventSourceMappingConfiguration;
    use futures::TryFutureExt;

    use super::{BTreeSet, Read, SdkConfig, SeenAlarm, SeenFunction, SeenMapping};
    use crate::sdk_errors::said;

    /// The services around a table.
    pub(in super::super) struct Around {
        lambda: aws_sdk_lambda::Client,
        cloudwatch: aws_sdk_cloudwatch::Client,
    }

    impl Around {
        pub(in super::super) fn of(config: &SdkConfig) -> Result<Self> {
            Ok(Self {
                lambda: aws_sdk_lambda::Client::new(config),
                cloudwatch: aws_sdk_cloudwatch::Client::new(config),
            })
        }

        pub(in super::super) async fn mappings(&self, stream: &str) -> Read<Vec<SeenMapping>> {
            let pages =
                self.lambda.list_event_source_mappings().event_source_arn(stream).into_paginator().items().send();
            let mappings = pages.collect::<Result<Vec<_>, _>>().await.map_err(|error| said(&error));
            Read::of(mappings.map(|mappings| mappings.into_iter().map(seen_mapping).collect()))
        }

        pub(in super::super) async fn function(&self, arn: &str) -> Read<SeenFunction> {
            let configuration = self.lambda.get_function_configuration().function_name(arn).send();
            // An alias has no reserved concurrency of its own.
            let name = arn.split(':').take(7).collect::<Vec<_>>().join(":");
            let concurrency = self.lambda.get_function_concurrency().function_name(name).send();
            let read = futures::try_join!(
                configuration.map_err(|error| said(&error)),
                concurrency.map_err(|error| said(&error))
            );
            Read::of(read.map(|(configuration, concurrency)| {
                let last_update = configuration.last_update_status.map(|status| status.as_str().to_owned());
                let environment = configuration.environment.and_then(|environment| environment.variables);
                SeenFunction {
                    last_update: last_update.unwrap_or_default(),
                    environment: environment.unwrap_or_default().into_iter().collect(),
                    reserved_concurrency: concurrency.reserved_concurrent_executions.map(i64::from),
                }
            }))
        }

        pub(in super::super) async fn alarms(&self, about: &BTreeSet<String>) -> Read<Vec<SeenAlarm>> {
            let mut pages = self.cloudwatch.describe_alarms().into_paginator().send();
            let mut alarms = Vec::new();
            while let Some(page) = pages.next().await {
                match page {
                    Ok(page) => alarms.extend(page.metric_alarms.unwrap_or_default().into_iter().map(seen_alarm)),
                    Err(error) => return Read::Unknown(said(&error)),
                }
            }
            alarms.retain(|alarm: &SeenAlarm| alarm.dimensions.iter().any(|value| about.contains(value)));
            Read::Known(alarms)
        }
    }

    fn seen_mapping(mapping: EventSourceMappingConfiguration) -> SeenMapping {
        let filters = mapping.filter_criteria.and_then(|criteria| criteria.filters).unwrap_or_default();
        let types = mapping.function_response_types.unwrap_or_default();
        let destination = mapping.destination_config.and_then(|config| config.on_failure);
        SeenMapping {
            id: mapping.uuid.unwrap_or_default(),
            function: mapping.function_arn.unwrap_or_default(),
            state: mapping.state.unwrap_or_default(),
            filters: filters.into_iter().filter_map(|filter| filter.pattern).collect(),
            reports_failures: types.iter().any(|kind| kind.as_str() == "ReportBatchItemFailures"),
            bisects: mapping.bisect_batch_on_function_error.unwrap_or_default(),
            retries: mapping.maximum_retry_attempts.map_or(-1, i64::from),
            record_age: mapping.maximum_record_age_in_seconds.map_or(-1, i64::from),
            parallelization: mapping.parallelization_factor.map_or(1, i64::from),
            has_destination: destination.and_then(|destination| destination.destination).is_some(),
        }
    }

    fn seen_alarm(alarm: MetricAlarm) -> SeenAlarm {
        let stats = alarm.metrics.unwrap_or_default();
        let metrics = stats.into_iter().filter_map(|query| query.metric_stat?.metric);
        let (mut names, mut dimensions) = (Vec::new(), alarm.dimensions.unwrap_or_default());
        names.extend(alarm.metric_name);
        for metric in metrics {
            names.extend(metric.metric_name);
            dimensions.extend(metric.dimensions.unwrap_or_default());
        }
        SeenAlarm {
            name: alarm.alarm_name.unwrap_or_default(),
            state: alarm.state_value.unwrap_or(StateValue::InsufficientData).as_str().to_owned(),
            metrics: names,
            dimensions: dimensions.into_iter().filter_map(|dimension| dimension.value).collect(),
            has_actions: alarm.actions_enabled.unwrap_or_default()
                && alarm.alarm_actions.is_some_and(|all| !all.is_empty()),
        }
    }
}
