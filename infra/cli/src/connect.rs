//! Where the table is, and what its settings are: the arguments that all commands on a table have in common.

use std::time::Duration;

use clap::Args;
use sapwood_core::model::{Settings, VariableError};
use sapwood_local::template::{Template, TemplateError};
use sapwood_table::{DynamoTable, RetryPolicy};

use crate::TEMPLATE;
use crate::arguments::parameter;

/// The table, and how to reach it.
#[derive(Args)]
pub(crate) struct Connection {
    /// The table's name.
    #[arg(long, value_name = "NAME", env = "TABLE_NAME")]
    pub(crate) table: String,
    /// The region, if the profile doesn't name it.
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// The profile of ~/.aws/config and ~/.aws/credentials, single sign-on included.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Another endpoint than the region's own, such as http://127.0.0.1:8000 for `sapwood dev`. It checks no credentials.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// A parameter that the stack was deployed with, for example PathRows=off. Repeat it for more parameters. What isn't named has the
    /// template's default.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
}

/// Why a table can't be reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// A parameter is wrong.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A value that a parameter gives the functions is wrong.
    #[error(transparent)]
    Settings(#[from] VariableError),
    /// Nothing names the region.
    #[error("no region is named: give --region, or set one in the profile or in AWS_REGION")]
    Region,
}

impl Connection {
    /// Says which table it is: what a working file remembers.
    pub(crate) fn described(&self) -> String {
        let Self { table, region, profile, endpoint, .. } = self;
        format!("{table} {region:?} {profile:?} {endpoint:?}")
    }

    /// Makes the table, without a request, and reads the settings.
    pub(crate) async fn open(&self) -> Result<(DynamoTable, Settings), ConnectError> {
        let template = Template::parse_with(TEMPLATE, &self.parameters.iter().cloned().collect())?;
        let variables = template.environment(&self.table)?;
        let settings = Settings::read(|name| variables.get(name).cloned())?;
        let schema = settings.schema.clone();
        if let Some(url) = &self.endpoint {
            return Ok((DynamoTable::local(url, &self.table, schema), settings));
        }
        let mut loader = aws_config::defaults(aws_config::BehaviorVersion::latest());
        if let Some(profile) = &self.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(region) = &self.region {
            loader = loader.region(aws_config::Region::new(region.clone()));
        }
        let config = loader.load().await;
        config.region().ok_or(ConnectError::Region)?;
        Ok((DynamoTable::of(&config, &self.table, schema), settings))
    }
}

/// The retry policy of a person who waits: a throttled request is tried for about half a minute.
pub(crate) struct Patient;

const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(4);
const ATTEMPTS_MAX: u32 = 16;

impl RetryPolicy for Patient {
    async fn wait(&self, attempt: u32) -> bool {
        if attempt >= ATTEMPTS_MAX {
            return false;
        }
        let longest = FIRST_WAIT.saturating_mul(1 << attempt.min(10)).min(LONGEST_WAIT);
        tokio::time::sleep(longest.mul_f64(fastrand::f64())).await;
        true
    }
}
