//! The output of `sapwood dev`.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use sapwood_core::audit::Difference;
use sapwood_core::keys::{DEPTH_MAX, Id, Names, NodeRef, Schema, SortRange, Tenant};
use sapwood_core::plan::Tally;
use sapwood_engine::auditor::Report as Audited;
use sapwood_engine::fanout::{Counts, Report};
use sapwood_local::mapping::{Observation, Observer};
use sapwood_store::Usage;
use serde_json::{Value, json};

use super::{Arguments, Stack};
use crate::printable::{shown, shown_json};

/// The format of the output.
pub(super) enum Output {
    /// Text for people.
    Text,
    /// JSON, an object a line.
    Json,
    /// No output but errors.
    Quiet,
}

/// The most items that a line names of a batch.
const NAMED_MAX: usize = 3;

impl Output {
    pub(super) fn new(arguments: &Arguments) -> Self {
        // The demo prints its own output.
        match arguments {
            Arguments { quiet: true, .. } | Arguments { demo: true, .. } => Self::Quiet,
            Arguments { json: true, .. } => Self::Json,
            _ => Self::Text,
        }
    }

    pub(super) fn listening(&self, stack: &Stack, arguments: &Arguments) {
        let (table, url) = (&arguments.table, &stack.url);
        let http = stack.http.as_ref().map(|http| &http.url);
        match self {
            Self::Quiet => {}
            Self::Json => {
                let mut listening = json!({"event": "listening", "dynamodb": url, "table": table});
                if let Some(http) = http {
                    listening["http"] = json!(http);
                }
                if let Some(page) = stack.page() {
                    listening["explorer"] = json!(page);
                }
                print_json(&listening);
            }
            Self::Text => {
                let mut kept = match (&arguments.data, &arguments.endpoint) {
                    (_, Some(_)) => "kept there".to_owned(),
                    (Some(path), None) => format!("kept in {}", path.display()),
                    (None, None) => "in memory: lost when this ends".to_owned(),
                };
                if arguments.no_handler {
                    kept += "\n  stream    left to your own handler: no rows without it";
                }
                if arguments.container {
                    kept += "\n  open      to every machine that reaches these ports, without credentials";
                }
                let tenant = arguments.tenant(&stack.schema);
                let (url, http) = (reached(url), http.map(|url| reached(url)));
                let http = http.map(|url| api_and_page(&url, stack.page().as_deref())).unwrap_or_default();
                print(&greeting(&url, &http, table, &kept, &stack.schema, tenant));
            }
        }
    }

    /// Tells programs that the records of the example are written.
    pub(super) fn filled(&self) {
        if matches!(self, Self::Json) {
            print_json(&json!({"event": "filled"}));
        }
    }

    /// Prints a line for a batch that wrote something, and one for each problem in it.
    pub(super) fn fan_out(&self, event: &str, report: &Report, took: Duration) {
        if matches!(self, Self::Quiet) {
            return;
        }
        let text = |keys: BTreeMap<String, String>| keys.into_values().collect::<Vec<_>>().join(" ");
        let items: Vec<String> = keys(event).into_iter().map(text).collect();
        for problem in &report.problems {
            let (pk, sk, reason) = (&problem.key.pk, &problem.key.sk, &problem.reason);
            match self {
                Self::Json => print_json(&json!({"event": "problem", "pk": pk, "sk": sk, "reason": reason})),
                _ => print(&format!("! {} | {}: {}", shown(pk), shown(sk), shown(reason))),
            }
        }
        let Counts { usage, tally } = report.counts;
        let Usage { requests, retries, conflicts, read_units, write_units } = usage;
        let Tally { rounds, rows_put, rows_deleted, touches, copies, child_actions, nodes_deleted, nodes_copied } =
            tally;
        if matches!(self, Self::Json) {
            print_json(&json!({
                "event": "fan-out", "records": items.len(), "items": items, "failed": report.failed.len(),
                "requests": requests, "retries": retries, "conflicts": conflicts, "read_units": read_units, "write_units": write_units,
                "rounds": rounds, "rows_put": rows_put, "rows_deleted": rows_deleted, "touches": touches,
                "copies": copies, "child_actions": child_actions, "nodes_deleted": nodes_deleted, "nodes_copied": nodes_copied, "milliseconds": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            }));
        } else if write_units > 0.0 || !report.failed.is_empty() {
            let named = items.iter().take(NAMED_MAX).map(|item| shown(item)).collect::<Vec<_>>().join(", ");
            let more = items.len().saturating_sub(NAMED_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let did = [
                (rows_put, "row put", "rows put"),
                (rows_deleted, "row deleted", "rows deleted"),
                (touches, "child touched", "children touched"),
                (copies, "copy written", "copies written"),
                (child_actions, "child of a deleted node changed", "children of deleted nodes changed"),
                (nodes_deleted, "node deleted", "nodes deleted"),
                (nodes_copied, "node copied", "nodes copied"),
                (report.failed.len() as u64, "item to be retried", "items to be retried"),
            ];
            let did = did.iter().filter(|(n, ..)| *n > 0);
            let did: Vec<String> =
                did.map(|(n, one, many)| format!("{n} {}", if *n == 1 { one } else { many })).collect();
            let did = if did.is_empty() { "settled".to_owned() } else { did.join(", ") };
            print(&format!(
                "{named}{more}: {did}  ({requests} requests, {write_units} write units, {} ms)",
                took.as_millis()
            ));
        }
    }

    /// Returns the mapping's observer, which prints what the handler doesn't see.
    pub(super) fn observer(self: &Arc<Self>) -> Observer {
        let output = Arc::clone(self);
        Arc::new(move |observation| match observation {
            Observation::Discarded { sequence_number, keys, reason, .. } => {
                let reason = format!("{reason:?}");
                output.trouble("discarded", &format!("record {sequence_number} of {keys}: {reason}"));
            }
            Observation::Trouble { reason } => output.trouble("trouble", reason),
            _ => {}
        })
    }

    /// Prints what a run of the auditor has found, if it has found anything.
    pub(super) fn audit(&self, report: &Audited) {
        let (confirmed, healed, left) = (report.confirmed.len(), report.healed, report.left.len());
        let (unconfirmed, settle) = (report.unconfirmed.len(), report.settle);
        if !report.impossible.is_empty() {
            let names = report.impossible.join(", ");
            self.trouble("audit", &format!("the auditor's state can't be true, and was set anew: {names}"));
        }
        if confirmed == 0 && healed == 0 && left == 0 && unconfirmed == 0 && report.unfit.is_none() {
            return;
        }
        let named = |one: &Difference| format!("{} {} | {}", one.kind.as_str(), one.key.pk, one.key.sk);
        match self {
            Self::Quiet => {}
            Self::Json => {
                let keys = |list: &[Difference]| list.iter().map(named).collect::<Vec<_>>();
                let (confirmed, left) = (keys(&report.confirmed), keys(&report.left));
                let unconfirmed = keys(&report.unconfirmed);
                print_json(&json!({
                    "event": "audit", "confirmed": confirmed, "repaired": healed, "left": left, "unfit": report.unfit,
                    "unconfirmed": unconfirmed, "confirmation_window_seconds": settle,
                }));
            }
            Self::Text => {
                for one in &report.confirmed {
                    print(&format!("audit: {}", shown(&named(one))));
                }
                print(&format!("audit: {confirmed} found, {healed} mended, {left} left"));
                if unconfirmed > 0 {
                    print(&format!(
                        "audit: {unconfirmed} more wait for others to be mended, or until they have been the same for {settle} s"
                    ));
                }
                if let Some(reason) = &report.unfit {
                    print(&format!("! the auditor repairs nothing: {}", shown(reason)));
                }
            }
        }
    }

    pub(super) fn trouble(&self, event: &str, reason: &str) {
        match self {
            Self::Json => print_json(&json!({"event": event, "reason": reason})),
            Self::Text | Self::Quiet => eprintln!("sapwood: {event}: {}", shown(reason)),
        }
    }
}

/// Returns a port's URL as this machine reaches it, where it is open to all.
pub(super) fn reached(url: &str) -> String {
    url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
}

/// Says where the API is, and the page that shows the table.
fn api_and_page(url: &str, page: Option<&str>) -> String {
    let page = page.map(|page| format!("  explorer  {page}\n")).unwrap_or_default();
    format!("{page}  HTTP API  {url}, its reference is {url}/docs\n")
}

/// Returns the greeting: what runs, and how to write and read a first record.
fn greeting(url: &str, http: &str, table: &str, kept: &str, schema: &Schema, tenant: Option<Tenant>) -> String {
    let Names { partition_key, sort_key, parent, node, .. } = schema.names();
    let SortRange { from, to } = schema.depth_range(1, DEPTH_MAX);
    let text = |text: &str| json!({ "S": text });
    let pk = |id: &str| match Id::new(id) {
        Ok(id) => schema.partition(&NodeRef { tenant: tenant.clone(), id }),
        Err(_) => id.to_owned(),
    };
    let folder = |id: &str, above: Option<&str>, name: &str| {
        let mut item = json!({ partition_key: text(&pk(id)), sort_key: text(node), "name": text(name) });
        if let Some(above) = above {
            item[parent] = text(above);
        }
        item
    };
    let (first, second) = (folder("first", None, "First folder"), folder("second", Some("first"), "Second folder"));
    let values = json!({ ":v": text(&pk("first")), ":from": text(&from), ":to": text(&to) });
    let aws = |call: &str| format!("aws dynamodb {call} --endpoint-url {url} --table-name {table}");
    format!(
        "Sapwood is running. Ctrl-C ends it.\n\
         \n  DynamoDB  {url}\n  table     {table}, {kept}\n{http}\
         \nWrite a first record, with any client:\n\
         \n  export AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local AWS_DEFAULT_REGION=us-east-1\
         \n  {put} --item '{first}'\n  {put} --item '{second}'\n\
         \nand query its descendants:\n\
         \n  {query} \\\n    --key-condition-expression '{partition_key} = :v AND {sort_key} BETWEEN :from AND :to' \\\
         \n    --expression-attribute-values '{values}'\n",
        put = aws("put-item"),
        query = aws("query"),
    )
}

/// Prints JSON as a line, as a terminal may show it.
fn print_json(value: &Value) {
    print(&shown_json(value.to_string()));
}

/// Prints a line. A closed standard output doesn't end the process.
fn print(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Returns the key attributes of each record in a batch, by their names.
pub(super) fn keys(event: &str) -> Vec<BTreeMap<String, String>> {
    let event: Value = serde_json::from_str(event).unwrap_or_default();
    let text = |(name, key): (&String, &Value)| (name.clone(), key["S"].as_str().unwrap_or("?").to_owned());
    let keys = |record: &Value| record["dynamodb"]["Keys"].as_object().into_iter().flatten().map(text).collect();
    event["Records"].as_array().into_iter().flatten().map(keys).collect()
}
