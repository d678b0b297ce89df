//! Updates that share a request: what touches stand on.

use sapwood_core::fanout::Event;
use sapwood_core::keys::ItemKey;
use sapwood_core::model::{AttributeValue, Decimal, Item, text};
use sapwood_store::{Action, BATCH_UPDATES_MAX, Condition, ErrorKind, Table, TableError, Transacted, Update};
use sapwood_tests::conformance::{Kind, Subject};

use super::support::{Requests, get, item, key, n, put_all, put_one};

fn keys(count: usize) -> Vec<ItemKey> {
    (0..count).map(|number| key(&format!("p{number:03}"), "NODE")).collect()
}

fn update(key: &ItemKey, update: Update) -> Action {
    Action::Update { key: key.clone(), update, condition: Condition::Exists }
}

fn touches(keys: &[ItemKey]) -> Vec<Action> {
    keys.iter().map(|key| update(key, Update::set("_touched", text("1")))).collect()
}

/// What came of updates: the kind of error of those that failed.
fn kinds(answers: &[Result<bool, TableError>]) -> Vec<Result<bool, ErrorKind>> {
    answers.iter().map(|answer| answer.as_ref().map(|held| *held).map_err(|error| error.kind)).collect()
}

pub(crate) async fn updates_of_items_that_exist_are_done_and_no_other_item_is_made<S: Subject>(subject: &S) {
    let table = subject.table();
    let keys = keys(BATCH_UPDATES_MAX);
    let there = |number: usize| !number.is_multiple_of(3);
    let before = |number: usize| item(&keys[number], [("other", n(&number.to_string())), ("_touched", text("0"))]);
    put_all(table, (0..keys.len()).filter(|number| there(*number)).map(before)).await;
    let answers = table.change_together(&touches(&keys)).await.unwrap().value;
    let wanted: Vec<Result<bool, ErrorKind>> = (0..keys.len()).map(|number| Ok(there(number))).collect();
    assert_eq!(kinds(&answers), wanted);
    for (number, key) in keys.iter().enumerate() {
        let after = there(number).then(|| {
            let mut after = before(number);
            after.insert("_touched".into(), text("1"));
            after
        });
        assert_eq!(get(table, key).await, after, "{number}");
    }
    // None of them is there.
    let absent: Vec<ItemKey> = keys.into_iter().step_by(3).collect();
    let answers = table.change_together(&touches(&absent)).await.unwrap().value;
    assert_eq!(kinds(&answers), vec![Ok(false); absent.len()]);
}

pub(crate) async fn an_update_sets_and_removes_attributes_of_any_name_and_type<S: Subject>(subject: &S) {
    let table = subject.table();
    let keys = ["a", "it's \"quoted\"", "é?"].map(|pk| key(pk, "v001_?"));
    let values = [
        ("order", text("it's ?")),
        ("a b", n("12345678901234567890123456789012345678")),
        ("it's", AttributeValue::B(vec![0, 255])),
        ("a.b", AttributeValue::Ss(vec!["a".into(), "b".into()])),
        ("é", AttributeValue::M([("x".to_owned(), AttributeValue::L(vec![AttributeValue::Null(true)]))].into())),
    ];
    let gone = ["set", "no-such", "GONE"];
    let update = Update {
        set: values.clone().map(|(name, value)| (name.to_owned(), value)).into(),
        remove: gone.map(str::to_owned).into(),
        ..Update::default()
    };
    for key in &keys {
        put_one(table, &item(key, [("set", n("1")), ("GONE", n("2")), ("gone", n("3")), ("order", n("4"))])).await;
    }
    let updates: Vec<_> = keys.iter().map(|key| self::update(key, update.clone())).collect();
    assert_eq!(kinds(&table.change_together(&updates).await.unwrap().value), [Ok(true); 3]);
    for key in &keys {
        let wanted: Item = item(key, [("gone", n("3"))]).into_iter().chain(update.set.clone()).collect();
        assert_eq!(get(table, key).await, Some(wanted));
    }
}

pub(crate) async fn updates_that_are_none_too_many_or_name_an_item_twice_are_refused<S: Subject>(subject: &S) {
    let table = subject.table();
    let [a, b] = [key("a", "NODE"), key("b", "NODE")];
    put_all(table, [item(&a, []), item(&b, [])]).await;
    let twice = vec![a.clone(), b.clone(), a.clone()];
    for keys in [vec![], keys(BATCH_UPDATES_MAX + 1), twice] {
        let error = table.change_together(&touches(&keys)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Refuse, "{error}");
    }
    // DynamoDB Local carries out what stands before the second statement of an item, and then refuses.
    if subject.kind() != Kind::DynamoDbLocal {
        for key in [a, b] {
            assert_eq!(get(table, &key).await, Some(item(&key, [])));
        }
    }
}

pub(crate) async fn an_update_that_is_refused_leaves_the_others_alone<S: Subject>(subject: &S) {
    let table = subject.table();
    let keys = keys(4);
    put_all(table, keys.iter().take(3).map(|key| item(key, []))).await;
    let mut updates = touches(&keys);
    updates[1] = update(&keys[1], Update::set("large", text("x".repeat(400 * 1_024))));
    let answers = table.change_together(&updates).await.unwrap().value;
    assert_eq!(kinds(&answers), [Ok(true), Err(ErrorKind::Refuse), Ok(true), Ok(false)]);
    assert_eq!(get(table, &keys[1]).await, Some(item(&keys[1], [])));
}

pub(crate) async fn updates_that_share_a_request_cost_as_much_as_by_themselves<S: Subject>(subject: &S) {
    let table = subject.table();
    let keys = keys(4);
    let large = |key: &ItemKey| item(key, [("x", text("x".repeat(2_500)))]);
    put_all(table, [large(&keys[0]), large(&keys[1]), item(&keys[2], [])]).await;
    let by_itself = table.set(&keys[0], "_touched", &text("0"), &Condition::Exists).await.unwrap();
    let three = table.change_together(&touches(&keys[..3])).await.unwrap();
    let with_one_absent = table.change_together(&touches(&keys[2..])).await.unwrap();
    let absent = table.change_together(&touches(&keys[3..])).await.unwrap();
    let units = [by_itself.write_units, three.write_units, with_one_absent.write_units, absent.write_units];
    // A statement that fails isn't free. Where all fail AWS reports nothing, and one each is counted. DynamoDB Local
    // never reports anything.
    let wanted = match subject.kind() {
        Kind::Simulated | Kind::Embedded => [3.0, 7.0, 2.0, 1.0],
        Kind::DynamoDbLocal => [3.0, 0.0, 1.0, 1.0],
    };
    assert_eq!(units, wanted);
}

pub(crate) async fn each_update_makes_a_record_of_its_own<S: Subject>(subject: &S) {
    let table = subject.table();
    let keys = keys(3);
    put_all(table, keys[..2].iter().map(|key| item(key, []))).await;
    table.change_together(&touches(&keys)).await.unwrap();
    let changes = subject.changes().await;
    let touched = |key: &ItemKey| item(key, [("_touched", text("1"))]);
    for key in &keys[..2] {
        let of_one: Vec<_> = changes.iter().filter(|change| change.key == *key).collect();
        let [_, touch] = of_one.as_slice() else { panic!("{of_one:?}") };
        let seen = (touch.event, touch.old.clone(), touch.new.clone());
        assert_eq!(seen, (Event::Modify, Some(item(key, [])), Some(touched(key))));
    }
    assert!(changes.iter().all(|change| change.key != keys[2]));
}

pub(crate) async fn numbers_are_added_to_exactly_and_where_there_is_none_from_zero<S: Subject>(subject: &S) {
    let (table, lane) = (subject.table(), key("a", "TOTALS#0000#00"));
    let added = |numbers: &[(&str, &str)]| {
        let add = numbers.iter().map(|(name, digits)| ((*name).to_owned(), Decimal::value(digits).unwrap()));
        Update { add: add.collect(), ..Update::default() }
    };
    let numbers = || async {
        let item = get(table, &lane).await.unwrap();
        ["_count", "_sum_a b"].map(|name| item.get(name).cloned())
    };
    let update = added(&[("_count", "1"), ("_sum_a b", "0.1")]);
    assert!(table.update(&lane, &update, &Condition::Always).await.unwrap().value);
    assert_eq!(numbers().await, [Some(n("1")), Some(n("0.1"))]);
    // Together with another change of the item, in a transaction.
    let more =
        Update { set: Item::from([("b".to_owned(), n("7"))]), ..added(&[("_count", "-3"), ("_sum_a b", "0.2")]) };
    let actions = [Action::Update { key: lane.clone(), update: more, condition: Condition::Always }];
    assert_eq!(table.transact(&actions).await.unwrap().value, Transacted::Done);
    assert_eq!(numbers().await, [Some(n("-2")), Some(n("0.3"))]);
    let much = added(&[("_sum_a b", "999999999999999999.999999999")]);
    assert!(table.update(&lane, &much, &Condition::Always).await.unwrap().value);
    assert_eq!(numbers().await, [Some(n("-2")), Some(n("1000000000000000000.299999999"))]);
}

pub(crate) async fn what_is_no_number_is_not_added_to<S: Subject>(subject: &S) {
    let (table, lane) = (subject.table(), key("a", "TOTALS#0000#00"));
    let before = item(&lane, [("_count", text("1"))]);
    put_one(table, &before).await;
    let update = Update { add: [("_count".to_owned(), Decimal::ONE)].into(), ..Update::default() };
    let alone = table.update(&lane, &update, &Condition::Always).await;
    assert_eq!(alone.unwrap_err().kind, ErrorKind::Refuse);
    let actions = [Action::Update { key: lane.clone(), update, condition: Condition::Always }];
    assert_eq!(table.transact(&actions).await.unwrap_err().kind, ErrorKind::Refuse);
    assert_eq!(get(table, &lane).await, Some(before));
}

pub(crate) async fn deletions_that_share_a_request_are_done_only_where_their_conditions_hold<S: Subject>(subject: &S) {
    let table = subject.table();
    let keys = keys(4);
    let of = |id: AttributeValue| [("_id", id)];
    put_all(table, [item(&keys[0], of(text("x"))), item(&keys[1], of(text("y"))), item(&keys[2], of(n("1")))]).await;
    let delete = |key: &ItemKey| Action::Delete { key: key.clone(), condition: Condition::is("_id", Some(text("x"))) };
    let answers = table.change_together(&keys.iter().map(delete).collect::<Vec<_>>()).await.unwrap().value;
    // Where there is no item PartiQL says that it is done.
    assert_eq!(kinds(&answers), [Ok(true), Ok(false), Ok(false), Ok(true)]);
    let left: Vec<bool> = vec![false, true, true, false];
    for (key, is_left) in keys.iter().zip(left) {
        assert_eq!(get(table, key).await.is_some(), is_left, "{key:?}");
    }
}
