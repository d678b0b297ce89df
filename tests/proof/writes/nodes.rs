//! Nodes created, replaced and patched.

use std::collections::{BTreeMap, HashMap};

use sapwood_core::model::{AttributeValue, DeletionMark, DeletionMode, ETag, Under, text};
use sapwood_engine::write::{
    Children, Command, Content, Patch, Precondition, Preconditions, Refusal, Request, ValueChange,
};

use super::fixture::{
    Fixture, Took, Written, changed, create, id, if_absent, if_match, moved, n, node, patch, replace, under,
};

/// A mark of deletion.
fn marked() -> AttributeValue {
    DeletionMark { mode: DeletionMode::Delete, operation: "o".to_owned(), revisions: false, mark: None }.value()
}

#[test]
fn a_create_takes_two_round_trips_and_one_write_with_an_id_of_the_apis_or_of_the_callers() {
    let fixture = Fixture::default();
    let create = |of: &'static str, made: bool, parent: Option<&'static str>| {
        let (took, written) = fixture.carry_out_counted(&self::create(of, made, &under(parent, &[])));
        assert!(Written::from(written.unwrap()).created);
        took
    };
    assert_eq!(create("root", true, None), Took { round_trips: 1, reads: 0, writes: 1 });
    assert_eq!(create("made", true, Some("root")), Took { round_trips: 2, reads: 1, writes: 1 });
    assert_eq!(create("own", false, Some("root")), Took { round_trips: 2, reads: 2, writes: 1 });
    assert_eq!(create("own root", false, None), Took { round_trips: 2, reads: 1, writes: 1 });
    fixture.place_all();
    assert_eq!(create("below", true, Some("own")), Took { round_trips: 2, reads: 1, writes: 1 });
    assert!(fixture.transactions.lock().unwrap().is_empty());
}

#[test]
fn a_node_carries_who_wrote_it_and_when_and_what_it_is_under() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", "")]);
    fixture.create("b", &under(Some("a"), &[("name", text("B"))])).unwrap();
    let created = fixture.base("b").unwrap();
    for (name, value) in [("_rev", n(1)), ("_created_by", text("anna")), ("name", text("B"))] {
        assert_eq!(created.get(name), Some(&value), "{name}");
    }
    let parent = fixture.base("a").unwrap();
    let AttributeValue::S(born) = parent["_born"].clone() else { panic!("{parent:?}") };
    assert_eq!(Under::read(&created), Some(Under { parent: id("a"), born: Some(born) }));
    fixture.replace("b", &under(None, &[("size", n(1))])).unwrap();
    let replaced = fixture.base("b").unwrap();
    assert_eq!(replaced.get("_rev"), Some(&n(2)));
    assert_eq!(replaced.get("_created_at"), created.get("_created_at"));
    assert_eq!(replaced.get("_born"), created.get("_born"));
    assert_ne!(replaced.get("_updated_at"), created.get("_updated_at"));
    for gone in ["name", "parent", "_under"] {
        assert_eq!(replaced.get(gone), None, "{gone}");
    }
}

#[test]
fn what_exists_is_not_created_again() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", "")]);
    assert!(matches!(fixture.create("a", &under(None, &[])), Err(Refusal::Exists)));
}

#[test]
fn a_parent_must_be_there_readable_and_staying() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", "")]);
    fixture.foreign("odd", &[("parent", n(1))]);
    fixture.foreign("going", &[("_deleting", marked())]);
    let create = |parent| fixture.create("b", &under(Some(parent), &[])).unwrap_err();
    assert!(matches!(create("nowhere"), Refusal::ParentMissing(parent) if parent == id("nowhere")));
    assert!(matches!(create("odd"), Refusal::ParentUnreadable { id: parent, .. } if parent == id("odd")));
    assert!(matches!(create("going"), Refusal::BeingDeleted { id: parent, .. } if parent == id("going")));
    assert!(matches!(create("b"), Refusal::Cycle { .. }));
    assert!(matches!(fixture.patch("a", &moved(Some("nowhere"))), Err(Refusal::ParentMissing(_))));
    assert!(matches!(fixture.patch("a", &moved(Some("going"))), Err(Refusal::BeingDeleted { .. })));
    assert!(matches!(fixture.patch("going", &moved(Some("a"))), Err(Refusal::BeingDeleted { .. })));
    assert!(matches!(fixture.patch("nowhere", &moved(Some("a"))), Err(Refusal::NotFound)));
}

#[test]
fn what_is_no_mark_holds_nobody_up() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", ""), ("b", "a"), ("c", "")]);
    let spoil = |of: &str| {
        let mut item = fixture.base(of).unwrap();
        item.insert("_deleting".to_owned(), AttributeValue::Bool(true));
        fixture.memory().lock().unwrap().write(&sapwood_core::keys::ItemKey::new(of, "NODE"), Some(item));
    };
    for of in ["a", "b", "c"] {
        spoil(of);
    }
    // The node itself, and one on either way up.
    fixture.patch("b", &moved(Some("c"))).unwrap();
    fixture.create("d", &under(Some("b"), &[])).unwrap();
    fixture.patch("d", &moved(Some("a"))).unwrap();
    fixture.replace("a", &under(None, &[])).unwrap();
    assert!(!fixture.base("a").unwrap().contains_key("_deleting"));
    spoil("a");
    let delete = Command::Delete {
        node: node("a"),
        children: Children::With(DeletionMode::Delete),
        revisions: false,
        operation: "o".to_owned(),
    };
    fixture.carry_out(&delete).unwrap();
    assert!(DeletionMark::read(&fixture.base("a").unwrap()).is_some());
}

#[test]
fn a_record_that_was_put_back_is_written_over() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", "")]);
    for (of, more) in [("b", None), ("c", Some(("name", text("somebody's"))))] {
        let attributes: Vec<_> = [("_put_back", text("7"))].into_iter().chain(more).collect();
        fixture.foreign(of, &attributes);
        assert!(matches!(fixture.patch(of, &moved(Some("a"))), Err(Refusal::NotFound)));
        let (took, written) = fixture.carry_out_counted(&create(of, false, &under(Some("a"), &[])));
        assert!(Written::from(written.unwrap()).created);
        assert_eq!(took.writes, 1);
        let record = fixture.base(of).unwrap();
        assert!(record.contains_key("_born") && !record.contains_key("_put_back") && !record.contains_key("name"));
    }
}

#[test]
fn names_that_are_the_tables_are_refused_by_name() {
    let fixture = Fixture::default();
    for name in ["_rev", "_x", "PK", "SK", "parent", "segment"] {
        let content = under(None, &[(name, n(1))]);
        assert!(matches!(fixture.create("a", &content), Err(Refusal::ReservedName(found)) if found == name));
        let patch = changed(&[(name, ValueChange::Remove)]);
        assert!(matches!(fixture.patch("a", &patch), Err(Refusal::ReservedName(found)) if found == name));
    }
    assert_eq!(fixture.base("a"), None);
}

#[test]
fn an_item_over_its_limit_is_refused_with_its_size() {
    let fixture = Fixture::default();
    let large = |bytes: usize| under(None, &[("text", text("x".repeat(bytes)))]);
    assert!(matches!(fixture.create("a", &large(410_000)), Err(Refusal::TooLarge { bytes, .. }) if bytes > 410_000));
    fixture.create("a", &large(400_000)).unwrap();
    let more = changed(&[("more", ValueChange::Set(text("x".repeat(10_000))))]);
    assert!(matches!(fixture.patch("a", &more), Err(Refusal::TooLarge { .. })));
}

#[test]
fn a_segment_that_no_key_can_hold_is_refused() {
    let fixture = Fixture::default();
    for segment in [String::new(), "x".repeat(1_015)] {
        let content = Content { segment: Some(segment.clone()), ..Content::default() };
        assert!(matches!(fixture.create("a", &content), Err(Refusal::Key(_))));
        let patch = Patch { segment: Some(Some(segment)), ..Patch::default() };
        assert!(matches!(fixture.patch("a", &patch), Err(Refusal::Key(_))));
    }
}

fn map(entries: &[(&str, AttributeValue)]) -> AttributeValue {
    AttributeValue::M(
        entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<HashMap<_, _>>(),
    )
}

#[test]
fn a_patch_merges_maps_and_leaves_the_rest_as_it_is() {
    let fixture = Fixture::default();
    let set = AttributeValue::Ns(vec!["1".into(), "2".into()]);
    let digits = AttributeValue::N("12345678901234567890123456789012345678".into());
    let size = map(&[("w", n(1)), ("h", n(2)), ("deep", map(&[("x", n(3))]))]);
    fixture.foreign("a", &[("set", set.clone()), ("digits", digits.clone()), ("size", size), ("gone", n(1))]);
    let inner = ValueChange::Merge(BTreeMap::from([
        ("h".to_owned(), ValueChange::Remove),
        ("d".to_owned(), ValueChange::Set(n(4))),
        ("deep".to_owned(), ValueChange::Merge(BTreeMap::from([("y".to_owned(), ValueChange::Set(n(5)))]))),
    ]));
    let over_text = ValueChange::Merge(BTreeMap::from([("k".to_owned(), ValueChange::Remove)]));
    let patch = changed(&[("size", inner), ("gone", ValueChange::Remove), ("new", over_text)]);
    let (took, written) = fixture.carry_out_counted(&self::patch("a", &patch));
    assert_eq!(took, Took { round_trips: 2, reads: 1, writes: 1 });
    let item = fixture.base("a").unwrap();
    assert_eq!(Written::from(written.unwrap()).item, item, "what is answered is what is there");
    assert_eq!(item["size"], map(&[("w", n(1)), ("d", n(4)), ("deep", map(&[("x", n(3)), ("y", n(5))]))]));
    assert_eq!(item["new"], map(&[]));
    assert_eq!((&item["set"], &item["digits"], item.get("gone")), (&set, &digits, None));
}

#[test]
fn a_patch_that_changes_nothing_writes_nothing() {
    let fixture = Fixture::default();
    fixture.create("a", &under(None, &[("x", n(1))])).unwrap();
    let before = fixture.base("a");
    let patch = Patch { parent: Some(None), ..changed(&[("x", ValueChange::Set(n(1))), ("y", ValueChange::Remove)]) };
    let (took, written) = fixture.carry_out_counted(&self::patch("a", &patch));
    assert_eq!(took, Took { round_trips: 1, reads: 1, writes: 0 });
    assert_eq!((Some(Written::from(written.unwrap()).item), fixture.base("a")), (before.clone(), before));
}

#[test]
fn preconditions_are_asked_of_what_is_there() {
    let fixture = Fixture::default();
    fixture.create("a", &under(None, &[("x", n(1))])).unwrap();
    let replace = |of: &str, preconditions: Preconditions| {
        fixture.carry_out_if(&replace(of, &under(None, &[("x", n(2))])), preconditions).map(Written::from)
    };
    let failed = |precondition| Err(Refusal::PreconditionFailed(precondition));
    assert_eq!(replace("a", if_match(ETag::named("other"))), failed(Precondition::IfMatch));
    assert_eq!(replace("a", if_absent()), failed(Precondition::IfNoneMatch));
    assert_eq!(replace("b", if_match(fixture.tag("a"))), failed(Precondition::IfMatch));
    assert!(!replace("a", if_match(fixture.tag("a"))).unwrap().created);
    assert!(replace("b", if_absent()).unwrap().created);
}

#[test]
fn a_foreign_writers_change_in_between_is_seen_and_looked_at_again() {
    let fixture = Fixture::default();
    // Between its reading and its writing another client changes the record, which has no `_rev`.
    for (strict, wanted) in [(false, Ok(())), (true, Err(()))] {
        fixture.foreign("a", &[("x", n(1))]);
        let preconditions = if strict { if_match(fixture.tag("a")) } else { Preconditions::default() };
        let command = patch("a", &changed(&[("y", ValueChange::Set(n(2)))]));
        let result = fixture.write(async |writer, stamp| {
            let request = Request { preconditions, ..Request::new(stamp) };
            let mut write = std::pin::pin!(writer.write(&command, &request));
            // The second poll sends the write.
            assert!(futures::poll!(write.as_mut()).is_pending());
            assert!(futures::poll!(write.as_mut()).is_pending());
            fixture.foreign("a", &[("x", n(9))]);
            write.await
        });
        assert_eq!(result.map(drop).map_err(drop), wanted);
        let item = fixture.base("a").unwrap();
        assert_eq!((&item["x"], item.contains_key("y")), (&n(9), wanted.is_ok()));
    }
}

#[test]
fn an_id_under_which_something_hangs_is_put_by_a_transaction() {
    let fixture = Fixture::default();
    fixture.tree(&[("r", "")]);
    // Orphans of another client's, below an id that isn't there.
    fixture.foreign("c", &[("parent", text("n"))]);
    fixture.foreign("d", &[("parent", text("c"))]);
    fixture.place_all();
    assert!(matches!(fixture.create("n", &under(Some("d"), &[])), Err(Refusal::Cycle { .. })));
    fixture.create("n", &under(Some("r"), &[])).unwrap();
    let transactions = fixture.transactions.lock().unwrap();
    let keys: Vec<&str> = transactions[0].iter().map(|action| action.key().pk.as_str()).collect();
    assert_eq!(keys, ["n", "r"]);
}
