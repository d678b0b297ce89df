//! The links to a node.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;
use sapwood_core::model::{AttributeValue, Settings, text};
use sapwood_engine::query::{Bounds, Link, Linking, ListOptions, ReadError};
use sapwood_simulation::fixture::Fixture;
use sapwood_simulation::oracle::Oracle;
use sapwood_simulation::own;

use super::support::*;

fn shop() -> Fixture {
    Fixture::new(own::settings(), own::oracle())
}

fn set(ids: &[&str]) -> AttributeValue {
    AttributeValue::Ss(ids.iter().map(|id| (*id).to_owned()).collect())
}

fn list(ids: &[&str]) -> AttributeValue {
    AttributeValue::L(ids.iter().map(|id| text(*id)).collect())
}

fn of_customers(distinct: bool) -> Linking {
    Linking { ancestor_prefix: Some("CUSTOMER#".to_owned()), distinct, ..Linking::default() }
}

/// Each link as its id and the ancestors that it names.
fn named(links: &[Link]) -> Vec<String> {
    let names = |link: &Link| link.ancestors.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>().join(",");
    links.iter().map(|link| format!("{} {}", link.id, names(link)).trim_end().to_owned()).collect()
}

/// All of a list, which one Query reads.
fn links(fixture: &Fixture, target: &str, linking: &Linking) -> Vec<String> {
    let (page, usage) = counted(fixture, async |r| r.links(&node(target), "tags", linking, &options()).await.unwrap());
    assert_eq!((usage.requests, page.next), (1, None));
    named(&page.items)
}

#[test]
fn who_names_an_id_is_listed_with_its_ancestors_by_one_query() {
    let mut fixture = shop();
    fixture.put_node("CUSTOMER#1", None, &[]);
    fixture.put_node("ORDER#1", Some("CUSTOMER#1"), &[("tags", text("urgent"))]);
    fixture.put_node("ITEM#1", Some("ORDER#1"), &[("tags", set(&["PRODUCT#mouse", "urgent"])), ("price", number(5))]);
    fixture.put_node(
        "ITEM#2",
        Some("ORDER#1"),
        &[("tags", list(&["PRODUCT#mouse", "ITEM#2"])), ("seen", text("urgent"))],
    );
    fixture.put_node("PRODUCT#mouse", None, &[]);
    fixture.put_node("root", None, &[("tags", text("urgent"))]);
    fixture.settle();
    let all = Linking::default();
    let of_mouse = ["ITEM#1 ORDER#1,CUSTOMER#1", "ITEM#2 ORDER#1,CUSTOMER#1"];
    assert_eq!(links(&fixture, "PRODUCT#mouse", &all), of_mouse);
    // A tag is no node. Another attribute's links are others.
    let urgent = ["ITEM#1 ORDER#1,CUSTOMER#1", "ORDER#1 CUSTOMER#1", "root"];
    assert_eq!(links(&fixture, "urgent", &all), urgent);
    assert_eq!(links(&fixture, "ITEM#2", &all), ["ITEM#2 ORDER#1,CUSTOMER#1"], "a node links to itself");
    assert_eq!(links(&fixture, "nobody", &all), [""; 0]);
    let items = Linking { id_prefix: "ITEM#".to_owned(), ..Linking::default() };
    assert_eq!(links(&fixture, "urgent", &items), urgent[..1]);
    assert_eq!(links(&fixture, "urgent", &of_customers(false)), ["ITEM#1 CUSTOMER#1", "ORDER#1 CUSTOMER#1"]);
    assert_eq!(links(&fixture, "urgent", &of_customers(true)), ["ITEM#1 CUSTOMER#1"]);
    let every = Linking { distinct: true, ..Linking::default() };
    assert_eq!(links(&fixture, "urgent", &every), ["ITEM#1 ORDER#1,CUSTOMER#1"]);

    let page =
        read(&fixture, async |r| r.links(&node("PRODUCT#mouse"), "tags", &all, &fields(&["price"])).await.unwrap());
    assert_eq!(page.items[0].attributes, [("price".to_owned(), number(5))].into());
    assert_eq!(page.items[0].parent.as_ref().unwrap().as_str(), "ORDER#1");
    assert_eq!(named(&page.items), of_mouse, "ancestors need no field");
}

#[test]
fn links_that_are_switched_off_say_so_and_an_impossible_prefix_too() {
    let fixture = shop();
    let off = read(&fixture, async |r| r.links(&node("t"), "name", &Linking::default(), &options()).await);
    assert!(off.unwrap_err().to_string().contains("LinkAttributes"));
    let long = Linking { id_prefix: "x".repeat(1_024), ..Linking::default() };
    let refused = read(&fixture, async |r| r.links(&node("t"), "tags", &long, &options()).await);
    assert!(matches!(refused, Err(ReadError::Key { parameter: "id_prefix", .. })), "{refused:?}");
}

#[test]
fn links_of_a_tenant_are_its_own() {
    let schema = sapwood_core::keys::Schema::new(sapwood_core::keys::Names::default(), true).unwrap();
    let mut fixture = Fixture::new(Settings { schema, ..own::settings() }, Oracle { tenants: true, ..own::oracle() });
    for tenant in ["s", "t"] {
        let own = [("tags", text("TENANT#t#tag")), ("of", text(tenant))];
        fixture.put_node(&format!("TENANT#{tenant}#a"), None, &own);
        fixture.put_node(&format!("TENANT#{tenant}#b"), None, &[("tags", text("tag")), ("of", text(tenant))]);
    }
    fixture.settle();
    let page =
        read(&fixture, async |r| r.links(&node_of("t", "tag"), "tags", &Linking::default(), &options()).await.unwrap());
    assert_eq!(named(&page.items), ["b"]);
    assert_eq!(page.items[0].attributes["of"], text("t"));
}

/// So many items of each of so many customers, all of one product.
fn product(customers: usize, items: usize) -> Fixture {
    let mut fixture = shop();
    fixture.batches_max = 10_000;
    for customer in 0..customers {
        let parent = format!("CUSTOMER#{customer:02}");
        fixture.put_node(&parent, None, &[]);
        for item in 0..items {
            // Neighbours in the list are of different customers.
            fixture.put_node(&format!("i{item:04}-{customer:02}"), Some(&parent), &[("tags", text("mouse"))]);
        }
    }
    fixture.settle();
    fixture
}

#[test]
fn a_list_that_leaves_links_out_reads_ten_for_each_that_it_has_room_for() {
    let fixture = product(5, 60);
    let ask = |linking: &Linking, limit: usize, after: Option<String>| {
        let options = ListOptions { bounds: Bounds::items(limit), after, ..ListOptions::default() };
        counted(&fixture, async |r| r.links(&node("mouse"), "tags", linking, &options).await.unwrap())
    };
    // All customers of the 300 items, by one Query.
    let (page, usage) = ask(&of_customers(true), 100, None);
    assert_eq!((page.items.len(), page.next, usage.requests), (5, None, 1));
    // A page that has found some reads no more, though more may follow.
    let (page, usage) = ask(&of_customers(true), 5, None);
    assert_eq!((page.items.len(), usage.requests), (5, 1));
    assert!(page.next.is_some());
    let (page, usage) = ask(&of_customers(true), 3, None);
    assert_eq!((page.items.len(), usage.requests), (3, 1));
    // They come again on the next page.
    let (next, _) = ask(&of_customers(true), 3, page.next);
    assert_eq!(named(&next.items)[0], "i0000-03 CUSTOMER#03");
    // One of each five is shown, and all are read.
    let last = Linking { ancestor_prefix: Some("CUSTOMER#04".to_owned()), ..Linking::default() };
    let (page, usage) = ask(&last, 1_000, None);
    assert_eq!((page.items.len(), page.next, usage.requests), (60, None, 1));
    let nobody = Linking { ancestor_prefix: Some("SUPPLIER#".to_owned()), ..Linking::default() };
    let (page, usage) = ask(&nobody, 1, None);
    assert_eq!(
        (page.items.len(), page.next.is_some(), usage.requests),
        (0, true, 20),
        "200 of 300 rows, and nothing yet"
    );
    let (page, usage) = ask(&Linking::default(), 100, None);
    assert_eq!((page.items.len(), page.next.is_some(), usage.requests), (100, true, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn pages_of_links_are_the_whole_list_and_name_every_ancestor(
        nodes in proptest::collection::vec((0_usize..6, select(vec!["", "t", "u", "tu"])), 1..12),
        prefix in select(vec!["", "A#", "B#", "B#3"]),
        limit in 1_usize..5,
    ) {
        let mut fixture = shop();
        let id = |index: usize| format!("{}#{index}", if index.is_multiple_of(2) { "A" } else { "B" });
        let mut above: Vec<Vec<String>> = Vec::new();
        for (index, (parent, tags)) in nodes.iter().enumerate() {
            let parent = parent.checked_rem(index).map(|parent| parent % index);
            let tags: Vec<String> = tags.chars().map(String::from).collect();
            let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
            let attribute = (!tags.is_empty()).then(|| ("tags", set(&tags)));
            fixture.put_node(&id(index), parent.map(id).as_deref(), attribute.as_slice());
            above.push(parent.map(|parent| [vec![id(parent)], above[parent].clone()].concat()).unwrap_or_default());
        }
        fixture.settle();
        // The naive list: each node that has the tag, by id, with those of its ancestors.
        let mut wanted: Vec<(String, Vec<String>)> = nodes.iter().enumerate().filter(|(_, (_, tags))| tags.contains('t'))
            .map(|(index, _)| (id(index), above[index].iter().filter(|a| a.starts_with(prefix)).cloned().collect())).collect();
        wanted.sort();
        let pages = |linking: &Linking| -> Vec<(String, Vec<String>)> {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let options = ListOptions { bounds: Bounds::items(limit), after, ..ListOptions::default() };
                let page = read(&fixture, async |r| r.links(&node("t"), "tags", linking, &options).await.unwrap());
                assert!(page.items.len() <= limit);
                let mut on_page = BTreeSet::new();
                for link in page.items {
                    let ancestors: Vec<String> = link.ancestors.iter().map(ToString::to_string).collect();
                    assert!(!linking.distinct || ancestors.iter().all(|a| on_page.insert(a.clone())), "named twice");
                    all.push((link.id.to_string(), ancestors));
                }
                after = page.next;
                if after.is_none() {
                    return all;
                }
            }
        };
        let every = Linking { ancestor_prefix: (!prefix.is_empty()).then(|| prefix.to_owned()), ..Linking::default() };
        if !prefix.is_empty() {
            wanted.retain(|(_, ancestors)| !ancestors.is_empty());
        }
        prop_assert_eq!(pages(&every), wanted.clone());
        let united = |links: Vec<(String, Vec<String>)>| links.into_iter().flat_map(|(_, named)| named).collect::<BTreeSet<_>>();
        let distinct = pages(&Linking { distinct: true, ..every });
        prop_assert!(distinct.iter().all(|(_, named)| !named.is_empty()));
        prop_assert_eq!(united(distinct), united(wanted));
    }
}
