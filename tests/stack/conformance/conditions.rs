//! Conditional writes: what the rules of the fan-out that name a condition stand on.

use sapwood_core::model::{AttributeValue, Item, text};
use sapwood_store::{Condition, Table};
use sapwood_tests::conformance::Subject;

use super::support::{Requests, get, item, key, n, put_all};

/// What a condition may find: no item, an item without the attribute `a`, or its value.
fn states() -> Vec<Option<Option<AttributeValue>>> {
    let values = [text("m"), text("a"), text("z"), text(""), n("5"), n("4"), n("6"), n("10"), n("-7")];
    let others = [AttributeValue::Bool(true), AttributeValue::Null(true), AttributeValue::L(vec![text("m")])];
    [None, Some(None)].into_iter().chain(values.into_iter().chain(others).map(|value| Some(Some(value)))).collect()
}

/// Each condition and whether it holds (`x`) of each state, in their order.
fn conditions() -> Vec<(Condition, &'static str)> {
    let is = |value| Condition::Is { name: "a".into(), value };
    let below = |value| Condition::LessThan { name: "a".into(), value };
    let at_most = |value| Condition::AtMost { name: "a".into(), value };
    let absent_or = |value| Condition::AbsentOr { name: "a".into(), value };
    vec![
        //                      no item, no `a` | m a z "" | 5 4 6 10 -7 | true null [m]
        (Condition::Always, "xx xxxx xxxxx xxx"),
        (Condition::Exists, ".x xxxx xxxxx xxx"),
        (is(None), "xx .... ..... ..."),
        (is(Some(text("m"))), ".. x... ..... ..."),
        (is(Some(text(""))), ".. ...x ..... ..."),
        (is(Some(n("5"))), ".. .... x.... ..."),
        (is(Some(AttributeValue::Bool(true))), ".. .... ..... x.."),
        (is(Some(AttributeValue::L(vec![text("m")]))), ".. .... ..... ..x"),
        (absent_or(text("m")), "x. x... ..... ..."),
        (absent_or(n("5")), "x. .... x.... ..."),
        (below(text("m")), "xx .x.x xxxxx xxx"),
        (at_most(text("m")), "xx xx.x xxxxx xxx"),
        (below(n("5")), "xx xxxx .x..x xxx"),
        (at_most(n("5")), "xx xxxx xx..x xxx"),
    ]
}

#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Put,
    Delete,
    Set,
}

async fn check<S: Subject>(subject: &S, operation: Operation) {
    let table = subject.table();
    let states = states();
    let mut cases = Vec::new();
    for (row, (condition, holds)) in conditions().into_iter().enumerate() {
        let holds: Vec<bool> = holds.chars().filter(|c| *c != ' ').map(|c| c == 'x').collect();
        assert_eq!(holds.len(), states.len(), "{condition:?}");
        for (column, (state, holds)) in states.iter().zip(holds).enumerate() {
            let key = key("conditions", &format!("{row:02}-{column:02}"));
            let before: Option<Item> = state.as_ref().map(|value| {
                let mut item = item(&key, [("other", n("1"))]);
                item.extend(value.clone().map(|value| ("a".to_owned(), value)));
                item
            });
            cases.push((key, before, condition.clone(), holds));
        }
    }
    put_all(table, cases.iter().filter_map(|(_, before, _, _)| before.clone())).await;

    for (key, before, condition, holds) in cases {
        let new = item(&key, [("new", n("2"))]);
        let answer = match operation {
            Operation::Put => table.put(&new, &condition).await,
            Operation::Delete => table.delete(&key, &condition).await,
            Operation::Set => table.set(&key, "new", &n("2"), &condition).await,
        };
        assert_eq!(answer.unwrap().value, holds, "{condition:?} of {before:?}");
        // The simulation asks the condition itself.
        assert_eq!(condition.holds(before.as_ref()), holds, "{condition:?} of {before:?}");
        let after = match operation {
            _ if !holds => before,
            Operation::Put => Some(new),
            Operation::Delete => None,
            Operation::Set => Some(before.into_iter().flatten().chain(new).collect()),
        };
        assert_eq!(get(table, &key).await, after, "{condition:?}");
    }
}

pub(crate) async fn a_put_is_done_where_its_condition_holds<S: Subject>(subject: &S) {
    check(subject, Operation::Put).await;
}

pub(crate) async fn a_delete_is_done_where_its_condition_holds<S: Subject>(subject: &S) {
    check(subject, Operation::Delete).await;
}

pub(crate) async fn a_set_is_done_where_its_condition_holds<S: Subject>(subject: &S) {
    check(subject, Operation::Set).await;
}

pub(crate) async fn a_set_leaves_the_other_attributes_alone_and_makes_an_item_where_none_is<S: Subject>(subject: &S) {
    let table = subject.table();
    let key = key("a", "NODE");
    let once = n("1");
    assert!(!table.set(&key, "_touched", &once, &Condition::Exists).await.unwrap().value);
    assert_eq!(get(table, &key).await, None);
    assert!(table.set(&key, "_touched", &once, &Condition::Always).await.unwrap().value);
    assert_eq!(get(table, &key).await, Some(item(&key, [("_touched", once.clone())])));
    // The attribute that is set is the one that the condition is about.
    let newer = Condition::LessThan { name: "_touched".into(), value: n("2") };
    assert!(table.set(&key, "_touched", &text("2"), &newer).await.unwrap().value);
    assert!(table.set(&key, "a name: with#anything.in/it", &once, &newer).await.unwrap().value);
    let whole = item(&key, [("_touched", text("2")), ("a name: with#anything.in/it", once)]);
    assert_eq!(get(table, &key).await, Some(whole));
}
