//! Nodes that are ordered by hand: a list in memory is the judge.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::steps::{id, stamp};
use crate::fanout::tests::world::{World, node};
use crate::keys::{Id, SiblingPlace, SortKey, TrashTime};
use crate::model::{
    AttributeValue, BaseNode, DeletionMode, Item, Placement, SiblingOrder, TRASHED, Trashed, UniqueNames, key_of, rows,
    text,
};
use crate::plan::{Facts, Plan, Rule, Rules, TaskOutcome};
use crate::write::reorder::order_key;
use crate::write::{
    Answered, Command, Content, Context, Idempotency, Limits, OnConflict, Patch, Prefetched, Refusal, Request, Spot,
    Stamp, Tiebreak, write_once,
};

const PARENT: &str = "p";
const ORDER: &str = "order";

/// A parent, and children with these values.
fn world(children: &[(&str, Option<AttributeValue>)]) -> World {
    let mut world = World::drawn(PARENT);
    world.settings.order = Some(SiblingOrder::by(ORDER).written_by_hand().unwrap());
    world.settings.root_rows = true;
    for (child, value) in children {
        let mut item = world.base(child, Some(PARENT));
        item.extend(value.clone().map(|value| (ORDER.to_owned(), value)));
        world.put(item);
    }
    settle(&mut world);
    world
}

/// Brings the rows of all children up to date.
fn settle(world: &mut World) {
    let schema = world.schema().clone();
    world.items.retain(|key, _| {
        !matches!(schema.parse_sort_key(&key.sk), Some(SortKey::Child { .. } | SortKey::OrderedRoot { .. }))
    });
    for (order, parent) in places(world) {
        let ancestors = parent.into_iter().collect();
        let placement = Placement { ancestors, order: Some(order.0), ..Placement::default() };
        for row in rows(&placement, &order.1.into(), &schema) {
            if matches!(schema.parse_sort_key(&row.key.sk), Some(SortKey::Child { .. } | SortKey::OrderedRoot { .. })) {
                let item = crate::model::with_key(&row.key, &schema);
                world.put(item);
            }
        }
    }
}

type Order = (SiblingPlace, Id);

/// All nodes in the order of their base records, with their parents.
fn places(world: &World) -> Vec<(Order, Option<Id>)> {
    let schema = world.schema();
    let mut places: Vec<_> = world
        .items
        .values()
        .filter_map(|item| {
            let key = key_of(item, schema)?;
            (schema.parse_sort_key(&key.sk) == Some(SortKey::Node)).then_some(())?;
            let of = schema.parse_partition(&key.pk).unwrap();
            let base = BaseNode::read(item.clone(), &of, schema).ok()?;
            let place = world.settings.order.as_ref().unwrap().place(item, &of.id);
            Some(((place, of.id), base.parent))
        })
        .collect();
    places.sort();
    places
}

/// The children in their order.
fn children(world: &World) -> Vec<String> {
    let is_child = |(order, parent): (Order, Option<Id>)| (parent == Some(id(PARENT))).then(|| order.1.to_string());
    places(world).into_iter().filter_map(is_child).collect()
}

fn value_of(world: &World, of: &str) -> Option<AttributeValue> {
    world.items[&world.schema().node_key(&node(of))].get(ORDER).cloned()
}

fn put(of: &str, spot: Spot) -> Command {
    Command::Patch { node: node(of), patch: Patch { spot: Some(spot), ..Patch::default() } }
}

fn bring(of: &str, spot: Spot) -> Command {
    let patch = Patch { parent: Some(Some(id(PARENT))), spot: Some(spot), ..Patch::default() };
    Command::Patch { node: node(of), patch }
}

fn create(of: &str, spot: Option<Spot>) -> Command {
    let content = Content { parent: Some(id(PARENT)), spot, ..Content::default() };
    Command::Create { node: node(of), is_made_id: true, content }
}

fn before(of: &str) -> Spot {
    Spot::Before(id(of))
}

fn after(of: &str) -> Spot {
    Spot::After(id(of))
}

fn at(number: u64) -> Stamp {
    Stamp {
        tiebreak: Tiebreak::new(1_700_000_000_000_000 + number * 1_000, &number.to_string()),
        ..stamp(&format!("t{number}"), 1)
    }
}

/// Carries a command out, and calls `wrote` after each write that held.
fn carry_out(
    world: &mut World,
    command: &Command,
    request: &Request,
    prefetched: Option<&mut Prefetched>,
    mut wrote: impl FnMut(&World),
) -> Result<Answered, Refusal> {
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    world.drive(&mut write_once(context, command, request, prefetched), |world, task| {
        let outcome = world.carry_out(task);
        wrote(world);
        Some(outcome)
    })
}

fn send(world: &mut World, command: &Command, number: u64) -> Result<Answered, Refusal> {
    carry_out(world, command, &Request::new(at(number)), None, |_| {})
}

#[track_caller]
fn check(world: &mut World, command: &Command, wanted: &[&str]) {
    send(world, command, 1).unwrap();
    assert_eq!(children(world), wanted);
    settle(world);
}

fn letters(of: &str) -> Vec<(String, Option<AttributeValue>)> {
    of.chars().map(|c| (c.to_string(), Some(text(c)))).collect()
}

fn lettered(of: &str) -> World {
    let letters = letters(of);
    world(&letters.iter().map(|(child, value)| (child.as_str(), value.clone())).collect::<Vec<_>>())
}

#[test]
fn a_node_is_put_at_each_spot() {
    let mut world = lettered("bdf");
    check(&mut world, &create("x", Some(Spot::First)), &["x", "b", "d", "f"]);
    check(&mut world, &put("x", Spot::Last), &["b", "d", "f", "x"]);
    check(&mut world, &put("x", before("d")), &["b", "x", "d", "f"]);
    check(&mut world, &put("x", after("d")), &["b", "d", "x", "f"]);
    check(&mut world, &put("x", before("b")), &["x", "b", "d", "f"]);
    check(&mut world, &put("x", after("f")), &["b", "d", "f", "x"]);
    // Its own neighbours don't hinder it.
    check(&mut world, &put("d", after("f")), &["b", "f", "d", "x"]);
    check(&mut world, &put("b", Spot::First), &["b", "f", "d", "x"]);
}

/// Its other attributes are, on the condition that it stays where it is.
#[test]
fn a_node_that_is_in_its_place_and_goes_meanwhile_is_brought_back() {
    let mut command = put("d", after("b"));
    if let Command::Patch { patch, .. } = &mut command {
        patch.attributes.insert("name".to_owned(), crate::write::ValueChange::Set(text("new")));
    }
    let mut world = lettered("bdf");
    // Of what the API has written only its own attributes are compared.
    send(&mut world, &put("d", Spot::Last), 0).unwrap();
    settle(&mut world);
    send(&mut world, &put("d", after("b")), 0).unwrap();
    settle(&mut world);
    let mut elsewhere = world.items[&world.schema().node_key(&node("d"))].clone();
    elsewhere.insert(ORDER.to_owned(), text("a"));
    let (settings, request) = (world.settings.clone(), Request::new(at(1)));
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let mut plan = write_once(context, &command, &request, None);
    // The first step reads the records, the second one rows, the third one those of the siblings, and then it is
    // written.
    world = world.meanwhile(4, "d", Some(elsewhere));
    let (steps, done) = world.run(&mut plan);
    assert!(done.unwrap().is_ok(), "{steps:?}");
    assert_eq!(children(&world), ["b", "d", "f"], "{steps:?}");
}

#[test]
fn a_node_that_is_in_its_place_is_not_written() {
    let mut world = lettered("bdf");
    let before_it = world.items.clone();
    for command in [put("d", after("b")), put("d", before("f")), put("b", before("d")), put("f", after("d"))] {
        send(&mut world, &command, 1).unwrap();
        assert_eq!(world.items, before_it, "{command:?}");
    }
}

#[test]
fn a_put_keeps_the_place_that_the_node_has_when_it_is_written() {
    let world = lettered("bdf");
    let key = world.schema().node_key(&node("d"));
    // Another client, which leaves no stamps, has placed it since it was read.
    let mut theirs = world.items[&key].clone();
    theirs.insert(ORDER.to_owned(), text("z"));
    let mut world = world.meanwhile_at(2, key.clone(), Some(theirs));
    let content = Content { parent: Some(id(PARENT)), ..Content::default() };
    let (put, request, settings) =
        (Command::Replace { node: node("d"), content }, Request::new(at(1)), world.settings.clone());
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let (lines, done) = world.run(&mut write_once(context, &put, &request, None));
    done.unwrap().unwrap();
    assert_eq!(world.items[&key].get(ORDER), Some(&text("z")), "{lines:#?}");
}

#[test]
fn roots_are_ordered_too() {
    let mut world = lettered("");
    for (number, root) in ["b", "a", "c"].into_iter().enumerate() {
        let content = Content { spot: Some(Spot::Last), ..Content::default() };
        let command = Command::Create { node: node(root), is_made_id: false, content };
        send(&mut world, &command, number as u64).unwrap();
        settle(&mut world);
    }
    send(&mut world, &put("c", after("b")), 9).unwrap();
    let roots: Vec<String> = places(&world).into_iter().map(|(order, _)| order.1.to_string()).collect();
    // The parent had no value, so it got one when something came after it.
    assert_eq!(roots, [PARENT, "b", "c", "a"]);
    world.settings.root_rows = false;
    assert_eq!(send(&mut world, &put("c", Spot::First), 10), Err(Refusal::RootsUnordered));
}

#[test]
fn what_cant_be_is_refused() {
    let number = |of: i32| Some(AttributeValue::N(of.to_string()));
    let mut world = world(&[("a", number(1)), ("b", Some(text("b"))), ("c", Some(AttributeValue::Bool(true)))]);
    let not_text = |of: &str| Err(Refusal::PlaceNotText { id: id(of), attribute: ORDER.to_owned() });
    let before_it = world.items.clone();
    assert_eq!(send(&mut world, &put("b", after("a")), 1), not_text("a"));
    assert_eq!(send(&mut world, &put("b", before("c")), 1), not_text("c"));
    // Nothing sorts before a number, and a sibling that has another value isn't given one.
    assert_eq!(send(&mut world, &put("b", Spot::First), 1), not_text("a"));
    assert_eq!(send(&mut world, &put("b", Spot::Last), 1), not_text("c"));
    assert_eq!(send(&mut world, &put("b", after("gone")), 1), Err(Refusal::NotASibling(id("gone"))));
    assert_eq!(send(&mut world, &bring("b", after(PARENT)), 1), Err(Refusal::NotASibling(id(PARENT))));
    let mut both = put("b", Spot::First);
    if let Command::Patch { patch, .. } = &mut both {
        patch.attributes.insert(ORDER.to_owned(), crate::write::ValueChange::Remove);
    }
    assert_eq!(send(&mut world, &both, 1), Err(Refusal::PlacedTwice(ORDER.to_owned())));
    assert_eq!(world.items, before_it);
    // Between a number and a text there is room.
    send(&mut world, &create("x", Some(before("b"))), 1).unwrap();
    assert_eq!(children(&world), ["a", "x", "b", "c"]);
    world.settings.order = Some(SiblingOrder::by(ORDER));
    assert_eq!(send(&mut world, &put("b", Spot::First), 1), Err(Refusal::NotByHand));
}

#[test]
fn no_text_is_before_the_empty_one() {
    let mut world = world(&[("a", Some(text(""))), ("b", Some(text("0")))]);
    let no_room = Err(Refusal::NoRoom { attribute: ORDER.to_owned() });
    assert_eq!(send(&mut world, &create("x", Some(Spot::First)), 1), no_room);
    // After it there is room, because its neighbour can be moved.
    check(&mut world, &create("y", Some(after("a"))), &["a", "y", "b"]);
}

#[test]
fn a_key_that_would_be_too_long_is_refused() {
    let long = |last: char| Some(text(format!("{}{last}", "z".repeat(200))));
    let mut world = world(&[("a", long('a')), ("b", long('b'))]);
    let no_room = Err(Refusal::NoRoom { attribute: ORDER.to_owned() });
    check(&mut world, &create("x", Some(before("a"))), &["x", "a", "b"]);
    // Between these no short text fits, and `b` is moved away.
    check(&mut world, &create("y", Some(after("a"))), &["x", "a", "y", "b"]);
    // A sort key has no room for both such an id and a place.
    let command = create(&"i".repeat(1_014), Some(after("x")));
    assert_eq!(send(&mut world, &command, 1).map(drop), no_room);
}

#[test]
fn a_create_without_a_spot_has_no_value() {
    let mut world = lettered("bd");
    send(&mut world, &create("x", None), 1).unwrap();
    assert_eq!((children(&world), value_of(&world, "x")), (vec!["b".into(), "d".into(), "x".into()], None));
}

#[test]
fn what_isnt_named_keeps_the_value() {
    let mut world = lettered("bd");
    let replace = |parent: Option<&str>| {
        let attributes = Item::from([("name".to_owned(), text("new"))]);
        Command::Replace {
            node: node("b"),
            content: Content { parent: parent.map(id), attributes, ..Content::default() },
        }
    };
    send(&mut world, &replace(Some(PARENT)), 1).unwrap();
    assert_eq!(value_of(&world, "b"), Some(text("b")));
    let clears = Command::Patch { node: node("b"), patch: Patch { clears: true, ..Patch::default() } };
    send(&mut world, &clears, 2).unwrap();
    assert_eq!(value_of(&world, "b"), Some(text("b")));
    send(&mut world, &replace(None), 3).unwrap();
    assert_eq!(value_of(&world, "b"), Some(text("b")));
    // Drag and drop: both in one request.
    send(&mut world, &bring("b", after("d")), 4).unwrap();
    assert_eq!(children(&world), ["d", "b"]);
}

/// `n` is below `x`, and comes to be next to it: the move checks `x` as one of its ancestors, and the spot as its
/// anchor.
#[test]
fn a_node_comes_to_be_next_to_its_parent() {
    let mut world = lettered("xy");
    world.put_base("n", Some("x"));
    check(&mut world, &bring("n", after("x")), &["x", "n", "y"]);
    // The parent gets a value, and is checked as an ancestor.
    let mut world = self::world(&[("x", None), ("y", None)]);
    world.put_base("n", Some("x"));
    check(&mut world, &bring("n", after("x")), &["x", "n", "y"]);
}

#[test]
fn siblings_without_a_value_get_one_where_something_comes_after_them() {
    let none = |of: &'static str| (of, None);
    let all = || world(&[("v", Some(text("v"))), none("a"), none("b"), none("c")]);
    let valued = |world: &World| {
        let has_one = |of: &String| value_of(world, of).is_some();
        children(world).into_iter().filter(has_one).collect::<Vec<_>>()
    };
    let mut world = all();
    check(&mut world, &create("x", Some(Spot::Last)), &["v", "a", "b", "c", "x"]);
    assert_eq!(valued(&world).len(), 5);
    let mut world = all();
    check(&mut world, &create("x", Some(after("b"))), &["v", "a", "b", "x", "c"]);
    assert_eq!(valued(&world), ["v", "a", "b", "x"]);
    let mut world = all();
    check(&mut world, &create("x", Some(before("b"))), &["v", "a", "x", "b", "c"]);
    assert_eq!(valued(&world), ["v", "a", "x"]);
    let mut world = all();
    check(&mut world, &put("c", before("a")), &["v", "c", "a", "b"]);
    assert_eq!(valued(&world), ["v", "c"]);
}

#[test]
fn the_operations_of_a_batch_see_one_another() {
    let mut world = lettered("bd");
    let mut prefetched = Prefetched::default();
    let spots = [after("b"), after("b"), before("d"), Spot::Last, Spot::Last, Spot::First, Spot::First, after("made3")];
    let batch = at(1);
    for (part, spot) in spots.into_iter().enumerate() {
        let stamp = Stamp {
            tiebreak: Tiebreak { part: part as u16, ..batch.tiebreak },
            token: format!("t{part}"),
            ..batch.clone()
        };
        let command = create(&format!("made{part}"), Some(spot));
        carry_out(&mut world, &command, &Request::new(stamp), Some(&mut prefetched), |_| {}).unwrap();
    }
    let wanted = ["made6", "made5", "b", "made1", "made0", "made2", "d", "made3", "made7", "made4"];
    assert_eq!(children(&world), wanted);
}

/// Carries these commands out as a batch, before any row of theirs is there.
fn batch(world: &mut World, number: u64, commands: &[Command]) {
    let mut prefetched = Prefetched::default();
    for (part, command) in commands.iter().enumerate() {
        let stamp = at(number);
        let tiebreak = Tiebreak { part: part as u16, ..stamp.tiebreak };
        let stamp = Stamp { tiebreak, token: format!("{number}.{part}"), ..stamp };
        carry_out(world, command, &keyed(stamp, part), Some(&mut prefetched), |_| {}).unwrap();
    }
}

/// A request under a key, as an operation of a batch has one.
fn keyed(stamp: Stamp, part: usize) -> Request {
    let idempotency =
        Some(Idempotency { tenant: None, hash: format!("K{part}"), fingerprint: "the request".to_owned() });
    Request { idempotency, ..Request::new(stamp) }
}

/// Those without a value are behind the last that has one. However many the batch has made, the last comes behind all
/// of them.
#[test]
fn the_last_of_a_batch_comes_behind_all_others_of_it() {
    let names: Vec<String> = (0..20).map(|number| format!("n{number:02}")).collect();
    let mut commands: Vec<Command> = names.iter().map(|of| create(of, None)).collect();
    commands.push(create("a", Some(Spot::Last)));
    let mut world = lettered("b");
    batch(&mut world, 1, &commands);
    let wanted: Vec<&str> = ["b"].into_iter().chain(names.iter().map(String::as_str)).chain(["a"]).collect();
    assert_eq!(children(&world), wanted);
}

/// The first operation gives its neighbours values. Where these are now only the batch knows.
#[test]
fn a_batch_knows_where_the_siblings_are_that_made_room() {
    let none = ["a", "b", "c", "d", "e"].map(|of| (of, None));
    let mut world = world(&none);
    batch(&mut world, 1, &[put("e", after("b")), put("d", before("b"))]);
    assert_eq!(children(&world), ["a", "d", "b", "e", "c"]);
}

/// A batch that was cut off is sent again: its first operation is answered from what is kept, and the second comes
/// after it all the same.
#[test]
fn a_batch_that_is_repeated_knows_what_it_has_placed_before() {
    let mut world = lettered("b");
    let commands = [create("x", Some(Spot::First)), create("y", Some(after("x"))), create("z", Some(before("b")))];
    batch(&mut world, 1, &commands[..1]);
    batch(&mut world, 2, &commands);
    assert_eq!(children(&world), ["x", "y", "z", "b"]);
    let mut world = lettered("b");
    let commands = [create("x", Some(Spot::Last)), create("y", Some(after("b")))];
    batch(&mut world, 1, &commands[..1]);
    batch(&mut world, 2, &commands);
    assert_eq!(children(&world), ["b", "y", "x"]);
}

/// 70 siblings, all with this value, of so many bytes; one is twice as large.
fn bulky(value: Option<&str>, bytes: usize) -> World {
    let ids: Vec<String> = (0..70).map(|number| format!("s{number:02}")).collect();
    let siblings: Vec<(&str, Option<AttributeValue>)> = ids.iter().map(|id| (id.as_str(), value.map(text))).collect();
    let mut world = world(&siblings);
    for id in &ids {
        let mut item = world.base(id, Some(PARENT));
        item.extend(value.map(|value| (ORDER.to_owned(), text(value))));
        item.insert("bulk".to_owned(), text("x".repeat(if id == "s17" { 2 * bytes } else { bytes })));
        world.put(item);
    }
    world
}

#[test]
fn siblings_that_are_too_large_for_one_transaction_are_named() {
    // Those with one value have to get others with the node.
    let mut large = bulky(Some("m"), 80_000);
    let before_it = large.items.clone();
    let refused = send(&mut large, &create("x", Some(before("s35"))), 1);
    assert!(
        matches!(&refused, Err(Refusal::SiblingsTooLarge { id: of, bytes }) if *of == id("s17") && *bytes > 160_000),
        "{refused:?}"
    );
    assert_eq!(large.items, before_it);
    let mut small = bulky(Some("m"), 10_000);
    send(&mut small, &create("x", Some(before("s30"))), 1).unwrap();
    assert_eq!(children(&small)[29..32], ["s29", "x", "s30"]);
}

#[test]
fn large_siblings_without_a_value_get_one_in_slices_that_fit_a_transaction() {
    for bytes in [10_000, 80_000, 190_000] {
        // Before the last of them there are as many as fit a transaction, or one more.
        for anchor in 28..34 {
            let (mut world, sibling) = (bulky(None, bytes), format!("s{anchor}"));
            send(&mut world, &create("x", Some(after(&sibling))), 1).unwrap();
            assert_eq!(children(&world)[anchor..anchor + 2], [sibling, "x".to_owned()], "{bytes} bytes each");
            send(&mut world, &create("y", Some(Spot::Last)), 2).unwrap();
            assert_eq!(children(&world).last().map(String::as_str), Some("y"), "{bytes} bytes each");
        }
    }
}

/// What is refused leaves the siblings as they are, although they have no values to make room with.
#[test]
fn what_is_refused_changes_no_sibling() {
    let unvalued = || {
        let mut world = world(&[("a", None), ("b", None)]);
        world.put_base("g", None);
        world.put_base(PARENT, Some("g"));
        world
    };
    let mut world = unvalued();
    let before_it = world.items.clone();
    let refused = send(&mut world, &bring("g", after("a")), 1);
    assert_eq!(refused, Err(Refusal::Cycle { node: id("g"), parent: id(PARENT) }));
    assert_eq!(world.items, before_it);
    let large = Item::from([("large".to_owned(), text("x".repeat(409_000)))]);
    let content = Content { parent: Some(id(PARENT)), spot: Some(after("a")), attributes: large, ..Content::default() };
    let refused = send(&mut world, &Command::Create { node: node("x"), is_made_id: true, content }, 2);
    assert!(matches!(refused, Err(Refusal::TooLarge { .. })), "{refused:?}");
    assert_eq!(world.items, before_it);
    let mut world = unvalued().delete(PARENT, DeletionMode::Delete, false);
    let before_it = world.items.clone();
    let refused = send(&mut world, &create("x", Some(after("a"))), 3);
    assert!(matches!(refused, Err(Refusal::BeingDeleted { .. })), "{refused:?}");
    assert_eq!(world.items, before_it);
}

#[test]
fn a_sibling_that_makes_room_is_stamped_as_changed_and_not_as_created() {
    let mut world = world(&[("a", None)]);
    send(&mut world, &create("x", Some(Spot::Last)), 1).unwrap();
    let sibling = &world.items[&world.schema().node_key(&node("a"))];
    assert!(sibling.contains_key("_updated_by") && !sibling.contains_key("_created_by"), "{sibling:?}");
}

/// All ancestors, the neighbour, the node and the key are more than a transaction holds.
#[test]
fn so_far_down_a_node_is_moved_and_placed_without_a_key_only() {
    let drawn = |prefix: char, levels: usize| {
        let name = move |level: usize| if level == levels { format!("{prefix}") } else { format!("{prefix}{level}") };
        let nodes = (1..=levels).map(move |level| match level {
            1 => name(1),
            _ => format!("{}<{}", name(level), name(level - 1)),
        });
        nodes.collect::<Vec<_>>().join(" ")
    };
    let deep = || {
        let mut world = World::drawn(&format!("{} {} a<{PARENT}", drawn('p', 98), drawn('n', 98)));
        world.settings.order = Some(SiblingOrder::by(ORDER).written_by_hand().unwrap());
        world
    };
    let mut world = deep();
    settle(&mut world);
    let command = bring("n", after("a"));
    let before_it = world.items.clone();
    let refused = carry_out(&mut world, &command, &keyed(at(1), 0), None, |_| {});
    assert_eq!((refused, world.items.clone()), (Err(Refusal::TooDeepToCheck), before_it));
    send(&mut world, &command, 2).unwrap();
    assert_eq!(children(&world), ["a", "n"]);
    // With names that no two siblings have there are claims to be written, too.
    let mut world = deep();
    world.settings.names = UniqueNames::Exact;
    settle(&mut world);
    let before_it = world.items.clone();
    let patch = Patch { parent: Some(Some(id(PARENT))), ..Patch::default() };
    let refused = send(&mut world, &Command::Patch { node: node("n"), patch }, 3);
    assert_eq!((refused, world.items.clone()), (Err(Refusal::TooDeepToCheck), before_it));
}

/// Rows of children that went elsewhere stand until the stream comes to them. Few of them cost a read or two, and many
/// are refused.
#[test]
fn rows_of_children_that_are_gone_are_passed_by_up_to_a_limit() {
    for (gone, is_done) in [(300, true), (1_200, false)] {
        let names: Vec<String> = (0..gone).map(|number| format!("n{number:04}")).collect();
        let all = names.iter().map(|of| (of.as_str(), Some(text(of)))).chain([("z", Some(text("z")))]);
        let mut world = world(&all.collect::<Vec<_>>());
        for of in &names {
            let key = world.schema().node_key(&node(of));
            world.items.remove(&key);
        }
        let mut writes = 0;
        let done = carry_out(&mut world, &create("x", Some(Spot::First)), &Request::new(at(1)), None, |_| writes += 1);
        match done {
            Ok(_) => assert!(is_done && children(&world) == ["x", "z"]),
            Err(refusal) => assert_eq!((refusal, is_done, writes), (Refusal::SiblingsNotUpToDate, false, 0)),
        }
    }
}

/// Texts of other clients may be as long as an item. What is next to them is placed as fast as elsewhere.
#[test]
fn long_texts_are_neighbours_like_others() {
    for long in ["~", "z", "é", "0", " "].map(|of| of.repeat(10_000)) {
        let others = [("a", Some(text(long))), ("b", Some(text("b")))];
        for (number, spot) in [before("a"), after("a"), Spot::First, Spot::Last].into_iter().enumerate() {
            let mut world = world(&others);
            let mut wanted = children(&world);
            let at = |of: &str| wanted.iter().position(|child| child == of).unwrap();
            let place = [at("a"), at("a") + 1, 0, 2][number];
            match send(&mut world, &create("x", Some(spot)), 1) {
                Ok(_) => wanted.insert(place, "x".to_owned()),
                Err(refusal) => assert!(matches!(refusal, Refusal::NoRoom { .. }), "{refusal}"),
            }
            assert_eq!(children(&world), wanted);
        }
    }
}

/// Places nodes one after another, each at the spot that `spot` returns, given the number and the order. Returns how
/// many writes that took, and the length of the longest value.
fn placed_one_by_one(count: u64, spot: impl Fn(u64, &[String]) -> Spot) -> (u64, usize) {
    let mut world = lettered("abde");
    let (mut wanted, mut writes, mut longest) = (children(&world), 0, 0);
    for number in 0..count {
        let of = format!("n{number:04}");
        let spot = spot(number, &wanted);
        carry_out(&mut world, &create(&of, Some(spot.clone())), &Request::new(at(number)), None, |world| {
            let others: Vec<String> = children(world).into_iter().filter(|child| *child != of).collect();
            assert_eq!(others, wanted, "the order has changed under way");
            writes += 1;
        })
        .unwrap();
        let beside = spot.anchor().unwrap().as_str();
        let at = wanted.iter().position(|child| child == beside).unwrap();
        wanted.insert(at + usize::from(matches!(spot, Spot::After(_))), of.clone());
        assert_eq!(children(&world), wanted);
        longest = longest.max(match value_of(&world, &of) {
            Some(AttributeValue::S(value)) => value.len(),
            _ => panic!("it has no value"),
        });
        settle(&mut world);
    }
    (writes, longest)
}

/// However often nodes are put next to the same one, or each next to the one before, values stay short.
#[test]
fn crowded_siblings_are_respaced() {
    const COUNT: u64 = 200;
    // Values would have 77 bytes by then.
    const ONWARDS: u64 = 400;
    let newest = |number: u64| number.checked_sub(1).map(|number| id(&format!("n{number:04}")));
    let same = placed_one_by_one(COUNT, |_, _| after("b"));
    assert!(same.0 == COUNT && same.1 <= 15, "{same:?}");
    let same = placed_one_by_one(COUNT, |_, _| before("d"));
    assert!(same.0 == COUNT && same.1 <= 20, "{same:?}");
    for onwards in [
        placed_one_by_one(ONWARDS, |number, _| Spot::After(newest(number).unwrap_or(id("b")))),
        placed_one_by_one(ONWARDS, |number, _| Spot::Before(newest(number).unwrap_or(id("d")))),
        placed_one_by_one(ONWARDS, |number, _| Spot::After(newest(number).unwrap_or(id("e")))),
        placed_one_by_one(ONWARDS, |number, _| Spot::Before(newest(number).unwrap_or(id("a")))),
    ] {
        assert!(onwards.0 < ONWARDS + 20 && onwards.1 <= 64, "{onwards:?}");
    }
    // To and fro: each between the two before.
    let narrowed = placed_one_by_one(COUNT, |number, order| match (newest(number), number % 2) {
        (None, _) => after("b"),
        (Some(newest), 0) => Spot::After(newest),
        (Some(newest), _) => {
            assert!(order.contains(&newest.to_string()));
            Spot::Before(newest)
        }
    });
    assert!(narrowed.0 == COUNT && narrowed.1 <= 64, "{narrowed:?}");
}

/// As in every library: move_to(node, "left") of node itself leaves all as it is.
#[test]
fn a_node_that_is_put_next_to_itself_stays_where_it_is() {
    let mut world = lettered("bdf");
    let before_it = world.items.clone();
    for command in [put("d", after("d")), put("d", before("d")), put("b", before("b"))] {
        send(&mut world, &command, 1).unwrap();
        assert_eq!(world.items, before_it, "{command:?}");
    }
    let gone = send(&mut world, &create("x", Some(after("x"))), 1).map(drop);
    assert_eq!(gone, Err(Refusal::NotASibling(id("x"))));
}

/// A node in the trash has no siblings. Taken out "next to itself" it would silently become a root.
#[test]
fn a_node_that_comes_out_of_the_trash_next_to_itself_or_to_another_in_the_trash_is_refused() {
    let mut world = lettered("bdf");
    for of in ["d", "f"] {
        let mut item = world.base(of, None);
        let (at, parent) = (TrashTime::unknown(), Some(id(PARENT)));
        item.insert(TRASHED.to_owned(), Trashed { at, by: None, parent, born: None }.value());
        world.put(item);
    }
    settle(&mut world);
    let restore = |parent: Option<Option<Id>>, spot| {
        let (segment, on_conflict) = (None, OnConflict::Fail);
        Command::Restore { node: node("d"), parent, segment, spot: Some(spot), on_conflict }
    };
    for parent in [None, Some(None), Some(Some(id(PARENT)))] {
        for beside in ["d", "f"] {
            let refused = send(&mut world, &restore(parent.clone(), after(beside)), 1).map(drop);
            assert_eq!(refused, Err(Refusal::NotASibling(id(beside))), "{parent:?}");
        }
    }
    check(&mut world, &restore(None, after("b")), &["b", "d"]);
}

/// As `move(target, pos="right")` does: whoever is put next to a node comes under the parent of that node.
#[test]
fn a_node_that_is_put_next_to_another_comes_under_its_parent() {
    let mut world = lettered("bdf");
    world.put_base("q", None);
    world.put_base("x", Some("q"));
    world.put_base("y", Some("x"));
    check(&mut world, &put("x", after("d")), &["b", "d", "x", "f"]);
    check(&mut world, &put("y", before("x")), &["b", "d", "y", "x", "f"]);
    let content = Content { takes_parent: true, spot: Some(before("b")), ..Content::default() };
    check(
        &mut world,
        &Command::Create { node: node("z"), is_made_id: false, content },
        &["z", "b", "d", "y", "x", "f"],
    );
    // Out of the list, next to its parent, which is a root.
    check(&mut world, &put("z", after(PARENT)), &["b", "d", "y", "x", "f"]);
    // A parent that is named is the one that holds, and a node can't come under itself.
    world.put_base("in", Some("d"));
    let named = Patch { parent: Some(None), spot: Some(after("d")), ..Patch::default() };
    let refused = send(&mut world, &Command::Patch { node: node("q"), patch: named }, 1).map(drop);
    assert_eq!(refused, Err(Refusal::NotASibling(id("d"))));
    assert!(matches!(send(&mut world, &put("d", after("in")), 1), Err(Refusal::Cycle { .. })));
}

/// Each transaction gives values to some of the siblings, and the order is the same after each. `settles`: rows follow
/// at once, or not at all.
#[track_caller]
fn comes_after_many(count: usize, command: &Command, settles: bool) -> World {
    let names: Vec<String> = (0..count).map(|number| format!("n{number:04}")).collect();
    let mut world = world(&names.iter().map(|of| (of.as_str(), None)).collect::<Vec<_>>());
    let (settings, request) = (world.settings.clone(), Request::new(at(1)));
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let done = world.drive(&mut write_once(context, command, &request, None), |world, task| {
        let outcome = world.carry_out(task);
        assert_eq!(outcome, TaskOutcome::Held);
        let now: Vec<String> = children(world).into_iter().filter(|child| child != "x").collect();
        assert_eq!(now, names, "the order has changed under way");
        if settles {
            settle(world);
        }
        Some(outcome)
    });
    done.unwrap();
    world
}

/// Every table that is there before the parameter has such parents.
#[test]
fn the_last_of_many_without_a_value_is_placed_in_one_request() {
    for (count, settles) in [(97, false), (98, false), (98, true), (300, false), (300, true), (2_000, false)] {
        let world = comes_after_many(count, &create("x", Some(Spot::Last)), settles);
        assert_eq!(children(&world).last().map(String::as_str), Some("x"), "{count}");
    }
    let world = comes_after_many(300, &create("x", Some(after("n0250"))), false);
    assert_eq!(children(&world)[251], "x");
    assert!(value_of(&world, "n0250").is_some() && value_of(&world, "n0251").is_none());
    let world = comes_after_many(300, &create("x", Some(before("n0250"))), false);
    assert_eq!(children(&world)[250], "x");
    assert!(value_of(&world, "n0249").is_some() && value_of(&world, "n0250").is_none());
}

/// What is refused in the end has given no sibling a value, and a request that is cut off leaves its slices to the
/// next.
#[test]
fn slices_stay_when_the_request_ends_and_nothing_is_sliced_for_what_is_refused() {
    let names: Vec<String> = (0..250).map(|number| format!("n{number:04}")).collect();
    let mut world = world(&names.iter().map(|of| (of.as_str(), None)).collect::<Vec<_>>());
    world.put_base("g", None);
    world.put_base(PARENT, Some("g"));
    let before_it = world.items.clone();
    assert!(matches!(send(&mut world, &bring("g", Spot::Last), 1), Err(Refusal::Cycle { .. })));
    assert_eq!(world.items, before_it);
    let (settings, request) = (world.settings.clone(), Request::new(at(2)));
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let command = create("x", Some(Spot::Last));
    let mut plan = write_once(context, &command, &request, None);
    let mut facts = Facts::None;
    while world.items == before_it {
        let answered = world.answer(plan.next(facts).unwrap(), |world, task| Some(world.carry_out(task)));
        facts = answered.continue_value().unwrap();
    }
    assert_eq!((children(&world), value_of(&world, "n0096").is_some()), (names.clone(), true));
    send(&mut world, &create("y", Some(Spot::Last)), 3).unwrap();
    assert_eq!(children(&world), names.into_iter().chain(["y".to_owned()]).collect::<Vec<_>>());
}

/// Several requests give values to the same siblings at once, interleaved from a seed, with rows that follow late. The
/// siblings stay in their order after each write, and what is answered is where it was asked for.
#[test]
fn concurrent_slices_never_change_the_order() {
    for seed in 0..24_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(7);
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 33).unwrap() % limit
        };
        let names: Vec<String> = (0..210).map(|number| format!("n{number:04}")).collect();
        let mut world = world(&names.iter().map(|of| (of.as_str(), None)).collect::<Vec<_>>());
        let settings = world.settings.clone();
        let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
        let made: Vec<(Command, Spot, Request)> = (0..4)
            .map(|number| {
                let spot = match below(4) {
                    0 => after(&names[110 + below(90)]),
                    1 => before(&names[110 + below(90)]),
                    _ => Spot::Last,
                };
                (create(&format!("x{number}"), Some(spot.clone())), spot, Request::new(at(number)))
            })
            .collect();
        let mut clients: Vec<_> = made
            .iter()
            .map(|(command, spot, request)| (write_once(context, command, request, None), Facts::None, spot, command))
            .collect();
        while !clients.is_empty() {
            if below(12) == 0 {
                settle(&mut world);
            }
            let turn = below(clients.len());
            let (plan, facts, spot, command) = &mut clients[turn];
            let step = plan.next(std::mem::take(facts)).unwrap();
            let answered = world.answer(step, |world, task| {
                let outcome = world.carry_out(task);
                let now: Vec<String> = children(world).into_iter().filter(|of| of.starts_with('n')).collect();
                assert_eq!(now, names, "seed {seed}: the order has changed");
                Some(outcome)
            });
            match answered {
                ControlFlow::Continue(next) => *facts = next,
                ControlFlow::Break(done) => {
                    done.unwrap();
                    let Command::Create { node, .. } = command else { panic!("each is created") };
                    let order = children(&world);
                    let position = |of: &str| order.iter().position(|child| child == of).unwrap();
                    let own = position(node.id.as_str());
                    let is_right = match spot {
                        Spot::After(beside) => own > position(beside.as_str()),
                        Spot::Before(beside) => own < position(beside.as_str()),
                        _ => own > position("n0209"),
                    };
                    assert!(is_right, "seed {seed}: {node:?} {spot:?}");
                    drop(clients.remove(turn));
                }
            }
        }
    }
}

/// Siblings with one and the same text: the node and what is on the one side of its neighbour, or on the other, get
/// others.
#[test]
fn among_many_with_one_text_there_is_room() {
    let names: Vec<String> = (0..130).map(|number| format!("n{number:04}")).collect();
    for (spot, at) in [(after("n0010"), 11), (before("n0120"), 120), (after("n0125"), 126), (before("n0005"), 5)] {
        let mut world = world(&names.iter().map(|of| (of.as_str(), Some(text("same")))).collect::<Vec<_>>());
        send(&mut world, &create("x", Some(spot)), 1).unwrap();
        let mut wanted = names.clone();
        wanted.insert(at, "x".to_owned());
        assert_eq!(children(&world), wanted);
    }
}

/// Each comes between the last two. Only those near the end are kept in the world: no write looks at others. The
/// siblings are as 22,000 such placements leave them where only those on the one side get other values, which push the
/// last one out, by one digit after the other.
#[test]
fn always_between_the_last_two_there_is_room() {
    let full = (0..122).map(|digits| (format!("m{digits:03}"), Some(text(format!("{}V", "z".repeat(digits))))));
    let siblings: Vec<_> = full.chain([("b".to_owned(), Some(text("z".repeat(122))))]).collect();
    let mut world = world(&siblings.iter().map(|(of, value)| (of.as_str(), value.clone())).collect::<Vec<_>>());
    let (mut newest, mut longest) = (siblings[siblings.len() - 2].0.clone(), 0);
    for number in 0..3_000_u64 {
        let of = format!("n{number:05}");
        send(&mut world, &create(&of, Some(Spot::After(id(&newest)))), number).unwrap();
        let order = children(&world);
        assert_eq!(order[order.len() - 3..], [newest, of.clone(), "b".to_owned()]);
        longest = longest.max(match value_of(&world, &of) {
            Some(AttributeValue::S(value)) => value.len(),
            _ => panic!("it has no value"),
        });
        if let Some(far) = order.len().checked_sub(90) {
            for child in &order[..far] {
                let key = world.schema().node_key(&node(child));
                world.items.remove(&key);
            }
        }
        settle(&mut world);
        newest = of;
    }
    assert!(longest <= 64, "{longest} bytes");
}

/// A value that children of a list have: few, so that many are alike.
fn any_value() -> impl Strategy<Value = Option<AttributeValue>> {
    prop_oneof![
        3 => Just(None),
        3 => "[a-c0.~é ]{0,2}".prop_map(|value| Some(text(value))),
        1 => (0..3_i32).prop_map(|value| Some(AttributeValue::N(value.to_string()))),
        1 => Just(Some(AttributeValue::Bool(true))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any placements come out as in a list in memory, and after every write of any of them all others are in the order
    /// in which they were.
    #[test]
    fn placements_come_out_as_in_a_list(
        values in prop::collection::vec(any_value(), 1..9),
        placements in prop::collection::vec((0..12_usize, 0..4_u8, 0..12_usize), 1..25),
    ) {
        let names: Vec<String> = (0..12).map(|n| format!("n{n:02}")).collect();
        let given: Vec<(&str, Option<AttributeValue>)> = names.iter().map(String::as_str).zip(values).collect();
        let mut world = world(&given);
        for (number, (of, kind, beside)) in placements.into_iter().enumerate() {
            let of = &names[of];
            let spot = match kind {
                0 => Spot::First,
                1 => Spot::Last,
                2 => before(&names[beside]),
                _ => after(&names[beside]),
            };
            let mut wanted = children(&world);
            let (is_there, before_it) = (wanted.contains(of), wanted.clone());
            let is_alone = |child: &String| child != of;
            wanted.retain(is_alone);
            let others = wanted.clone();
            let command = if is_there { put(of, spot.clone()) } else { create(of, Some(spot.clone())) };
            let done = carry_out(&mut world, &command, &Request::new(at(number as u64)), None, |world| {
                let now: Vec<String> = children(world).into_iter().filter(is_alone).collect();
                assert_eq!(now, others, "the order has changed under way");
            });
            match done {
                Ok(_) if is_there && spot.anchor().map(Id::as_str) == Some(of.as_str()) => {
                    prop_assert_eq!(children(&world), before_it);
                }
                Ok(_) => {
                    let position = |beside: &Id| wanted.iter().position(|child| *child == beside.as_str()).unwrap();
                    let at = match &spot {
                        Spot::First => 0,
                        Spot::Last => wanted.len(),
                        Spot::Before(beside) => position(beside),
                        Spot::After(beside) => position(beside) + 1,
                    };
                    wanted.insert(at, of.clone());
                    prop_assert_eq!(children(&world), wanted);
                }
                Err(Refusal::NotASibling(beside)) => prop_assert!(!others.contains(&beside.to_string())),
                Err(Refusal::PlaceNotText { id, .. }) => {
                    prop_assert!(!matches!(value_of(&world, id.as_str()), Some(AttributeValue::S(_)) | None));
                }
                Err(Refusal::NoRoom { .. }) => {}
                Err(refusal) => prop_assert!(false, "{}", refusal),
            }
            settle(&mut world);
        }
    }
}

/// A request on its way.
struct Client<'a> {
    plan: Plan<'a, Result<Answered, Refusal>>,
    facts: Facts,
    of: &'a str,
    spot: &'a Spot,
    /// Which placements were answered before it began.
    answered_before: BTreeSet<usize>,
}

/// Children of which the first has its value between two that were put first, and the last between two that were put
/// last.
fn between_ends() -> World {
    let turn = |before: u64| Tiebreak::new(1_700_000_000_000_000 - before * 1_000_000, &before.to_string());
    let first = order_key::first(None, &turn(2)).unwrap();
    let newer = order_key::first(Some(&first), &turn(1)).unwrap();
    let last = order_key::last(None, &turn(2));
    let newest = order_key::last(Some(&last), &turn(1));
    let between = |low: &str, high: &str| order_key::between(Some(low), Some(high), 1).unwrap();
    let values = [between(&newer, &first), first.clone(), "V".to_owned(), last.clone(), between(&last, &newest)];
    let children: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().zip(values.map(|value| Some(text(value)))).collect();
    world(&children)
}

/// Several clients place the same few nodes at once, and rows follow whenever they like. Returns what is wrong.
fn at_once(seed: u64, rules: Rules) -> Option<String> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % limit
    };
    let names = ["a", "b", "c", "d", "e"];
    let mut world = if seed.is_multiple_of(2) { lettered("abcde") } else { between_ends() };
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules };
    let made: Vec<String> = (0..8).map(|number| format!("made{number}")).collect();
    let requests: Vec<(&str, Spot, Command, Request)> = (0..8)
        .map(|number| {
            let (of, beside) = (below(5), below(4));
            let beside = names[(of + 1 + beside) % 5];
            let spot = match below(4) {
                0 => Spot::First,
                1 => Spot::Last,
                2 => before(beside),
                _ => after(beside),
            };
            let request = Request::new(at(number as u64));
            match below(2) {
                0 => (names[of], spot.clone(), put(names[of], spot), request),
                _ => (&*made[number], spot.clone(), create(&made[number], Some(spot)), request),
            }
        })
        .collect();
    let mut waiting = requests.iter().enumerate();
    let mut under_way: Vec<(usize, Client<'_>)> = Vec::new();
    let mut answered: BTreeSet<usize> = BTreeSet::new();
    // Which placement each node has its place of.
    let mut placed: Vec<(usize, &str)> = Vec::new();
    loop {
        if under_way.len() < 3
            && let Some((number, (of, spot, command, request))) = waiting.next()
        {
            let (plan, answered_before) = (write_once(context, command, request, None), answered.clone());
            under_way.push((number, Client { plan, facts: Facts::None, of, spot, answered_before }));
        }
        if under_way.is_empty() {
            return None;
        }
        if below(6) == 0 {
            settle(&mut world);
        }
        let turn = below(under_way.len());
        let (number, client) = &mut under_way[turn];
        let mut is_placed = false;
        let step = client.plan.next(std::mem::take(&mut client.facts)).unwrap();
        let next = world.answer(step, |world, task| {
            let outcome = world.carry_out(task);
            is_placed = outcome == TaskOutcome::Held && task.key() == Some(&world.schema().node_key(&node(client.of)));
            Some(outcome)
        });
        if is_placed {
            placed.retain(|(_, of)| *of != client.of);
            placed.push((*number, client.of));
            if let Some(wrong) = wrong(&world, client, &placed) {
                return Some(wrong);
            }
        }
        match next {
            ControlFlow::Continue(facts) => client.facts = facts,
            ControlFlow::Break(_) => {
                answered.insert(*number);
                under_way.remove(turn);
            }
        }
    }
}

/// What is wrong at the moment when a node was placed.
fn wrong(world: &World, client: &Client<'_>, placed: &[(usize, &str)]) -> Option<String> {
    let order = children(world);
    let position = |of: &str| order.iter().position(|child| child == of).unwrap();
    let own = position(client.of);
    // What stands where it was put before this request began.
    let mut earlier =
        placed.iter().filter(|(number, _)| client.answered_before.contains(number)).map(|(_, of)| position(of));
    let is_right = match client.spot {
        Spot::Before(beside) => own < position(beside.as_str()),
        Spot::After(beside) => own > position(beside.as_str()),
        Spot::Last => earlier.all(|other| other <= own),
        Spot::First => earlier.all(|other| other >= own),
    };
    (!is_right).then(|| format!("{} {:?} came to {order:?}", client.of, client.spot))
}

#[test]
fn concurrent_placements_hold_where_they_are_answered() {
    for seed in 0..2_000 {
        let wrong = at_once(seed, Rules::default());
        assert!(wrong.is_none(), "seed {seed}: {}", wrong.unwrap_or_default());
    }
}

#[test]
fn without_the_check_of_the_anchor_a_placement_is_lost() {
    assert!((0..5_000).any(|seed| at_once(seed, Rules::without(Rule::AnchorStays)).is_some()));
}

#[test]
fn without_the_time_two_that_are_placed_last_come_out_in_any_order() {
    assert!((0..5_000).any(|seed| at_once(seed, Rules::without(Rule::LastByTime)).is_some()));
}

/// A placement whose first attempt is still on its way when it is answered: meanwhile the node has come to be where it
/// was to go, because another has left. Returns what becomes of that attempt.
fn of_an_attempt_on_its_way(rules: Rules) -> TaskOutcome {
    let mut world = lettered("bdf");
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules };
    let (command, request) = (put("f", after("b")), Request::new(at(7)));
    let mut on_its_way = None;
    let done = world.drive(&mut write_once(context, &command, &request, None), |world, task| {
        if on_its_way.is_some() {
            return Some(world.carry_out(task));
        }
        on_its_way = Some(task.clone());
        check(world, &put("d", Spot::Last), &["b", "f", "d"]);
        None
    });
    done.unwrap();
    world.carry_out(&on_its_way.unwrap())
}

#[test]
fn an_attempt_that_is_on_its_way_is_not_carried_out_after_the_answer() {
    assert_ne!(of_an_attempt_on_its_way(Rules::default()), TaskOutcome::Held);
    assert_eq!(of_an_attempt_on_its_way(Rules::without(Rule::AttemptEnds)), TaskOutcome::Held);
}

/// A node without a value is one of many, and is put last. The others stay in their order all the time. So they do if
/// another child without a value comes in between.
#[test]
fn one_of_many_without_a_value_comes_last_and_the_others_stay_in_order() {
    for comes_between in [None, Some("n0001x"), Some("n0200x"), Some("z")] {
        let names: Vec<String> = (0..250).map(|number| format!("n{number:04}")).collect();
        let others: Vec<&String> = names.iter().filter(|of| *of != "n0005").collect();
        let in_order = |world: &World| {
            let now = children(world);
            let now: Vec<&String> = now.iter().filter(|of| others.contains(of)).collect();
            assert_eq!(now, others, "{comes_between:?}");
        };
        let mut world = world(&names.iter().map(|of| (of.as_str(), None)).collect::<Vec<_>>());
        let settings = world.settings.clone();
        let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
        let (command, request, mut writes) = (put("n0005", Spot::Last), Request::new(at(1)), 0);
        let done = world.drive(&mut write_once(context, &command, &request, None), |world, task| {
            let outcome = world.carry_out(task);
            writes += 1;
            in_order(world);
            if let Some(id) = comes_between.filter(|_| writes == 1) {
                world.put_base(id, Some(PARENT));
                settle(world);
            }
            Some(outcome)
        });
        done.unwrap();
        in_order(&world);
        let last: Vec<String> = children(&world).into_iter().filter(|of| Some(of.as_str()) != comes_between).collect();
        assert_eq!(last.last().unwrap(), "n0005", "{comes_between:?}");
        assert!(writes > 2, "there were {writes} writes");
    }
}

/// Between two slices another request moves the node. Its new siblings get values from the first on.
#[test]
fn a_slice_among_other_siblings_does_not_count() {
    let names: Vec<String> = (0..150).map(|number| format!("n{number:04}")).collect();
    let mut world = world(&names.iter().map(|of| (of.as_str(), None)).collect::<Vec<_>>());
    world.put_base("q", None);
    ["a0", "a1", "z0"].into_iter().for_each(|of| world.put_base(of, Some("q")));
    settle(&mut world);
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let (command, request) = (put("n0149", Spot::Last), Request::new(at(1)));
    let mut writes = 0;
    let done = world.drive(&mut write_once(context, &command, &request, None), |world, task| {
        let outcome = world.carry_out(task);
        writes += 1;
        // The first one is a slice.
        if writes == 1 {
            world.put_base("n0149", Some("q"));
            settle(world);
        }
        Some(outcome)
    });
    done.unwrap();
    let below_q = places(&world).into_iter().filter(|(_, parent)| *parent == Some(id("q")));
    assert_eq!(below_q.map(|((_, of), _)| of.to_string()).collect::<Vec<_>>(), ["a0", "a1", "z0", "n0149"]);
    assert!(writes > 1, "there was no slice");
}
