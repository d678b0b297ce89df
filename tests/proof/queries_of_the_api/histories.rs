//! Revisions: of all topics, of one, one of them, and the copies of the newest.

use sapwood_core::keys::Version;
use sapwood_core::model::{Latest, text};
use sapwood_engine::query::{ListOptions, Order, ReadError, Revision};
use sapwood_simulation::fixture::Fixture;

use super::support::*;

fn topic(id: &str, topic: &str) -> Latest {
    Latest { node: node(id), topic: topic.to_owned() }
}

fn drawn(found: &[Revision]) -> Vec<String> {
    found.iter().map(|revision| format!("{}_{}", revision.version.number(), revision.topic)).collect()
}

fn key(version: u32, topic: &str) -> String {
    let schema = sapwood_core::keys::Schema::default();
    let version = Version::new(version.into()).unwrap();
    schema.sort_key(&sapwood_core::keys::SortKey::Revision { version, topic: topic.to_owned() }).unwrap()
}

/// An id with these revisions, and a node if asked for.
fn with(revisions: &[(u32, &str)]) -> Fixture {
    let mut fixture = Fixture::default();
    for (version, topic) in revisions {
        fixture.put("D", &key(*version, topic), &[("of", text(*topic)), ("parent", number(*version as usize))]);
    }
    fixture.settle();
    fixture
}

/// The revisions of a topic, or of all, as they should be listed.
fn wanted(revisions: &[(u32, &str)], only: Option<&str>, order: Order) -> Vec<String> {
    let mut wanted: Vec<(u32, &str)> = revisions.to_vec();
    wanted.retain(|(_, topic)| only.is_none_or(|only| only == *topic));
    wanted.sort_unstable();
    if order == Order::Descending {
        wanted.reverse();
    }
    wanted.iter().map(|(version, topic)| format!("{version}_{topic}")).collect()
}

const ORDERS: [Order; 2] = [Order::Descending, Order::Ascending];

#[test]
fn the_history_of_all_topics_is_one_query_and_has_no_copies() {
    for versions in [1..=3, 98..=101, 998..=1_001, 99_999..=100_000] {
        let revisions: Vec<(u32, &str)> =
            versions.flat_map(|v| [(v, "Audit"), (v, "State#wheel-2"), (v, "")]).collect();
        let fixture = with(&revisions);
        for order in ORDERS {
            let (page, usage) = counted(&fixture, async |r| r.revisions(&node("D"), order, &options()).await.unwrap());
            assert_eq!(drawn(&page.items), wanted(&revisions, None, order));
            assert_eq!((usage.requests, page.next), (1, None));
            for limit in 1..=13 {
                let paged =
                    all_pages(limit, |options| read(&fixture, async |r| r.revisions(&node("D"), order, options).await));
                assert_eq!(paged, page.items, "{order:?} by {limit}");
            }
        }
    }
}

#[test]
fn a_page_that_ends_among_many_copies_jumps_over_them() {
    let topics: Vec<String> = (0..400).map(|n| format!("t{n:03}")).collect();
    let revisions: Vec<(u32, &str)> =
        topics.iter().map(|topic| (1, topic.as_str())).chain([(100, "t000"), (101, "t000")]).collect();
    let fixture = with(&revisions);
    for order in ORDERS {
        for limit in [1, 3, 100, 402] {
            let paged = all_pages(limit, |options| {
                let (page, usage) = counted(&fixture, async |r| r.revisions(&node("D"), order, options).await);
                assert!(usage.requests <= 2, "{} calls", usage.requests);
                page
            });
            assert_eq!(drawn(&paged), wanted(&revisions, None, order));
        }
    }
}

#[test]
fn one_topic_among_few_is_one_query() {
    let revisions: Vec<(u32, &str)> = (1..=20).flat_map(|v| [(v, "Audit"), (v, "Audits"), (v, "State")]).collect();
    let fixture = with(&revisions);
    for order in ORDERS {
        let audit = topic("D", "Audit");
        let (page, usage) = counted(&fixture, async |r| r.topic(&audit, order, &options()).await.unwrap());
        assert_eq!(drawn(&page.items), wanted(&revisions, Some("Audit"), order));
        assert_eq!((usage.requests, page.next), (1, None));
        for limit in 1..=21 {
            let paged = all_pages(limit, |options| read(&fixture, async |r| r.topic(&audit, order, options).await));
            assert_eq!(paged, page.items, "{order:?} by {limit}");
        }
    }
}

#[test]
fn one_topic_among_many_is_read_by_its_numbers() {
    let others: Vec<String> = (0..60).map(|n| format!("part-{n:02}")).collect();
    let mut revisions: Vec<(u32, &str)> =
        (1..=150).flat_map(|version| others.iter().map(move |topic| (version, topic.as_str()))).collect();
    // Topics with the newest numbers, with old ones, with gaps, and with one.
    revisions.extend((1..=300).map(|version| (version, "long")));
    revisions.extend([(2, "short"), (3, "short"), (5, "short")]);
    revisions.extend([(1, "gaps"), (2, "gaps"), (70, "gaps"), (140, "gaps"), (399, "gaps"), (400, "gaps")]);
    revisions.extend([(9, "zz-only")]);
    let fixture = with(&revisions);
    for order in ORDERS {
        for name in ["long", "short", "gaps", "zz-only", "part-07", "none"] {
            let topic = topic("D", name);
            let (page, usage) = counted(&fixture, async |r| r.topic(&topic, order, &options()).await.unwrap());
            assert_eq!(drawn(&page.items), wanted(&revisions, Some(name), order), "{name} {order:?}");
            println!("{name} {order:?}: {} calls for {}", usage.requests, page.items.len());
            assert!(usage.requests <= 12, "{name} {order:?}: {} calls", usage.requests);
            for limit in [1, 2, 3, 10, 99, 150] {
                let paged = all_pages(limit, |options| read(&fixture, async |r| r.topic(&topic, order, options).await));
                assert_eq!(paged, page.items, "{name} {order:?} by {limit}");
            }
        }
    }
}

#[test]
fn what_is_appended_and_not_copied_yet_is_in_the_history() {
    let others: Vec<String> = (0..60).map(|n| format!("part-{n:02}")).collect();
    let mut revisions: Vec<(u32, &str)> =
        (1..=400).flat_map(|version| others.iter().map(move |topic| (version, topic.as_str()))).collect();
    revisions.push((1, "Audit"));
    let mut fixture = with(&revisions);
    for version in 2..=250 {
        fixture.put("D", &key(version, "Audit"), &[]);
    }
    for order in ORDERS {
        let page = read(&fixture, async |r| r.topic(&topic("D", "Audit"), order, &options()).await.unwrap());
        assert_eq!(page.items.len(), 250, "{order:?}");
    }
}

#[test]
fn one_revision_and_its_copy_are_one_read_each() {
    let fixture = with(&[(1, "Audit"), (2, "Audit"), (1_000, "State")]);
    let audit = topic("D", "Audit");
    let version = |number| Version::new(number).unwrap();
    let (one, usage) = counted(&fixture, async |r| r.revision(&audit, version(1), true).await.unwrap());
    assert_eq!((&one["SK"], usage.requests), (&text("v001_Audit"), 1));
    assert_eq!(one["parent"], number(1), "to a revision, parent is a name like any other");
    let (newest, usage) = counted(&fixture, async |r| r.latest(&audit, &fields(&["of"])).await.unwrap());
    assert_eq!((drawn(std::slice::from_ref(&newest)), usage.requests), (vec!["2_Audit".to_owned()], 1));
    assert!(newest.attributes.keys().eq(["of"]));
    let absent = read(&fixture, async |r| r.revision(&audit, version(3), true).await);
    assert!(matches!(absent, Err(ReadError::Absent { .. })));
    assert!(matches!(
        read(&fixture, async |r| r.latest(&topic("D", "x"), &options()).await),
        Err(ReadError::Absent { .. })
    ));
    let long = topic("D", &"x".repeat(1_024));
    assert!(matches!(read(&fixture, async |r| r.latest(&long, &options()).await), Err(ReadError::Key { .. })));
    assert!(matches!(
        read(&fixture, async |r| r.topic(&long, Order::Ascending, &options()).await),
        Err(ReadError::Key { .. })
    ));
}

#[test]
fn a_topic_as_long_as_a_key_allows_has_a_history() {
    let long = "x".repeat(1_024 - "v001_".len());
    let mut revisions: Vec<(u32, &str)> = vec![(1, &long), (2, &long)];
    let others: Vec<String> = (0..200).map(|n| format!("part-{n:03}")).collect();
    revisions.extend(others.iter().map(|topic| (5, topic.as_str())));
    let fixture = with(&revisions);
    for order in ORDERS {
        let page = read(&fixture, async |r| r.topic(&topic("D", &long), order, &options()).await.unwrap());
        assert_eq!(drawn(&page.items), wanted(&revisions, Some(&long), order));
    }
}

#[test]
fn the_newest_of_all_topics_is_one_query_by_the_beginning_of_their_names() {
    let fixture = with(&[(1, "Audit#a"), (2, "Audit#a"), (7, "Audit#b"), (1, "Audit"), (120, "State")]);
    for (prefix, found) in [
        ("", "1_Audit 2_Audit#a 7_Audit#b 120_State"),
        ("Audit#", "2_Audit#a 7_Audit#b"),
        ("S", "120_State"),
        ("x", ""),
    ] {
        let (page, usage) = counted(&fixture, async |r| r.latest_of_all(&node("D"), prefix, &options()).await.unwrap());
        assert_eq!(drawn(&page.items).join(" "), found);
        assert_eq!(usage.requests, if found.is_empty() { 3 } else { 1 });
        for limit in 1..=5 {
            let list =
                |options: &ListOptions| read(&fixture, async |r| r.latest_of_all(&node("D"), prefix, options).await);
            assert_eq!(all_pages(limit, list), page.items);
        }
    }
}

#[test]
fn histories_need_a_node_or_a_revision() {
    let mut fixture = with(&[(1, "Audit")]);
    fixture.put_node("bare", None, &[]);
    fixture.settle();
    for (id, is_there) in [("D", true), ("bare", true), ("nothing", false)] {
        let lists = [
            read(&fixture, async |r| r.revisions(&node(id), Order::Ascending, &options()).await),
            read(&fixture, async |r| r.latest_of_all(&node(id), "other", &options()).await),
            read(&fixture, async |r| r.topic(&topic(id, "other"), Order::Descending, &options()).await),
        ];
        for list in lists {
            match list {
                Ok(_) => assert!(is_there, "{id}"),
                Err(ReadError::Absent { .. }) => assert!(!is_there, "{id}"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}
