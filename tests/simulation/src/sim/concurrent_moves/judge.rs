//! Judges the base records after every change, and the answers at the end. The judge knows nothing of how the product
//! decides. It sees each change of a base record in the order of the table's stream.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::fanout::StreamRecord;
use sapwood_core::model::{AttributeValue, Item};
use sapwood_engine::write::{Refusal, WriteError};

use super::operations::{Answer, NAME, Operation, has_key, record_key, token};
use crate::oracle::Contents;

pub(super) struct Judge {
    operations: Vec<Operation>,
    /// True if no call fails. Every answer is then certain.
    is_certain: bool,
    parents: BTreeMap<String, Option<String>>,
    has_begun: bool,
    /// How often each operation was applied.
    applied: BTreeMap<usize, usize>,
    /// How often each node was deleted.
    deletions: BTreeMap<String, usize>,
    answers: Vec<(usize, Answer)>,
    revisions: BTreeMap<usize, String>,
}

fn string(item: &Item, name: &str) -> Option<String> {
    match item.get(name) {
        Some(AttributeValue::S(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Returns the attributes of an item except these.
fn others<'a>(item: &'a Item, except: &[&str]) -> BTreeMap<&'a str, &'a AttributeValue> {
    item.iter().filter(|(name, _)| !except.contains(&name.as_str())).map(|(n, v)| (n.as_str(), v)).collect()
}

fn revision(item: &Item) -> u64 {
    match item.get("_rev") {
        Some(AttributeValue::N(digits)) => digits.parse().unwrap(),
        _ => 0,
    }
}

impl Judge {
    pub(super) fn new(operations: Vec<Operation>, is_certain: bool) -> Self {
        Self {
            operations,
            is_certain,
            parents: BTreeMap::new(),
            has_begun: false,
            applied: BTreeMap::new(),
            deletions: BTreeMap::new(),
            answers: Vec::new(),
            revisions: BTreeMap::new(),
        }
    }

    pub(super) fn begin(&mut self) {
        self.has_begun = true;
    }

    pub(super) fn answered(&mut self, number: usize, answer: Answer) {
        self.answers.push((number, answer));
    }

    /// Looks at a record of the stream. Returns what is wrong with the record.
    pub(super) fn look(&mut self, record: &StreamRecord) -> Vec<String> {
        let mut what = Vec::new();
        if record.key.sk.starts_with("v00") && self.has_begun {
            what.extend(self.appended(record));
        }
        if record.key.sk != "NODE" {
            return what;
        }
        let id = record.key.pk.clone();
        if self.has_begun
            && let Err(wrong) = self.step(&id, record.old.as_ref(), record.new.as_ref())
        {
            what.push(format!("{id}: {wrong}: {:?} to {:?}", record.old, record.new));
        }
        match &record.new {
            Some(item) => self.parents.insert(id.clone(), string(item, "parent")),
            None => self.parents.remove(&id),
        };
        what.extend(self.cycle(&id));
        what
    }

    /// Returns a fault if a node is above itself, or too deep.
    fn cycle(&self, id: &str) -> Option<String> {
        let mut path = vec![id.to_owned()];
        while let Some(Some(parent)) = self.parents.get(path.last().unwrap()) {
            if parent == id || path.contains(parent) {
                return Some(format!("a cycle: {path:?}"));
            }
            path.push(parent.clone());
        }
        (path.len() > 99).then(|| format!("too deep: {path:?}"))
    }

    fn appended(&mut self, record: &StreamRecord) -> Option<String> {
        let (None, Some(new)) = (&record.old, &record.new) else {
            return Some(format!("a revision changed: {record:?}"));
        };
        let Some(number) = self.number(new) else { return Some(format!("a revision of nobody: {new:?}")) };
        *self.applied.entry(number).or_default() += 1;
        match self.revisions.insert(number, record.key.sk.clone()) {
            Some(before) if self.is_certain => Some(format!("appended twice: {before} and {}", record.key.sk)),
            _ => None,
        }
    }

    fn number(&self, item: &Item) -> Option<usize> {
        let token_of = string(item, "_write")?;
        (0..self.operations.len()).find(|number| token(*number) == token_of)
    }

    /// Checks that one operation makes the new base record of the old one.
    fn step(&mut self, id: &str, old: Option<&Item>, new: Option<&Item>) -> Result<(), &'static str> {
        let Some(new) = new else {
            *self.deletions.entry(id.to_owned()).or_default() += 1;
            let deletes = |operation: &Operation| matches!(operation, Operation::Delete { id: of } if of == id);
            return if self.operations.iter().any(deletes) { Ok(()) } else { Err("nobody deletes it") };
        };
        if old.is_some_and(|old| others(old, &["_touched"]) == others(new, &["_touched"])) {
            return Ok(());
        }
        let parent = string(new, "parent");
        // The handler has a child adopted that came in while its parent was deleted.
        let own = ["parent", "_under", "_rev", "_touched"];
        let is_adopted = |old: &Item| {
            let is_gone = string(old, "parent").is_some_and(|parent| !self.parents.contains_key(&parent));
            is_gone && old.get("parent") != new.get("parent") && others(old, &own) == others(new, &own)
        };
        if old.is_some_and(is_adopted) {
            return Ok(());
        }
        if old.is_some_and(|old| old.get("_write") == new.get("_write")) {
            return Err("nobody writes it");
        }
        let number = self.number(new).ok_or("nobody writes it")?;
        *self.applied.entry(number).or_default() += 1;
        if revision(new) != old.map_or(0, revision) + 1 {
            return Err("not the next `_rev`");
        }
        let name = Some(token(number));
        let all_anew = |wanted: &Option<String>| parent == *wanted && string(new, NAME) == name;
        let is_right = match &self.operations[number] {
            Operation::Create { id: of, parent: wanted, .. } => of == id && old.is_none() && all_anew(wanted),
            Operation::Replace { id: of, parent: wanted } => of == id && all_anew(wanted),
            Operation::Patch { id: of, parent: wanted, name: is_named } => {
                let old = old.ok_or("a patch makes it")?;
                let before = string(old, "parent");
                let wanted = wanted.clone().unwrap_or(before);
                let name = if *is_named { name } else { string(old, NAME) };
                of == id && parent == wanted && string(new, NAME) == name
            }
            Operation::Delete { .. } | Operation::Append { .. } => false,
        };
        if is_right { Ok(()) } else { Err("not what was asked for") }
    }

    /// Returns what is wrong with the answers.
    pub(super) fn verdict(&self, contents: &Contents) -> Vec<String> {
        let mut what = Vec::new();
        // How many deletions were acknowledged, and how many may have been done.
        let (mut deleted, mut unknown): (BTreeMap<&str, usize>, BTreeMap<&str, usize>) = Default::default();
        let mut versions = BTreeSet::new();
        for (number, answer) in &self.answers {
            let operation = &self.operations[*number];
            let applied = self.applied.get(number).copied().unwrap_or(0);
            let record = record_key(*number);
            let is_completed = contents.get(&(record.pk, record.sk)).is_some_and(|item| item.contains_key("_parts"));
            let is_done = match answer {
                Answer::Written { item, version } => {
                    let is_unchanged = string(item, "_write") != Some(token(*number));
                    if !is_unchanged && applied == 0 {
                        what.push(format!("{operation:?} was acknowledged and isn't there"));
                    }
                    if version.is_some_and(|version| !versions.insert(version)) {
                        what.push(format!("{version:?} twice"));
                    }
                    true
                }
                Answer::Deleted => {
                    if let Operation::Delete { id } = operation {
                        *deleted.entry(id).or_default() += 1;
                    }
                    true
                }
                Answer::Refused(error) => {
                    let is_known = !matches!(error, WriteError::Refused(Refusal::OutcomeUnknown));
                    if let (Operation::Delete { id }, false) = (operation, is_known) {
                        *unknown.entry(id).or_default() += 1;
                    }
                    if self.is_certain && is_known && applied > 0 {
                        what.push(format!("{operation:?} is done, and was answered {error}"));
                    }
                    false
                }
            };
            if self.is_certain && applied > 1 {
                what.push(format!("{operation:?} was done {applied} times"));
            }
            let is_known = !matches!(answer, Answer::Refused(WriteError::Refused(Refusal::OutcomeUnknown)));
            let half = if self.is_certain && is_known { is_done != is_completed } else { is_done && !is_completed };
            if has_key(*number) && half {
                what.push(format!("{operation:?} was half done: {answer:?}"));
            }
        }
        for (id, count) in &self.deletions {
            let of = |counts: &BTreeMap<&str, usize>| counts.get(id.as_str()).copied().unwrap_or(0);
            let acknowledged = of(&deleted);
            if self.is_certain && !(acknowledged..=acknowledged + of(&unknown)).contains(count) {
                what.push(format!("{id} was deleted {count} times, {acknowledged} acknowledged"));
            }
        }
        let written: BTreeSet<&String> = self.revisions.values().collect();
        let consecutive = (1..=written.len()).all(|number| written.contains(&format!("v{number:03}_Audit")));
        if !consecutive {
            what.push(format!("not consecutive: {written:?}"));
        }
        what
    }
}
