//! `sapwood cost`: what a workload costs a month.

mod measure;

use anyhow::Result;
use clap::Args;
use indicatif::HumanCount;
use sapwood_import::cost::DOLLARS_PER_MILLION_UNITS;
use sapwood_local::template::Template;
use serde_json::{Value, json};

use crate::TEMPLATE;
use crate::arguments::template_parameter;
use crate::exit::of_table;
use crate::say::{count, say, table};
use measure::{Measured, Shape, Taken, measure};

/// The bytes of a GB, as the price list has it.
const GB: f64 = 1e9;

/// The bytes that a read unit pays for, if the read is strong. Lists of rows aren't.
const READ_UNIT_BYTES: usize = 4_096;

/// Calculate what a workload costs a month. Each change is carried out once, by the stream handler on a DynamoDB in
/// this process, and what the engine reports is multiplied. It needs neither a table nor AWS.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood cost --nodes 1000000 --depth 4
  sapwood cost --nodes 1000000 --depth 4 --creates 100000 --writes 2000000 --moves 100 --moved-nodes 1000 --reads 30000000
  sapwood cost --nodes 10000 --depth 6 --bytes 900 --writes 50000 --parameter PathRows=off --json

The prices are AWS's for us-east-1, as copies of the lists had them in November 2026. Check them, and name your region's. What comes on top,
and what no measurement of one change shows, is in docs/decide/pricing.md: an idle stack, the auditor, the HTTP API, its checks, logs of your
own, traffic. In a batch nodes share reads and invocations, so a busy handler costs less.

It ends with 0, with 2 for wrong arguments, and with 4 if it can't measure.")]
pub(crate) struct Arguments {
    /// Set the number of stored nodes.
    #[arg(long, value_name = "NUMBER")]
    nodes: u64,
    /// Set the ancestors of an average node.
    #[arg(long, value_name = "LEVELS", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=97))]
    depth: u16,
    /// Set the bytes of a record's own attributes.
    #[arg(long, value_name = "NUMBER", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    bytes: u32,
    /// Set the bytes of an id. Long ids make lineages of more than a KB.
    #[arg(long, value_name = "NUMBER", default_value_t = 36, value_parser = clap::value_parser!(u16).range(1..=200))]
    id_bytes: u16,
    /// Set the nodes created a month.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    creates: u64,
    /// Set the changes of attributes a month.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    writes: u64,
    /// Set the moves a month.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    moves: u64,
    /// Set the nodes of a moved subtree, its top included.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    moved_nodes: u64,
    /// Set the nodes deleted a month, one by one.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    deletes: u64,
    /// Set the revisions appended a month.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    revisions: u64,
    /// Set the lists read from the table a month.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    reads: u64,
    /// Set the rows of such a list.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rows: u32,
    /// Set a parameter of your stack, for example PathRows=off. Repeat it for more parameters.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = template_parameter)]
    parameters: Vec<(String, String)>,
    #[command(flatten)]
    prices: Prices,
    /// Print JSON. Each line is an object.
    #[arg(long)]
    json: bool,
}

/// Prices in dollars.
#[derive(Args)]
struct Prices {
    /// Set the price of a million write units.
    #[arg(long, value_name = "DOLLARS", default_value_t = DOLLARS_PER_MILLION_UNITS)]
    price_write: f64,
    /// Set the price of a million read units.
    #[arg(long, value_name = "DOLLARS", default_value_t = 0.125)]
    price_read: f64,
    /// Set the price of a GB stored a month.
    #[arg(long, value_name = "DOLLARS", default_value_t = 0.25)]
    price_storage: f64,
    /// Set the price of a million invocations of the handler. Each has 20 ms of time and 2 KB of log.
    #[arg(long, value_name = "DOLLARS", default_value_t = 1.33)]
    price_invocation: f64,
}

/// A line of the table: a change, its number, and the units of all.
struct Line {
    name: String,
    number: u64,
    taken: Taken,
}

impl Line {
    fn of(name: impl Into<String>, number: u64, one: Taken) -> Self {
        Self { name: name.into(), number, taken: one.times(number as f64) }
    }

    fn dollars(&self, prices: &Prices) -> f64 {
        let Taken { write_units, read_units, records } = self.taken;
        (write_units * prices.price_write + read_units * prices.price_read + records * prices.price_invocation) / 1e6
    }

    fn json(&self, prices: &Prices) -> Value {
        let Taken { write_units, read_units, records } = self.taken;
        json!({
            "what": self.name, "number": self.number, "write_units": write_units, "read_units": read_units,
            "invocations_max": records, "dollars": self.dollars(prices),
        })
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let template = Template::parse_with(TEMPLATE, &arguments.parameters.iter().cloned().collect())?;
    let Arguments { depth, bytes, id_bytes, .. } = arguments;
    let shape = Shape { depth: depth.into(), bytes: bytes as usize, id_bytes: id_bytes.into() };
    let measured = measure(&template, shape).await.map_err(of_table("a change can't be measured", ""))?;
    let lines = arguments.lines(&measured);
    let stored = (arguments.nodes as f64, measured.bytes as f64 * arguments.nodes as f64 / GB);
    let of_storage = stored.1 * arguments.prices.price_storage;
    let filling = Line::of("to fill the table once", arguments.nodes, measured.create);
    let month = of_storage + lines.iter().map(|line| line.dollars(&arguments.prices)).sum::<f64>();
    if arguments.json {
        for line in &lines {
            say!("{}", line.json(&arguments.prices));
        }
        let Measured { items, bytes, .. } = measured;
        say!(
            "{}",
            json!({
                "what": "stored", "number": arguments.nodes, "items": items as f64 * stored.0, "items_of_a_node": items,
                "bytes_of_a_node": bytes, "gigabytes": stored.1, "dollars": of_storage,
            })
        );
        say!("{}", json!({"what": "a month", "dollars": month}));
        say!("{}", filling.json(&arguments.prices));
        return Ok(());
    }
    let mut rows: Vec<[String; 6]> = lines.iter().map(|line| line.cells(&arguments.prices)).collect();
    let none = String::new;
    let items = format!("stored: {} items, {} bytes a node", measured.items, HumanCount(measured.bytes as u64));
    let (nodes, size) = (HumanCount(arguments.nodes).to_string(), format!("{:.2} GB", stored.1));
    rows.push([items, nodes, size, none(), none(), money(of_storage)]);
    rows.push(["all".to_owned(), none(), none(), none(), none(), money(month)]);
    rows.push(filling.cells(&arguments.prices));
    say!("{}", table(["a month", "", "write units", "read units", "invocations", "dollars"], rows, 1));
    say!(
        "Invocations are the most that there can be. An idle stack, the auditor and the HTTP API come on top: docs/decide/pricing.md"
    );
    Ok(())
}

impl Arguments {
    fn lines(&self, measured: &Measured) -> Vec<Line> {
        let below = self.moved_nodes.saturating_sub(1);
        let subtree = measured.relocation.with(measured.relocation_below.times(below as f64), |top, rest| top + rest);
        let list = (measured.row_bytes * self.rows as usize).div_ceil(READ_UNIT_BYTES) as f64 / 2.0;
        let lines = [
            Line::of("creates", self.creates, measured.create),
            Line::of("changes", self.writes, measured.change),
            Line::of(format!("moves of {}", count(self.moved_nodes, "node")), self.moves, subtree),
            Line::of("deletions", self.deletes, measured.deletion),
            Line::of("revisions", self.revisions, measured.revision),
            Line::of(
                format!("lists of {}", count(self.rows.into(), "row")),
                self.reads,
                Taken { read_units: list, ..Taken::default() },
            ),
        ];
        lines.into_iter().filter(|line| line.number > 0).collect()
    }
}

impl Line {
    fn cells(&self, prices: &Prices) -> [String; 6] {
        let Taken { write_units, read_units, records } = self.taken;
        let whole = |number: f64| HumanCount(number.round() as u64).to_string();
        [
            self.name.clone(),
            HumanCount(self.number).to_string(),
            whole(write_units),
            whole(read_units),
            whole(records),
            money(self.dollars(prices)),
        ]
    }
}

fn money(dollars: f64) -> String {
    format!("${dollars:.2}")
}
