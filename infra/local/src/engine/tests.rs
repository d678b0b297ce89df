//! The sweep, page by page.
#![allow(clippy::unwrap_used)]

use dynoxide::Database;
use serde_json::{Value, json};

use super::data::{Data, DataPlace};
use super::open;
use super::sweep::{PAGE_ITEMS_MAX, Sweep, Swept};

const PAST: u64 = 1_000_000_000;
const FUTURE: u64 = 99_999_999_999;

struct Fixture {
    _place: DataPlace,
    database: Database,
    sweep: Sweep,
}

fn parsed<T: serde::de::DeserializeOwned>(request: Value) -> T {
    serde_json::from_value(request).unwrap()
}

impl Fixture {
    fn on(data: &Data) -> Self {
        let place = DataPlace::of(data).unwrap();
        let (database, sweep) = open(&place).unwrap();
        Self { _place: place, database, sweep }
    }

    fn new() -> Self {
        Self::on(&Data::Memory)
    }

    /// Creates a table whose items expire by `expires`, with a stream and a global index on `kind`.
    fn create(&self, table: &str) {
        let request = json!({
            "TableName": table,
            "AttributeDefinitions": [
                {"AttributeName": "PK", "AttributeType": "S"}, {"AttributeName": "SK", "AttributeType": "N"},
                {"AttributeName": "kind", "AttributeType": "S"}
            ],
            "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [{
                "IndexName": "kinds", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
            }],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        });
        self.database.create_table(parsed(request)).unwrap();
        self.expire(table, true);
    }

    fn expire(&self, table: &str, enabled: bool) {
        let by =
            json!({"TableName": table, "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": "expires"}});
        self.database.update_time_to_live(parsed(by)).unwrap();
    }

    fn put(&self, table: &str, n: usize, expires: Value) {
        let mut item = json!({"PK": {"S": format!("item-{n:04}")}, "SK": {"N": "1"}, "kind": {"S": "one"}});
        if !expires.is_null() {
            item["expires"] = expires;
        }
        self.database.put_item(parsed(json!({"TableName": table, "Item": item}))).unwrap();
    }

    fn page(&mut self) -> Swept {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(self.sweep.page()).unwrap()
    }

    /// Sweeps to the end of the pass, and returns its pages.
    fn pass(&mut self) -> Vec<Swept> {
        let mut pages = Vec::new();
        while !pages.last().is_some_and(|page: &Swept| page.is_last) {
            pages.push(self.page());
        }
        pages
    }

    fn left(&self, table: &str, index: Option<&str>) -> usize {
        let scan = json!({"TableName": table, "IndexName": index});
        self.database.scan(parsed(scan)).unwrap().count
    }

    /// Returns the stream's records of deletions: the partition key, and who has deleted.
    fn deletions(&self, table: &str) -> Vec<(String, Option<String>)> {
        let streams = self.database.list_streams(parsed(json!({"TableName": table}))).unwrap();
        let arn = serde_json::to_value(streams).unwrap()["Streams"][0]["StreamArn"].clone();
        let shard = format!("shardId-00000001-{table}");
        let from = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = self.database.get_shard_iterator(parsed(from)).unwrap().shard_iterator;
        let records = self.database.get_records(parsed(json!({"ShardIterator": iterator}))).unwrap();
        let records = serde_json::to_value(records).unwrap()["Records"].as_array().unwrap().clone();
        let deletions = records.iter().filter(|record| record["eventName"] == "REMOVE");
        let told = deletions.map(|record| {
            let key = record["dynamodb"]["Keys"]["PK"]["S"].as_str().unwrap().to_owned();
            assert_eq!(record["dynamodb"]["OldImage"]["kind"]["S"], "one");
            (key, record["userIdentity"]["principalId"].as_str().map(str::to_owned))
        });
        told.collect()
    }
}

fn number(seconds: u64) -> Value {
    json!({"N": seconds.to_string()})
}

#[test]
fn a_page_reads_a_page_and_the_next_goes_on_after_it() {
    let mut fixture = Fixture::new();
    fixture.create("things");
    let items = 3 * PAGE_ITEMS_MAX + 7;
    for n in 0..items {
        fixture.put("things", n, if n % 10 == 3 { number(PAST) } else { number(FUTURE) });
    }
    let pages = fixture.pass();
    assert_eq!(pages.iter().map(|page| page.read).collect::<Vec<_>>(), [50, 50, 50, 7]);
    assert_eq!(pages.iter().map(|page| page.deleted).collect::<Vec<_>>(), [5, 5, 5, 1]);
    assert_eq!(fixture.left("things", None), items - 16);
    assert_eq!(fixture.left("things", Some("kinds")), items - 16, "an index still has what has expired");
    let again = fixture.pass();
    assert_eq!(again.iter().map(|page| page.read).sum::<usize>(), items - 16);
    assert_eq!(again.iter().map(|page| page.deleted).sum::<usize>(), 0);
}

#[test]
fn a_record_says_that_the_service_has_deleted_the_item_and_not_a_user() {
    let directory = tempfile::tempdir().unwrap();
    for data in [Data::Memory, Data::Directory(directory.path().to_owned())] {
        let mut fixture = Fixture::on(&data);
        fixture.create("things");
        fixture.put("things", 1, number(PAST));
        fixture.put("things", 2, number(PAST));
        // A user is earlier.
        let own = json!({"TableName": "things", "Key": {"PK": {"S": "item-0002"}, "SK": {"N": "1"}}});
        fixture.database.delete_item(parsed(own)).unwrap();
        fixture.pass();
        // The sweep's connection tells nothing about what others delete later.
        fixture.put("things", 3, number(FUTURE));
        let own = json!({"TableName": "things", "Key": {"PK": {"S": "item-0003"}, "SK": {"N": "1"}}});
        fixture.database.delete_item(parsed(own)).unwrap();
        let service = Some("dynamodb.amazonaws.com".to_owned());
        let told = [("item-0002".to_owned(), None), ("item-0001".to_owned(), service), ("item-0003".to_owned(), None)];
        assert_eq!(fixture.deletions("things"), told);
    }
}

#[test]
fn only_a_number_of_seconds_that_have_passed_expires() {
    let mut fixture = Fixture::new();
    fixture.create("things");
    let stay = [
        Value::Null,
        number(FUTURE),
        json!({"S": "1000000000"}),
        json!({"N": "-5"}),
        json!({"N": "1000000000.5"}),
        json!({"L": [number(PAST)]}),
        json!({"M": {"expires": number(PAST)}}),
    ];
    for (n, expires) in stay.iter().enumerate() {
        fixture.put("things", n, expires.clone());
    }
    assert_eq!(fixture.pass().iter().map(|page| page.deleted).sum::<usize>(), 0);
    fixture.put("things", 0, number(0));
    fixture.put("things", 1, number(PAST));
    assert_eq!(fixture.pass().iter().map(|page| page.deleted).sum::<usize>(), 2);
    assert_eq!(fixture.left("things", None), stay.len() - 2);
}

#[test]
fn tables_that_come_go_or_no_longer_expire_dont_hold_a_pass() {
    let mut fixture = Fixture::new();
    assert_eq!(fixture.pass(), [Swept { read: 0, deleted: 0, is_last: true }]);
    for table in ["aaa", "bbb", "ccc", "ddd"] {
        fixture.create(table);
        for n in 0..PAGE_ITEMS_MAX + 1 {
            fixture.put(table, n, number(PAST));
        }
    }
    fixture.page();
    // The table in which the pass is no longer expires, and the next is gone.
    fixture.expire("aaa", false);
    fixture.database.delete_table(parsed(json!({"TableName": "bbb"}))).unwrap();
    fixture.page();
    // The table in which the pass is was created again: the pass goes on after the same key.
    fixture.database.delete_table(parsed(json!({"TableName": "ccc"}))).unwrap();
    fixture.create("ccc");
    let rest = fixture.pass();
    assert_eq!(rest.iter().map(|page| page.read).collect::<Vec<_>>(), [0, 50, 1]);
    assert_eq!(["aaa", "ccc", "ddd"].map(|table| fixture.left(table, None)), [1, 0, 0]);
    // What it has passed by is the next pass's.
    fixture.put("ccc", 0, number(PAST));
    fixture.pass();
    assert_eq!(fixture.left("ccc", None), 0);
}
