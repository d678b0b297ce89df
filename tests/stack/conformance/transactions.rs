//! Writes that are done together or not at all, updates of several attributes, and reads of some.

use std::collections::BTreeSet;

use sapwood_core::keys::ItemKey;
use sapwood_core::model::{Item, text};
use sapwood_store::{
    Action, Condition, ErrorKind, Query, ReadOptions, TRANSACTION_ACTIONS_MAX, Table, Transacted, Update,
};
use sapwood_tests::conformance::{Kind, Subject};

use super::support::{get, item, key, n, put_one, query};

fn put(key: &ItemKey, condition: Condition) -> Action {
    Action::Put { key: key.clone(), item: item(key, [("put", n("1"))]), condition }
}

fn check(key: &ItemKey, condition: Condition) -> Action {
    Action::Check { key: key.clone(), condition }
}

pub(crate) async fn a_transaction_does_all_of_its_actions<S: Subject>(subject: &S) {
    let table = subject.table();
    let [new, changed, made, gone, stays] = ["new", "changed", "made", "gone", "stays"].map(|pk| key(pk, "NODE"));
    put_one(table, &item(&changed, [("a", n("1")), ("b", n("2")), ("parent", text("p"))])).await;
    put_one(table, &item(&gone, [])).await;
    put_one(table, &item(&stays, [("parent", text("q"))])).await;
    let update = Update {
        set: Item::from([("a".to_owned(), text("other")), ("a.b #c".to_owned(), n("3"))]),
        remove: BTreeSet::from(["b".to_owned(), "never there".to_owned()]),
        ..Update::default()
    };
    let actions = [
        put(&new, Condition::Absent),
        Action::Update {
            key: changed.clone(),
            update: update.clone(),
            condition: Condition::All(vec![
                Condition::Exists,
                Condition::is("parent", Some(text("p"))),
                Condition::is("_deleting", None),
            ]),
        },
        Action::Update { key: made.clone(), update, condition: Condition::Absent },
        Action::Delete { key: gone.clone(), condition: Condition::Exists },
        check(&stays, Condition::is("parent", Some(text("q")))),
    ];
    let reply = table.transact(&actions).await.unwrap();
    assert_eq!(reply.value, Transacted::Done);
    // AWS and the embedded engine count each write twice, DynamoDB Local once; what a check costs none of them agree
    // on.
    let enough = match subject.kind() {
        Kind::Simulated | Kind::Embedded => 8.0,
        Kind::DynamoDbLocal => 4.0,
    };
    assert!(reply.write_units >= enough, "{reply:?}");
    assert_eq!(get(table, &new).await, Some(item(&new, [("put", n("1"))])));
    let other = [("a", text("other")), ("a.b #c", n("3"))];
    assert_eq!(get(table, &made).await, Some(item(&made, other.clone())));
    let [a, c] = other;
    assert_eq!(get(table, &changed).await, Some(item(&changed, [a, c, ("parent", text("p"))])));
    assert_eq!(get(table, &gone).await, None);
    assert_eq!(get(table, &stays).await, Some(item(&stays, [("parent", text("q"))])));
}

pub(crate) async fn a_transaction_of_which_a_condition_fails_does_nothing_and_says_which<S: Subject>(subject: &S) {
    let table = subject.table();
    let [there, absent, free] = ["there", "absent", "free"].map(|pk| key(pk, "NODE"));
    put_one(table, &item(&there, [("a", n("1"))])).await;
    let actions = [
        put(&free, Condition::Always),
        put(&there, Condition::Absent),
        check(&absent, Condition::Exists),
        check(&key("other", "NODE"), Condition::Absent),
    ];
    assert_eq!(table.transact(&actions).await.unwrap().value, Transacted::Failed(vec![1, 2]));
    assert_eq!(get(table, &free).await, None);
    assert_eq!(get(table, &there).await, Some(item(&there, [("a", n("1"))])));
    // All of a list must hold, and one that fails is enough.
    let both = |last| Condition::All(vec![Condition::Exists, Condition::is("a", Some(n("1"))), last]);
    let holds = [check(&there, both(Condition::is("b", None)))];
    assert_eq!(table.transact(&holds).await.unwrap().value, Transacted::Done);
    let fails = [check(&there, both(Condition::is("b", Some(n("1")))))];
    assert_eq!(table.transact(&fails).await.unwrap().value, Transacted::Failed(vec![0]));
    let or_inside = Condition::All(vec![
        Condition::LessThan { name: "never".into(), value: n("1") },
        Condition::is("a", Some(n("2"))),
    ]);
    assert_eq!(table.transact(&[check(&there, or_inside)]).await.unwrap().value, Transacted::Failed(vec![0]));
}

pub(crate) async fn a_transaction_has_up_to_100_actions_on_distinct_items<S: Subject>(subject: &S) {
    let table = subject.table();
    let puts = |count: usize| -> Vec<Action> {
        (0..count).map(|number| put(&key(&format!("p{number}"), "NODE"), Condition::Absent)).collect()
    };
    let twice = vec![put(&key("p", "s"), Condition::Always), check(&key("p", "s"), Condition::Exists)];
    for impossible in [Vec::new(), puts(TRANSACTION_ACTIONS_MAX + 1), twice] {
        let error = table.transact(&impossible).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Refuse, "{error}");
    }
    assert_eq!(table.transact(&puts(TRANSACTION_ACTIONS_MAX)).await.unwrap().value, Transacted::Done);
    assert!(get(table, &key("p99", "NODE")).await.is_some());
}

pub(crate) async fn a_transaction_with_one_impossible_item_is_refused_whole<S: Subject>(subject: &S) {
    let table = subject.table();
    let (good, large) = (key("good", "NODE"), key("large", "NODE"));
    let too_large = Action::Put {
        key: large.clone(),
        item: item(&large, [("bulk", text("x".repeat(400 * 1_024)))]),
        condition: Condition::Always,
    };
    let error = table.transact(&[put(&good, Condition::Always), too_large]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Refuse, "{error}");
    assert_eq!(get(table, &good).await, None);
    let too_long = [put(&good, Condition::Always), check(&key("p", &"s".repeat(1_025)), Condition::Absent)];
    let error = table.transact(&too_long).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Refuse, "{error}");
    assert_eq!(get(table, &good).await, None);
}

pub(crate) async fn a_read_of_some_attributes_returns_them_and_the_key<S: Subject>(subject: &S) {
    let table = subject.table();
    let [first, second] = ["1", "2"].map(|sk| key("p", sk));
    put_one(table, &item(&first, [("a", n("1")), ("a.b", n("2")), ("c", n("3"))])).await;
    put_one(table, &item(&second, [("c", n("4"))])).await;
    let some = |strong| ReadOptions {
        strong,
        attributes: Some(["a", "a.b", "never", "SK"].map(str::to_owned).into_iter().collect()),
    };
    let wanted = [item(&first, [("a", n("1")), ("a.b", n("2"))]), item(&second, [])];
    for strong in [true, false] {
        let page = table.query(&Query { reading: some(strong), ..query("p", "0", "9") }).await.unwrap().value;
        assert_eq!(page.items, wanted);
        let mut found = table.read_many(&[first.clone(), second.clone()], &some(strong)).await.unwrap().value.items;
        found.sort_by_key(|item| format!("{:?}", item["SK"]));
        assert_eq!(found, wanted);
    }
}

pub(crate) async fn an_eventual_read_costs_half_of_a_strong_one<S: Subject>(subject: &S) {
    let table = subject.table();
    let key = key("p", "s");
    put_one(table, &item(&key, [])).await;
    let eventual = ReadOptions { strong: false, attributes: None };
    let of_keys = table.read_many(std::slice::from_ref(&key), &eventual).await.unwrap();
    let of_range = table.query(&Query { reading: eventual, ..query("p", "a", "z") }).await.unwrap();
    assert_eq!((of_keys.value.items.len(), of_range.value.items.len()), (1, 1));
    assert_eq!((of_keys.read_units, of_range.read_units), (0.5, 0.5));
}
