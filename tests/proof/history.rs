//! Histories that are wrong, made by hand: the judge of what the API answers must see each.

use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::{AttributeValue, DeletionMode, Item, number, text};
use sapwood_engine::write::{
    Answered, Children, Command, Content, Idempotency, Outcome, Patch, Refusal, Request, Spot, Stamp, Tiebreak,
    ValueChange,
};
use sapwood_simulation::sim::{Answer, Asking, BatchAnswer, History};

/// A history that is written step by step. Its calls are counted from 0, and call `n` writes as `tn`.
#[derive(Clone)]
struct Story {
    history: History,
    calls: u64,
}

impl Story {
    fn new() -> Self {
        Self { history: History::new(Schema::default(), Some("name".to_owned())), calls: 0 }
    }

    /// Somebody else puts or deletes a record, or it was there before.
    fn others(&mut self, id: &str, item: Option<Item>) {
        self.history.changed(&[change(id, item)], None);
    }

    /// A call begins.
    fn call(&mut self, command: Command, with: impl FnOnce(Request) -> Request) -> usize {
        let asking = Asking::Api(Box::new(command));
        self.ask(asking, with(Request::new(stamp(self.calls))))
    }

    fn ask(&mut self, asking: Asking, request: Request) -> usize {
        let now = self.history.now();
        self.history.called(self.calls, asking, request, now);
        self.calls += 1;
        self.calls as usize - 1
    }

    /// A call has this effect.
    fn done(&mut self, call: usize, id: &str, item: Option<Item>) {
        self.history.changed(&[change(id, item)], Some(call));
    }

    /// A write of a call gets no answer.
    fn lost(&mut self, call: usize) {
        self.history.lost(call, self.history.now());
    }

    fn answered(&mut self, call: usize, answer: Answer) {
        self.history.answered(call as u64, answer);
    }

    fn ends(&mut self, call: usize, outcome: Outcome) {
        self.answered(call, Answer::Done(Answered { outcome, is_repeated: false }));
    }

    fn repeats(&mut self, call: usize, outcome: Outcome) {
        self.answered(call, Answer::Done(Answered { outcome, is_repeated: true }));
    }

    fn is_right(&self) {
        assert_eq!(self.history.faults(), Vec::<String>::new());
    }

    fn is_wrong(&self, because: &str) {
        let faults = self.history.faults();
        assert!(faults.iter().any(|fault| fault.contains(because)), "no `{because}` in {faults:?}");
    }
}

fn change(id: &str, item: Option<Item>) -> StreamRecord {
    let (key, sequence) = (ItemKey::new(id, "NODE"), "1".to_owned());
    StreamRecord { key, sequence, event: Event::Modify, old: None, new: item }
}

fn stamp(call: u64) -> Stamp {
    let at = format!("2026-01-01T00:00:{call:02}Z");
    Stamp { at, seconds: 1_000, by: "somebody".to_owned(), token: format!("t{call}"), tiebreak: Tiebreak::default() }
}

fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

fn node(text: &str) -> NodeRef {
    id(text).into()
}

fn keyed(hash: &str) -> impl FnOnce(Request) -> Request {
    let key = Idempotency { tenant: None, hash: hash.to_owned(), fingerprint: String::new() };
    move |request| Request { idempotency: Some(key), ..request }
}

fn plain(request: Request) -> Request {
    request
}

/// A record of another client's.
fn foreign(id: &str, parent: Option<&str>, attributes: &[(&str, &str)]) -> Item {
    let own = [("PK", id), ("SK", "NODE")];
    let all = own.iter().chain(attributes).copied().chain(parent.map(|parent| ("parent", parent)));
    all.map(|(name, value)| (name.to_owned(), text(value))).collect()
}

/// A record as this call makes it of one, or of none.
fn made(call: u64, before: Option<&Item>, item: Item) -> Item {
    let Stamp { at, by, token, .. } = stamp(call);
    let kept = |name: &str, new: &str| before.and_then(|item| item.get(name)).cloned().unwrap_or_else(|| text(new));
    let times = match before.and_then(|item| item.get("_rev")) {
        Some(AttributeValue::N(digits)) => digits.parse().unwrap(),
        _ => 0,
    };
    let under = |parent: &AttributeValue| {
        let AttributeValue::S(of) = parent else { unreachable!("a parent is a text") };
        AttributeValue::M([("parent".to_owned(), text(of)), ("born".to_owned(), text(format!("life of {of}")))].into())
    };
    let mut all = Item::from([
        ("_rev".to_owned(), number(times + 1)),
        ("_born".to_owned(), kept("_born", &token)),
        ("_created_at".to_owned(), kept("_created_at", &at)),
        ("_updated_at".to_owned(), text(&at)),
        ("_updated_by".to_owned(), text(&by)),
        ("_write".to_owned(), text(&token)),
    ]);
    all.extend(item.get("parent").map(|parent| ("_under".to_owned(), under(parent))));
    item.into_iter().filter(|(name, _)| !name.starts_with('_')).chain(all).collect()
}

/// A parent `p` with a life of its own.
fn parent() -> Item {
    foreign("p", None, &[("_born", "life of p")])
}

fn create(of: &str, name: &str) -> Command {
    let attributes = Item::from([("name".to_owned(), text(name))]);
    let content = Content { parent: Some(id("p")), attributes, ..Content::default() };
    Command::Create { node: node(of), is_made_id: false, content }
}

fn rename(of: &str, name: &str) -> Command {
    let attributes = [("name".to_owned(), ValueChange::Set(text(name)))].into();
    Command::Patch { node: node(of), patch: Patch { attributes, ..Patch::default() } }
}

fn place(of: &str, spot: Spot) -> Command {
    Command::Patch { node: node(of), patch: Patch { spot: Some(spot), ..Patch::default() } }
}

fn move_to(of: &str, parent: &str) -> Command {
    Command::Patch { node: node(of), patch: Patch { parent: Some(Some(id(parent))), ..Patch::default() } }
}

fn delete(of: &str, children: Children, operation: &str) -> Command {
    Command::Delete { node: node(of), children, revisions: false, operation: operation.to_owned() }
}

fn created(of: &str, item: &Item) -> Outcome {
    Outcome::Node { node: node(of), item: item.clone(), created: true, revision: None }
}

fn changed(of: &str, item: &Item) -> Outcome {
    Outcome::Node { node: node(of), item: item.clone(), created: false, revision: None }
}

fn deleting(of: &str, operation: &str) -> Outcome {
    let created_at = "2026-01-01T00:00:00Z".to_owned();
    Outcome::Deleting { operation: operation.to_owned(), node: id(of), mode: DeletionMode::Delete, created_at }
}

/// The record with the mark of an operation.
fn marked(item: &Item, operation: &str) -> Item {
    let mark = [("operation".to_owned(), text(operation)), ("mode".to_owned(), text("delete"))];
    let mark = ("_deleting".to_owned(), AttributeValue::M(mark.into()));
    item.clone().into_iter().chain([mark]).collect()
}

/// A story in which call 0 has created `n` below `p`, with a key, and was answered so. Returns the record, too.
fn created_once() -> (Story, Item) {
    let mut story = Story::new();
    story.others("p", Some(parent()));
    let call = story.call(create("n", "one"), keyed("k"));
    let item = made(0, None, foreign("n", Some("p"), &[("name", "one")]));
    story.done(call, "n", Some(item.clone()));
    story.ends(call, created("n", &item));
    (story, item)
}

#[test]
fn what_is_answered_as_it_was_done_is_right() {
    let (mut story, item) = created_once();
    story.is_right();
    let again = story.call(create("n", "one"), keyed("k"));
    story.repeats(again, created("n", &item));
    story.is_right();
}

#[test]
fn a_repetition_that_is_not_recognised_is_wrong() {
    for refusal in [Refusal::Exists, Refusal::NotFound, Refusal::InProgress(1)] {
        let (mut story, _) = created_once();
        let again = story.call(create("n", "one"), keyed("k"));
        story.answered(again, Answer::Refused(refusal));
        story.is_wrong("its repetition was refused");
    }
    // Before it is done it may be in progress.
    let mut story = Story::new();
    story.others("p", Some(parent()));
    let first = story.call(create("n", "one"), keyed("k"));
    let second = story.call(create("n", "one"), keyed("k"));
    story.answered(second, Answer::Refused(Refusal::InProgress(1)));
    let item = made(0, None, foreign("n", Some("p"), &[("name", "one")]));
    story.done(first, "n", Some(item.clone()));
    story.ends(first, created("n", &item));
    story.is_right();
}

#[test]
fn two_effects_with_one_key_are_wrong() {
    let (mut story, item) = created_once();
    story.others("n", None);
    let again = story.call(create("n", "one"), keyed("k"));
    story.done(again, "n", Some(made(1, None, item.clone())));
    story.is_wrong("carried out twice with one idempotency key");
}

#[test]
fn a_repetition_that_answers_another_outcome_is_wrong() {
    let (mut story, item) = created_once();
    let again = story.call(create("n", "one"), keyed("k"));
    let other = made(0, None, foreign("n", Some("p"), &[("name", "two")]));
    story.repeats(again, created("n", &other));
    story.is_wrong("repeated what wasn't answered");

    let (mut story, _) = created_once();
    let children = Children::With(DeletionMode::Delete);
    let first = story.call(delete("n", children, "o1"), keyed("l"));
    story.done(first, "n", Some(marked(&item, "o1")));
    story.ends(first, deleting("n", "o1"));
    let again = story.call(delete("n", children, "o2"), keyed("l"));
    story.repeats(again, deleting("n", "o1"));
    story.is_right();
    let again = story.call(delete("n", children, "o3"), keyed("l"));
    story.repeats(again, deleting("n", "o3"));
    story.is_wrong("repeated what wasn't answered");
}

/// Refuses a command, where `n` is below `p` and `q` is another root.
fn refused(command: Command, refusal: Refusal, before: impl FnOnce(&mut Story)) -> Story {
    let mut story = Story::new();
    story.others("p", Some(parent()));
    story.others("q", Some(foreign("q", None, &[])));
    story.others("n", Some(foreign("n", Some("p"), &[])));
    before(&mut story);
    let call = story.call(command, plain);
    story.answered(call, Answer::Refused(refusal));
    story
}

#[test]
fn a_refusal_for_what_never_was_so_is_wrong() {
    let restrict = || delete("n", Children::Restrict, "o");
    let cycle = |of: &str, parent: &str| Refusal::Cycle { node: id(of), parent: id(parent) };
    let below_n = |story: &mut Story| story.others("c", Some(foreign("c", Some("n"), &[])));
    let nothing = |_: &mut Story| {};
    let wrong = [
        refused(create("n", "one"), Refusal::NotFound, nothing),
        refused(create("x", "one"), Refusal::Exists, nothing),
        refused(create("x", "one"), Refusal::ParentMissing(id("p")), nothing),
        refused(rename("n", "one"), Refusal::BeingDeleted { id: id("n"), operation: None }, nothing),
        refused(restrict(), Refusal::HasChildren, nothing),
        refused(move_to("n", "q"), cycle("n", "q"), nothing),
        refused(move_to("n", "q"), cycle("n", "n"), nothing),
        refused(move_to("n", "q"), Refusal::Circle(id("q")), nothing),
        refused(place("n", Spot::After(id("n"))), Refusal::NotASibling(id("n")), nothing),
        refused(move_to("n", "q"), Refusal::NotASibling(id("q")), nothing),
        refused(place("n", Spot::Last), Refusal::NoRoom { attribute: "name".to_owned() }, nothing),
        refused(place("n", Spot::Last), Refusal::SiblingsNotUpToDate, nothing),
        refused(place("n", Spot::Last), Refusal::NotByHand, nothing),
        refused(rename("n", "one"), Refusal::NotUpToDate, nothing),
        refused(rename("n", "one"), Refusal::InProgress(1), nothing),
        refused(rename("n", "one"), Refusal::IdempotencyMismatch, nothing),
        refused(rename("n", "one"), Refusal::Contended, nothing),
        refused(rename("n", "one"), Refusal::OutcomeUnreadable, nothing),
    ];
    for story in wrong {
        story.is_wrong("for what never was so");
    }
    let right = [
        refused(restrict(), Refusal::HasChildren, below_n),
        refused(restrict(), Refusal::NotUpToDate, nothing),
        refused(move_to("n", "c"), cycle("n", "c"), below_n),
        refused(move_to("q", "q"), cycle("q", "q"), nothing),
        refused(place("n", Spot::After(id("x"))), Refusal::NotASibling(id("x")), nothing),
    ];
    for story in right {
        story.is_right();
    }
}

#[test]
fn a_claim_whose_lease_has_ended_is_in_nobodys_way() {
    let story = |seconds: u64| {
        let mut story = Story::new();
        story.others("p", Some(parent()));
        story.call(create("n", "one"), keyed("k"));
        let later = |request: Request| Request { stamp: Stamp { seconds, ..request.stamp }, ..request };
        let again = story.call(create("n", "one"), |request| later(keyed("k")(request)));
        story.answered(again, Answer::Refused(Refusal::InProgress(1)));
        story
    };
    story(1_059).is_right();
    story(1_060).is_wrong("for what never was so");
}

#[test]
fn who_was_refused_has_its_claim_only_where_a_write_of_it_failed() {
    let story = |has_failed: bool| {
        let mut story = Story::new();
        let first = story.call(rename("n", "one"), keyed("k"));
        if has_failed {
            story.history.failed(first);
        }
        story.answered(first, Answer::Refused(Refusal::NotFound));
        story.others("p", Some(parent()));
        let again = story.call(rename("n", "one"), keyed("k"));
        story.answered(again, Answer::Refused(Refusal::InProgress(1)));
        story
    };
    story(true).is_right();
    story(false).is_wrong("for what never was so");
}

/// A story of two batches with one key. The first has two parts, so many of which end, and this answer, if one.
fn two_batches(ended: u64, first: Option<BatchAnswer>, second: BatchAnswer, seconds: u64) -> Story {
    let mut story = Story::new();
    story.history.batch_called(0, "k".to_owned(), 2, 1_000);
    let now = story.history.now();
    for part in 0..2 {
        let request = keyed(&format!("k part {part}"))(Request::new(stamp(0)));
        story.history.called(0, Asking::Api(Box::new(rename("n", "one"))), request, now);
        if part < ended {
            story.history.answered(0, Answer::Refused(Refusal::NotFound));
        }
    }
    first.into_iter().for_each(|answer| story.history.batch_answered(0, answer));
    story.others("p", Some(parent()));
    story.history.batch_called(1, "k".to_owned(), 2, seconds);
    story.history.batch_answered(1, second);
    story
}

#[test]
fn a_batch_is_answered_as_before_only_if_all_of_it_was() {
    let done = Some(BatchAnswer::Done { is_settled: true });
    let wrong = "a batch was answered wrong";
    two_batches(2, done, BatchAnswer::Kept, 1_000).is_right();
    two_batches(2, None, BatchAnswer::Kept, 1_000).is_right();
    two_batches(1, None, BatchAnswer::Kept, 1_000).is_wrong(wrong);
    two_batches(1, None, BatchAnswer::InProgress, 1_059).is_right();
    two_batches(1, None, BatchAnswer::InProgress, 1_060).is_wrong(wrong);
    two_batches(2, done, BatchAnswer::InProgress, 1_000).is_wrong(wrong);
    two_batches(2, Some(BatchAnswer::Done { is_settled: false }), BatchAnswer::InProgress, 1_000).is_right();
    two_batches(2, done, BatchAnswer::Refused, 1_000).is_wrong(wrong);
}

#[test]
fn an_unknown_outcome_needs_a_lost_answer() {
    let mut story = Story::new();
    story.others("n", Some(foreign("n", None, &[])));
    let call = story.call(rename("n", "one"), plain);
    let mut lost = story.clone();
    story.answered(call, Answer::Unknown);
    story.is_wrong("every write was answered");
    lost.lost(call);
    lost.answered(call, Answer::Unknown);
    lost.is_right();
    // What a batch does after its last part is no part's.
    story.lost(call);
    story.is_wrong("every write was answered");
}

#[test]
fn time_that_is_used_up_by_lost_answers_is_contention_for_places_alone() {
    for (command, is_right) in [(place("n", Spot::Last), true), (rename("n", "one"), false)] {
        let mut story = Story::new();
        story.others("n", Some(foreign("n", None, &[])));
        let call = story.call(command, plain);
        let mut lost = story.clone();
        story.answered(call, Answer::Refused(Refusal::Contended));
        story.is_wrong("for what never was so");
        lost.lost(call);
        lost.answered(call, Answer::Refused(Refusal::Contended));
        let story = lost;
        if is_right { story.is_right() } else { story.is_wrong("for what never was so") }
    }
}

#[test]
fn an_answer_that_is_not_what_was_done_is_wrong() {
    // Done, and refused.
    let before = foreign("n", None, &[("name", "old"), ("other", "old"), ("_born", "a life")]);
    let after = made(0, Some(&before), foreign("n", None, &[("name", "new"), ("other", "old")]));
    let renamed = |answer: Answer| {
        let mut story = Story::new();
        story.others("n", Some(before.clone()));
        let call = story.call(rename("n", "new"), plain);
        story.done(call, "n", Some(after.clone()));
        story.answered(call, answer);
        story
    };
    let done = |outcome| Answer::Done(Answered { outcome, is_repeated: false });
    renamed(done(changed("n", &after))).is_right();
    renamed(Answer::Refused(Refusal::NotFound)).is_wrong("done, and refused");
    renamed(Answer::Failed).is_wrong("done, and refused");
    renamed(done(created("n", &after))).is_wrong("`created` is wrong");
    renamed(done(Outcome::Deleted)).is_wrong("isn't what was done");
    // A patch answers what it sets, and not what it has read of that.
    let set = |name: &str| after.clone().into_iter().chain([(name.to_owned(), text("old"))]).collect::<Item>();
    renamed(done(changed("n", &set("name")))).is_wrong("another item");
    renamed(done(changed("n", &set("new")))).is_wrong("another item");

    // Answered, and done afterwards, or never.
    let mut story = Story::new();
    story.others("n", Some(before.clone()));
    let call = story.call(rename("n", "new"), plain);
    story.ends(call, changed("n", &after));
    story.is_wrong("answered, and not done");
    story.done(call, "n", Some(after.clone()));
    story.is_wrong("answered, and done afterwards");
}

#[test]
fn somebody_elses_deletion_is_an_answer_for_revisions_alone() {
    let mut story = Story::new();
    story.others("n", Some(foreign("n", None, &[])));
    let call = story.call(delete("n", Children::Restrict, "o"), plain);
    story.lost(call);
    story.others("n", None);
    story.ends(call, Outcome::Deleted);
    story.is_wrong("answered, and not done");
}

#[test]
fn a_second_effect_or_one_on_another_record_is_wrong() {
    let (mut story, item) = created_once();
    story.others("n", None);
    story.done(0, "n", Some(item));
    story.is_wrong("carried out twice");
    let (mut story, _) = created_once();
    story.done(0, "q", Some(foreign("q", None, &[])));
    story.is_wrong("changed");
}

/// After a lost answer nothing tells a function that another client has deleted what it made. What the API deletes
/// leaves `DELETED`, which tells.
#[test]
fn a_creation_may_have_a_second_effect_only_where_another_client_has_deleted_the_first() {
    for by_api in [false, true] {
        let mut story = Story::new();
        story.others("p", Some(parent()));
        let call = story.call(create("n", "one"), plain);
        let item = made(0, None, foreign("n", Some("p"), &[("name", "one")]));
        story.done(call, "n", Some(item.clone()));
        if by_api {
            let deletion = story.call(delete("n", Children::Restrict, ""), plain);
            story.done(deletion, "n", None);
            story.ends(deletion, Outcome::Deleted);
        } else {
            story.others("n", None);
        }
        let mut lost = story.clone();
        lost.lost(call);
        for story in [&mut story, &mut lost] {
            story.done(call, "n", Some(item.clone()));
            story.ends(call, created("n", &item));
        }
        story.is_wrong("carried out twice");
        let story = lost;
        if by_api { story.is_wrong("carried out twice") } else { story.is_right() }
    }
}

/// A request whose connection was cut may be carried out once its repetition was answered, if another client has put
/// the record back meanwhile as it was.
#[test]
fn a_write_may_have_a_second_effect_after_its_answer_only_where_the_record_was_put_back() {
    for (is_lost, is_back) in [(true, true), (true, false), (false, true)] {
        let before = foreign("n", None, &[("name", "old"), ("_born", "a life")]);
        let after = made(0, Some(&before), foreign("n", None, &[("name", "new")]));
        let mut story = Story::new();
        story.others("n", Some(before.clone()));
        let call = story.call(rename("n", "new"), plain);
        if is_lost {
            story.lost(call);
        }
        story.done(call, "n", Some(after.clone()));
        story.ends(call, changed("n", &after));
        story.others("n", Some(if is_back { before } else { foreign("n", None, &[("name", "another")]) }));
        story.done(call, "n", Some(after));
        if is_lost && is_back { story.is_right() } else { story.is_wrong("carried out twice") }
    }
}

#[test]
fn a_node_under_a_life_of_its_parent_that_was_not_there_is_wrong() {
    let mut story = Story::new();
    story.others("p", Some(foreign("p", None, &[("_born", "another life")])));
    let call = story.call(create("n", "one"), plain);
    story.done(call, "n", Some(made(0, None, foreign("n", Some("p"), &[("name", "one")]))));
    story.is_wrong("under a life of p that wasn't there");
}

#[test]
fn room_is_made_by_places_of_siblings_alone() {
    let make_room = |sibling: &Item, after: Item| {
        let mut story = Story::new();
        story.others("p", Some(parent()));
        story.others("n", Some(foreign("n", Some("p"), &[("name", "A")])));
        story.others("s", Some(sibling.clone()));
        let call = story.call(place("n", Spot::Last), plain);
        story.done(call, "s", Some(after));
        story
    };
    let moved = |sibling: &Item, attributes: &[(&str, &str)]| {
        let mut after = sibling.clone();
        let stamped = made(0, Some(sibling), Item::new());
        let kept = ["_rev", "_write", "_updated_at", "_updated_by"];
        after.extend(stamped.into_iter().filter(|(name, _)| kept.contains(&name.as_str())));
        after.extend(attributes.iter().map(|(name, value)| ((*name).to_owned(), text(*value))));
        after
    };
    let sibling = foreign("s", Some("p"), &[]);
    make_room(&sibling, moved(&sibling, &[("name", "B")])).is_right();
    for wrong in [[("name", "B"), ("other", "x")], [("name", "B"), ("_deleting", "x")], [("name", "B"), ("_born", "x")]]
    {
        make_room(&sibling, moved(&sibling, &wrong)).is_wrong("changed");
    }
    let elsewhere = foreign("s", Some("q"), &[]);
    make_room(&elsewhere, moved(&elsewhere, &[("name", "B")])).is_wrong("changed");
    make_room(&sibling, sibling.clone().into_iter().chain([("name".to_owned(), text("B"))]).collect())
        .is_wrong("changed");
}

#[test]
fn a_place_on_the_other_side_or_elsewhere_is_wrong() {
    let placed = |anchor: &Item, value: Option<&str>| {
        let mut story = Story::new();
        story.others("p", Some(parent()));
        let before = foreign("n", Some("p"), &[("name", "A"), ("_born", "a life")]);
        story.others("n", Some(before.clone()));
        story.others("s", Some(anchor.clone()));
        let call = story.call(place("n", Spot::After(id("s"))), plain);
        let mut after = before.clone();
        if let Some(value) = value {
            after = made(0, Some(&before), foreign("n", Some("p"), &[("name", value)]));
            after.remove("_under");
            story.done(call, "n", Some(after.clone()));
        }
        story.ends(call, changed("n", &after));
        story
    };
    let sibling = |value: &str| foreign("s", Some("p"), &[("name", value)]);
    placed(&sibling("B"), Some("C")).is_right();
    placed(&sibling("0"), None).is_right();
    placed(&sibling("B"), Some("AB")).is_wrong("not where it was asked for");
    placed(&sibling("B"), None).is_wrong("answered, and not done");
    placed(&foreign("s", Some("p"), &[]), Some("C")).is_wrong("not where it was asked for");
    placed(&foreign("s", Some("q"), &[("name", "B")]), Some("C")).is_wrong("not where it was asked for");
}

#[test]
fn an_import_that_answers_what_never_was_there_is_wrong() {
    let item = foreign("n", None, &[("name", "one")]);
    let imported = |there: Option<&Item>, own: bool, answer: Answer| {
        let mut story = Story::new();
        story.others("n", there.cloned());
        let call = story.ask(Asking::Import(0, item.clone()), Request::new(stamp(0)));
        if own {
            story.done(call, "n", Some(item.clone()));
        }
        story.answered(call, answer);
        story
    };
    let other = foreign("n", None, &[("name", "two")]);
    imported(None, true, Answer::Imported).is_right();
    imported(Some(&item), false, Answer::Imported).is_right();
    imported(Some(&other), false, Answer::Another).is_right();
    imported(None, true, Answer::Another).is_wrong("done, and refused");
    imported(None, false, Answer::Imported).is_wrong("never so");
    imported(Some(&other), false, Answer::Imported).is_wrong("never so");
    imported(Some(&item), false, Answer::Another).is_wrong("never so");
    imported(Some(&other), true, Answer::Imported).is_wrong("another record was imported");
    imported(None, false, Answer::Refused(Refusal::Exists)).is_wrong("an import isn't refused");
}

#[test]
fn nodes_in_a_circle_are_below_themselves() {
    let mut story = Story::new();
    story.others("a", Some(foreign("a", Some("b"), &[])));
    story.others("b", Some(foreign("b", None, &[])));
    assert_eq!(story.history.cycle(), None);
    story.others("b", Some(foreign("b", Some("a"), &[])));
    assert_eq!(story.history.cycle().as_deref(), Some("a is below itself"));
}
