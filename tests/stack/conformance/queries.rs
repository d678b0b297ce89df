//! Ranges of a partition.

use sapwood_core::model::text;
use sapwood_store::{ErrorKind, Query, Table};
use sapwood_tests::conformance::{Kind, Subject};

use super::support::{item, key, put_all, put_one, query, sort_keys};

/// In the order of their bytes, which is that of code points, not of UTF-16 (there the last two would come before
/// U+FFFD), of no language, and not of the separators' meaning.
const IN_ORDER: [&str; 22] = [
    "\u{0}",
    "\u{1}",
    " ",
    "!",
    "NODE",
    "NODE\u{0}",
    "NODE!",
    "NODE#0001#a",
    "NODE#0001#é",
    "NODE#0010#a",
    "NODE$",
    "NODEa",
    "Z",
    "_",
    "a",
    "aa",
    "z",
    "é",
    "ÿ",
    "\u{FFFD}",
    "\u{10000}",
    "\u{10FFFF}",
];

async fn pages(table: &impl Table, mut query: Query) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let page = table.query(&query).await.unwrap().value;
        found.extend(sort_keys(&page.items).into_iter().map(str::to_owned));
        if page.next.is_none() {
            return found;
        }
        query.after = page.next;
    }
}

pub(crate) async fn a_query_answers_in_the_order_of_bytes<S: Subject>(subject: &S) {
    let table = subject.table();
    let mut shuffled = IN_ORDER.to_vec();
    shuffled.sort_by_key(|sk| sk.bytes().fold(7_u8, |hash, byte| hash.wrapping_mul(31) ^ byte));
    put_all(table, shuffled.iter().map(|sk| item(&key("p", sk), []))).await;
    let whole = query("p", IN_ORDER[0], IN_ORDER[IN_ORDER.len() - 1]);
    let mut in_order = IN_ORDER.to_vec();
    assert!(in_order.is_sorted());
    for descending in [false, true] {
        let page = table.query(&Query { descending, ..whole.clone() }).await.unwrap().value;
        assert_eq!(sort_keys(&page.items), in_order);
        assert_eq!(page.next, None);
        for limit in [1, 2, 5] {
            assert_eq!(pages(table, Query { descending, limit, ..whole.clone() }).await, in_order, "{limit}");
        }
        in_order.reverse();
    }
}

pub(crate) async fn a_query_has_both_ends_of_its_range_and_no_other_partition<S: Subject>(subject: &S) {
    let table = subject.table();
    for pk in ["p", "p\u{0}", "o", "q", "P"] {
        put_all(table, IN_ORDER.iter().map(|sk| item(&key(pk, sk), []))).await;
    }
    for from in 0..IN_ORDER.len() {
        for to in (from..IN_ORDER.len()).step_by(4) {
            let page = table.query(&query("p", IN_ORDER[from], IN_ORDER[to])).await.unwrap().value;
            assert_eq!(sort_keys(&page.items), IN_ORDER[from..=to]);
            assert!(page.items.iter().all(|item| item["PK"] == text("p")));
        }
    }
    // Ends that aren't there themselves, and ranges with nothing in them.
    let page = table.query(&query("p", "NODE#0001#", "NODE#0001$")).await.unwrap().value;
    assert_eq!(sort_keys(&page.items), ["NODE#0001#a", "NODE#0001#é"]);
    for nothing in [query("p", "NODE#0002#", "NODE#0009$"), query("nobody", "a", "z")] {
        let page = table.query(&nothing).await.unwrap().value;
        assert_eq!((page.items.len(), page.next), (0, None));
    }
}

pub(crate) async fn a_query_goes_on_after_any_sort_key_in_both_directions<S: Subject>(subject: &S) {
    let table = subject.table();
    put_all(table, ["b", "d", "f", "h"].map(|sk| item(&key("p", sk), []))).await;
    for (after, ascending, descending) in [
        ("b", vec!["d", "f", "h"], vec![]),
        ("d", vec!["f", "h"], vec!["b"]),
        // Nobody says that the item is still there.
        ("e", vec!["f", "h"], vec!["d", "b"]),
        ("h", vec![], vec!["f", "d", "b"]),
    ] {
        let after = Some(after.to_owned());
        let query = Query { after, ..query("p", "a", "z") };
        assert_eq!(pages(table, query.clone()).await, ascending);
        assert_eq!(pages(table, Query { descending: true, ..query }).await, descending);
    }
}

pub(crate) async fn a_query_says_where_to_go_on_as_soon_as_its_limit_is_reached<S: Subject>(subject: &S) {
    let table = subject.table();
    put_all(table, ["a", "b", "c"].map(|sk| item(&key("p", sk), []))).await;
    for (descending, first) in [(false, ["a", "b", "c"]), (true, ["c", "b", "a"])] {
        let page = async |limit| table.query(&Query { limit, descending, ..query("p", "A", "z") }).await.unwrap().value;
        let two = page(2).await;
        assert_eq!((sort_keys(&two.items), two.next.as_deref()), (first[..2].to_vec(), Some(first[1])));
        // Even where nothing follows.
        let three = page(3).await;
        assert_eq!((sort_keys(&three.items), three.next.as_deref()), (first.to_vec(), Some(first[2])));
        let four = page(4).await;
        assert_eq!((sort_keys(&four.items), four.next), (first.to_vec(), None));
        let after = Query { after: three.next, descending, ..query("p", "A", "z") };
        let rest = table.query(&after).await.unwrap().value;
        assert_eq!((rest.items.len(), rest.next), (0, None));
        // DynamoDB Local sees that nothing can follow what ends the range. Nobody promises either.
        let whole = table.query(&Query { limit: 3, descending, ..query("p", "a", "c") }).await.unwrap().value;
        assert_eq!(sort_keys(&whole.items), first);
        assert_eq!(whole.next.is_none(), subject.kind() == Kind::DynamoDbLocal);
    }
}

pub(crate) async fn a_page_ends_at_a_megabyte<S: Subject>(subject: &S) {
    let table = subject.table();
    let sort_keys_written = ["a", "b", "c", "d", "e", "f"];
    for sk in sort_keys_written {
        put_one(table, &item(&key("p", sk), [("large", text("x".repeat(300 * 1_024)))])).await;
    }
    let page = table.query(&query("p", "a", "z")).await.unwrap().value;
    // The item that passes the megabyte is the last one of the page; the embedded engine leaves it for the next.
    let on_the_page = if subject.kind() == Kind::Embedded { 3 } else { 4 };
    assert_eq!(sort_keys(&page.items), sort_keys_written[..on_the_page]);
    assert_eq!(page.next.as_deref(), Some(sort_keys_written[on_the_page - 1]));
    assert_eq!(pages(table, query("p", "a", "z")).await, sort_keys_written);
    let down = Query { descending: true, ..query("p", "a", "z") };
    assert_eq!(pages(table, down).await, ["f", "e", "d", "c", "b", "a"]);
}

pub(crate) async fn a_query_that_makes_no_sense_is_no_fault_of_an_item<S: Subject>(subject: &S) {
    let table = subject.table();
    put_all(table, ["a", "b", "c"].map(|sk| item(&key("p", sk), []))).await;
    let good = query("p", "a", "c");
    let after = |sk: &str| Query { after: Some(sk.to_owned()), ..good.clone() };
    let mut answered = Vec::new();
    for (what, query) in [
        ("a limit of nothing", Query { limit: 0, ..good.clone() }),
        ("a range that ends before it begins", query("p", "c", "a")),
        ("an empty partition key", query("", "a", "c")),
        ("an empty sort key to go on after", after("")),
        ("to go on after what is past the range", after("d")),
        ("to go on after what is before the range", after("Z")),
        ("a partition key too long", query(&"p".repeat(2_049), "a", "c")),
        ("a sort key too long", query("p", "a", &"z".repeat(1_025))),
    ] {
        match table.query(&query).await {
            Ok(_) => answered.push(what),
            Err(error) => assert_eq!(error.kind, ErrorKind::GiveUp, "{what}: {error}"),
        }
    }
    let lenient: &[&str] = match subject.kind() {
        Kind::Simulated => &[],
        Kind::DynamoDbLocal => &["a partition key too long"],
        Kind::Embedded => &["an empty partition key", "a partition key too long", "a sort key too long"],
    };
    assert_eq!(answered, lenient);
}
