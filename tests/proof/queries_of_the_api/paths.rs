//! Subtrees by path, as in the seed composite-sort-key-locations.

use std::sync::Mutex;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use sapwood_core::model::text;
use sapwood_engine::query::{AtPath, Bounds, ListOptions, ReadError, Reader, Within};
use sapwood_simulation::fixture::{Fixture, NoRetries, at_once};
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_store::Client;

use super::support::*;

fn within(path: &str, max_depth: Option<usize>, from: Option<&str>, to: Option<&str>) -> Within {
    let segments = path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect();
    Within::new(segments, max_depth, from.map(str::to_owned), to.map(str::to_owned)).unwrap()
}

fn drawn(found: &[AtPath]) -> Vec<String> {
    found.iter().map(|at| at.path.join("/")).collect()
}

/// USA over states over cities over zip codes, by explicit segments, and shops with ids alone.
fn locations() -> Fixture {
    let mut fixture = Fixture::default();
    fixture.put_node("USA", None, &[]);
    let mut add = |id: &str, parent: &str, segment: &str| {
        fixture.put_node(id, Some(parent), &[("segment", text(segment)), ("name", text(segment))]);
    };
    add("ne", "USA", "NE");
    add("omaha", "ne", "OMAHA");
    add("omaha2", "ne", "OMAHA2");
    add("odd", "ne", "OMAHA#2!");
    for zip in ["68099", "68100", "68118", "68199", "681990", "68200"] {
        add(&format!("z{zip}"), "omaha", zip);
    }
    add("z1", "omaha2", "68118");
    add("ny", "USA", "NY");
    fixture.put_node("shop-1", Some("z68118"), &[]);
    fixture.put_node("shop-2", Some("z68199"), &[]);
    // Two of one name, each with something below.
    fixture.put_node("twin-a", Some("ny"), &[("segment", text("TWIN"))]);
    fixture.put_node("twin-b", Some("ny"), &[("segment", text("TWIN"))]);
    fixture.put_node("below-a", Some("twin-a"), &[]);
    fixture.put_node("below-b", Some("twin-b"), &[]);
    fixture.settle();
    fixture
}

#[test]
fn a_path_is_one_query_at_any_level() {
    let fixture = locations();
    for (path, max_depth, from, to, wanted) in [
        ("NY", None, None, None, "NY NY/TWIN NY/TWIN NY/TWIN/below-a NY/TWIN/below-b"),
        ("NY/TWIN", Some(0), None, None, "NY/TWIN NY/TWIN"),
        ("NE/OMAHA", Some(0), None, None, "NE/OMAHA"),
        ("NE/OMAHA2", None, None, None, "NE/OMAHA2 NE/OMAHA2/68118"),
        ("NE/OMAHA#2!", None, None, None, "NE/OMAHA#2!"),
        ("NE/OMAHA", None, Some("68199"), None, "NE/OMAHA/68199 NE/OMAHA/68199/shop-2 NE/OMAHA/681990 NE/OMAHA/68200"),
        ("NE/OMAHA", None, None, Some("68100"), "NE/OMAHA/68099 NE/OMAHA/68100"),
        (
            "NE/OMAHA",
            None,
            Some("68100"),
            Some("68199"),
            "NE/OMAHA/68100 NE/OMAHA/68118 NE/OMAHA/68118/shop-1 NE/OMAHA/68199 NE/OMAHA/68199/shop-2",
        ),
        ("NE/OMAHA", Some(1), Some("68100"), Some("68199"), "NE/OMAHA/68100 NE/OMAHA/68118 NE/OMAHA/68199"),
        ("NE/OMAHA", None, Some("7"), Some("8"), ""),
        ("NE/OMAHA/68118/shop-1", None, None, None, "NE/OMAHA/68118/shop-1"),
        ("", Some(1), None, None, "NE NY"),
        ("", Some(1), Some("NF"), None, "NY"),
    ] {
        let asked = within(path, max_depth, from, to);
        let (page, usage) = counted(&fixture, async |r| r.paths(&node("USA"), &asked, &options()).await.unwrap());
        assert_eq!(drawn(&page.items).join(" "), wanted, "{asked:?}");
        assert_eq!(usage.requests, 1 + u64::from(wanted.is_empty()), "{asked:?}");
        for limit in 1..=6 {
            let paged =
                all_pages(limit, |options| read(&fixture, async |r| r.paths(&node("USA"), &asked, options).await));
            assert_eq!(paged, page.items, "{asked:?} by {limit}");
        }
    }
    let all = read(&fixture, async |r| r.paths(&node("USA"), &within("", None, None, None), &options()).await.unwrap());
    assert_eq!(all.items.len(), fixture.query_begins_with("USA", "PATH#").len());
}

#[test]
fn a_node_at_a_path_says_who_it_is() {
    let fixture = locations();
    let asked = within("NE/OMAHA/68118", None, None, None);
    let page = read(&fixture, async |r| r.paths(&node("USA"), &asked, &fields(&["name"])).await.unwrap());
    let said: Vec<_> = page
        .items
        .iter()
        .map(|at| (at.id.as_str(), at.parent.as_ref().unwrap().as_str(), at.attributes.len()))
        .collect();
    assert_eq!(said, [("z68118", "omaha", 1), ("shop-1", "z68118", 0)]);
}

#[test]
fn what_is_too_deep_is_jumped_over_not_read() {
    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    for top in ["a", "b", "c"] {
        fixture.put_node(top, Some("D"), &[]);
        for n in 0..2_500 {
            fixture.put_node(&format!("{top}{n:04}"), Some(top), &[]);
        }
    }
    fixture.settle();
    let asked = within("", Some(1), None, None);
    for limit in [1, 2, 3, 100] {
        let paged = all_pages(limit, |options| {
            let (page, usage) = counted(&fixture, async |r| r.paths(&node("D"), &asked, options).await);
            assert!(usage.requests <= 4, "{} calls", usage.requests);
            page
        });
        assert_eq!(drawn(&paged), ["a", "b", "c"]);
    }
}

/// A tree of so many nodes below `D`: each under one of the `reach` before it, so a small reach makes it deep. Half of
/// them have a segment of their own, of three, so that siblings have the same.
fn random_tree(rng: &mut SmallRng, nodes: usize, reach: usize) -> Fixture {
    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    for n in 0..nodes {
        let above = rng.random_range(n.saturating_sub(reach)..=n);
        let parent = if above == n { "D".to_owned() } else { format!("n{above}") };
        let segment = ["s", "t", "u"].choose(rng).filter(|_| rng.random_bool(0.5));
        let attributes: Vec<_> = segment.iter().map(|segment| ("segment", text(**segment))).collect();
        fixture.put_node(&format!("n{n}"), Some(&parent), &attributes);
    }
    fixture.settle();
    fixture
}

#[test]
fn a_path_to_a_depth_is_the_whole_path_without_what_is_deeper() {
    let mut rng = SmallRng::seed_from_u64(15);
    for (nodes, reach) in [(40, 1), (60, 3), (150, 150), (300, 40), (700, 700), (700, 8)] {
        let fixture = random_tree(&mut rng, nodes, reach);
        let list =
            |asked: &Within, options: &ListOptions| read(&fixture, async |r| r.paths(&node("D"), asked, options).await);
        let all = all_pages(1_000, |options| list(&within("", None, None, None), options));
        for _ in 0..25 {
            let at = &all.choose(&mut rng).unwrap().path;
            let above = &at[..rng.random_range(0..=at.len())];
            let max_depth = rng.random_range(usize::from(above.is_empty())..=4);
            let is_below = |path: &[String]| path.starts_with(above) && path.len() <= above.len() + max_depth;
            let wanted: Vec<&AtPath> = all.iter().filter(|at| is_below(&at.path)).collect();
            let asked = Within::new(above.to_vec(), Some(max_depth), None, None).unwrap();
            for limit in [1, 2, 7, 33, 100, 1_000] {
                let found = all_pages(limit, |options| list(&asked, options));
                assert!(found.iter().eq(wanted.iter().copied()), "{asked:?} by {limit}: {found:?}");
            }
        }
    }
}

/// The rows that a list asks for, and its queries.
#[derive(Default)]
struct Rows(Mutex<(usize, usize)>);

impl Observer for Rows {
    async fn before(&self, request: &Request<'_>) {
        let Request::Query(query) = request else { panic!("{request:?}") };
        let mut rows = self.0.lock().unwrap();
        *rows = (rows.0 + 1, rows.1 + query.limit);
    }
}

#[test]
fn a_list_to_a_depth_asks_for_little_more_than_it_shows() {
    // So many children, each the first of a chain.
    for (children, length, limit, queries_max, rows_max) in [
        (2_000, 1, 100, 2, 101),
        (2_000, 1, 1_000, 4, 1_001),
        (16, 97, 12, 15, 13 * 32 + 128),
        (300, 5, 100, 5, 101 * 5 + 300),
    ] {
        let mut fixture = Fixture::default();
        fixture.put_node("D", None, &[]);
        for child in 0..children {
            let mut parent = "D".to_owned();
            for n in 0..length {
                let id = format!("c{child:04}-{n}");
                fixture.put_node(&id, Some(&parent), &[]);
                parent = id;
            }
        }
        fixture.settle();
        let table = Intercept { table: fixture.table().clone(), observer: Rows::default() };
        let session = Client::new(&table, &NoRetries, fixture.schema());
        let options = ListOptions { bounds: Bounds::items(limit), ..ListOptions::default() };
        let asked = within("", Some(1), None, None);
        let reader = Reader::new(&session, fixture.settings());
        let page = at_once(reader.paths(&node("D"), &asked, &options)).unwrap();
        assert_eq!((page.items.len(), page.next.is_some()), (limit, true));
        let (queries, rows) = *table.observer.0.lock().unwrap();
        println!(
            "{children} children, each the first of a chain of {length}: {limit} of them in {queries} queries for {rows} rows"
        );
        assert!(queries <= queries_max && rows <= rows_max, "{queries} queries, {rows} rows");
    }
}

#[test]
fn a_path_below_an_id_that_is_not_there_is_absent_unless_orphans_hang_there() {
    let mut fixture = locations();
    fixture.put_node("orphan", Some("gone"), &[]);
    fixture.settle();
    let at = |root: &str, path: &str| {
        read(&fixture, async |r| r.paths(&node(root), &within(path, None, None, None), &options()).await)
    };
    assert!(matches!(at("nothing", "NE"), Err(ReadError::Absent { .. })));
    assert_eq!(drawn(&at("gone", "orphan").unwrap().items), ["orphan"]);
    assert!(at("gone", "other").is_err());
    assert!(matches!(at("USA", "other"), Err(ReadError::Absent { .. })));
}

#[test]
fn paths_that_make_no_sense_are_refused_by_the_parameter() {
    let refused = |path: &[&str], max_depth, from: Option<&str>, to: Option<&str>| {
        let segments = path.iter().map(|&segment| segment.to_owned()).collect();
        match Within::new(segments, max_depth, from.map(str::to_owned), to.map(str::to_owned)) {
            Err(ReadError::Parameter { parameter, .. }) => parameter,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&["NE"], None, Some("b"), Some("a")), "to");
    assert_eq!(refused(&["NE"], Some(0), Some("a"), None), "max_depth");
    assert_eq!(refused(&[], Some(0), None, None), "max_depth");
    let fixture = locations();
    let at = |within: &Within| read(&fixture, async |r| r.paths(&node("USA"), within, &options()).await);
    let long = Within::new(vec!["#".repeat(500)], None, None, None).unwrap();
    assert!(matches!(at(&long), Err(ReadError::Key { parameter: "path", .. })));
    assert!(matches!(at(&within("NE", None, Some(""), None)), Err(ReadError::Key { parameter: "from", .. })));
}
