//! Records of changes.

use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_core::keys::ItemKey;
use sapwood_core::model::{AttributeValue, Item, text};
use sapwood_store::{Condition, Table, Write};
use sapwood_tests::conformance::{Kind, Subject};

use super::support::{Requests, item, key, n, put, put_one};

/// What is asked of a record; its sequence number is looked at apart.
type Seen = (Event, Option<Item>, Option<Item>);

fn of(changes: &[StreamRecord], key: &ItemKey) -> Vec<Seen> {
    let own = changes.iter().filter(|change| change.key == *key);
    own.map(|change| (change.event, change.old.clone(), change.new.clone())).collect()
}

pub(crate) async fn every_change_makes_a_record_with_both_images_in_the_order_of_its_item<S: Subject>(subject: &S) {
    let table = subject.table();
    let [a, b] = [key("a", "NODE"), key("é", "v001_\u{10FFFF}")];
    let of_every_type = item(
        &a,
        [
            ("n", n("12345678901234567890123456789012345678")),
            ("b", AttributeValue::B(vec![0, 255])),
            ("s", AttributeValue::Ss(vec!["a".into(), "b".into()])),
            ("l", AttributeValue::L(vec![AttributeValue::Null(true), text(""), AttributeValue::Bool(false)])),
            ("m", AttributeValue::M([("é".to_owned(), n("-1.5"))].into())),
        ],
    );
    let b_item = |number: usize| item(&b, [("n", n(&number.to_string()))]);
    let always = &Condition::Always;

    put_one(table, &of_every_type).await;
    put_one(table, &b_item(0)).await;
    table.set(&a, "_touched", &text("1"), &Condition::Exists).await.unwrap();
    table.write_many(&[put(b_item(1)), Write::Delete(a.clone())]).await.unwrap();
    table.set(&a, "_touched", &text("2"), always).await.unwrap();
    for number in 2..12 {
        put_one(table, &b_item(number)).await;
    }
    table.delete(&b, always).await.unwrap();
    put_one(table, &b_item(0)).await;

    let changes = subject.changes().await;
    let touched: Item = of_every_type.clone().into_iter().chain([("_touched".to_owned(), text("1"))]).collect();
    let made = item(&a, [("_touched", text("2"))]);
    assert_eq!(
        of(&changes, &a),
        [
            (Event::Insert, None, Some(of_every_type.clone())),
            (Event::Modify, Some(of_every_type), Some(touched.clone())),
            (Event::Remove, Some(touched), None),
            (Event::Insert, None, Some(made)),
        ]
    );
    let mut of_b = vec![(Event::Insert, None, Some(b_item(0)))];
    of_b.extend((1..12).map(|number| (Event::Modify, Some(b_item(number - 1)), Some(b_item(number)))));
    of_b.extend([(Event::Remove, Some(b_item(11)), None), (Event::Insert, None, Some(b_item(0)))]);
    assert_eq!(of(&changes, &b), of_b);
    for key in [a, b] {
        let numbers: Vec<String> = changes
            .iter()
            .filter(|change| change.key == key)
            .map(|change| format!("{:0>40}", change.sequence))
            .collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        assert!(numbers.iter().all(|number| number.len() == 40 && number.bytes().all(|b| b.is_ascii_digit())));
    }
}

pub(crate) async fn a_write_that_changes_nothing_makes_no_record<S: Subject>(subject: &S) {
    let table = subject.table();
    let key = key("a", "NODE");
    let same = item(&key, [("n", n("1")), ("s", AttributeValue::Ss(vec!["a".into(), "b".into()]))]);
    put_one(table, &same).await;
    let first: Seen = (Event::Insert, None, Some(same.clone()));
    assert_eq!(of(&subject.changes().await, &key), std::slice::from_ref(&first));

    put_one(table, &same).await;
    table.write_many(&[put(same.clone())]).await.unwrap();
    table.set(&key, "n", &n("1"), &Condition::Exists).await.unwrap();
    let otherwise = item(&key, [("n", n("1.0")), ("s", AttributeValue::Ss(vec!["b".into(), "a".into()]))]);
    put_one(table, &otherwise).await;
    let absent = super::support::key("absent", "NODE");
    table.delete(&absent, &Condition::Always).await.unwrap();
    table.write_many(&[Write::Delete(absent.clone())]).await.unwrap();

    let changes = subject.changes().await;
    assert_eq!(of(&changes, &absent), []);
    // The embedded engine makes a record of every put and set: the mapping drops those whose images are equal.
    let nothing = (Event::Modify, Some(same.clone()), Some(same));
    let extra = if subject.kind() == Kind::Embedded { 4 } else { 0 };
    let wanted: Vec<Seen> = [first].into_iter().chain(std::iter::repeat_n(nothing, extra)).collect();
    assert_eq!(of(&changes, &key), wanted);
}

pub(crate) async fn a_condition_that_fails_makes_no_record<S: Subject>(subject: &S) {
    let table = subject.table();
    let [there, absent] = [key("there", "NODE"), key("absent", "NODE")];
    put_one(table, &item(&there, [])).await;
    let before = subject.changes().await;
    let is = Condition::Is { name: "n".into(), value: Some(n("1")) };
    for key in [&there, &absent] {
        assert!(!table.put(&item(key, [("n", n("2"))]), &is).await.unwrap().value);
        assert!(!table.set(key, "n", &n("2"), &is).await.unwrap().value);
        assert!(!table.delete(key, &is).await.unwrap().value);
    }
    assert!(!table.set(&absent, "n", &n("2"), &Condition::Exists).await.unwrap().value);
    assert_eq!(subject.changes().await, before);
}
