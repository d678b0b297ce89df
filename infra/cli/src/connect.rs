//! Where the table is, and what its settings are: the arguments that all commands on a table have in common.

use std::time::Duration;

#[cfg(feature = "aws")]
use anyhow::Context;
use anyhow::{Result, anyhow, bail};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_types::SdkConfig;
use aws_types::region::Region;
use clap::Args;
use sapwood_core::keys::{Names, Schema};
use sapwood_core::model::{Announcement, Settings};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::announce::announced;
use sapwood_local::template::Template;
use sapwood_plain_http::plain_http;
use sapwood_store::{Backoff, Client, ErrorKind, LATE, RetryPolicy, TableError};
use serde::Serialize;

use crate::TEMPLATE;
use crate::arguments::{endpoint, template_parameter};
use crate::exit::Exit;

/// Longest time of a request to a local endpoint: its engine has one thread, so an answer may be late and not lost.
pub(crate) const LOCAL_CALL_TIME_MAX: Duration = Duration::from_secs(60);

/// The table, and how to reach it.
#[derive(Args)]
pub(crate) struct Connection {
    /// Use this table.
    #[arg(long, value_name = "NAME", env = "TABLE_NAME")]
    pub(crate) table: String,
    /// Use this region instead of the profile's. An endpoint may keep the tables of each region apart.
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,
    /// Use this AWS profile, single sign-on included.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Use this DynamoDB endpoint, such as http://127.0.0.1:8000 for `sapwood dev`. It checks no credentials.
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    endpoint: Option<String>,
    /// Set a parameter of the deployed stack, for example PathRows=off. Repeat it for more; omitted parameters use the
    /// template's defaults. Without it the settings count that the stream handler has left in the table.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = template_parameter)]
    parameters: Vec<(String, String)>,
}

/// The owner of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Whose {
    /// The handler has left them in the table.
    Handler,
    /// The parameters have them.
    Parameters,
    /// The template's defaults.
    Defaults,
}

impl Whose {
    /// Warns who writes base records where nothing says what the settings are.
    pub(crate) fn warn_who_writes(self) {
        if self == Self::Defaults {
            eprintln!(
                "no stream handler has left its settings in this table: the template's defaults count; give --parameter if your stack has others"
            );
        }
    }

    /// Says it to people.
    fn tell(self) {
        eprintln!(
            "settings: {}",
            match self {
                Self::Handler => "those that the stream handler has left in the table",
                Self::Parameters => "those of --parameter, and the template's defaults for what isn't named",
                Self::Defaults => "the template's defaults, because no stream handler has left its own in this table",
            }
        );
    }
}

/// The settings that the stream handler has left can't be read.
#[derive(Debug, thiserror::Error)]
#[error("the settings that the stream handler has left in the table can't be read: {0}")]
pub(crate) struct NoSettings(#[from] TableError);

impl Connection {
    /// Identifies the table for a working file, by how it is reached if this caller may not describe it.
    pub(crate) async fn identity(&self, of: &DynamoTable) -> Result<String> {
        let Self { table, region, profile, endpoint, .. } = self;
        let mut attempt = 0;
        let known = loop {
            match of.identity().await {
                Ok(identity) => break identity,
                Err(error) if error.kind == ErrorKind::GiveUp => break format!("{table} {region:?} {profile:?}"),
                Err(error) if !Patient.wait(attempt).await => bail!("the table can't be described: {error}"),
                Err(_) => attempt += 1,
            }
        };
        Ok(format!("{known} {endpoint:?}"))
    }

    /// Opens the table, with the settings that count.
    pub(crate) async fn open(&self) -> Result<(DynamoTable, Settings)> {
        let (table, settings, _) = self.opened(&Patient).await?;
        Ok((table, settings))
    }

    /// Like [`Connection::open`], and says whose settings count: with others than the handler's everything looks wrong.
    pub(crate) async fn open_and_tell(&self) -> Result<(DynamoTable, Settings, Whose)> {
        let opened = self.opened(&Patient).await?;
        opened.2.tell();
        Ok(opened)
    }

    /// Like [`Connection::open`], for writes of base records. It warns where no handler has left its settings.
    pub(crate) async fn open_to_write(&self, policy: &impl RetryPolicy) -> Result<(DynamoTable, Settings)> {
        let (table, settings, whose) = self.opened(policy).await?;
        whose.warn_who_writes();
        Ok((table, settings))
    }

    /// Reads the settings: those of the parameters, the table's handler's, or else the template's defaults.
    pub(crate) async fn opened(&self, policy: &impl RetryPolicy) -> Result<(DynamoTable, Settings, Whose)> {
        let settings = self.settings()?;
        let table = self.table(settings.schema.clone()).await?;
        if self.has_parameters() {
            return Ok((table, settings, Whose::Parameters));
        }
        let table = match table.key_names().await {
            Ok(Some((partition_key, sort_key))) => {
                let schema = Schema::new(Names { partition_key, sort_key, ..Names::default() }, false);
                table.with(schema.map_err(|error| Exit::Failed.because(error))?)
            }
            // Without the right to describe the table its keys have the usual names, or parameters give them.
            Ok(None) | Err(_) => table,
        };
        match left_in(&table, policy).await? {
            None => Ok((table.with(settings.schema.clone()), settings, Whose::Defaults)),
            Some(announcement) => {
                let settings = announcement.settings()?;
                Ok((table.with(settings.schema.clone()), settings, Whose::Handler))
            }
        }
    }

    /// The settings of the parameters, and of the template's defaults.
    pub(crate) fn settings(&self) -> Result<Settings> {
        let template = Template::parse_with(TEMPLATE, &self.parameters.iter().cloned().collect())?;
        let variables = template.environment(&self.table)?;
        Ok(Settings::read(|name| variables.get(name).cloned())?)
    }

    /// True if parameters are given.
    pub(crate) fn has_parameters(&self) -> bool {
        !self.parameters.is_empty()
    }

    /// Makes the table, without a request.
    pub(crate) async fn table(&self, schema: Schema) -> Result<DynamoTable> {
        if let Some(url) = &self.endpoint {
            return Ok(
                DynamoTable::new(&self.at(url), http_client(url)?, &self.table, schema).waiting(LOCAL_CALL_TIME_MAX)
            );
        }
        Ok(DynamoTable::of(&self.config().await?, &self.table, schema))
    }

    /// Loads the profile's region and credentials.
    #[cfg(not(feature = "aws"))]
    pub(crate) async fn config(&self) -> Result<SdkConfig> {
        Err(no_aws())
    }

    /// Loads the profile's region and credentials.
    #[cfg(feature = "aws")]
    pub(crate) async fn config(&self) -> Result<SdkConfig> {
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(sapwood_https::https_client());
        if let Some(profile) = &self.profile {
            Self::check_profile(profile).await?;
            loader = loader.profile_name(profile);
        }
        if let Some(region) = &self.region {
            loader = loader.region(Region::new(region.clone()));
        }
        let config = loader.load().await;
        config.region().context("no region is named: give --region, or set one in the profile or in AWS_REGION")?;
        Ok(config)
    }

    /// The SDK says nothing of a profile that isn't there. Files that can't be read are left to it.
    #[cfg(feature = "aws")]
    async fn check_profile(name: &str) -> Result<()> {
        let (fs, env, files) = Default::default();
        match aws_config::profile::load(&fs, &env, &files, None).await {
            Ok(all) if all.get_profile(name).is_none() => {
                let mut others: Vec<String> = all.profiles().map(str::to_owned).collect();
                others.sort();
                let listed = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
                bail!("there is no profile `{name}`: ~/.aws/config and ~/.aws/credentials have {listed}")
            }
            _ => Ok(()),
        }
    }

    /// An endpoint that is named: it gets no real credentials, and the region only if one is named.
    pub(crate) fn at(&self, url: &str) -> sapwood_dynamodb::Connection {
        let mut endpoint = sapwood_dynamodb::Connection::local(url);
        if let Some(region) = &self.region {
            endpoint.region.clone_from(region);
        }
        endpoint
    }

    /// The same for clients of the SDK.
    pub(crate) fn config_at(&self, url: &str) -> Result<SdkConfig> {
        let endpoint = self.at(url);
        let credentials = Credentials::new(endpoint.access_key_id, endpoint.secret_access_key, None, None, "local");
        Ok(SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http_client(url)?)
            .region(Region::new(endpoint.region))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .endpoint_url(url)
            .build())
    }

    /// The configuration of a service's clients: that of this endpoint, if one is named, and otherwise the region's.
    pub(crate) async fn config_of(&self, endpoint: Option<&str>) -> Result<SdkConfig> {
        match endpoint {
            Some(url) => self.config_at(url),
            None => self.config().await,
        }
    }

    /// The same for the services around a table of this configuration; `None` at an endpoint of DynamoDB alone.
    pub(crate) fn config_of_services(&self, of_table: &SdkConfig, endpoint: Option<&str>) -> Result<Option<SdkConfig>> {
        match (endpoint, self.endpoint()) {
            (Some(url), _) => self.config_at(url).map(Some),
            (None, Some(_)) => Ok(None),
            (None, None) => Ok(Some(of_table.clone())),
        }
    }

    /// The endpoint that takes the place of the region's own.
    pub(crate) fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref()
    }
}

/// Returns the client that reaches an endpoint.
fn http_client(url: &str) -> Result<SharedHttpClient> {
    if !url.starts_with("https:") {
        return Ok(plain_http());
    }
    #[cfg(feature = "aws")]
    return Ok(sapwood_https::https_client());
    #[cfg(not(feature = "aws"))]
    Err(no_aws())
}

/// Returns the error of a command that needs AWS.
#[cfg(not(feature = "aws"))]
pub(crate) fn no_aws() -> anyhow::Error {
    anyhow!(
        "this sapwood was compiled for tables on this machine alone: cargo run --features aws -- reaches AWS, and so does a package (docs/guides/install.md)"
    )
}

/// Returns the settings that the table's handler has left.
pub(crate) async fn left_by_handler(table: &DynamoTable) -> Result<Option<Announcement>> {
    left_in(table, &Patient).await
}

async fn left_in(table: &DynamoTable, policy: &impl RetryPolicy) -> Result<Option<Announcement>> {
    let announced = announced(&Client::new(table, policy, table.schema())).await.map_err(NoSettings)?;
    announced.map_err(|newer| anyhow!("{newer}; use the version of sapwood that belongs to it"))
}

/// The client of a table that a person waits for.
pub(crate) type TableClient<'a> = Client<'a, DynamoTable, Patient>;

/// The retry policy of a person who waits: a throttled request is tried for about half a minute.
pub(crate) struct Patient;

const BACKOFF: Backoff = Backoff::new(50, 4_000);
const ATTEMPTS_MAX: u32 = 16;

impl RetryPolicy for Patient {
    async fn wait(&self, attempt: u32) -> bool {
        if attempt >= ATTEMPTS_MAX {
            return false;
        }
        tokio::time::sleep(BACKOFF.jittered(attempt)).await;
        true
    }

    async fn wait_out(&self) {
        tokio::time::sleep(LATE).await;
    }
}
