//! What a node has from the nodes above it: values and grants, by base records, whatever the rows say.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;
use sapwood_core::keys::{DEPTH_MAX, Id};
use sapwood_core::model::{AttributeValue, DELETING, DeletionMark, DeletionMode, Lineage, Placement, TRASHED, text};
use sapwood_engine::query::{
    Above, Bounds, ChainEnd, Granted, Granting, Inherited, InheritedValue, Linking, ListOptions, Mode, ReadError,
};
use sapwood_simulation::fixture::Fixture;
use sapwood_simulation::own;
use sapwood_store::Usage;

use super::support::*;

fn list(texts: &[&str]) -> AttributeValue {
    AttributeValue::L(texts.iter().map(|one| text(*one)).collect())
}

fn asked(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn inherited(fixture: &Fixture, id: &str, names: &[&str], mode: Mode) -> (Inherited, Usage) {
    counted(fixture, async |r| r.inherited(&node(id), asked(names), mode).await.unwrap())
}

/// Each value as its attribute, its node, the levels between, and its text.
fn told(found: &Inherited) -> Vec<String> {
    let values = found.values.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
    values
        .map(|(name, InheritedValue { value, from, levels_up })| match value {
            AttributeValue::S(value) => format!("{name} {from} {levels_up} {value}"),
            other => format!("{name} {from} {levels_up} {other:?}"),
        })
        .collect()
}

fn granting(fixture: &Fixture, principals: &[&str], counts_in_trash: bool) -> Granting {
    Granting::new("viewers".to_owned(), asked(principals), counts_in_trash, fixture.schema()).unwrap()
}

fn granted(fixture: &Fixture, id: &str, principals: &[&str]) -> Granted {
    let granting = granting(fixture, principals, false);
    read(fixture, async |r| r.granted(&node(id), &granting).await.unwrap())
}

/// The nodes that grant, nearest first.
fn by(found: &Granted) -> Vec<&str> {
    found.by.iter().map(|grant| grant.node.as_str()).collect()
}

fn mark() -> AttributeValue {
    let operation = "an operation".to_owned();
    DeletionMark { mode: DeletionMode::Delete, operation, revisions: false, mark: None }.value()
}

#[test]
fn the_nearest_value_counts_and_a_stored_null_ends_the_inheritance() {
    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[("owner", text("ada")), ("quota", number(20)), ("theme", text("dark"))]);
    fixture.put_node("V", Some("D"), &[("owner", text("bob")), ("theme", AttributeValue::Null(true))]);
    fixture.put_node("d", Some("V"), &[("name", text("d"))]);
    fixture.settle();
    let (found, usage) = inherited(&fixture, "d", &["owner", "quota", "theme", "name", "none"], Mode::Nearest);
    let of_d = ["name d 0 d", "owner V 1 bob", "quota D 2 N(\"20\")", "theme V 1 Null(true)"];
    assert_eq!((told(&found), usage.requests), (of_d.map(str::to_owned).to_vec(), 2));
    let above =
        Above { levels: 2, top: Id::new("D").unwrap(), end: ChainEnd::Root, is_in_trash: false, is_deleting: false };
    assert_eq!(found.above, above);
    // All of them come from the root down, with the nulls.
    let (found, _) = inherited(&fixture, "d", &["owner", "theme"], Mode::All);
    assert_eq!(told(&found), ["owner D 2 ada", "owner V 1 bob", "theme D 2 dark", "theme V 1 Null(true)"]);
    let (found, usage) = inherited(&fixture, "D", &["owner"], Mode::Nearest);
    assert_eq!((told(&found), found.above.levels, usage.requests), (vec!["owner D 0 ada".to_owned()], 0, 1));
}

#[test]
fn a_grant_counts_for_all_that_is_below_and_says_whose_record_it_is() {
    let mut fixture = Fixture::default();
    let set = AttributeValue::Ss(vec!["GROUP#ops".to_owned(), "ada".to_owned()]);
    fixture.put_node("D", None, &[("viewers", text("eve"))]);
    fixture.put_node("V", Some("D"), &[("viewers", set)]);
    fixture.put_node("d", Some("V"), &[("viewers", AttributeValue::Null(true))]);
    fixture.put_node("e", Some("d"), &[("viewers", AttributeValue::L(vec![number(1), text("bob"), text("bob")]))]);
    fixture.settle();
    let found = granted(&fixture, "e", &["eve", "GROUP#ops", "ada", "bob"]);
    assert_eq!(by(&found), ["e", "V", "D"], "a null takes nothing away");
    assert_eq!(found.by[1].principals, ["GROUP#ops", "ada"]);
    assert_eq!((found.by[0].levels_up, found.by[2].levels_up), (0, 3));
    for (id, principal, allowed) in [
        ("e", "bob", true),
        ("d", "bob", false),
        ("d", "ada", true),
        ("D", "ada", false),
        ("D", "eve", true),
        ("e", "ev", false),
        ("e", "1", false),
    ] {
        assert_eq!(granted(&fixture, id, &[principal]).is_allowed(), allowed, "{principal} at {id}");
    }
}

#[test]
fn a_move_counts_at_once_however_far_behind_the_rows_are() {
    let mut fixture = Fixture::default();
    for (id, parent) in [("A", None), ("B", None), ("V", Some("A")), ("d", Some("V")), ("e", Some("d"))] {
        let viewers = format!("of {id}");
        fixture.put_node(id, parent, &[("viewers", text(viewers))]);
    }
    fixture.settle();
    let principals = ["of A", "of B", "of V", "of W"];
    assert_eq!(by(&granted(&fixture, "e", &principals)), ["V", "A"]);
    // Nothing of this is handled: two moves on the way up, below a node that is new.
    fixture.put_node("W", Some("B"), &[("viewers", text("of W"))]);
    fixture.put_node("V", Some("W"), &[("viewers", text("of V"))]);
    let (found, usage) =
        counted(&fixture, async |r| r.granted(&node("e"), &granting(&fixture, &principals, false)).await.unwrap());
    assert_eq!(by(&found), ["V", "W", "B"]);
    // The node and its lineage; what that names; the new parent with its lineage, of which there is none; and the root.
    assert_eq!(usage.requests, 4);
    fixture.update("d", "NODE", "parent", Some(text("A")));
    assert_eq!(by(&granted(&fixture, "e", &principals)), ["A"]);
    fixture.settle();
    let (found, usage) =
        counted(&fixture, async |r| r.granted(&node("e"), &granting(&fixture, &principals, false)).await.unwrap());
    assert_eq!((by(&found), usage.requests), (vec!["A"], 2));
}

#[test]
fn what_is_above_ends_where_it_can_not_be_told_and_says_so() {
    let mut fixture = Fixture::default();
    fixture.put_node("orphan", Some("nobody"), &[("viewers", text("ada"))]);
    fixture.put_node("own", Some("own"), &[("viewers", text("ada"))]);
    for (id, parent) in [("a", "b"), ("b", "c"), ("c", "a"), ("into", "a")] {
        fixture.put_node(id, Some(parent), &[("viewers", text("ada"))]);
    }
    fixture.put("odd", "NODE", &[("parent", number(1)), ("viewers", text("ada"))]);
    fixture.put_node("below-odd", Some("odd"), &[("viewers", text("bob"))]);
    fixture.put("back", "NODE", &[("_put_back", text("a repair")), ("viewers", text("ada"))]);
    fixture.put_node("below-back", Some("back"), &[("viewers", text("bob"))]);
    let end = |id: &str| {
        let found = granted(&fixture, id, &["ada", "bob"]);
        (by(&found).join(","), found.above.levels, found.above.end)
    };
    assert_eq!(end("orphan"), ("orphan".to_owned(), 0, ChainEnd::Absent));
    assert_eq!(end("own"), ("own".to_owned(), 0, ChainEnd::Cycle));
    assert_eq!(end("a"), ("a,b,c".to_owned(), 2, ChainEnd::Cycle));
    assert_eq!(end("into"), ("into,a,b,c".to_owned(), 3, ChainEnd::Cycle));
    let (named, levels, odd) = end("below-odd");
    assert!(matches!(odd, ChainEnd::Unreadable(_)) && (named.as_str(), levels) == ("below-odd", 0), "{odd:?}");
    assert_eq!(end("below-back"), ("below-back".to_owned(), 0, ChainEnd::Absent));
    let of = |id: &str| {
        let question = granting(&fixture, &["ada"], false);
        read(&fixture, async |r| r.granted(&node(id), &question).await)
    };
    assert!(matches!(of("odd"), Err(ReadError::Unreadable(_))));
    assert!(matches!(of("nobody"), Err(ReadError::Absent { .. })));
    assert!(matches!(of("back"), Err(ReadError::Absent { .. })));
}

#[test]
fn a_chain_has_98_levels_above_a_node_and_is_two_requests() {
    let mut fixture = Fixture::default();
    let id = |depth: usize| format!("n{depth:03}");
    for depth in 0..=DEPTH_MAX + 2 {
        let parent = depth.checked_sub(1).map(id);
        fixture.put_node(&id(depth), parent.as_deref(), &[("viewers", text(id(depth)))]);
    }
    let question = |depth: usize| {
        let all: Vec<String> = [0, 1, 2].map(id).to_vec();
        let question = Granting::new("viewers".to_owned(), all, false, fixture.schema()).unwrap();
        counted(&fixture, async |r| r.granted(&node(&id(depth)), &question).await.unwrap())
    };
    let (found, usage) = question(DEPTH_MAX);
    assert_eq!(
        (by(&found), found.above.levels, found.above.end.clone()),
        (vec!["n002", "n001", "n000"], 98, ChainEnd::Root)
    );
    assert_eq!(usage.requests, 99, "without any lineage each node is read by itself");
    let (found, _) = question(DEPTH_MAX + 1);
    assert_eq!(
        (by(&found), found.above.levels, found.above.end.clone()),
        (vec!["n002", "n001"], 98, ChainEnd::TooDeep)
    );
    fixture.settle();
    let counted_again = |depth: usize| {
        let question = granting(&fixture, &["n000", "n001", "n002"], false);
        counted(&fixture, async |r| r.granted(&node(&id(depth)), &question).await.unwrap())
    };
    for depth in [DEPTH_MAX, DEPTH_MAX + 1, DEPTH_MAX + 2] {
        let (found, usage) = counted_again(depth);
        assert_eq!((found.above.levels, usage.requests), (98, 2), "{depth}");
        assert_eq!(found.above.end == ChainEnd::Root, depth == DEPTH_MAX);
    }
}

#[test]
fn nothing_is_granted_in_the_trash_unless_that_is_asked_for() {
    let mut fixture = Fixture::default();
    let at = AttributeValue::M([("at".to_owned(), text("2026-02-03T04:05:06.789Z"))].into());
    fixture.put_node("T", None, &[("viewers", text("ada"))]);
    fixture.put_node("plans", Some("T"), &[("viewers", text("bob")), ("owner", text("bob"))]);
    fixture.put_node("2026", Some("plans"), &[]);
    fixture.settle();
    assert_eq!(by(&granted(&fixture, "2026", &["ada", "bob"])), ["plans", "T"]);
    fixture.update("plans", "NODE", "parent", None);
    fixture.update("plans", "NODE", TRASHED, Some(at));
    for _ in 0..2 {
        let found = granted(&fixture, "2026", &["ada", "bob"]);
        assert_eq!((by(&found), found.above.is_in_trash, found.above.levels), (vec![], true, 1));
        let question = granting(&fixture, &["ada", "bob"], true);
        let found = read(&fixture, async |r| r.granted(&node("2026"), &question).await.unwrap());
        assert_eq!(by(&found), ["plans"], "its former parent isn't above it");
        let (found, _) = inherited(&fixture, "2026", &["owner"], Mode::Nearest);
        assert_eq!((told(&found), found.above.is_in_trash), (vec!["owner plans 1 bob".to_owned()], true));
        // The rows follow, and say the same.
        fixture.settle();
    }
    // Another client that gives it a parent has restored it.
    fixture.update("plans", "NODE", "parent", Some(text("T")));
    assert_eq!(by(&granted(&fixture, "2026", &["ada", "bob"])), ["plans", "T"]);
}

#[test]
fn a_node_that_is_being_deleted_still_grants_and_says_so() {
    let mut fixture = Fixture::default();
    fixture.put_node("T", None, &[("viewers", text("ada"))]);
    fixture.put_node("plans", Some("T"), &[]);
    fixture.settle();
    fixture.update("T", "NODE", DELETING, Some(mark()));
    let found = granted(&fixture, "plans", &["ada"]);
    assert_eq!((by(&found), found.above.is_deleting), (vec!["T"], true));
    fixture.settle();
    let question = granting(&fixture, &["ada"], false);
    let gone = read(&fixture, async |r| r.granted(&node("plans"), &question).await);
    assert!(matches!(gone, Err(ReadError::Absent { .. })), "{gone:?}");
}

#[test]
fn names_that_are_not_the_users_own_are_refused_and_so_are_principals_that_can_not_be() {
    let fixture = small();
    for name in ["_rev", "_deleting", "PK", "SK", "parent", "segment"] {
        let refused = read(&fixture, async |r| r.inherited(&node("D"), asked(&["name", name]), Mode::All).await);
        assert!(matches!(refused, Err(ReadError::Reserved { parameter: "attributes", .. })), "{name}: {refused:?}");
        let refused = Granting::new(name.to_owned(), asked(&["ada"]), false, fixture.schema());
        assert!(matches!(refused, Err(ReadError::Reserved { parameter: "attribute", .. })), "{name}: {refused:?}");
    }
    let many: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    for names in [Vec::new(), many.clone(), vec!["x".repeat(256)], vec![String::new()]] {
        let refused = read(&fixture, async |r| r.inherited(&node("D"), names.clone(), Mode::Nearest).await);
        assert!(matches!(refused, Err(ReadError::Parameter { parameter: "attributes", .. })), "{names:?}: {refused:?}");
    }
    for principals in [Vec::new(), many, vec!["x".repeat(1_015)], vec![String::new()]] {
        let refused = Granting::new("viewers".to_owned(), principals, false, fixture.schema());
        assert!(matches!(refused, Err(ReadError::Parameter { parameter: "principal", .. })), "{refused:?}");
    }
}

#[test]
fn values_that_no_answer_has_room_for_are_refused_and_the_nearest_are_not_among_them() {
    let mut fixture = Fixture::default();
    let id = |depth: usize| format!("n{depth}");
    for depth in 0..12 {
        let parent = usize::checked_sub(depth, 1).map(id);
        fixture.put_node(&id(depth), parent.as_deref(), &[("body", text("x".repeat(390_000)))]);
    }
    let refused = read(&fixture, async |r| r.inherited(&node("n11"), asked(&["body"]), Mode::All).await);
    assert!(matches!(refused, Err(ReadError::TooLarge { .. })), "{refused:?}");
    let (found, _) = inherited(&fixture, "n11", &["body"], Mode::Nearest);
    assert_eq!(found.values["body"][0].from.as_str(), "n11");
    let question = granting(&fixture, &["ada"], false);
    let found = read(&fixture, async |r| r.granted(&node("n11"), &question).await.unwrap());
    assert_eq!(found.above.levels, 11, "what is in the way of an answer isn't in the way of another");
}

#[test]
fn what_a_tenant_has_is_its_own() {
    let mut fixture = with_tenants();
    for tenant in ["s", "t"] {
        fixture.put_node(&format!("TENANT#{tenant}#top"), None, &[("owner", text(tenant)), ("viewers", text(tenant))]);
        fixture.put_node(&format!("TENANT#{tenant}#a"), Some("top"), &[]);
    }
    fixture.settle();
    let found = read(&fixture, async |r| r.inherited(&node_of("t", "a"), asked(&["owner"]), Mode::All).await.unwrap());
    assert_eq!(told(&found), ["owner top 1 t"]);
    let question = granting(&fixture, &["s"], false);
    assert!(!read(&fixture, async |r| r.granted(&node_of("t", "a"), &question).await.unwrap()).is_allowed());
}

#[test]
fn the_grants_of_a_principal_at_above_and_below_a_node_are_listed() {
    let mut fixture = Fixture::new(own::settings(), own::oracle());
    for (id, parent, is_granted) in [
        ("top", None, true),
        ("plans", Some("top"), false),
        ("2026", Some("plans"), true),
        ("q1", Some("2026"), true),
        ("other", Some("top"), true),
        ("else", None, true),
    ] {
        let grant = [("tags", list(&["ada"]))];
        fixture.put_node(id, parent, if is_granted { &grant } else { &[] });
    }
    fixture.settle();
    let around = |fixture: &Fixture, id: &str| {
        let linking = Linking { around: Some(Id::new(id).unwrap()), ..Linking::default() };
        let (page, usage) =
            counted(fixture, async |r| r.links(&node("ada"), "tags", &linking, &options()).await.unwrap());
        let links = page.items.iter().map(|link| {
            let ancestors: Vec<&str> = link.ancestors.iter().map(Id::as_str).collect();
            format!("{} {}", link.id, ancestors.join(",")).trim_end().to_owned()
        });
        (links.collect::<Vec<_>>(), usage.requests)
    };
    let below = ["2026 plans,top", "q1 2026,plans,top"];
    assert_eq!(around(&fixture, "plans"), ([&below[..], &["top"]].concat().iter().map(|&s| s.to_owned()).collect(), 3));
    assert_eq!(around(&fixture, "q1").0, [below[0], below[1], "top"]);
    assert_eq!(around(&fixture, "top").0, [below[0], "other top", below[1], "top"]);
    assert_eq!(around(&fixture, "else").0, ["else"]);
    assert_eq!(around(&fixture, "nobody").0, [""; 0]);
    // What is above it is told by base records.
    fixture.update("plans", "NODE", "parent", Some(text("else")));
    assert_eq!(around(&fixture, "plans").0, [below[0], "else", below[1]]);
    // A page that leaves links out goes on with those that follow.
    fixture.settle();
    let linking = Linking { around: Some(Id::new("plans").unwrap()), ..Linking::default() };
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let options = ListOptions { bounds: Bounds::items(1), after, ..ListOptions::default() };
        let page = read(&fixture, async |r| r.links(&node("ada"), "tags", &linking, &options).await.unwrap());
        ids.extend(page.items.iter().map(|link| link.id.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(ids, ["2026", "else", "q1"]);
}

/// What a base record is like.
#[derive(Clone, Debug)]
struct Record {
    /// The parent: another node, by its number, or one that isn't there.
    parent: Option<usize>,
    /// What it says of the attribute.
    value: Option<&'static str>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Absent,
    Unreadable,
    Deleting,
    Trashed,
}

fn record() -> impl Strategy<Value = Record> {
    let kinds = [Kind::Plain; 8].into_iter().chain([Kind::Absent, Kind::Unreadable, Kind::Deleting, Kind::Trashed]);
    let values = vec![None, None, Some("null"), Some("ada"), Some("bob")];
    (proptest::option::weighted(0.9, 0_usize..18), select(values), select(kinds.collect::<Vec<_>>()))
        .prop_map(|(parent, value, kind)| Record { parent, value, kind })
}

fn name(number: usize) -> String {
    format!("n{number}")
}

/// The naive answer: from parent to parent, as records say. The nodes, how the chain ends, and whether it is in the
/// trash.
fn walked(records: &[Record], from: usize) -> (Vec<usize>, &'static str, bool) {
    let (mut chain, mut at): (Vec<usize>, usize) = (Vec::new(), from);
    loop {
        match records.get(at) {
            None | Some(Record { kind: Kind::Absent, .. }) => return (chain, "absent", false),
            Some(Record { kind: Kind::Unreadable, .. }) => return (chain, "unreadable", false),
            Some(_) if chain.contains(&at) => return (chain, "cycle", false),
            Some(record) => {
                chain.push(at);
                match record.parent {
                    Some(parent) => at = parent,
                    None => return (chain, "root", record.kind == Kind::Trashed),
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// No lineage says what holds: each is missing, or names anything, in any order.
    #[test]
    fn any_chain_is_that_of_the_records_whatever_lineages_say(
        records in proptest::collection::vec(record(), 1..16),
        lineages in proptest::collection::vec(proptest::option::of(proptest::collection::vec(0_usize..18, 0..8)), 16),
    ) {
        let mut fixture = Fixture::default();
        for (number, record) in records.iter().enumerate() {
            let mut attributes: Vec<(&str, AttributeValue)> = record.value.iter().map(|value| {
                ("viewers", if *value == "null" { AttributeValue::Null(true) } else { list(&["x", value]) })
            }).collect();
            match record.kind {
                Kind::Absent => continue,
                Kind::Unreadable => attributes.push(("segment", AttributeValue::Bool(true))),
                Kind::Deleting => attributes.push((DELETING, mark())),
                Kind::Trashed => attributes.push((TRASHED, text("somehow"))),
                Kind::Plain => {}
            }
            fixture.put_node(&name(number), record.parent.map(name).as_deref(), &attributes);
        }
        for (number, named) in lineages.iter().enumerate() {
            let Some(named) = named else { continue };
            let ancestors = named.iter().map(|number| Id::new(name(*number)).unwrap()).collect();
            let lineage = Lineage { placement: Placement { ancestors, ..Placement::default() }, ..Lineage::default() };
            let item = lineage.item(&node(&name(number)), fixture.schema());
            let attributes: Vec<(&str, AttributeValue)> = item.iter().filter(|(name, _)| !["PK", "SK"].contains(&name.as_str()))
                .map(|(name, value)| (name.as_str(), value.clone())).collect();
            fixture.put(&name(number), "LINEAGE", &attributes);
        }
        for from in 0..records.len() {
            let (chain, end, is_in_trash) = walked(&records, from);
            let (found, usage) = counted(&fixture, async |r| r.inherited(&node(&name(from)), asked(&["viewers"]), Mode::All).await);
            prop_assert!(usage.requests <= records.len() as u64 + 2, "{} requests for {chain:?}", usage.requests);
            let found = match (found, chain.is_empty(), end) {
                (Err(ReadError::Absent { .. }), true, "absent") | (Err(ReadError::Unreadable(_)), true, "unreadable") => continue,
                (Ok(found), false, _) => found,
                (other, ..) => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            let ended = match found.above.end {
                ChainEnd::Root => "root",
                ChainEnd::Absent => "absent",
                ChainEnd::Unreadable(_) => "unreadable",
                ChainEnd::Cycle => "cycle",
                ChainEnd::TooDeep => "too deep",
            };
            prop_assert_eq!((ended, found.above.is_in_trash), (end, is_in_trash));
            prop_assert_eq!((found.above.levels, found.above.top.to_string()), (chain.len() - 1, name(chain[chain.len() - 1])));
            let is_deleting = chain.iter().any(|number| records[*number].kind == Kind::Deleting);
            prop_assert_eq!(found.above.is_deleting, is_deleting);
            let with_value: Vec<(usize, usize)> = chain.iter().copied().enumerate().filter(|(_, n)| records[*n].value.is_some()).collect();
            let wanted: Vec<(String, usize)> = with_value.iter().rev().map(|(up, number)| (name(*number), *up)).collect();
            let all = found.values.get("viewers").cloned().unwrap_or_default();
            let all: Vec<(String, usize)> = all.iter().map(|value| (value.from.to_string(), value.levels_up)).collect();
            prop_assert_eq!(&all, &wanted);
            let (nearest, _) = inherited(&fixture, &name(from), &["viewers"], Mode::Nearest);
            let nearest: BTreeMap<&str, (String, usize)> = nearest.values.iter()
                .map(|(attribute, values)| (attribute.as_str(), (values[0].from.to_string(), values[0].levels_up))).collect();
            prop_assert_eq!(nearest.get("viewers"), wanted.last());
            let question = granting(&fixture, &["ada", "eve"], true);
            let found = read(&fixture, async |r| r.granted(&node(&name(from)), &question).await.unwrap());
            let grants: BTreeSet<String> = with_value.iter().filter(|(_, n)| records[*n].value == Some("ada")).map(|(_, n)| name(*n)).collect();
            prop_assert_eq!(found.by.iter().map(|grant| grant.node.to_string()).collect::<BTreeSet<_>>(), grants.clone());
            let live = granted(&fixture, &name(from), &["ada", "eve"]);
            prop_assert_eq!(live.is_allowed(), !is_in_trash && !grants.is_empty());
        }
    }
}
