//! Requests of many items.

use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, text};
use sapwood_store::{BATCH_GET_KEYS_MAX, BATCH_WRITE_ITEMS_MAX, Condition, ErrorKind, Found, Table, Write};
use sapwood_tests::conformance::{Kind, Subject};

use super::support::{Requests, get, item, key, n, put, put_all, put_one, query};

fn keys(count: usize) -> Vec<ItemKey> {
    (0..count).map(|number| key(&format!("p{}", number % 7), &format!("s{number:03}"))).collect()
}

fn sorted(mut items: Vec<Item>) -> Vec<Item> {
    items.sort_by_key(|item| format!("{:?} {:?}", item["PK"], item["SK"]));
    items
}

pub(crate) async fn a_batch_get_finds_what_is_there_and_leaves_out_what_is_not<S: Subject>(subject: &S) {
    let table = subject.table();
    let keys = keys(BATCH_GET_KEYS_MAX);
    let there: Vec<Item> = keys.iter().step_by(3).map(|key| item(key, [("n", n("1"))])).collect();
    put_all(table, there.clone()).await;
    let found = table.get_many(&keys).await.unwrap().value;
    assert_eq!(found.unprocessed, []);
    assert_eq!(sorted(found.items), sorted(there));
    let absent = key("nobody", "nothing");
    assert_eq!(table.get_many(&[absent]).await.unwrap().value, Found::default());
}

pub(crate) async fn a_batch_get_that_is_empty_too_long_or_names_a_key_twice_is_no_fault_of_an_item<S: Subject>(
    subject: &S,
) {
    let twice = vec![key("a", "NODE"), key("b", "NODE"), key("a", "NODE")];
    let empty = vec![key("a", "")];
    for keys in [vec![], keys(BATCH_GET_KEYS_MAX + 1), twice, empty, vec![key(&"p".repeat(2_049), "s")]] {
        let error = subject.table().get_many(&keys).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::GiveUp, "{error}");
    }
}

pub(crate) async fn a_large_answer_to_a_batch_get_counts_as_none_and_fewer_keys_are_answered_whole<S: Subject>(
    subject: &S,
) {
    let table = subject.table();
    let keys = keys(45);
    let large = text("x".repeat(390 * 1_024));
    for key in &keys {
        put_one(table, &item(key, [("large", large.clone())])).await;
    }
    // DynamoDB itself leaves keys where items have more than 16 MB. An answer of that size isn't read.
    for many in [&keys[..], &keys[..25]] {
        let error = table.get_many(many).await.unwrap_err();
        assert!(error.is_unanswered(), "{error}");
    }
    for fewer in keys.chunks(20) {
        let found = table.get_many(fewer).await.unwrap().value;
        assert_eq!((found.items.len(), found.unprocessed), (fewer.len(), Vec::new()));
    }
}

pub(crate) async fn a_batch_write_puts_and_deletes_25_items<S: Subject>(subject: &S) {
    let table = subject.table();
    let keys = keys(BATCH_WRITE_ITEMS_MAX);
    put_all(table, keys.iter().take(10).map(|key| item(key, [("before", n("1"))]))).await;
    // 0 to 4 are put over what is there, 5 to 9 deleted, 10 to 14 deleted though they aren't there, the rest is new.
    let write = |(number, key): (usize, &ItemKey)| match number {
        5..15 => Write::Delete(key.clone()),
        _ => put(item(key, [("after", n("2"))])),
    };
    let writes: Vec<Write> = keys.iter().enumerate().map(write).collect();
    assert_eq!(table.write_many(&writes).await.unwrap().value, []);
    for write in writes {
        assert_eq!(get(table, write.key()).await, write.item(&Schema::default()));
    }
}

pub(crate) async fn a_batch_write_that_is_empty_too_long_or_names_a_key_twice_is_refused<S: Subject>(subject: &S) {
    let table = subject.table();
    let put_of = |key: &ItemKey| put(item(key, []));
    let long: Vec<Write> = keys(BATCH_WRITE_ITEMS_MAX + 1).iter().map(put_of).collect();
    let [a, b] = [key("a", "NODE"), key("b", "NODE")];
    let twice = vec![put_of(&a), put_of(&b), Write::Delete(a.clone())];
    for writes in [vec![], long, twice] {
        let error = table.write_many(&writes).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Refuse, "{error}");
    }
    assert_eq!(table.get_many(&[a, b]).await.unwrap().value, Found::default());
}

pub(crate) async fn a_batch_write_with_one_impossible_item_is_refused_whole<S: Subject>(subject: &S) {
    let table = subject.table();
    let impossible = [
        put(item(&key("a", &"s".repeat(1_025)), [])),
        put(item(&key(&"p".repeat(2_049), "NODE"), [])),
        put(item(&key("a", ""), [])),
        put(item(&key("", "NODE"), [])),
        put(item(&key("a", "NODE"), [("large", text("x".repeat(400 * 1_024)))])),
        Write::Delete(key("a", &"s".repeat(1_025))),
        Write::Delete(key("a", "")),
    ];
    let stays = key("stays", "NODE");
    put_one(table, &item(&stays, [])).await;
    for (number, impossible) in impossible.into_iter().enumerate() {
        let good = key(&format!("good{number}"), "NODE");
        let writes = [put(item(&good, [])), impossible, Write::Delete(stays.clone())];
        let error = table.write_many(&writes).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Refuse, "{number}: {error}");
        assert_eq!(get(table, &good).await, None, "{number}");
        assert!(get(table, &stays).await.is_some(), "{number}");
    }
}

pub(crate) async fn requests_say_what_they_consumed<S: Subject>(subject: &S) {
    let table = subject.table();
    let key = key("a", "NODE");
    let of_3_kilobytes = item(&key, [("x", text("x".repeat(2_500)))]);
    let mut units = Vec::new();
    let put_reply = table.put(&of_3_kilobytes, &Condition::Always).await.unwrap();
    units.push((put_reply.read_units, put_reply.write_units));
    let set = table.set(&key, "y", &n("1"), &Condition::Exists).await.unwrap();
    units.push((set.read_units, set.write_units));
    let read = table.get_many(std::slice::from_ref(&key)).await.unwrap();
    units.push((read.read_units, read.write_units));
    let page = table.query(&query("a", "A", "Z")).await.unwrap();
    units.push((page.read_units, page.write_units));
    let writes = [put(of_3_kilobytes), put(item(&super::support::key("b", "NODE"), []))];
    let written = table.write_many(&writes).await.unwrap();
    units.push((written.read_units, written.write_units));
    let deleted = table.delete(&key, &Condition::Exists).await.unwrap();
    units.push((deleted.read_units, deleted.write_units));
    let refused = table.delete(&key, &Condition::Exists).await.unwrap();
    units.push((refused.read_units, refused.write_units));
    // One unit a kilobyte written, one for 4 kilobytes read strongly; a write whose condition fails isn't free.
    let wanted = [(0.0, 3.0), (0.0, 3.0), (1.0, 0.0), (1.0, 0.0), (0.0, 4.0), (0.0, 3.0), (0.0, 1.0)];
    assert_eq!(units, wanted);
    // AWS counts one unit for an item that isn't there (its API reference says so); DynamoDB Local counts none.
    let absent = table.get_many(&[super::support::key("a", "absent")]).await.unwrap();
    assert_eq!(absent.read_units, if subject.kind() == Kind::DynamoDbLocal { 0.0 } else { 1.0 });
}
