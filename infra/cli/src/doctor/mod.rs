//! `sapwood doctor`: one look at a deployment.

mod checks;
mod facts;
mod finding;
mod look;
mod mapping;
mod services;

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use sapwood_core::model::Settings;
use sapwood_local::template::Template;
use serde_json::json;

use self::facts::{Read, Seen};
use self::finding::Verdict;
use self::look::{look, services};
use crate::TEMPLATE;
use crate::connect::Connection;
use crate::exit::Exit;
use crate::printable::{shown, shown_json};

/// The names of all checks, in their order.
pub const CHECKS: &str = "table keys stream ttl recovery protection replicas release mapping filter failures retries \
    destination handler concurrency settings alarms alarm-actions alarms-missing audit totals";

/// Check a deployment once, and suggest fixes. It looks at the table, its stream, the event source mapping, the stream
/// handler, alarms and the auditor. Nothing is written.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood doctor --table sapwood --profile prod
  sapwood doctor --table sapwood --endpoint http://127.0.0.1:8000
  sapwood doctor --table sapwood --json | jq 'select(.verdict == \"fail\")'

It ends with 0 if nothing fails (there may be warnings), 1 if something does, 2 for wrong arguments, and 4 if it can't look.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// Use this endpoint for Lambda and CloudWatch, such as an emulator's. It checks no credentials.
    #[arg(long, value_name = "URL")]
    services_endpoint: Option<String>,
    /// Print JSON. Each line is an object.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    let services = services(&arguments.connection, arguments.services_endpoint.as_deref()).await?;
    let seen = look(&arguments.connection, &services).await?;
    let settings = settings(&arguments.connection, &seen)?;
    let names = settings.schema.names();
    let parameters = BTreeMap::from([
        ("SortKey".to_owned(), names.sort_key.clone()),
        ("NodeSortKey".to_owned(), names.node.clone()),
    ]);
    let template = Template::parse_with(TEMPLATE, &parameters)?;
    let findings = checks::all(&seen, &settings, &template.event_source, env!("CARGO_PKG_VERSION"));
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for finding in &findings {
        *counts.entry(finding.verdict.as_str()).or_default() += 1;
        if arguments.json {
            println!("{}", shown_json(finding.json().to_string()));
        } else {
            println!("{}", shown(&finding.line()));
        }
    }
    if arguments.json {
        println!("{}", json!({"counts": counts}));
    }
    Ok(Exit::Wrong.unless(findings.iter().all(|finding| finding.verdict != Verdict::Fail)))
}

/// The settings of the parameters, if any are given, or those that the handler or its function has.
fn settings(connection: &Connection, seen: &Seen) -> Result<Settings> {
    if connection.has_parameters() {
        return connection.settings();
    }
    if let Read::Known(Some(announcement)) = &seen.announcement {
        return Ok(announcement.settings()?);
    }
    let functions = seen.functions.values().filter_map(|function| match function {
        Read::Known(function) if function.environment.contains_key("NODE_SORT_KEY") => Some(function),
        _ => None,
    });
    let mut read = functions.filter_map(|function| Settings::read(|name| function.environment.get(name).cloned()).ok());
    read.next().map_or_else(|| connection.settings(), Ok)
}
