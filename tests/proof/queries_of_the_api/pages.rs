//! Pages: by items, by DynamoDB's megabyte, by the answer's bytes, and by what the table still answers.

use std::sync::atomic::{AtomicUsize, Ordering};

use sapwood_core::model::{AttributeValue, size_estimate, text};
use sapwood_engine::query::{Bounds, Fields, ListOptions, ReadError, Reader, Tree, Window};
use sapwood_simulation::fixture::{Fixture, NoRetries, at_once};
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::memory::MemoryTable;
use sapwood_store::{Client, ErrorKind, TableError};

use super::support::*;

/// A node with so many children, each with a text of so many bytes.
fn wide(children: usize, bytes: usize) -> Fixture {
    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    for n in 0..children {
        fixture.put_node(&format!("c{n:04}"), Some("D"), &[("text", text("x".repeat(bytes)))]);
    }
    fixture.settle();
    fixture
}

#[test]
fn pages_of_any_size_are_the_whole_list_in_as_many_queries_as_pages() {
    let fixture = wide(3_000, 10);
    let children = Window::children();
    for limit in [1, 7, 100, 999, 1_000] {
        let queries = std::cell::Cell::new(0);
        let all = all_pages(limit, |options| {
            let (page, usage) = counted(&fixture, async |r| r.descendants(&node("D"), &children, options).await);
            queries.set(queries.get() + usage.requests);
            page
        });
        assert_eq!(all.len(), 3_000);
        assert!(all.windows(2).all(|pair| pair[0].id < pair[1].id), "in order, none twice");
        assert_eq!(queries.get(), 3_000_u64.div_ceil(limit as u64), "limit {limit}");
    }
    assert_eq!(counted(&fixture, async |r| r.count(&node("D"), &children, &options()).await.unwrap()).0.count, 3_000);
}

#[test]
fn a_list_that_ends_with_its_page_has_no_cursor() {
    let fixture = wide(10, 10);
    for limit in [10, 11, 1_000] {
        let options = ListOptions { bounds: Bounds::items(limit), ..ListOptions::default() };
        let page = read(&fixture, async |r| r.descendants(&node("D"), &Window::children(), &options).await.unwrap());
        assert_eq!((page.items.len(), page.next), (10, None));
    }
}

#[test]
fn a_page_ends_with_dynamodbs_and_the_next_one_has_the_rest() {
    // 36 rows of 30 KB are just over a megabyte; 35 are just under.
    for children in [34, 35, 36, 37, 70, 71, 105] {
        let fixture = wide(children, 30_000);
        let calls = std::cell::Cell::new((0, 0));
        let all = all_pages(1_000, |options| {
            let (page, usage) =
                counted(&fixture, async |r| r.descendants(&node("D"), &Window::children(), options).await);
            calls.set((calls.get().0 + 1, calls.get().1 + usage.requests));
            page
        });
        assert_eq!(all.len(), children);
        assert!(all.windows(2).all(|pair| pair[0].id < pair[1].id));
        let (pages, queries) = calls.get();
        assert_eq!(pages, queries, "{children} children: one Query a page");
        assert!(queries <= children as u64 / 34 + 1, "{children} children: {queries} queries");
        let all_rows = Window::new(0, None, None).unwrap();
        assert_eq!(
            read(&fixture, async |r| r.count(&node("D"), &all_rows, &options()).await.unwrap()).count,
            children + 1
        );
    }
}

#[test]
fn a_page_ends_by_the_bytes_of_the_answer() {
    // A control character is one byte in the table, six in JSON, and seven in an answer that has the JSON as a text.
    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    for n in 0..25 {
        fixture.put_node(&format!("c{n:02}"), Some("D"), &[("text", text("\u{1}".repeat(38_000)))]);
    }
    fixture.settle();
    let page =
        |options: &ListOptions| read(&fixture, async |r| r.descendants(&node("D"), &Window::children(), options).await);
    let first = page(&options()).unwrap();
    assert_eq!(first.items.len(), 15, "4,000,000 / 266,000");
    assert_eq!(all_pages(1_000, page).len(), 25);
    // What isn't shown takes no room in the answer.
    let narrow = ListOptions { fields: Fields::only(["name".to_owned()]).unwrap(), ..options() };
    assert_eq!(page(&narrow).unwrap().items.len(), 25);
}

#[test]
fn one_item_is_a_page_whatever_its_size() {
    let fixture = wide(3, 300_000);
    let bounds = Bounds { bytes_max: 1, ..Bounds::items(10) };
    let options = ListOptions { bounds, ..ListOptions::default() };
    let page = read(&fixture, async |r| r.descendants(&node("D"), &Window::children(), &options).await.unwrap());
    assert_eq!(page.items.len(), 1);
    assert!(page.next.is_some());
}

#[test]
fn a_position_that_the_list_does_not_have_is_refused_before_the_table_is_asked() {
    let fixture = small();
    for position in ["", "NODE", "NODE#0002#A", "PATH#V", "z", "v001_Audit"] {
        let options = ListOptions { after: Some(position.to_owned()), ..ListOptions::default() };
        let window = Window::children();
        let (page, usage) = counted(&fixture, async |r| r.descendants(&node("D"), &window, &options).await);
        assert!(matches!(page, Err(ReadError::Position)), "{position}: {page:?}");
        assert_eq!(usage.requests, 0);
    }
    let options = ListOptions { after: Some("x".to_owned()), ..ListOptions::default() };
    assert!(matches!(read(&fixture, async |r| r.ancestors(&node("D"), &options).await), Err(ReadError::Position)));
    let latest = sapwood_core::model::Latest { node: node("D"), topic: "Audit".to_owned() };
    for position in ["", "x", "n-1", "rNODE", "r", "é"] {
        let options = ListOptions { after: Some(position.to_owned()), ..ListOptions::default() };
        let page = read(&fixture, async |r| r.topic(&latest, Default::default(), &options).await);
        assert!(matches!(page, Err(ReadError::Position)), "{position}: {page:?}");
    }
}

#[test]
fn what_comes_and_goes_between_two_pages_makes_no_empty_page_and_no_item_twice() {
    let mut fixture = wide(10, 10);
    let window = Window::children();
    let mut options = ListOptions { bounds: Bounds::items(4), ..ListOptions::default() };
    let first = read(&fixture, async |r| r.descendants(&node("D"), &window, &options).await.unwrap());
    options.after = first.next;
    // The last one of the first page goes, one comes before it, and one after.
    fixture.delete_node("c0003");
    fixture.put_node("c00029", Some("D"), &[]);
    fixture.put_node("c00031", Some("D"), &[]);
    fixture.settle();
    let second = read(&fixture, async |r| r.descendants(&node("D"), &window, &options).await.unwrap());
    assert_eq!(ids(&second.items), ["c00031", "c0004", "c0005", "c0006"]);
}

/// Answers so many Query requests, and none after them.
struct Answering(AtomicUsize);

impl Observer for Answering {
    async fn before(&self, _: &Request<'_>) {}

    fn refuses(&self, request: &Request<'_>) -> Option<TableError> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        (matches!(request, Request::Query(_)) && left.is_err()).then(|| TableError::new(ErrorKind::Retry, "throttled"))
    }
}

/// Reads through a table that answers so many Query requests.
fn answered<R>(
    fixture: &Fixture,
    queries: usize,
    read: impl AsyncFnOnce(&Reader<'_, Intercept<MemoryTable, Answering>, NoRetries>) -> R,
) -> R {
    let table = Intercept { table: fixture.table().clone(), observer: Answering(AtomicUsize::new(queries)) };
    let client = Client::new(&table, &NoRetries, fixture.schema());
    at_once(read(&Reader::new(&client, fixture.settings())))
}

#[test]
fn a_query_that_fails_ends_the_page_with_what_the_others_read() {
    // Four Query pages.
    let fixture = wide(105, 30_000);
    let all: Vec<String> = (0..105).map(|n| format!("c{n:04}")).collect();
    for queries in [1, 2, 3] {
        let mut options = ListOptions { bounds: Tree::BOUNDS, ..ListOptions::default() };
        let mut found = Vec::new();
        let tree = answered(&fixture, queries, async |r| r.tree(&node("D"), None, &options).await.unwrap());
        assert!(
            tree.next.is_some() && tree.nodes.len() >= 30 * queries && tree.nodes.len() <= 36 * queries,
            "{}",
            tree.nodes.len()
        );
        found.extend(tree.nodes.into_iter().map(|node| node.id.to_string()));
        options.after = tree.next;
        let rest = read(&fixture, async |r| r.tree(&node("D"), None, &options).await.unwrap());
        found.extend(rest.nodes.into_iter().map(|node| node.id.to_string()));
        assert_eq!((&found[0], &found[1..], rest.next), (&"D".to_owned(), &all[..], None));

        let children = Window::children();
        let mut options = ListOptions::default();
        let counted = answered(&fixture, queries, async |r| r.count(&node("D"), &children, &options).await.unwrap());
        assert!(counted.next.is_some());
        options.after = counted.next;
        let rest = read(&fixture, async |r| r.count(&node("D"), &children, &options).await.unwrap());
        assert_eq!((counted.count + rest.count, rest.next), (105, None));
    }
    // Where there is nothing to show yet, the client is told to come again.
    let options = ListOptions { bounds: Tree::BOUNDS, ..ListOptions::default() };
    let refused = answered(&fixture, 0, async |r| r.tree(&node("D"), None, &options).await);
    assert!(matches!(refused, Err(ReadError::Table(_))));
}

#[test]
fn fields_have_bounds() {
    let only = |names: Vec<String>| Fields::only(names);
    assert!(only((0..100).map(|n| format!("a{n}")).collect()).is_ok());
    assert!(only((0..101).map(|n| format!("a{n}")).collect()).is_err());
    assert!(only(vec![String::new()]).is_err());
    assert!(only(vec!["x".repeat(256)]).is_err() && only(vec!["x".repeat(255)]).is_ok());
}

#[test]
fn the_size_estimate_counts_what_json_makes_longer_and_what_an_answer_makes_of_that() {
    let weighed = |value| size_estimate(&[("a".to_owned(), value)].into());
    // The answer of a function is JSON, and has the body as a text.
    let json = |value: serde_json::Value| {
        let body = serde_json::json!({ "a": value }).to_string();
        serde_json::to_string(&body).unwrap().len() - 2
    };
    for text_value in ["", "x", "\u{1}\u{1f}\n", "\"\\/", &"\"\\\u{1}".repeat(100), "é\u{10ffff}", "\u{7f}"] {
        assert!(weighed(text(text_value)) >= json(text_value.into()), "{text_value:?}");
    }
    let nested = AttributeValue::L(vec![AttributeValue::Null(true), AttributeValue::M([].into()), text("")]);
    assert!(weighed(nested) >= json(serde_json::json!([null, {}, ""])));
    let bytes = AttributeValue::Bs(vec![vec![0; 1], vec![1; 100]]);
    assert!(weighed(bytes) >= json(serde_json::json!({"$set": [{"$binary": "AA=="}, {"$binary": "A".repeat(136)}]})));
}
