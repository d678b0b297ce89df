//! Plans as the steps that they take. A test draws a small table and compares what a plan reads and writes, one step a line.

use std::collections::{BTreeMap, BTreeSet};

use crate::keys::{Id, ItemKey, NodeRef, Schema};
use crate::model::{
    Cursor, DELETING, Deletion, DeletionMark, DeletionMode, Heir, Item, Lineage, Placement, Position, Settings,
    TOUCHED, UNDER, key_of, rows, text, with_key,
};
use crate::plan::{
    Cascade, Child, Context, Facts, HandDown, Limits, Need, Outcome, Plan, Read, Rules, Step, Straggler, Task,
};
use crate::request::{Action, Page};

/// A table in memory, and what another client does before a step.
struct World {
    items: BTreeMap<ItemKey, Item>,
    settings: Settings,
    limits: Limits,
    /// What another client does just before the step of this number: it puts the item of this key, or deletes it.
    meanwhile: Option<(usize, ItemKey, Option<Item>)>,
    marks: usize,
}

fn node(id: &str) -> NodeRef {
    NodeRef::from(Id::new(id).unwrap())
}

fn mark(mode: DeletionMode, revisions: bool) -> DeletionMark {
    DeletionMark { mode, operation: "o".to_owned(), revisions, expires: 7, mark: None }
}

impl World {
    /// Draws nodes, each as `id` or `id<parent`. Each gets the rows and the lineage that it has at rest.
    fn drawn(nodes: &str) -> Self {
        let settings = Settings { path_rows: false, root_rows: false, ..Settings::default() };
        let mut world = Self { items: BTreeMap::new(), settings, limits: Limits::default(), meanwhile: None, marks: 0 };
        for drawn in nodes.split_whitespace() {
            let (id, parent) = drawn.split_once('<').map_or((drawn, None), |(id, parent)| (id, Some(parent)));
            world.put_base(id, parent);
            let mut ancestors = Vec::new();
            let mut next = parent.map(str::to_owned);
            while let Some(above) = next {
                next = world.items.get(&world.schema().node_key(&node(&above))).and_then(|item| {
                    match item.get("parent") {
                        Some(crate::model::AttributeValue::S(id)) => Some(id.clone()),
                        _ => None,
                    }
                });
                ancestors.push(Id::new(above).unwrap());
            }
            world.put_lineage(id, Placement { ancestors, ..Placement::default() }, None);
        }
        world
    }

    fn schema(&self) -> &Schema {
        &self.settings.schema
    }

    fn put(&mut self, item: Item) {
        let key = key_of(&item, self.schema()).unwrap();
        self.items.insert(key, item);
    }

    fn base(&self, id: &str, parent: Option<&str>) -> Item {
        let mut item = with_key(&self.schema().node_key(&node(id)), self.schema());
        item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
        item.extend(parent.map(|parent| (UNDER.to_owned(), text(parent))));
        item
    }

    fn put_base(&mut self, id: &str, parent: Option<&str>) {
        self.put(self.base(id, parent));
    }

    fn put_lineage(&mut self, id: &str, placement: Placement, deleting: Option<Deletion>) {
        for row in rows(&placement, &node(id), self.schema()) {
            let mut item = with_key(&row.key, self.schema());
            item.insert("_id".to_owned(), text(id));
            self.put(item);
        }
        let lineage = Lineage { placement, deleting, ..Lineage::default() };
        self.put(lineage.item(&node(id), self.schema()));
    }

    /// Marks a node for deletion, in its base record and in its lineage.
    fn delete(mut self, id: &str, mode: DeletionMode, revisions: bool) -> Self {
        let key = self.schema().node_key(&node(id));
        let item = self.items.get_mut(&key).unwrap();
        item.insert(DELETING.to_owned(), mark(mode, revisions).value());
        let base = crate::model::BaseNode::read(item.clone(), &node(id), &self.settings.schema).unwrap();
        let lineage = self.items.get(&self.schema().lineage_key(&node(id)));
        let stored = crate::model::Stored::read(lineage, self.schema());
        let placement = stored.lineage().unwrap().placement.clone();
        self.put_lineage(id, placement, Deletion::of(&node(id), &base));
        self
    }

    /// Has another client put this base record, or delete it, just before the step of this number.
    fn meanwhile(mut self, step: usize, id: &str, item: Option<Item>) -> Self {
        self.meanwhile = Some((step, self.schema().node_key(&node(id)), item));
        self
    }

    /// Runs a plan to its end. Returns its steps, one a line.
    fn steps<D: std::fmt::Debug>(
        &mut self,
        of: impl for<'c> FnOnce(Context<'c>) -> Box<dyn Plan<Done = D> + 'c>,
    ) -> String {
        let settings = self.settings.clone();
        let context = Context { settings: &settings, limits: self.limits, rules: Rules::default() };
        let mut plan = of(context);
        let (mut facts, mut lines) = (Facts::None, Vec::new());
        for number in 1..100 {
            if let Some((_, key, item)) = self.meanwhile.take_if(|(at, ..)| *at == number) {
                lines.push(format!("meanwhile {} {}", key.pk, if item.is_some() { "changes" } else { "is deleted" }));
                match item {
                    Some(item) => _ = self.items.insert(key, item),
                    None => _ = self.items.remove(&key),
                }
            }
            facts = match plan.next(facts) {
                Ok(Step::Need(need)) => {
                    lines.push(print_need(&need));
                    Facts::Read(self.read(need))
                }
                Ok(Step::Do(tasks)) => {
                    let outcomes: Vec<Outcome> = tasks.iter().map(|task| self.carry_out(task)).collect();
                    for (task, outcome) in tasks.iter().zip(&outcomes) {
                        let failed = if *outcome == Outcome::Held { "" } else { ": refused" };
                        lines.push(format!("{}{failed}", print_task(task)));
                    }
                    Facts::Done(outcomes.into_iter().map(Ok).collect())
                }
                Ok(Step::Write(_) | Step::Wait(_)) => panic!("these plans write on conditions, and never wait"),
                Ok(Step::Done(_)) => return lines.join("\n"),
                Err(failure) => return format!("{}\n{failure:?}", lines.join("\n")),
            };
        }
        panic!("the plan doesn't end: {}", lines.join("\n"))
    }

    fn read(&self, need: Need) -> Read {
        let items = need.keys.iter().filter_map(|key| Some((key.clone(), self.items.get(key)?.clone())));
        let page = need.query.map(|query| {
            let is_in = |key: &ItemKey| {
                key.pk == query.pk
                    && (query.range.from.as_str()..=query.range.to.as_str()).contains(&key.sk.as_str())
                    && query.after.as_ref().is_none_or(|after| key.sk > *after)
            };
            let mut found: Vec<(&ItemKey, &Item)> = self.items.iter().filter(|(key, _)| is_in(key)).collect();
            let next = (found.len() > query.limit).then(|| found[query.limit - 1].0.sk.clone());
            found.truncate(query.limit);
            Page { items: found.into_iter().map(|(_, item)| item.clone()).collect(), next }
        });
        Read { items: items.collect(), unread: BTreeSet::new(), page }
    }

    fn carry_out(&mut self, task: &Task) -> Outcome {
        self.marks += 1;
        let name = format!("m{}", self.marks);
        let actions = match task.attempt(|| name) {
            Task::Write(action) => vec![action],
            Task::Transact(actions) => actions,
            Task::Mark { .. } => panic!("an attempt names its mark"),
        };
        let holds = |action: &Action| action.condition().holds(self.items.get(action.key()));
        let failed: Vec<usize> = (0..actions.len()).filter(|&n| !holds(&actions[n])).collect();
        if !failed.is_empty() {
            return Outcome::Failed(failed);
        }
        for action in actions {
            let before = self.items.get(action.key()).cloned();
            match action.outcome(before.as_ref(), with_key(action.key(), self.schema())) {
                Some(item) => _ = self.items.insert(action.key().clone(), item),
                None => _ = self.items.remove(action.key()),
            }
        }
        Outcome::Held
    }
}

fn print_key(key: &ItemKey) -> String {
    if key.sk == "NODE" { key.pk.clone() } else { format!("{} {}", key.pk, key.sk) }
}

fn print_need(need: &Need) -> String {
    let keys: Vec<String> = need.keys.iter().map(print_key).collect();
    match &need.query {
        None => format!("read {}", keys.join(", ")),
        Some(query) => format!(
            "list {} {}{}",
            query.pk,
            query.range.from,
            query.after.as_ref().map_or(String::new(), |after| format!(" after {after}"))
        ),
    }
}

fn print_task(task: &Task) -> String {
    match task {
        Task::Mark { key, .. } => format!("mark {}", print_key(key)),
        Task::Write(action) => print_action(action),
        Task::Transact(actions) => {
            format!("together: {}", actions.iter().map(print_action).collect::<Vec<_>>().join(", "))
        }
    }
}

fn print_action(action: &Action) -> String {
    let key = print_key(action.key());
    match action {
        Action::Check { .. } => format!("check {key}"),
        Action::Delete { .. } => format!("delete {key}"),
        Action::Put { .. } => format!("put {key}"),
        Action::Update { update, .. } if update.set.contains_key(TOUCHED) => format!("touch {key}"),
        Action::Update { update, .. } => match update.set.get("parent") {
            Some(crate::model::AttributeValue::S(parent)) => format!("move {key} below {parent}"),
            _ => format!("make {key} a root"),
        },
    }
}

fn lines(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn of_lineage(world: &mut World, id: &str, kind: HandDown) -> String {
    world.steps(|context| Box::new(Cascade::of_lineage(context, node(id), format!("{:0>40}", 5), kind)))
}

fn of_cursor(world: &mut World, id: &str) -> String {
    world.steps(|context| Box::new(Cascade::of_cursor(context, node(id))))
}

const DELETION: HandDown = HandDown::Deletion { touches: false };

#[test]
fn children_are_read_then_the_node_again_then_each_child_is_marked_and_the_node_is_deleted_last() {
    let mut world = World::drawn("r n<r a<n b<n").delete("n", DeletionMode::Delete, false);
    let steps = of_lineage(&mut world, "n", DELETION);
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a, b
        read n
        mark a
        mark b
        delete n
    ";
    assert_eq!(steps, lines(wanted));
    let key = world.schema().node_key(&node("a"));
    assert_eq!(DeletionMark::read(&world.items[&key]).unwrap().mark.as_deref(), Some("m1"));
}

#[test]
fn a_child_that_changes_after_it_was_read_is_read_again() {
    let world = World::drawn("r n<r a<n b<n").delete("n", DeletionMode::Delete, false);
    let mut changed = world.base("b", Some("n"));
    changed.remove(UNDER);
    let mut world = world.meanwhile(5, "b", Some(changed));
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a, b
        read n
        meanwhile b changes
        mark a
        mark b: refused
        read b
        read n
        mark b
        delete n
    ";
    assert_eq!(of_lineage(&mut world, "n", DELETION), lines(wanted));
}

#[test]
fn a_node_whose_mark_another_client_takes_back_keeps_its_children() {
    let world = World::drawn("r n<r a<n").delete("n", DeletionMode::Delete, false);
    let unmarked = world.base("n", Some("r"));
    let mut world = world.meanwhile(4, "n", Some(unmarked));
    let steps = of_lineage(&mut world, "n", HandDown::Deletion { touches: true });
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a
        meanwhile n changes
        read n
        list n NODE#0001#
        read a
        touch a
    ";
    assert_eq!(steps, lines(wanted));
}

#[test]
fn children_are_adopted_together_with_a_check_of_the_deleted_node() {
    let mut world = World::drawn("r n<r a<n b<n").delete("n", DeletionMode::Adopt, false);
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a, b
        read n
        together: check n, move a below r, move b below r
        delete n
    ";
    assert_eq!(of_lineage(&mut world, "n", DELETION), lines(wanted));
}

#[test]
fn children_that_no_heir_adopts_become_roots() {
    let mut world = World::drawn("n a<n").delete("n", DeletionMode::Adopt, false);
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a
        read n
        make a a root
        delete n
    ";
    assert_eq!(of_lineage(&mut world, "n", DELETION), lines(wanted));
}

#[test]
fn a_wide_node_gets_a_cursor_which_continues_the_deletion_of_its_own_mark_only() {
    let mut world = World::drawn("n a<n b<n c<n").delete("n", DeletionMode::Delete, false);
    world.limits.touch_slice_items_max = 2;
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a, b
        read n
        mark a
        mark b
        put n CASCADE
    ";
    assert_eq!(of_lineage(&mut world, "n", DELETION), lines(wanted));
    let wanted = "
        read n CASCADE
        read n LINEAGE, n
        list n NODE#0001# after NODE#0001#b
        read c
        read n
        mark c
        delete n
        delete n CASCADE
    ";
    let cursor = world.items[&world.schema().cascade_key(&node("n"))].clone();
    assert_eq!(of_cursor(&mut world, "n"), lines(wanted));

    // Another mark left this cursor, so its position counts for nothing.
    let mut world = World::drawn("n a<n").delete("n", DeletionMode::Delete, false);
    let other = Cursor { position: Position::Children("another".to_owned()), ..Cursor::read(&cursor).unwrap() };
    world.put(other.item(&node("n"), &Schema::default()));
    let wanted = "
        read n CASCADE
        read n LINEAGE, n
        list n NODE#0001# after NODE#0001#b
        delete n CASCADE
    ";
    assert_eq!(of_cursor(&mut world, "n"), lines(wanted));
}

#[test]
fn revisions_are_deleted_after_the_actions_on_children_and_before_the_node() {
    let mut world = World::drawn("n a<n").delete("n", DeletionMode::Delete, true);
    world.put(with_key(&ItemKey::new("n", "v001_Audit"), &Schema::default()));
    let wanted = "
        read n LINEAGE, n
        list n NODE#0001#
        read a
        read n
        mark a
        list n v
        read n
        delete n v001_Audit
        delete n
    ";
    let range = world.schema().revision_range();
    assert_eq!(
        of_lineage(&mut world, "n", DELETION).replace(&format!("list n {}", range.from), "list n v"),
        lines(wanted)
    );
}

#[test]
fn a_changed_lineage_touches_the_children() {
    let mut world = World::drawn("n a<n b<n");
    assert_eq!(of_lineage(&mut world, "n", HandDown::ToChildren), "list n NODE#0001#\ntouch a\ntouch b");
    world.limits.touch_slice_items_max = 1;
    assert_eq!(of_lineage(&mut world, "n", HandDown::ToChildren), "list n NODE#0001#\nput n CASCADE");
    assert_eq!(of_cursor(&mut world, "n"), "read n CASCADE\nlist n NODE#0001#\ntouch a\nput n CASCADE");
    assert_eq!(
        of_cursor(&mut world, "n"),
        "read n CASCADE\nlist n NODE#0001# after NODE#0001#a\ntouch b\ndelete n CASCADE"
    );
    assert_eq!(of_cursor(&mut world, "n"), "read n CASCADE");
}

fn straggler(world: &mut World, heir: Option<&str>) -> String {
    let base = crate::model::BaseNode::read(world.base("s", Some("gone")), &node("s"), world.schema()).unwrap();
    let heir = heir.map(|id| Heir { id: Id::new(id).unwrap(), seen: true });
    let tombstone = Deletion { mark: mark(DeletionMode::Adopt, false), heir };
    world.steps(|context| Box::new(Straggler::new(context, Child { node: node("s"), base }, tombstone)))
}

#[test]
fn a_straggler_is_adopted_together_with_a_check_of_every_edge_up_to_the_root() {
    let mut world = World::drawn("r h<r s");
    world.put_base("s", Some("gone"));
    let wanted = "
        read h LINEAGE, h
        read r
        together: move s below h, check h, check r
    ";
    assert_eq!(straggler(&mut world, Some("h")), lines(wanted));
}

#[test]
fn a_straggler_above_its_heir_or_without_one_becomes_a_root() {
    let mut world = World::drawn("s h<s");
    world.put_base("s", Some("gone"));
    assert_eq!(straggler(&mut world, Some("h")), "read h LINEAGE, h\nread s\nread gone LINEAGE, gone\nmake s a root");
    let mut world = World::drawn("s");
    world.put_base("s", Some("gone"));
    assert_eq!(straggler(&mut world, None), "make s a root");
}

#[test]
fn the_tombstone_of_an_heir_that_was_deleted_as_well_decides() {
    let mut world = World::drawn("r s");
    world.put_base("s", Some("gone"));
    let heir = Some(Heir { id: Id::new("r").unwrap(), seen: true });
    let deletion = Deletion { mark: mark(DeletionMode::Adopt, false), heir };
    let tombstone = deletion.tombstone(&node("h"), &world.settings);
    world.put(tombstone);
    let wanted = "
        read h LINEAGE, h
        read r LINEAGE, r
        together: move s below r, check r
    ";
    assert_eq!(straggler(&mut world, Some("h")), lines(wanted));
}

#[test]
fn a_child_with_too_many_attributes_to_compare_keeps_its_parent_and_is_noted() {
    let mut world = World::drawn("n a<n").delete("n", DeletionMode::Delete, false);
    let key = world.schema().node_key(&node("a"));
    world.items.get_mut(&key).unwrap().extend((0..200).map(|n| (format!("a{n}"), text("x"))));
    let settings = world.settings.clone();
    let context = Context { settings: &settings, limits: world.limits, rules: Rules::default() };
    let mut plan = Cascade::of_lineage(context, node("n"), "5".to_owned(), DELETION);
    let mut facts = Facts::None;
    loop {
        facts = match plan.next(facts).unwrap() {
            Step::Need(need) => Facts::Read(world.read(need)),
            Step::Do(tasks) => Facts::Done(tasks.iter().map(|task| Ok(world.carry_out(task))).collect()),
            Step::Write(_) | Step::Wait(_) => panic!("these plans write on conditions, and never wait"),
            Step::Done(()) => break,
        };
    }
    assert!(world.items.contains_key(&key) && !world.items.contains_key(&world.schema().node_key(&node("n"))));
    let problems = plan.take_report().problems;
    assert!(problems[0].key == key && problems[0].reason.contains("over the limit of 140"), "{problems:?}");
}
