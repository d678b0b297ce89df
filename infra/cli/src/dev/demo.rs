//! `sapwood dev --demo`: a folder tree, an audit log and a shop, after each change, as the table has them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::{Result, anyhow};
use sapwood_core::audit::Difference;
use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, OrderedList, Schema, SortKey, SortRange};
use sapwood_core::model::{
    Amounts, AttributeValue, Item, TRASHED, key_of, number, own_ancestors, text, text_of, with_key,
};
use sapwood_dynamodb::DynamoTable;
use sapwood_explorer::example::{FOLDERS, Filling, MOUSE, PRODUCT, SHOP};
use sapwood_handlers::audit::Handler;
use sapwood_local::mapping::Mapping;
use sapwood_store::{Condition, Query, ReadOptions, Scan, Scannable, Table};

/// The parameters of the template that the demo shows.
pub(super) const PARAMETERS: [(&str, &str); 3] =
    [("OrderAttribute", NAME), ("LinkAttributes", PRODUCT), ("Totals", "count,size")];

/// Files: the id, parent and size of each.
const FILES: [(&str, &str, &str); 3] =
    [("beach.jpg", "i", "3.25"), ("sunset.mov", "ii", "1800"), ("notes.txt", "c", "0.5")];
const SIZE: &str = "size";

/// Most runs until three rows are repaired: one finds them, the next repairs them, the last confirms it.
const AUDITOR_RUNS_MAX: usize = 10;
const AUDITOR_TIME: Duration = Duration::from_secs(60);

/// When the demo puts a folder into the trash.
const TRASHED_AT: &str = "2026-11-21T09:07:00.000Z";

const AUDITOR: &str = "auditor";
const NAME: &str = "name";

fn query(pk: &str, range: SortRange) -> Query {
    let (pk, reading) = (pk.to_owned(), ReadOptions::default());
    Query { pk, range, after: None, limit: 100, descending: false, reading }
}

/// The command by which a reader goes on: cargo and npx say in the environment that they run this process.
#[allow(clippy::disallowed_methods, reason = "one word of a greeting depends on it")]
fn command() -> &'static str {
    let has = |name: &str| std::env::var_os(name).is_some();
    match (has("CARGO_MANIFEST_DIR"), std::env::var_os("npm_command")) {
        (true, _) => "cargo run --",
        (false, Some(command)) if command == "exec" => "npx sapwood",
        (false, _) => "sapwood",
    }
}

/// True if the standard output is a terminal that may have colours.
#[allow(clippy::disallowed_methods, reason = "terminals say so in the environment alone")]
fn has_colours() -> bool {
    let says = |name, no: fn(&OsStr) -> bool| std::env::var_os(name).is_some_and(|value| no(&value));
    let refuses = says("NO_COLOR", |value| !value.is_empty()) || says("TERM", |value| value == "dumb");
    std::io::stdout().is_terminal() && !refuses
}

pub(super) async fn run(table: &DynamoTable, mapping: &Mapping, auditor: Option<&Handler>) -> Result<()> {
    let (schema, seen, has_colours) = (Schema::default(), BTreeMap::new(), has_colours());
    let mut demo = Demo { table, mapping, auditor, schema: &schema, seen, has_colours };
    demo.run().await
}

struct Demo<'a> {
    table: &'a DynamoTable,
    mapping: &'a Mapping,
    auditor: Option<&'a Handler>,
    schema: &'a Schema,
    /// The table after the step before.
    seen: BTreeMap<ItemKey, Item>,
    has_colours: bool,
}

impl Demo<'_> {
    async fn run(&mut self) -> Result<()> {
        print("Sapwood keeps trees in one DynamoDB table. You write records; the stream handler writes rows.")?;
        print("In each step, + is new since the step before, ~ has changed, - has gone.\n")?;
        let (children, below) = (self.schema.depth_range(1, 1), self.schema.depth_range(1, DEPTH_MAX));
        let in_order = self.schema.ordered_range(OrderedList::Children, None, None);
        let (latest, links) = (self.schema.latest_range("")?, self.schema.link_range(PRODUCT, "")?);
        let filling = Filling { table: self.table, schema: self.schema, tenant: None, condition: Condition::Always };
        for (id, parent, name) in FOLDERS {
            filling.node(id, parent, name, None).await?;
        }
        self.show("1. Fifteen folders are written: an id, a parent, a name. Directly below D", "D", children.clone())
            .await?;
        filling.node("d", Some("V"), "Holiday pictures", None).await?;
        self.show("2. Folder d is renamed by one write. Directly below V", "V", children).await?;
        filling.node("V", Some("III"), "Folder V", None).await?;
        self.show(
            "3. V moves below III by one write, with its subtree. One Query reads all below III",
            "III",
            below.clone(),
        )
        .await?;
        filling.node("b", Some("III"), "A new beginning", None).await?;
        self.show("4. b is renamed. The children of III by name", "III", in_order).await?;
        for (number, auditor) in [(1, "Rick"), (2, "Padma"), (3, "Lin")] {
            filling.revision("Equipment_1", "Audit", number, [(AUDITOR, text(auditor))]).await?;
        }
        self.show("5. A machine is audited three times. The newest revision, copied", "Equipment_1", latest).await?;
        for (id, parent, name, product) in SHOP {
            filling.node(id, parent, name, product.map(|product| (PRODUCT, text(product)))).await?;
        }
        self.show("6. Items of orders name products. Who ordered the mouse", MOUSE, links).await?;
        // As `POST /nodes/{id}/trash` leaves a record: without a parent, and with what restores it.
        let said = [("at", TRASHED_AT), ("by", "demo"), ("parent", "III")];
        let said = AttributeValue::M(said.map(|(name, value)| (name.to_owned(), text(value))).into());
        filling.node("V", None, "Folder V", Some((TRASHED, said))).await?;
        self.show("7. V goes into the trash, with its subtree. All below III", "III", below).await?;
        filling.node("V", Some("III"), "Folder V", None).await?;
        for (id, parent, size) in FILES {
            filling.node(id, Some(parent), id, Some((SIZE, AttributeValue::N(size.to_owned())))).await?;
        }
        self.show_totals("8. V comes back, and files arrive. The totals of III").await?;
        self.audit().await?;
        let command = command();
        print(&format!(
            "\nThat was the real stream handler, on an embedded DynamoDB. Next, the explorer, in a browser:\n  \
             {command} dev --example folders --open"
        ))
    }

    /// Damages three rows by hand, and has the auditor repair them.
    async fn audit(&self) -> Result<()> {
        let Some(auditor) = self.auditor else { return Ok(()) };
        self.table.delete(&self.row_key("D", 1, "IV")?, &Condition::Always).await?;
        for (depth, id, name) in [(2, "c", "not what its record says"), (1, "i", "a row that nothing asks for")] {
            let mut row = with_key(&self.row_key("D", depth, id)?, self.schema);
            let ours = [(NAME, text(name)), ("_id", text(id)), ("_depth", number(depth))];
            row.extend(ours.map(|(name, value)| (name.to_owned(), value)));
            self.table.put(&row, &Condition::Always).await?;
        }
        print("9. Three rows are damaged by hand. The auditor finds them by the records:")?;
        let mut healed = 0;
        for _ in 0..AUDITOR_RUNS_MAX {
            let report = auditor.run(AUDITOR_TIME).await?;
            for Difference { key, kind, .. } in &report.confirmed {
                print(&format!("     {}  {}  {}", key.pk, key.sk, kind.as_str()))?;
            }
            self.mapping.settled().await?;
            healed += report.healed;
            if healed > 0 && report.suspects == 0 {
                break;
            }
        }
        print(&format!("     {healed} are repaired"))
    }

    fn row_key(&self, ancestor: &str, depth: usize, id: &str) -> Result<ItemKey> {
        let (ancestor, id) = (Id::new(ancestor)?, Id::new(id)?);
        Ok(self.schema.item_key(&ancestor.into(), &SortKey::Ancestor { depth, id })?)
    }

    async fn show_totals(&self, title: &str) -> Result<()> {
        self.mapping.settled().await?;
        let lanes = self.table.query(&query("III", self.schema.totals_range())).await?.value;
        let all = Amounts::in_lanes(&lanes.items);
        let size = all.sums.get(SIZE).copied().unwrap_or_default();
        print(&format!("{title}:\n     {} nodes below, size {size}", all.count))
    }

    /// Prints the items that a Query finds, but totals, once the handler is done, and marks what the step has changed.
    async fn show(&mut self, title: &str, pk: &str, range: SortRange) -> Result<()> {
        self.mapping.settled().await?;
        let (segment, segments, limit, reading) = (0, 1, 1_000, ReadOptions::default());
        let all = self.table.scan(&Scan { segment, segments, after: None, limit, reading }).await?.value.items;
        let keyed = all.into_iter().filter_map(|item| Some((key_of(&item, self.schema)?, item)));
        let before = std::mem::replace(&mut self.seen, keyed.collect());
        let query = query(pk, range);
        let found = self.table.query(&query).await?.value.items;
        let there = found.into_iter().filter_map(|item| Some((key_of(&item, self.schema)?, item)));
        let there = there.map(|(key, item)| match before.get(&key) {
            None => ("\x1b[32m", '+', key, item),
            Some(was) if *was != item => ("\x1b[33m", '~', key, item),
            Some(_) => ("", ' ', key, item),
        });
        let has_gone = |key: &ItemKey| key.pk == pk && query.range.contains(&key.sk) && !self.seen.contains_key(key);
        let gone = before.iter().filter(|(key, _)| has_gone(key));
        let gone = gone.map(|(key, item)| ("\x1b[31m", '-', key.clone(), item.clone()));
        let mut lines: Vec<_> = there.chain(gone).collect();
        let parsed = |key: &ItemKey| self.schema.parse_sort_key(&key.sk);
        lines.retain(|(_, _, key, _)| !matches!(parsed(key), Some(SortKey::Counted | SortKey::Totals { .. })));
        self.print("\x1b[1m", &format!("{title}:"))?;
        let width = |of: fn(&ItemKey) -> &String| lines.iter().map(|(.., key, _)| of(key).chars().count()).max();
        let (first, second) = (width(|key| &key.pk).unwrap_or(0), width(|key| &key.sk).unwrap_or(0));
        for (colour, mark, ItemKey { pk, sk }, item) in &lines {
            let above = own_ancestors(item).unwrap_or_default();
            let above = above.iter().map(|id| format!(", below {id}")).collect::<String>();
            let rest = [NAME, AUDITOR].map(|name| text_of(item, name).unwrap_or_default()).concat();
            self.print(colour, format!("   {mark} {pk:first$}  {sk:second$}  {rest}{above}").trim_end())?;
        }
        Ok(())
    }

    /// Prints a line in a colour, where there are colours.
    fn print(&self, colour: &str, line: &str) -> Result<()> {
        let is_plain = colour.is_empty() || !self.has_colours;
        if is_plain { print(line) } else { print(&format!("{colour}{line}\x1b[0m")) }
    }
}

fn print(line: &str) -> Result<()> {
    writeln!(std::io::stdout().lock(), "{line}").map_err(|error| anyhow!("can't print: {error}"))
}
