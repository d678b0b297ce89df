//! A table in memory on which plans are run, and their steps as text.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::fanout::{Context, Limits, Run};
use crate::keys::{Id, ItemKey, NodeRef, Schema};
use crate::model::{
    BORN, DELETING, Deletion, DeletionMark, DeletionMode, Item, Lineage, Placement, Settings, TOUCHED, UNDER, Under,
    answered_bytes, key_of, rows, text, with_key,
};
use crate::plan::{Facts, Failure, Need, Plan, Read, Rules, Step, Task, TaskOutcome};
use crate::request::{Action, Page};

/// A table in memory, and what another client does before a step.
pub(crate) struct World {
    pub(crate) items: BTreeMap<ItemKey, Item>,
    pub(crate) settings: Settings,
    pub(crate) limits: Limits,
    /// What another client does just before the step of this number: it puts the item of this key, or deletes it.
    meanwhile: Option<(usize, ItemKey, Option<Item>)>,
    /// The step whose answer is lost: its tasks are carried out, and find their own write in the way when they are
    /// tried again.
    lost: Option<usize>,
    /// How many of the next tasks there is time for.
    time_for: Option<usize>,
    marks: usize,
}

pub(crate) fn node(id: &str) -> NodeRef {
    NodeRef::from(Id::new(id).unwrap())
}

pub(crate) fn mark(mode: DeletionMode, revisions: bool) -> DeletionMark {
    DeletionMark { mode, operation: "o".to_owned(), revisions, mark: None }
}

impl World {
    /// Draws nodes, each as `id` or `id<parent`. Each gets the rows and the lineage that it has at rest.
    pub(crate) fn drawn(nodes: &str) -> Self {
        let settings = Settings { path_rows: false, root_rows: false, ..Settings::default() };
        let mut world = Self {
            items: BTreeMap::new(),
            settings,
            limits: Limits::default(),
            meanwhile: None,
            lost: None,
            time_for: None,
            marks: 0,
        };
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

    pub(crate) fn schema(&self) -> &Schema {
        &self.settings.schema
    }

    pub(crate) fn put(&mut self, item: Item) {
        let key = key_of(&item, self.schema()).unwrap();
        self.items.insert(key, item);
    }

    pub(crate) fn base(&self, id: &str, parent: Option<&str>) -> Item {
        let mut item = with_key(&self.schema().node_key(&node(id)), self.schema());
        item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
        let under = |parent| Under { parent: Id::new(parent).unwrap(), born: Some("1".to_owned()) };
        item.extend(parent.map(|parent| (UNDER.to_owned(), under(parent).value())));
        item.insert(BORN.to_owned(), text("1"));
        item
    }

    pub(crate) fn put_base(&mut self, id: &str, parent: Option<&str>) {
        self.put(self.base(id, parent));
    }

    pub(crate) fn put_lineage(&mut self, id: &str, placement: Placement, deleting: Option<Deletion>) {
        for row in rows(&placement, &node(id), self.schema()) {
            let mut item = with_key(&row.key, self.schema());
            item.insert("_id".to_owned(), text(id));
            self.put(item);
        }
        let lineage = Lineage { placement, born: Some("1".to_owned()), deleting, ..Lineage::default() };
        self.put(lineage.item(&node(id), self.schema()));
    }

    /// Marks a node for deletion, in its base record and in its lineage.
    pub(crate) fn delete(mut self, id: &str, mode: DeletionMode, revisions: bool) -> Self {
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
    pub(crate) fn meanwhile(self, step: usize, id: &str, item: Option<Item>) -> Self {
        let key = self.schema().node_key(&node(id));
        self.meanwhile_at(step, key, item)
    }

    /// Has another client put this item, or delete it, just before the step of this number.
    pub(crate) fn meanwhile_at(mut self, step: usize, key: ItemKey, item: Option<Item>) -> Self {
        self.meanwhile = Some((step, key, item));
        self
    }

    /// Loses the answer of the step of this number.
    pub(crate) fn losing(mut self, step: usize) -> Self {
        self.lost = Some(step);
        self
    }

    /// There is time for so many of the next tasks. What comes after these tasks has time again.
    pub(crate) fn with_time_for(&mut self, tasks: usize) {
        self.time_for = Some(tasks);
    }

    /// Runs a plan to its end. Returns its steps, one a line.
    pub(crate) fn steps<D: std::fmt::Debug>(&mut self, of: impl for<'c> FnOnce(Context<'c>) -> Plan<'c, D>) -> String {
        let settings = self.settings.clone();
        let context =
            Context { settings: &settings, limits: self.limits, rules: Rules::default(), run: Run::default() };
        match self.run(&mut of(context)) {
            (lines, Ok(_)) => lines.join("\n"),
            (lines, Err(failure)) => format!("{}\n{failure:?}", lines.join("\n")),
        }
    }

    /// Runs a plan to its end. Returns its steps and what it comes to.
    pub(crate) fn run<D>(&mut self, plan: &mut Plan<'_, D>) -> (Vec<String>, Result<D, Failure>) {
        let (mut facts, mut lines) = (Facts::None, Vec::new());
        for number in 1..100 {
            if let Some((_, key, item)) = self.meanwhile.take_if(|(at, ..)| *at == number) {
                lines.push(format!(
                    "meanwhile {} {}",
                    print_key(&key),
                    if item.is_some() { "changes" } else { "is deleted" }
                ));
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
                    let done = self.time_for.take().unwrap_or(tasks.len()).min(tasks.len());
                    let mut outcomes: Vec<TaskOutcome> =
                        tasks[..done].iter().map(|task| self.carry_out(task)).collect();
                    let is_lost = self.lost.take_if(|at| *at == number).is_some();
                    for (task, outcome) in tasks.iter().zip(&mut outcomes) {
                        let failed = if *outcome == TaskOutcome::Held { "" } else { ": refused" };
                        lines.push(format!("{}{failed}{}", print_task(task), if is_lost { ": no answer" } else { "" }));
                        if is_lost {
                            *outcome = self.carry_out(task);
                        }
                    }
                    let no_time = tasks[done..].iter().map(|_| Err(Failure::Again));
                    Facts::Done(outcomes.into_iter().map(Ok).chain(no_time).collect())
                }
                Ok(Step::Try(task)) => {
                    let outcome = self.carry_out(&task);
                    let is_lost = self.lost.take_if(|at| *at == number).is_some();
                    let failed = if outcome == TaskOutcome::Held { "" } else { ": refused" };
                    lines.push(format!("{}{failed}{}", print_task(&task), if is_lost { ": no answer" } else { "" }));
                    Facts::Tried((!is_lost).then_some(outcome))
                }
                Ok(Step::Wait(step)) => {
                    lines.push(format!("wait {step}"));
                    Facts::Waited(true)
                }
                Ok(Step::Write(_)) => panic!("these plans write on conditions"),
                Ok(Step::Done(done)) => return (lines, Ok(done)),
                Err(failure) => return (lines, Err(failure)),
            };
        }
        panic!("the plan doesn't end: {}", lines.join("\n"))
    }

    /// Runs a plan to its end. `carry` carries each of its tasks out, and returns `None` where the answer is lost.
    pub(crate) fn drive<D>(
        &mut self,
        plan: &mut Plan<'_, D>,
        mut carry: impl FnMut(&mut Self, &Task) -> Option<TaskOutcome>,
    ) -> D {
        let mut facts = Facts::None;
        for _ in 0..10_000 {
            match self.answer(plan.next(facts).unwrap(), &mut carry) {
                ControlFlow::Continue(next) => facts = next,
                ControlFlow::Break(done) => return done,
            }
        }
        panic!("the plan doesn't end")
    }

    /// Answers one step of a plan, and has its tasks carried out by `carry`.
    pub(crate) fn answer<D>(
        &mut self,
        step: Step<D>,
        mut carry: impl FnMut(&mut Self, &Task) -> Option<TaskOutcome>,
    ) -> ControlFlow<D, Facts> {
        ControlFlow::Continue(match step {
            Step::Need(need) => Facts::Read(self.read(need)),
            Step::Do(tasks) => Facts::Done(tasks.iter().map(|task| carry(self, task).ok_or(Failure::Again)).collect()),
            Step::Try(task) => Facts::Tried(carry(self, &task)),
            Step::Wait(_) => Facts::Waited(true),
            Step::Write(_) => panic!("these plans write on conditions"),
            Step::Done(done) => return ControlFlow::Break(done),
        })
    }

    pub(crate) fn read(&self, need: Need) -> Read {
        let mut bytes = 0;
        let (read, left): (Vec<ItemKey>, Vec<ItemKey>) = need.keys.iter().cloned().partition(|key| {
            let is_read = need.bytes_max.is_none_or(|bytes_max| bytes < bytes_max);
            bytes += self.items.get(key).map_or(0, answered_bytes);
            is_read
        });
        let items = read.into_iter().filter_map(|key| Some((key.clone(), Arc::new(self.items.get(&key)?.clone()))));
        let page = need.query.map(|query| {
            let is_in = |key: &ItemKey| {
                key.pk == query.pk
                    && (query.range.from.as_str()..=query.range.to.as_str()).contains(&key.sk.as_str())
                    && query
                        .after
                        .as_ref()
                        .is_none_or(|after| if query.descending { key.sk < *after } else { key.sk > *after })
            };
            let mut found: Vec<(&ItemKey, &Item)> = self.items.iter().filter(|(key, _)| is_in(key)).collect();
            if query.descending {
                found.reverse();
            }
            let next = (found.len() > query.limit).then(|| found[query.limit - 1].0.sk.clone());
            found.truncate(query.limit);
            Page { items: found.into_iter().map(|(_, item)| item.clone()).collect(), next }
        });
        Read { items: items.collect(), left: left.into_iter().collect(), page, ..Read::default() }
    }

    pub(crate) fn carry_out(&mut self, task: &Task) -> TaskOutcome {
        self.marks += 1;
        let name = format!("m{}", self.marks);
        let actions = match task.attempt(0, || name) {
            Task::Write(action) => vec![action],
            Task::Transact(actions) => actions,
            Task::Mark { .. } | Task::Count(_) => panic!("an attempt names its mark, and chooses its lane"),
        };
        let holds = |action: &Action| action.condition().holds(self.items.get(action.key()));
        let failed: Vec<usize> = (0..actions.len()).filter(|&n| !holds(&actions[n])).collect();
        if !failed.is_empty() {
            return TaskOutcome::Failed(failed);
        }
        for action in actions {
            let before = self.items.get(action.key()).cloned();
            match action.outcome(before.as_ref(), with_key(action.key(), self.schema())) {
                Some(item) => _ = self.items.insert(action.key().clone(), item),
                None => _ = self.items.remove(action.key()),
            }
        }
        TaskOutcome::Held
    }
}

pub(crate) fn print_key(key: &ItemKey) -> String {
    if key.sk == "NODE" { key.pk.clone() } else { format!("{} {}", key.pk, key.sk) }
}

fn print_need(need: &Need) -> String {
    let read = need.keys.iter().map(print_key).collect::<Vec<_>>().join(", ");
    let list = need.query.as_ref().map(|query| {
        let after = query.after.as_ref().map_or(String::new(), |after| format!(" after {after}"));
        format!("list {} {}{after}", query.pk, query.range.from)
    });
    match list {
        None => format!("read {read}"),
        Some(list) if read.is_empty() => list,
        Some(list) => format!("read {read}; {list}"),
    }
}

fn print_task(task: &Task) -> String {
    match task {
        Task::Mark { key, .. } => format!("mark {}", print_key(key)),
        Task::Count(_) => print_task(&task.attempt(0, String::new)),
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
            _ if update.remove.contains("parent") => format!("make {key} a root"),
            _ if update.set.contains_key(DELETING) => format!("mark {key}"),
            _ => format!("update {key}"),
        },
    }
}
