//! Sizes of keys and items.

use std::collections::HashMap;

use sapwood_core::keys::{ID_BYTES_MAX, ItemKey, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use sapwood_core::model::{AttributeValue, ITEM_BYTES_MAX, Item, item_bytes, text};
use sapwood_store::{Condition, ErrorKind, Table};
use sapwood_tests::conformance::{Kind, Subject};

use super::support::{Requests, get, item, key, n, put, put_one};

pub(crate) async fn keys_at_their_limits_are_accepted_and_beyond_them_refused<S: Subject>(subject: &S) {
    let table = subject.table();
    let [pk, sk] = [PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX].map(|limit| "é".repeat(limit / 2));
    let longest = key(&pk, &sk);
    put_one(table, &item(&longest, [])).await;
    assert_eq!(get(table, &longest).await, Some(item(&longest, [])));
    let id = format!("NODE#0001#{}", "x".repeat(ID_BYTES_MAX));
    put_one(table, &item(&key("a", &id), [])).await;

    for beyond in [key(&(pk + "x"), "s"), key("p", &(sk + "x")), key("", "s"), key("p", "")] {
        let always = &Condition::Always;
        for error in [
            table.put(&item(&beyond, []), always).await.unwrap_err(),
            table.delete(&beyond, always).await.unwrap_err(),
            table.set(&beyond, "a", &n("1"), always).await.unwrap_err(),
            table.set(&beyond, "a", &n("1"), &Condition::Exists).await.unwrap_err(),
        ] {
            assert_eq!(error.kind, ErrorKind::Refuse, "{error}");
        }
    }
}

/// An item of this key that is counted as exactly as large as an item may be, most of it being `bulk`.
fn largest(key: &ItemKey, bulk: AttributeValue) -> Item {
    let mut item = item(key, [("bulk", bulk), ("rest", text(""))]);
    let left = ITEM_BYTES_MAX.checked_sub(item_bytes(&item)).expect("less than the limit");
    item.insert("rest".to_owned(), text("x".repeat(left)));
    assert_eq!(item_bytes(&item), ITEM_BYTES_MAX);
    item
}

/// A number of so many digits, another one for each `which`.
fn digits(which: usize, count: usize) -> String {
    format!("{}{:0>5}", "9".repeat(count - 5), which % 100_000)
}

pub(crate) async fn no_item_that_is_counted_as_fitting_is_refused<S: Subject>(subject: &S) {
    let table = subject.table();
    let numbers = |spell: fn(usize) -> String, count| (0..count).map(spell);
    let list = |values: &mut dyn Iterator<Item = AttributeValue>| AttributeValue::L(values.collect());
    let maps_in_lists = |depth| {
        (0..depth).fold(text("x"), |inner, level| match level % 2 {
            0 => AttributeValue::L(vec![inner]),
            _ => AttributeValue::M(HashMap::from([("m".to_owned(), inner)])),
        })
    };
    let mut bulks: Vec<(&str, AttributeValue)> = vec![
        ("text", text("x".repeat(300_000))),
        ("text of two bytes a character", text("é".repeat(150_000))),
        ("text of four bytes a character", text("😀".repeat(75_000))),
        ("binary", AttributeValue::B(vec![0; 300_000])),
        ("a number of 38 digits", n(&digits(1, 38))),
        ("numbers of 38 digits", list(&mut numbers(|which| digits(which, 38), 1_500).map(AttributeValue::N))),
        ("numbers of 37 digits", list(&mut numbers(|which| digits(which, 37), 1_500).map(AttributeValue::N))),
        ("negative numbers", list(&mut numbers(|which| format!("-{which}"), 3_000).map(AttributeValue::N))),
        ("one digit", list(&mut numbers(|which| (which % 10).to_string(), 5_000).map(AttributeValue::N))),
        ("fractions", list(&mut numbers(|which| format!("-0.0{which}"), 3_000).map(AttributeValue::N))),
        ("points in odd places", list(&mut numbers(|which| format!("{which}.{which}"), 3_000).map(AttributeValue::N))),
        ("large numbers", list(&mut numbers(|_| format!("99{}", "0".repeat(124)), 1_000).map(AttributeValue::N))),
        ("small numbers", list(&mut numbers(|_| format!("-0.{}1", "0".repeat(129)), 1_000).map(AttributeValue::N))),
        ("set of numbers", AttributeValue::Ns(numbers(|which| format!("-{}", which + 1), 3_000).collect())),
        ("set of texts", AttributeValue::Ss(numbers(|which| format!("text {which}"), 2_000).collect())),
        ("set of binaries", AttributeValue::Bs((0..2_000_u32).map(|which| which.to_be_bytes().to_vec()).collect())),
        ("booleans", list(&mut (0..5_000).map(|which| AttributeValue::Bool(which % 2 == 0)))),
        ("nulls", list(&mut (0..5_000).map(|_| AttributeValue::Null(true)))),
        ("empty texts", list(&mut (0..5_000).map(|_| text("")))),
        ("empty lists", list(&mut (0..5_000).map(|_| AttributeValue::L(vec![])))),
        ("empty maps", list(&mut (0..5_000).map(|_| AttributeValue::M(HashMap::new())))),
        ("a map", AttributeValue::M((0..3_000).map(|which| (which.to_string(), n("1"))).collect())),
        ("depths", list(&mut (0..300).map(|_| maps_in_lists(30)))),
    ];
    // Written short, they come back long, and the simulated table counts what comes back.
    if subject.kind() != Kind::Simulated {
        for short in ["9.9E125", "-1E-130"] {
            bulks.push((short, list(&mut (0..2_000).map(|_| n(short)))));
        }
    }
    for (number, (what, bulk)) in bulks.into_iter().enumerate() {
        let key = key("size", &number.to_string());
        let item = largest(&key, bulk);
        let mut answer = table.put(&item, &Condition::Always).await;
        // A busy machine, and no answer in time: that says nothing.
        for _ in 0..5 {
            if answer.as_ref().is_err_and(|error| error.kind == ErrorKind::Retry) {
                answer = table.put(&item, &Condition::Always).await;
            }
        }
        assert!(answer.as_ref().is_ok_and(|reply| reply.value), "{what}: {answer:?}");
    }
    // Many attributes, so that names count.
    let key = key("size", "names");
    let mut item = largest(&key, text(""));
    item.insert("rest".to_owned(), text(""));
    let mut bytes = item_bytes(&item);
    for which in 0.. {
        let more = Item::from([(format!("attribute number {which}"), n("1"))]);
        bytes += item_bytes(&more);
        if bytes > ITEM_BYTES_MAX {
            break;
        }
        item.extend(more);
    }
    put_one(table, &item).await;
}

pub(crate) async fn an_item_over_400_kilobytes_is_refused_however_it_is_written<S: Subject>(subject: &S) {
    let table = subject.table();
    let key = key("a", "NODE");
    // Of text alone, of which every byte is known.
    let mut large = largest(&key, text("x"));
    put_one(table, &large).await;
    large.insert("bulk".to_owned(), text("xx"));
    let always = &Condition::Always;
    for error in [
        table.put(&large, always).await.unwrap_err(),
        table.write_many(&[put(large.clone())]).await.unwrap_err(),
        table.set(&key, "more", &text(""), &Condition::Exists).await.unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::Refuse, "{error}");
    }
    assert_eq!(get(table, &key).await, Some(largest(&key, text("x"))));
    // Where the condition fails, it doesn't come to that.
    let is_not = Condition::Is { name: "rest".into(), value: None };
    assert!(!table.set(&key, "more", &text(""), &is_not).await.unwrap().value);
    // As large as before.
    assert!(table.set(&key, "bulk", &text("y"), always).await.unwrap().value);
}
