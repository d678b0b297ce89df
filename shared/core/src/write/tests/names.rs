//! Names that no two siblings have: what each write does to their claims, and which writes are refused.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::steps::{create, id, moved, set, stamp};
use crate::fanout::tests::world::{World, node};
use crate::keys::ItemKey;
use crate::model::{DELETING, DeletionMode, Item, NameClaim, TRASHED, UniqueNames, text, text_of};
use crate::plan::{Need, Rule, Rules};
use crate::write::{
    Children, Command, Content, Context, FirstReads, Limits, OnConflict, Patch, Prefetched, Refusal, Request,
    write_once,
};

fn world(drawn: &str, names: UniqueNames) -> World {
    let mut world = World::drawn(drawn);
    world.settings.names = names;
    world
}

fn named(of: &str, parent: Option<&str>, name: &str) -> Command {
    let segment = Some(name.to_owned());
    let content = Content { parent: parent.map(id), segment, ..Content::default() };
    Command::Create { node: node(of), is_made_id: false, content }
}

fn renamed(of: &str, name: Option<&str>) -> Command {
    let segment = Some(name.map(str::to_owned));
    Command::Patch { node: node(of), patch: Patch { segment, ..Patch::default() } }
}

fn restored(of: &str, on_conflict: OnConflict) -> Command {
    Command::Restore { node: node(of), parent: None, segment: None, spot: None, on_conflict }
}

fn delete(of: &str) -> Command {
    let children = Children::With(DeletionMode::Delete);
    Command::Delete { node: node(of), children, revisions: false, operation: format!("the deletion of {of}") }
}

/// A name for a write that no other has.
fn token() -> String {
    static WRITES: AtomicUsize = AtomicUsize::new(0);
    format!("t{}", WRITES.fetch_add(1, Ordering::Relaxed))
}

fn carried_out(world: &mut World, command: &Command) -> Result<(), Refusal> {
    carried_out_by(world, command, &token())
}

fn carried_out_by(world: &mut World, command: &Command, token: &str) -> Result<(), Refusal> {
    carried_out_with(world, command, token, Rules::default())
}

fn carried_out_with(world: &mut World, command: &Command, token: &str, rules: Rules) -> Result<(), Refusal> {
    let settings = world.settings.clone();
    let limits = Limits { attempts_max: 5, ..Limits::default() };
    let context = Context { settings: &settings, limits, rules };
    let request = Request::new(stamp(token, 1_000));
    world.run(&mut write_once(context, command, &request, None)).1.unwrap().map(|_| ())
}

/// Carries commands out, one after another. All must be done.
#[track_caller]
fn done(world: &mut World, commands: &[Command]) {
    for command in commands {
        assert_eq!(carried_out(world, command), Ok(()), "{command:?}");
    }
}

/// Checks that a command is refused because this node has the name, and that nothing was written.
#[track_caller]
fn taken(world: &mut World, command: &Command, by: &str) {
    let before = world.items.clone();
    match carried_out(world, command) {
        Err(Refusal::NameTaken { id, .. }) => assert_eq!(id.as_str(), by, "{command:?}"),
        other => panic!("{command:?}: {other:?}"),
    }
    assert_eq!(world.items, before);
}

/// The claims, as `<partition> <name> <node>`.
fn claims(world: &World) -> Vec<String> {
    let claim = |(key, item): (&ItemKey, &Item)| {
        let name = key.sk.strip_prefix("NAME#").or(key.sk.strip_prefix("ROOTNAME#"))?;
        Some(format!("{} {name} {}", key.pk, NameClaim::node_in(item)?))
    };
    world.items.iter().filter_map(claim).collect()
}

fn claim_key(pk: &str, name: &str) -> ItemKey {
    ItemKey::new(pk, format!("NAME#{name}"))
}

#[test]
fn a_name_is_claimed_and_given_back_with_the_write_that_takes_or_leaves_it() {
    let mut world = world("p q", UniqueNames::Exact);
    done(&mut world, &[named("a", Some("p"), "x"), create("b", false, Some("p")), named("r", None, "x")]);
    assert_eq!(claims(&world), ["ROOTS x r", "p b b", "p x a"]);
    // An attribute is nobody's name.
    done(&mut world, &[set("a", "colour", "red"), renamed("b", Some("y")), moved("a", "q")]);
    assert_eq!(claims(&world), ["ROOTS x r", "p y b", "q x a"]);
    done(&mut world, &[renamed("b", None), Command::Trash { node: node("a") }]);
    assert_eq!(claims(&world), ["ROOTS x r", "p b b"]);
    // What is in the trash has no name, whatever it is called there.
    done(&mut world, &[renamed("a", Some("b")), named("c", Some("q"), "b")]);
    assert_eq!(claims(&world), ["ROOTS x r", "p b b", "q b c"]);
    taken(&mut world, &restored("a", OnConflict::Fail), "c");
    done(&mut world, &[renamed("a", Some("x")), restored("a", OnConflict::Fail)]);
    done(&mut world, &[delete("c"), delete("a")]);
    assert_eq!(claims(&world), ["ROOTS x r", "p b b"]);
}

#[test]
fn a_name_that_a_sibling_has_is_refused_to_every_write() {
    let mut world = world("p q", UniqueNames::Exact);
    done(&mut world, &[named("a", Some("p"), "x"), named("b", Some("p"), "y"), named("c", Some("q"), "x")]);
    done(&mut world, &[named("r", None, "x"), create("d", false, Some("p"))]);
    taken(&mut world, &named("n", Some("p"), "x"), "a");
    taken(&mut world, &named("n", None, "x"), "r");
    taken(&mut world, &create("x", false, Some("p")), "a");
    taken(&mut world, &named("n", Some("p"), "d"), "d");
    taken(&mut world, &renamed("b", Some("x")), "a");
    taken(&mut world, &moved("c", "p"), "a");
    taken(
        &mut world,
        &Command::Patch { node: node("c"), patch: Patch { parent: Some(None), ..Patch::default() } },
        "r",
    );
    let content = Content { parent: Some(id("p")), segment: Some("x".to_owned()), ..Content::default() };
    taken(&mut world, &Command::Replace { node: node("b"), content: content.clone() }, "a");
    // Its own name is nobody else's.
    done(
        &mut world,
        &[Command::Replace { node: node("a"), content }, renamed("a", Some("X")), renamed("b", Some("x"))],
    );
    assert_eq!(claims(&world), ["ROOTS x r", "p X a", "p d d", "p x b", "q x c"]);
}

#[test]
fn two_that_change_names_both_wait_for_the_other() {
    let mut world = world("p", UniqueNames::Exact);
    done(&mut world, &[named("a", Some("p"), "x"), named("b", Some("p"), "y")]);
    taken(&mut world, &renamed("a", Some("y")), "b");
    taken(&mut world, &renamed("b", Some("x")), "a");
    done(&mut world, &[renamed("a", Some("z")), renamed("b", Some("x")), renamed("a", Some("y"))]);
    assert_eq!(claims(&world), ["p x b", "p y a"]);
}

#[test]
fn case_and_form_count_only_where_they_are_to() {
    let names = ["Docs", "docs", "Stra\u{df}e", "STRASSE", "e\u{301}", "\u{c9}"];
    let mut exact = world("p", UniqueNames::Exact);
    for (number, name) in names.into_iter().enumerate() {
        done(&mut exact, &[named(&format!("n{number}"), Some("p"), name)]);
    }
    let mut caseless = world("p", UniqueNames::Caseless);
    for (number, pair) in names.chunks(2).enumerate() {
        done(&mut caseless, &[named(&format!("n{number}"), Some("p"), pair[0])]);
        taken(&mut caseless, &named("other", Some("p"), pair[1]), &format!("n{number}"));
        // Another spelling of its own name is its own.
        done(&mut caseless, &[renamed(&format!("n{number}"), Some(pair[1]))]);
        taken(&mut caseless, &named("other", Some("p"), pair[0]), &format!("n{number}"));
    }
    assert_eq!(claims(&caseless), ["p docs n0", "p strasse n1", "p \u{e9} n2"]);
}

#[test]
fn a_claim_whose_node_has_left_is_taken_over() {
    type Leaves = fn(&mut World);
    let leaves: [Leaves; 6] = [
        |world| _ = world.items.remove(&world.schema().node_key(&node("a"))),
        |world| world.put_base("a", Some("p")),
        |world| world.put_base("a", Some("q")),
        |world| with(world, "a", DELETING, crate::fanout::tests::world::mark(DeletionMode::Delete, false).value()),
        |world| with(world, "a", "_put_back", text("1")),
        |world| with(world, "a", "segment", text("")),
    ];
    for leave in leaves {
        let mut world = world("p q", UniqueNames::Exact);
        done(&mut world, &[named("a", Some("p"), "x")]);
        leave(&mut world);
        done(&mut world, &[named("b", Some("p"), "x")]);
        assert_eq!(claims(&world), ["p x b"]);
        // Who comes back finds the name taken.
        if !world.items.contains_key(&world.schema().node_key(&node("a"))) {
            taken(&mut world, &named("a", Some("p"), "x"), "b");
        }
    }
    let mut world = world("p", UniqueNames::Exact);
    done(&mut world, &[named("a", Some("p"), "x")]);
    with(&mut world, "a", TRASHED, text("by hand"));
    taken(&mut world, &named("b", Some("p"), "x"), "a");
}

fn with(world: &mut World, of: &str, name: &str, value: crate::model::AttributeValue) {
    let key = world.schema().node_key(&node(of));
    world.items.get_mut(&key).unwrap().insert(name.to_owned(), value);
}

#[test]
fn a_claim_isnt_taken_over_from_a_node_that_comes_back_meanwhile() {
    // Another client puts the node back after its record was read, and before the write.
    for step in 3..=4 {
        let mut world = world("p", UniqueNames::Exact);
        done(&mut world, &[named("a", Some("p"), "x")]);
        let there = world.items.remove(&world.schema().node_key(&node("a")));
        let mut world = world.meanwhile(step, "a", there);
        match carried_out(&mut world, &named("b", Some("p"), "x")) {
            Err(Refusal::NameTaken { id, .. }) => assert_eq!(id.as_str(), "a"),
            Ok(()) if step == 4 => {} // After the write.
            other => panic!("{step}: {other:?}"),
        }
    }
}

/// Carries out a command with a rule kept and broken, each on a table of its own. With it, this node's name is refused,
/// and without it the node gets the name of a sibling.
#[track_caller]
fn is_needed(rule: Rule, table: impl Fn() -> World, command: &Command, by: &str) {
    match carried_out(&mut table(), command) {
        Err(Refusal::NameTaken { id, .. }) => assert_eq!(id.as_str(), by, "{rule:?}"),
        other => panic!("{rule:?}: {other:?}"),
    }
    assert_eq!(carried_out_with(&mut table(), command, &token(), Rules::without(rule)), Ok(()), "{rule:?}");
}

#[test]
fn without_any_one_of_its_conditions_a_node_gets_the_name_of_a_sibling() {
    let two = || {
        let mut world = world("p", UniqueNames::Exact);
        done(&mut world, &[named("a", Some("p"), "x"), named("b", Some("p"), "y")]);
        world
    };
    is_needed(Rule::ClaimName, two, &renamed("b", Some("x")), "a");
    // `a` is gone, and is back before the write.
    let back = || {
        let mut world = two();
        let there = world.items.remove(&world.schema().node_key(&node("a")));
        world.meanwhile(3, "a", there)
    };
    is_needed(Rule::HolderLeft, back, &named("c", Some("p"), "x"), "a");
    // `a` is gone, and `d` has taken its name over before the write.
    let taken_over = || {
        let mut world = two();
        world.items.remove(&world.schema().node_key(&node("a")));
        world.put_base("d", Some("p"));
        with(&mut world, "d", "segment", text("x"));
        let claim = NameClaim { node: id("d"), write: "of d".to_owned() };
        let claim = claim.item(&claim_key("p", "x"), world.schema());
        world.meanwhile_at(3, claim_key("p", "x"), Some(claim))
    };
    is_needed(Rule::ClaimAsRead, taken_over, &named("c", Some("p"), "x"), "d");
}

#[test]
fn a_node_that_leaves_its_name_would_take_the_claim_of_another_along() {
    for (rules, left) in [(Rules::default(), vec!["p x a", "p y b"]), (Rules::without(Rule::ReleaseOwn), vec!["p y b"])]
    {
        let mut world = world("p", UniqueNames::Exact);
        done(&mut world, &[named("a", Some("p"), "x")]);
        // Another client asks nobody.
        world.put_base("b", Some("p"));
        with(&mut world, "b", "segment", text("x"));
        assert_eq!(carried_out_with(&mut world, &renamed("b", Some("y")), &token(), rules), Ok(()));
        assert_eq!(claims(&world), left);
    }
}

/// The same command, whose node gets another name where its own is taken.
fn renaming(mut command: Command) -> Command {
    match &mut command {
        Command::Create { content, .. } | Command::Replace { content, .. } => content.on_conflict = OnConflict::Rename,
        Command::Patch { patch, .. } => patch.on_conflict = OnConflict::Rename,
        Command::Restore { on_conflict, .. } | Command::Copy { on_conflict, .. } => *on_conflict = OnConflict::Rename,
        _ => {}
    }
    command
}

fn copied(of: &str, top: &str) -> Command {
    Command::Copy {
        source: node(of),
        node: node(top),
        is_made_id: true,
        parent: None,
        segment: None,
        spot: None,
        on_conflict: OnConflict::Rename,
        operation: format!("the copy {top}"),
    }
}

#[test]
fn every_write_gets_the_first_free_name_with_a_number_if_it_asks_for_that() {
    for names in [UniqueNames::Exact, UniqueNames::Caseless] {
        let mut world = world("p q", names);
        done(&mut world, &[named("a", Some("p"), "x"), named("r", None, "x"), named("m", Some("q"), "x")]);
        done(&mut world, &[renaming(named("b", Some("p"), "x")), renaming(named("c", Some("p"), "x (2)"))]);
        done(&mut world, &[renaming(create("x", false, Some("p"))), renaming(moved("m", "p"))]);
        let free = ["p x a", "p x (2) b", "p x (2) (2) c", "p x (3) x", "p x (4) m"];
        let claimed = claims(&world);
        assert!(free.iter().all(|claim| claimed.contains(&(*claim).to_owned())), "{claimed:?}");
        // A number that is given back is free again, and so is the name itself.
        done(&mut world, &[delete("b"), Command::Trash { node: node("m") }, named("n", Some("p"), "x (4)")]);
        done(&mut world, &[renaming(restored("m", OnConflict::Fail)), copied("a", "o"), copied("a", "s")]);
        let claimed = claims(&world);
        for claim in ["p x (4) n", "p x (4) (2) m", "p x (2) o", "p x (5) s"] {
            assert!(claimed.contains(&claim.to_owned()), "{claim}: {claimed:?}");
        }
        // Sent again, it is as it was asked for.
        let before = world.items.clone();
        let segment = Some(Some("x".to_owned()));
        let again = Patch { segment, on_conflict: OnConflict::Rename, ..Patch::default() };
        done(&mut world, &[Command::Patch { node: node("s"), patch: again }]);
        assert_eq!(world.items, before);
    }
    let mut caseless = world("p", UniqueNames::Caseless);
    done(&mut caseless, &[named("a", Some("p"), "Docs"), renaming(named("b", Some("p"), "docs"))]);
    assert_eq!(claims(&caseless), ["p docs a", "p docs (2) b"]);
    assert_eq!(text_of(&caseless.items[&caseless.schema().node_key(&node("b"))], "segment"), Some("docs (2)"));
}

#[test]
fn a_node_comes_out_of_the_trash_with_a_name_that_is_given() {
    let mut world = world("p", UniqueNames::Exact);
    done(&mut world, &[named("a", Some("p"), "x"), Command::Trash { node: node("a") }, named("b", Some("p"), "x")]);
    let restore = |segment: &str| {
        let (segment, on_conflict) = (Some(segment.to_owned()), OnConflict::Fail);
        Command::Restore { node: node("a"), parent: None, segment, spot: None, on_conflict }
    };
    taken(&mut world, &restore("x"), "b");
    assert!(matches!(carried_out(&mut world, &restore("")), Err(Refusal::Key(_))));
    done(&mut world, &[restore("z")]);
    assert_eq!(claims(&world), ["p x b", "p z a"]);
}

#[test]
fn another_name_has_room_in_a_segment_and_in_a_key() {
    for long in ["y".repeat(1_014), "\u{149}".repeat(507)] {
        for names in [UniqueNames::Exact, UniqueNames::Caseless] {
            let mut world = world("p", names);
            done(&mut world, &[named("a", Some("p"), &long)]);
            for of in ["b", "c", "d"] {
                done(&mut world, &[renaming(named(of, Some("p"), &long))]);
            }
            let name = |of| text_of(&world.items[&world.schema().node_key(&node(of))], "segment").unwrap().to_owned();
            assert!(name("d").ends_with(" (4)") && name("d").len() > 1_008 && name("d").len() <= 1_014);
        }
    }
}

#[test]
fn without_unique_names_no_other_name_is_given() {
    let mut world = world("p", UniqueNames::Off);
    assert_eq!(carried_out(&mut world, &renaming(named("a", Some("p"), "x"))), Err(Refusal::NamesNotUnique));
}

#[test]
fn many_names_with_numbers_are_looked_at_by_one_query() {
    let mut world = world("p", UniqueNames::Exact);
    done(&mut world, &[named("a", Some("p"), "x")]);
    for number in 2..=300 {
        done(&mut world, &[named(&format!("n{number}"), Some("p"), &format!("x ({number})"))]);
    }
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let (command, request) = (renaming(named("b", Some("p"), "x")), Request::new(stamp(&token(), 1_000)));
    let (steps, answer) = world.run(&mut write_once(context, &command, &request, None));
    assert!(answer.unwrap().is_ok());
    // The look, the node that has the name, the query, the look again, and the write.
    assert_eq!(steps.len(), 5, "{steps:?}");
    assert!(claims(&world).contains(&"p x (301) b".to_owned()));
}

#[test]
fn requests_that_race_for_one_name_all_get_names() {
    let mut world = world("p", UniqueNames::Exact);
    done(&mut world, &[named("a", Some("p"), "x")]);
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let (command, request) = (renaming(named("b", Some("p"), "x")), Request::new(stamp(&token(), 1_000)));
    // Right before each of its first writes another one takes the name.
    let mut others = 2..=9;
    let done_by = world.drive(&mut write_once(context, &command, &request, None), |world, task| {
        if let Some(number) = others.next() {
            done(world, &[renaming(named(&format!("n{number}"), Some("p"), "x"))]);
        }
        Some(world.carry_out(task))
    });
    assert!(done_by.is_ok());
    let all = (2..=9).map(|number| format!("p x ({number}) n{number}")).chain(["p x (10) b".to_owned()]);
    let claimed = claims(&world);
    assert!(all.into_iter().all(|claim| claimed.contains(&claim)), "{claimed:?}");
}

#[test]
fn a_node_that_others_rename_meanwhile_keeps_no_number_of_the_name_it_had() {
    let mut world = world("p q", UniqueNames::Exact);
    done(&mut world, &[named("a", Some("p"), "x"), named("b", Some("q"), "x")]);
    let settings = world.settings.clone();
    let context = Context {
        settings: &settings,
        limits: Limits { attempts_max: 5, ..Limits::default() },
        rules: Rules::default(),
    };
    let (command, request) = (renaming(moved("b", "p")), Request::new(stamp(&token(), 1_000)));
    let mut is_first = true;
    let moved = world.drive(&mut write_once(context, &command, &request, None), |world, task| {
        if std::mem::take(&mut is_first) {
            done(world, &[renamed("b", Some("z"))]);
        }
        Some(world.carry_out(task))
    });
    assert!(moved.is_ok());
    assert_eq!(claims(&world), ["p x a", "p z b"]);
}

/// `b` is to be named `x`, which `a` has. The write by which it comes to be `x (2)` gets no answer, and `c` has
/// that name before the next one. It is carried out right before the one after that, when `c` has left.
fn sent_late(rules: Rules) -> (Result<String, Refusal>, String) {
    let mut world = world("p", UniqueNames::Exact);
    done(&mut world, &[named("a", Some("p"), "x"), named("b", Some("p"), "y")]);
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits { attempts_max: 5, ..Limits::default() }, rules };
    let (command, request) = (renaming(renamed("b", Some("x"))), Request::new(stamp(&token(), 1_000)));
    let (mut first, mut number) = (None, 0);
    let name = |item: &Item| text_of(item, "segment").unwrap_or_default().to_owned();
    let answer = world.drive(&mut write_once(context, &command, &request, None), |world, task| {
        number += 1;
        match number {
            1 => {
                first = Some(task.clone());
                done(world, &[named("c", Some("p"), "x (2)")]);
                return None;
            }
            2 => {
                done(world, &[delete("c")]);
                assert!(first.take().is_some_and(|first| world.carry_out(&first) == crate::plan::TaskOutcome::Held));
                done(world, &[set("b", "colour", "red")]);
            }
            _ => {}
        }
        Some(world.carry_out(task))
    });
    let answer = answer.map(|answered| match answered.outcome {
        crate::write::Outcome::Node { item, .. } => name(&item),
        other => panic!("{other:?}"),
    });
    let stored = name(&world.items[&world.schema().node_key(&node("b"))]);
    (answer, stored)
}

#[test]
fn after_an_attempt_without_an_answer_a_node_keeps_the_name_that_it_was_sent_with() {
    assert_eq!(sent_late(Rules::default()), (Err(Refusal::OutcomeUnknown), "y".to_owned()));
    let (answer, stored) = sent_late(Rules::without(Rule::SameNameAgain));
    assert_eq!((answer, stored.as_str()), (Ok("x (3)".to_owned()), "x (2)"), "another name than the answer's");
}

#[test]
fn a_lost_answer_is_found_done_by_the_node_that_got_another_name() {
    for command in [named("n", Some("p"), "x"), renamed("b", Some("x")), moved("c", "p")].map(renaming) {
        for step in 2..=8 {
            let mut world = world("p q b<p", UniqueNames::Exact);
            done(&mut world, &[named("a", Some("p"), "x"), named("c", Some("q"), "x")]);
            let mut world = world.losing(step);
            assert_eq!(carried_out_by(&mut world, &command, "lost"), Ok(()), "{command:?}, {step}");
            let numbered: Vec<String> = claims(&world).into_iter().filter(|claim| claim.contains('(')).collect();
            assert_eq!(numbered.len(), 1, "{numbered:?}");
            assert_eq!(text_of(&world.items[&claim_key("p", "x (2)")], "_write"), Some("lost"));
        }
    }
}

#[test]
fn a_name_that_is_taken_is_shown_as_its_node_spells_it() {
    let mut world = world("p", UniqueNames::Caseless);
    done(&mut world, &[named("f1", Some("p"), "Handbook")]);
    let refusal = carried_out(&mut world, &named("n", Some("p"), "HANDBOOK"));
    assert_eq!(refusal, Err(Refusal::NameTaken { name: "Handbook".to_owned(), id: id("f1") }));
}

#[test]
fn what_other_clients_have_put_in_a_claims_place_isnt_written_over() {
    let mut world = world("p", UniqueNames::Exact);
    let mut own = crate::model::with_key(&claim_key("p", "x"), world.schema());
    own.insert("colour".to_owned(), text("red"));
    world.put(own.clone());
    let refusal = carried_out(&mut world, &named("a", Some("p"), "x"));
    assert_eq!(refusal, Err(Refusal::NameObstructed(claim_key("p", "x"))));
    assert_eq!(world.items[&claim_key("p", "x")], own);
}

#[test]
fn a_node_that_never_claimed_its_name_leaves_the_claim_of_another_alone() {
    let mut world = world("p q", UniqueNames::Exact);
    done(&mut world, &[named("a", Some("p"), "x")]);
    for (of, command) in [
        ("b", renamed("b", Some("y"))),
        ("c", moved("c", "q")),
        ("d", Command::Trash { node: node("d") }),
        ("e", delete("e")),
    ] {
        world.put_base(of, Some("p"));
        with(&mut world, of, "segment", text("x"));
        done(&mut world, &[command]);
    }
    assert_eq!(claims(&world), ["p x a", "p y b", "q x c"]);
}

#[test]
fn a_root_and_a_child_of_the_node_roots_are_no_siblings() {
    let mut world = world("ROOTS", UniqueNames::Exact);
    done(&mut world, &[named("a", None, "x"), named("b", Some("ROOTS"), "x")]);
    assert_eq!(claims(&world), ["ROOTS x b", "ROOTS x a"]);
}

#[test]
fn without_unique_names_there_are_no_claims() {
    let mut world = world("p", UniqueNames::Off);
    done(&mut world, &[named("a", Some("p"), "x"), named("b", Some("p"), "x"), renamed("a", Some("y"))]);
    assert_eq!(claims(&world), [""; 0]);
}

#[test]
fn in_a_batch_names_of_operations_before_count() {
    let mut world = world("p", UniqueNames::Caseless);
    let commands = [
        named("a", Some("p"), "x"),
        named("b", Some("p"), "X"),
        renamed("a", Some("y")),
        named("c", Some("p"), "x"),
        delete("c"),
        named("d", Some("p"), "X"),
    ];
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: Limits::default(), rules: Rules::default() };
    let commands: Vec<&Command> = commands.iter().collect();
    let wanted = FirstReads::of(context, &commands);
    assert!(wanted.keys.contains(&claim_key("p", "x")), "claims are read ahead");
    let read = world.read(Need::keys(wanted.keys.iter().cloned()));
    let mut prefetched = Prefetched::default();
    prefetched.learn(&commands, wanted, read, Vec::new(), &settings.schema);
    let mut answers = Vec::new();
    for command in commands {
        let request = Request::new(stamp(&token(), 1_000));
        let answer = world.run(&mut write_once(context, command, &request, Some(&mut prefetched))).1.unwrap();
        answers.push(match answer {
            Ok(_) => "done".to_owned(),
            Err(Refusal::NameTaken { id, .. }) => format!("taken by {id}"),
            Err(refusal) => panic!("{refusal}"),
        });
    }
    assert_eq!(answers, ["done", "taken by a", "done", "done", "done", "done"]);
    assert_eq!(claims(&world), ["p x d", "p y a"]);
}

#[test]
fn a_lost_answer_is_found_done_by_the_node_and_not_refused_by_its_own_claim() {
    for command in [named("a", Some("p"), "x"), renamed("b", Some("x")), moved("c", "p")] {
        // The third or the fourth step writes.
        for step in 2..=6 {
            let mut world = world("p q b<p", UniqueNames::Exact);
            done(&mut world, &[named("c", Some("q"), "x")]);
            let mut world = world.losing(step);
            assert_eq!(carried_out_by(&mut world, &command, "lost"), Ok(()), "{command:?}, {step}");
            let claim = world.items[&claim_key("p", "x")].clone();
            assert_eq!(text_of(&claim, "_write"), Some("lost"));
        }
    }
}

#[test]
fn a_name_of_any_length_has_a_claim() {
    let long = "\u{149}".repeat(507);
    let mut world = world("p", UniqueNames::Caseless);
    done(&mut world, &[named("a", Some("p"), &long), named("r", None, &long)]);
    taken(&mut world, &named("b", Some("p"), &long), "a");
    done(&mut world, &[named("b", Some("p"), &format!("{}x", &long[..1_012]))]);
    let keys = world.items.keys().filter(|key| key.sk.contains("NAME#"));
    assert!(keys.inspect(|key| assert!(key.sk.len() <= 1_024)).count() == 3);
}

#[test]
fn a_move_far_down_has_room_for_its_checks_and_the_claims() {
    let chain = (1..96).map(|n| format!("n{n}<n{}", n - 1)).collect::<Vec<_>>().join(" ");
    let mut world = world(&format!("n0 {chain}"), UniqueNames::Exact);
    done(&mut world, &[moved("n95", "n50"), moved("n95", "n94")]);
    assert_eq!(claims(&world), ["n94 n95 n95"]);
}

#[test]
fn a_deletion_knows_of_a_child_by_the_claim_of_its_name() {
    let restrict = |of: &str| Command::Delete {
        node: node(of),
        children: Children::Restrict,
        revisions: false,
        operation: "o1".to_owned(),
    };
    for names in [UniqueNames::Exact, UniqueNames::Caseless] {
        let mut world = world("p q", names);
        // There are more claims than fit a page, of nodes that are below `p` no more.
        let gone = |number: usize| {
            let key = claim_key("p", &format!("gone {number:03}"));
            let claim = NameClaim { node: id(&format!("gone{number}")), write: "long ago".to_owned() };
            claim.item(&key, world.schema())
        };
        let left: Vec<Item> = (0..150).map(gone).collect();
        left.into_iter().for_each(|item| world.put(item));
        done(&mut world, &[named("z", Some("p"), "z")]);
        assert_eq!(carried_out(&mut world, &restrict("p")), Err(Refusal::HasChildren));
        done(&mut world, &[moved("z", "q"), restrict("p")]);
        assert_eq!(carried_out(&mut world, &restrict("q")), Err(Refusal::HasChildren));
        done(&mut world, &[delete("z"), restrict("q")]);
    }
}
