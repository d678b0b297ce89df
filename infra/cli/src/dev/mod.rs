//! `sapwood dev`: DynamoDB, its stream, the stream handler and the HTTP API in one process.

mod audit;
mod catch_up;
mod demo;
mod function;
mod host_guard;
mod http;
mod mortal;
mod output;

use std::collections::BTreeMap;
use std::future::pending;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use clap::{ArgGroup, Args};
use sapwood_core::keys::{Schema, Tenant};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::fanout::Fanout;
use sapwood_explorer::example::{self, Example};
use sapwood_explorer::live::read;
use sapwood_explorer::{Feed, PATH, Rights, TableAddress, Trials};
use sapwood_handlers::stream::{Config, Handler};
use sapwood_local::endpoint::Endpoint;
use sapwood_local::engine::{Data, Engine, create_private};
use sapwood_local::mapping::{Mapping, Settings, Watcher};
use sapwood_local::template::Template;

use crate::TEMPLATE;
use crate::arguments::parameter;
use crate::changes;
use crate::connect::LOCAL_CALL_TIME_MAX;
use crate::exit::{Exit, of_table};
use crate::explorer::{self, Explorer};
use crate::stop_signal;
use crate::watch::recorded;
use audit::Audit;
use function::{HandlerFunction, Watched};
use host_guard::{Front, Served};
use http::{Http, Port};
use mortal::Way;
use output::Output;

/// The options of `sapwood dev`.
#[derive(Args)]
#[command(group(ArgGroup::new("api").args(["http", "container"]).multiple(true)))]
#[command(after_help = "Examples:
  sapwood dev --demo
  sapwood dev --http 127.0.0.1:3000
  sapwood dev --example folders --open
  sapwood dev --data ./data --parameter PathRows=off --json
  sapwood dev --container --allow-host sapwood

It ends with 0 after Ctrl-C, with 1 if it can't start, and with 2 for wrong arguments.")]
pub(crate) struct Arguments {
    /// Serve DynamoDB on this loopback address. Port 0 is any free port.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "endpoint")]
    dynamodb: Option<SocketAddr>,
    /// Serve the HTTP API and the explorer on this loopback address. An example is 127.0.0.1:3000; the explorer is at
    /// /explorer. There is no authorizer: every client has full access.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Allow an HTTP address that other machines can reach. The explorer isn't served there.
    #[arg(long, requires = "http")]
    allow_remote: bool,
    /// Serve 0.0.0.0:8000 (DynamoDB) and 0.0.0.0:3000 (HTTP) in a container. Requests may name any port, because a
    /// container's ports have other numbers outside. Every machine that reaches them can do everything, without
    /// credentials: publish them on 127.0.0.1 only.
    #[arg(long, conflicts_with_all = ["demo", "endpoint"])]
    container: bool,
    /// Accept requests for this host name, for example host.docker.internal. Repeat it for more names.
    #[arg(long = "allow-host", value_name = "NAME")]
    allow_hosts: Vec<String>,
    /// Give each HTTP caller a claim, for example tenant=acme or sub=ada. Repeat it for more claims.
    #[arg(long = "claim", value_name = "NAME=VALUE", value_parser = parameter, requires = "api")]
    claims: Vec<(String, String)>,
    /// Keep the data and the stream position in this directory. Without it everything is in memory.
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,
    /// Use a running DynamoDB, such as DynamoDB Local, not the embedded one.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Use this table. It is created if it doesn't exist.
    #[arg(long, value_name = "NAME", default_value = "sapwood")]
    table: String,
    /// Set a parameter of the template, for example PathRows=off. Repeat it for more parameters.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// Change the event source mapping, for example BatchSize=1000. Repeat it for more settings. The factor is 1 unless
    /// it is set, the other settings are the template's.
    #[arg(long = "mapping", value_name = "NAME=VALUE", value_parser = parameter, conflicts_with = "no_handler")]
    mapping: Vec<(String, String)>,
    /// Run the auditor, too. Every 10 seconds it continues a pass over the table, and repairs differences, or reports
    /// them with --parameter Audit=report.
    #[arg(long, conflicts_with_all = ["no_handler", "demo"])]
    audit: bool,
    /// Don't run the stream handler. Rows are written when you invoke one yourself, for example under cargo lambda.
    #[arg(long, conflicts_with = "demo")]
    no_handler: bool,
    /// Show how rows follow a tree's changes, then exit.
    #[arg(long)]
    demo: bool,
    /// Load an example tree, and serve the explorer. Its address is 127.0.0.1:3000 unless --http names another.
    /// Existing nodes stay.
    #[arg(long, value_name = "EXAMPLE", conflicts_with = "demo")]
    example: Option<Example>,
    /// Open the explorer in a browser. It is served on 127.0.0.1:3000 unless --http names another address.
    #[arg(long, conflicts_with_all = ["demo", "allow_remote"])]
    open: bool,
    /// Exit when the standard input ends, as after Ctrl-C. A program that starts a stack for itself then leaves none
    /// behind, however it ends.
    #[arg(long)]
    end_with_input: bool,
    /// Print JSON. Each line is an object.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print only errors.
    #[arg(long)]
    quiet: bool,
}

/// The address of DynamoDB where none is given: DynamoDB Local's port.
const USUAL_ADDRESS: SocketAddr = at(Ipv4Addr::LOCALHOST, 8000);
/// The addresses of a container, which its ports are mapped to.
const DYNAMODB_OF_CONTAINER: SocketAddr = at(Ipv4Addr::UNSPECIFIED, 8000);
const HTTP_OF_CONTAINER: SocketAddr = at(Ipv4Addr::UNSPECIFIED, 3000);
/// The address of the API where the explorer is wanted, and no address is named.
const USUAL_HTTP: SocketAddr = at(Ipv4Addr::LOCALHOST, 3000);
/// The address of DynamoDB in a demo: any free port.
const ANY_ADDRESS: SocketAddr = at(Ipv4Addr::LOCALHOST, 0);

const fn at(address: Ipv4Addr, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(address), port)
}

/// The region that the greeting names. The engine asks for none.
const REGION: &str = "us-east-1";

/// The parameter that names the claim of a caller's tenant.
const TENANT_CLAIM: &str = "TenantClaim";
/// The tenant of the first record where no claim names one.
const USUAL_TENANT: &str = "acme";

impl Arguments {
    /// The tenant of the first record, in a table with tenants: that of the API's callers.
    fn tenant(&self, schema: &Schema) -> Option<Tenant> {
        let claim = self.parameters.iter().rev().find(|(name, _)| name == TENANT_CLAIM).map(|(_, claim)| claim);
        let named = claim.and_then(|claim| self.claims.iter().rev().find(|(name, _)| name == claim));
        let tenant = || Tenant::new(named.map_or(USUAL_TENANT, |(_, tenant)| tenant)).ok();
        schema.has_tenants().then(tenant).flatten()
    }

    /// The address of the API, if it is served.
    fn http(&self) -> Result<Option<SocketAddr>> {
        let wants_page = self.open || self.example.is_some();
        let usual = if self.container { Some(HTTP_OF_CONTAINER) } else { wants_page.then_some(USUAL_HTTP) };
        let http = self.http.or(usual);
        let is_open = self.allow_remote || self.container;
        if let Some(address) = http.filter(|address| !address.ip().is_loopback() && !is_open) {
            bail!(
                "{address} isn't a loopback address, and the API has no authorizer: add --allow-remote if other machines may read and write the table"
            );
        }
        Ok(http)
    }

    /// The template, with the parameters and the settings of the mapping that are given, and those that a demo shows.
    fn template(&self) -> Result<Template> {
        let mut parameters: BTreeMap<String, String> = self.parameters.iter().cloned().collect();
        let shown: &[(&str, &str)] = match (self.demo, self.example) {
            (true, _) => &demo::PARAMETERS,
            (false, Some(_)) => &example::PARAMETERS,
            (false, None) => &[],
        };
        for (name, value) in shown {
            parameters.entry((*name).to_owned()).or_insert((*value).to_owned());
        }
        let mut template = Template::parse_with(TEMPLATE, &parameters)?;
        for (name, value) in &self.mapping {
            template.set_mapping(name, value)?;
        }
        Ok(template)
    }

    /// Starts the engine, unless an endpoint is named. Returns the URL for this process; others use the port before it.
    fn engine(&self, data: &Data) -> Result<(Option<(Engine, Served)>, String)> {
        if let Some(url) = &self.endpoint {
            return Ok((None, url.clone()));
        }
        let usual = match (self.demo, self.container) {
            (true, _) => ANY_ADDRESS,
            (false, true) => DYNAMODB_OF_CONTAINER,
            (false, false) => USUAL_ADDRESS,
        };
        // The port comes first, so that the data isn't touched if the address is in use.
        let front = Front::bind(self.dynamodb.unwrap_or(usual), self.container)?;
        let engine = host_guard::start_hidden(data)?;
        let own_url = engine.url();
        let served = front.serve(&engine, self.allow_hosts.clone());
        Ok((Some((engine, served)), own_url))
    }

    fn auditor(&self, template: &Template, table: &DynamoTable) -> Result<Option<sapwood_handlers::audit::Handler>> {
        let handler = || audit::handler(template, &self.table, table, self.demo);
        (self.audit || self.demo).then(handler).transpose()
    }

    /// Where the table is, for the code that the explorer shows.
    fn place(&self, url: &str) -> TableAddress {
        TableAddress {
            table: self.table.clone(),
            endpoint: Some(output::reached(url)),
            region: Some(REGION.to_owned()),
            profile: None,
        }
    }
}

/// Runs until Ctrl-C, or until the demo ends.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let ended = dev(arguments).await.map_err(of_table("the demo can't continue", ""));
    ended.map_err(|error| Exit::Wrong.because(error))
}

async fn dev(arguments: Arguments) -> Result<()> {
    let output = Arc::new(Output::new(&arguments));
    let mut stopped = pin!(stop_signal::catch(arguments.end_with_input)?);
    let stack = tokio::select! {
        started = Stack::start(&arguments, &output) => started?,
        () = &mut stopped => return Ok(()),
    };
    let run = async {
        if let (true, Some(mapping)) = (arguments.demo, &stack.mapping) {
            return demo::run(&stack.table, mapping, stack.auditor.as_ref()).await;
        }
        output.listening(&stack, &arguments);
        if let Some(example) = arguments.example {
            example.fill(&stack.table, &stack.schema, arguments.tenant(&stack.schema).as_ref()).await?;
            output.filled();
        }
        if let Some(page) = stack.page().filter(|_| arguments.open) {
            explorer::open_browser(&page);
        }
        pending().await
    };
    let ended = tokio::select! {
        ended = run => ended,
        () = stopped => Ok(()),
    };
    stack.stop().await?;
    ended
}

struct Stack {
    engine: Option<(Engine, Served)>,
    /// The event source mapping, unless `--no-handler` is set.
    mapping: Option<Mapping>,
    http: Option<Http>,
    auditor: Option<sapwood_handlers::audit::Handler>,
    /// The auditor's runs, with `--audit`.
    audit: Option<Audit>,
    table: DynamoTable,
    schema: Schema,
    url: String,
    has_page: bool,
}

impl Stack {
    fn page(&self) -> Option<String> {
        let http = self.http.as_ref().filter(|_| self.has_page)?;
        Some(format!("{}{}", output::reached(&http.url), PATH))
    }

    async fn start(arguments: &Arguments, output: &Arc<Output>) -> Result<Self> {
        let http = arguments.http()?;
        let template = arguments.template()?;
        let variables = template.environment(&arguments.table)?;
        let config = Config::read(|name| variables.get(name).cloned())?;
        let data = arguments.data.clone().map_or(Data::Memory, Data::Directory);
        let (engine, own_url) = arguments.engine(&data)?;
        let url = engine.as_ref().map_or(own_url.clone(), |(_, served)| served.url.clone());
        let endpoint = Endpoint::new(&own_url);
        let stream = endpoint.ensure_table(&config.table_name, &template.table).await?;
        let schema = config.settings.schema.clone();
        let table = table_at(&own_url, &config.table_name, &schema);
        changes::begin_or_end(&table, &config.settings).await?;
        let fanout = Fanout { settings: config.settings.clone(), ..Fanout::default() };
        let handler = Handler::new(fanout.clone(), table.clone()).announcing();
        if !arguments.no_handler {
            // Before the first batch: whoever fills a new table isn't told that it has no handler.
            handler.announce().await;
        }
        let mut settings = Settings::new(&endpoint, &stream, &template);
        settings.observer = Some(output.observer());
        keep(&mut settings, &data, engine.is_some())?;
        // Other machines don't get to a page that kills handlers. A container's port is published on one machine.
        let has_page = http.is_some_and(|address| address.ip().is_loopback() || arguments.container);
        let watched = match has_page && !arguments.no_handler {
            true => {
                let (feed, trials, way) = (Feed::new(), Arc::new(Trials::default()), Way::open(&own_url)?);
                settings.watcher = Some(watcher(&feed, &schema));
                let mortal = Handler::new(fanout, table_at(&way.url, &arguments.table, &schema));
                Some(Watched { feed, trials, mortal, way, schema: schema.clone() })
            }
            false => None,
        };
        let (live, trials) =
            watched.as_ref().map(|watched| (watched.feed.clone(), Arc::clone(&watched.trials))).unzip();
        let function = HandlerFunction::new(handler, Arc::clone(output), watched);
        let mapping = if arguments.no_handler { None } else { Some(Mapping::start(settings, function)?) };
        let auditor = arguments.auditor(&template, &table)?;
        let runs = auditor.clone().filter(|_| arguments.audit);
        let audit = runs.map(|auditor| Audit::start(auditor, Arc::clone(output)));
        let explorer = has_page.then(|| Explorer {
            tables: Arc::new(explorer::tables(&table)),
            settings: config.settings,
            tenant: None,
            place: arguments.place(&url),
            rights: Rights { writes: true, trash: false },
            live,
            trials,
            example: arguments.example.map(Example::telling),
            is_playground: false,
        });
        let http = match http {
            Some(address) => {
                let port = Port { address, hosts: arguments.allow_hosts.clone(), in_container: arguments.container };
                let (claims, status) = (
                    arguments.claims.iter().cloned().collect(),
                    mapping.as_ref().map(|mapping| Arc::clone(&mapping.progress)),
                );
                Some(Http::start(port, &template, &table, &arguments.table, claims, status, explorer).await?)
            }
            None => None,
        };
        Ok(Self { engine, mapping, http, auditor, audit, table, schema, url, has_page })
    }

    async fn stop(self) -> Result<()> {
        if let Some(http) = self.http {
            http.stop().await;
        }
        if let Some(audit) = self.audit {
            audit.stop().await;
        }
        if let Some(mapping) = self.mapping {
            mapping.stop().await?;
        }
        if let Some((engine, served)) = self.engine {
            served.stop().await;
            engine.stop().await?;
        }
        Ok(())
    }
}

/// The watcher of the mapping's records, for pages.
fn watcher(feed: &Feed, schema: &Schema) -> Watcher {
    let (feed, schema) = (feed.clone(), schema.clone());
    Arc::new(move |records| feed.send(|| read(records.map(|seen| recorded(&seen, &schema)), &schema)))
}

/// Has the mapping keep its position and discarded records in the data directory, which an embedded engine has created.
fn keep(settings: &mut Settings, data: &Data, has_engine: bool) -> Result<()> {
    if let (false, Data::Directory(path)) = (has_engine, data) {
        create_private(path).map_err(|error| anyhow!("the directory {} can't be created: {error}", path.display()))?;
    }
    (settings.position_file, settings.failures_file) = (data.position_file(), data.failures_file());
    Ok(())
}

fn table_at(url: &str, name: &str, schema: &Schema) -> DynamoTable {
    DynamoTable::local(url, name, schema.clone()).waiting(LOCAL_CALL_TIME_MAX)
}
