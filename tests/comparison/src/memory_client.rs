//! The client beneath all patterns, on tables in memory: for the playground, which has no engine. It counts, and takes
//! turns, as the one in `client.rs` does, whose names it has.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use futures::future::join_all;
pub use sapwood_core::model::AttributeValue as Value;

use crate::meter::Meter;

pub type Item = HashMap<String, Value>;

/// A table of a pattern: its keys, and its index with its keys. A key that begins with `+` is a number.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub name: &'static str,
    pub keys: &'static [&'static str],
    pub index: Option<(&'static [&'static str], Holds)>,
}

/// What an index holds of an item.
#[derive(Clone, Copy, Debug)]
pub enum Holds {
    Everything,
    Keys,
}

/// A Query. `page` has the number of items of the one page that is read; without it all are.
#[derive(Clone, Debug)]
pub struct Query {
    pub table: &'static str,
    pub of: Of,
    pub partition: (&'static str, String),
    pub sort: Option<(&'static str, Range)>,
    pub page: Option<usize>,
}

/// What a Query asks. In memory all reads are strongly consistent, which is to the pattern's advantage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Table,
    TableStrongly,
    Index,
}

/// A range of sort keys.
#[derive(Clone, Debug)]
pub enum Range {
    Is(Value),
    Begins(String),
    Between(Value, Value),
}

/// A write of a batch.
#[derive(Clone, Debug)]
pub enum Write {
    Put(Item),
    Delete(Item),
}

type Rows = BTreeMap<Vec<String>, Item>;

/// A client, and the tables that it has to itself.
pub struct Client {
    tables: Mutex<BTreeMap<&'static str, (Table, Rows)>>,
    pub meter: Meter,
}

/// A value, as it sorts.
fn sorts(value: &Value) -> String {
    match value {
        Value::N(digits) => format!("{digits:0>40}"),
        Value::S(text) => text.clone(),
        other => panic!("no pattern has {other:?} in a key"),
    }
}

fn key_of(table: &Table, item: &Item) -> Vec<String> {
    table.keys.iter().map(|key| sorts(&item[key.trim_start_matches('+')])).collect()
}

impl Client {
    pub async fn start(tables: &[Table]) -> Self {
        let tables = tables.iter().map(|table| (table.name, (*table, Rows::new()))).collect();
        Self { tables: Mutex::new(tables), meter: Meter::default() }
    }

    /// Sends a request, when it is its turn.
    async fn sent<T>(&self, table: &str, act: impl FnOnce(&Table, &mut Rows) -> T) -> T {
        let sent = self.meter.begin().await;
        let answer = {
            let mut tables = self.tables.lock().unwrap();
            let (table, rows) = tables.get_mut(table).unwrap();
            act(table, rows)
        };
        self.meter.end(sent);
        answer
    }

    pub async fn get(&self, table: &str, key: Item, _is_strong: bool) -> Option<Item> {
        self.sent(table, |table, rows| rows.get(&key_of(table, &key)).cloned()).await
    }

    /// Puts an item; with a condition, one that isn't there.
    pub async fn put_if(&self, table: &str, item: Item, condition: Option<(&str, Option<Value>)>) -> bool {
        let put = |table: &Table, rows: &mut Rows| {
            let key = key_of(table, &item);
            let puts = condition.is_none() || !rows.contains_key(&key);
            puts.then(|| rows.insert(key, item));
            puts
        };
        self.sent(table, put).await
    }

    pub async fn query(&self, query: Query) -> Vec<Item> {
        let is_asked = |item: &Item| {
            let within = |(name, range): &(&str, Range)| {
                let value = sorts(&item[*name]);
                match range {
                    Range::Is(wanted) => value == sorts(wanted),
                    Range::Begins(start) => value.starts_with(start),
                    Range::Between(from, to) => (sorts(from)..=sorts(to)).contains(&value),
                }
            };
            let partition = item.get(query.partition.0).map(sorts);
            partition.as_ref() == Some(&query.partition.1) && query.sort.as_ref().is_none_or(within)
        };
        let found = |_: &Table, rows: &mut Rows| -> Vec<Item> {
            let mut found: Vec<Item> = rows.values().filter(|item| is_asked(item)).cloned().collect();
            found.sort_by_key(|item| query.sort.as_ref().map(|(name, _)| sorts(&item[*name])));
            found.truncate(query.page.unwrap_or(usize::MAX));
            found
        };
        self.sent(query.table, found).await
    }

    /// Writes items of distinct keys, 25 a request.
    pub async fn write(&self, table: &str, writes: impl IntoIterator<Item = Write>) {
        let writes: Vec<Write> = writes.into_iter().collect();
        let requests = writes.chunks(25).map(|chunk| {
            self.sent(table, move |table, rows| {
                for write in chunk {
                    match write {
                        Write::Put(item) => rows.insert(key_of(table, item), item.clone()),
                        Write::Delete(key) => rows.remove(&key_of(table, key)),
                    };
                }
            })
        });
        join_all(requests).await;
    }
}

pub fn item<const N: usize>(attributes: [(&str, Value); N]) -> Item {
    attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub fn s(text: impl Into<String>) -> Value {
    Value::S(text.into())
}

pub fn n(number: usize) -> Value {
    Value::N(number.to_string())
}

pub fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    let Some(Value::S(text)) = item.get(name) else { panic!("no {name} in {item:?}") };
    text
}

pub fn number(item: &Item, name: &str) -> usize {
    let Some(Value::N(digits)) = item.get(name) else { panic!("no {name} in {item:?}") };
    digits.parse().unwrap()
}

pub fn answer(items: &[Item], id: &str) -> BTreeMap<String, String> {
    items.iter().map(|item| (text(item, id).to_owned(), text(item, "name").to_owned())).collect()
}
