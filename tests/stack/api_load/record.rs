//! What was acknowledged, and what must be there at the end because of it.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_tests::forest::Forest;
use sapwood_tests::oracle::{Contents, Item};
use serde_dynamo::AttributeValue::{self, N};

/// What becomes of the children of nodes of a tree that are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Nodes without children only are deleted.
    Plain,
    /// Children are adopted or detached as well.
    Releasing,
    /// Subtrees are deleted as well.
    Cutting,
}

/// A write that was acknowledged, and between which moments it was done.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) what: What,
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// It carries this mark since, and has this parent where one was said.
    Wrote { mark: u64, parent: Option<Option<String>> },
    /// It is gone, at once.
    Deleted,
    /// An operation removes it, and what is below it where that is said.
    Removed { subtree: bool },
}

/// What was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) nodes: BTreeMap<String, (Option<Manner>, Vec<Done>)>,
    pub(crate) revisions: BTreeMap<(String, String), BTreeMap<u64, u64>>,
}

impl Record {
    pub(crate) fn add(&mut self, manner: Manner, id: &str, done: Done) {
        let (of, all) = self.nodes.entry(id.to_owned()).or_default();
        *of = Some(manner);
        all.push(done);
    }

    pub(crate) fn appended(&mut self, id: &str, topic: &str, version: u64, mark: u64) {
        let topic = self.revisions.entry((id.to_owned(), topic.to_owned())).or_default();
        assert_eq!(topic.insert(version, mark), None, "{id}: version {version} was given twice");
    }

    /// What is wrong with a table after all of this.
    pub(crate) fn wrong(&self, contents: &Contents) -> Vec<String> {
        let forest = Forest::of(contents);
        let mut wrong: Vec<String> = Vec::new();
        for (id, (manner, all)) in &self.nodes {
            match forest.0.get(id) {
                Some(item) => {
                    let was_deleted = |parent: &str| self.was_deleted(parent);
                    wrong.extend(wrong_node(id, *manner, all, item, forest.parent(id), was_deleted));
                }
                None => wrong.extend(self.wrongly_gone(id, *manner, all)),
            }
        }
        let unknown = forest.0.keys().filter(|id| !self.nodes.contains_key(*id));
        wrong.extend(unknown.map(|id| format!("{id} is there, and nobody was told")));
        wrong.extend(forest.in_cycles().iter().map(|id| format!("{id} is in a cycle")));
        wrong.extend(forest.marked().iter().map(|id| format!("{id} is still being deleted")));
        wrong.extend(forest.orphans().iter().map(|id| format!("{id} is an orphan of {:?}", forest.parent(id))));
        wrong.extend(self.wrong_revisions(contents));
        wrong
    }

    /// A node that isn't there was deleted after all that was written to it, or was below one that was.
    fn wrongly_gone(&self, id: &str, manner: Option<Manner>, all: &[Done]) -> Option<String> {
        let last = |deleted: &Done| !all.iter().any(|done| is_write(done) && done.began > deleted.ended);
        let is_deleted = all.iter().any(|done| !is_write(done) && last(done));
        let was_written = all.iter().any(is_write);
        let is_lost = was_written && !is_deleted && !(manner == Some(Manner::Cutting) && self.may_be_cut(id));
        is_lost.then(|| format!("{id} is lost: {all:?}"))
    }

    /// Whether it was ever deleted as a node without children. What came in meanwhile is adopted.
    fn was_deleted(&self, id: &str) -> bool {
        self.nodes.get(id).is_some_and(|(_, all)| all.iter().any(|done| done.what == What::Deleted))
    }

    /// Whether it was ever put below a node whose subtree was removed.
    fn may_be_cut(&self, id: &str) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![id.to_owned()]);
        while let Some(id) = next.pop() {
            let Some((_, all)) = self.nodes.get(&id) else { continue };
            if all.iter().any(|done| done.what == What::Removed { subtree: true }) {
                return true;
            }
            if seen.insert(id) {
                next.extend(all.iter().filter_map(said_parent).flatten().cloned());
            }
        }
        false
    }

    fn wrong_revisions(&self, contents: &Contents) -> Vec<String> {
        let mut there: BTreeMap<(String, String), BTreeMap<u64, u64>> = BTreeMap::new();
        for ((pk, sk), item) in contents {
            let Some((version, topic)) = sk.split_once('_').filter(|(version, _)| version.starts_with('v')) else {
                continue;
            };
            let version: u64 = version[1..].parse().unwrap();
            if version > 0 {
                there.entry((pk.clone(), topic.to_owned())).or_default().insert(version, mark(item));
            }
        }
        let mut wrong = Vec::new();
        for topic in there.keys().chain(self.revisions.keys()).collect::<BTreeSet<_>>() {
            if there.get(topic) != self.revisions.get(topic) {
                wrong.push(format!("{topic:?}: {:?}, told {:?}", there.get(topic), self.revisions.get(topic)));
            }
        }
        let has_gap = |all: &BTreeMap<u64, u64>| !all.keys().copied().eq(1..=all.len() as u64);
        wrong.extend(there.iter().filter(|(_, all)| has_gap(all)).map(|(topic, _)| format!("{topic:?} has a gap")));
        wrong
    }
}

fn is_write(done: &Done) -> bool {
    matches!(done.what, What::Wrote { .. })
}

fn said_parent(done: &Done) -> Option<&Option<String>> {
    match &done.what {
        What::Wrote { parent, .. } => parent.as_ref(),
        What::Deleted | What::Removed { .. } => None,
    }
}

fn mark(item: &Item) -> u64 {
    match item.get("mark") {
        Some(N(digits)) => digits.parse().unwrap(),
        other => panic!("mark is {other:?}"),
    }
}

/// A node is as a write left it that was acknowledged and that no other one overwrote which began after it had ended.
fn wrong_node(
    id: &str,
    manner: Option<Manner>,
    all: &[Done],
    item: &Item,
    parent: Option<&str>,
    was_deleted: impl Fn(&str) -> bool,
) -> Option<String> {
    let mark = mark(item);
    let is_its = |done: &&Done| matches!(done.what, What::Wrote { mark: of, .. } if of == mark);
    let Some(write) = all.iter().find(is_its) else {
        return Some(format!("{id} carries {mark}, which nobody was told: {all:?}"));
    };
    if let Some(later) = all.iter().find(|done| done.began > write.ended) {
        return Some(format!("{id} is as {write:?} left it, although {later:?}"));
    }
    let says_parent: Vec<&Done> = all.iter().filter(|done| said_parent(done).is_some()).collect();
    let is_last = |done: &&&Done| !says_parent.iter().any(|other| other.began > done.ended);
    let mut last = says_parent.iter().filter(is_last).filter_map(|done| said_parent(done));
    let is_its = |wanted: &Option<String>| wanted.as_deref() == parent || wanted.as_deref().is_some_and(&was_deleted);
    let is_wanted = manner == Some(Manner::Releasing) || last.any(is_its);
    (!is_wanted).then(|| format!("{id} is under {parent:?}: {all:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(mark: u64, parent: Option<&str>, began: u64, ended: u64) -> Done {
        let what = What::Wrote { mark, parent: parent.map(|parent| Some(parent.to_owned())) };
        Done { what, began, ended }
    }

    fn item(mark: u64, parent: Option<&str>) -> Item {
        let parent = parent.map(|parent| ("parent".to_owned(), AttributeValue::S(parent.to_owned())));
        [("mark".to_owned(), N(mark.to_string()))].into_iter().chain(parent).collect()
    }

    fn wrong(all: Vec<Done>, item: Option<Item>) -> usize {
        let root = Done { what: What::Wrote { mark: 0, parent: Some(None) }, began: 0, ended: 0 };
        let mut record = Record::default();
        record.add(Manner::Plain, "p", root);
        all.into_iter().for_each(|done| record.add(Manner::Plain, "n", done));
        let key = |id: &str| (id.to_owned(), "NODE".to_owned());
        let mut contents = Contents::from([(key("p"), self::item(0, None))]);
        contents.extend(item.map(|item| (key("n"), item)));
        record.wrong(&contents).len()
    }

    #[test]
    fn what_is_lost_or_undone_is_seen() {
        let two = || vec![wrote(1, Some("p"), 1, 2), wrote(2, None, 3, 4)];
        assert_eq!(wrong(two(), Some(item(2, Some("p")))), 0);
        assert_eq!(wrong(two(), Some(item(1, Some("p")))), 1, "an earlier write");
        assert_eq!(wrong(two(), Some(item(7, Some("p")))), 1, "a write that was refused");
        assert_eq!(wrong(two(), Some(item(2, None))), 1, "another parent");
        assert_eq!(wrong(two(), None), 1, "lost");
        let at_once = vec![wrote(1, Some("p"), 1, 4), wrote(2, None, 3, 5)];
        assert_eq!(wrong(at_once, Some(item(1, Some("p")))), 0);
        let deleted = |began, ended| Done { what: What::Deleted, began, ended };
        let gone = || vec![wrote(1, Some("p"), 1, 2), deleted(3, 4)];
        assert_eq!((wrong(gone(), None), wrong(gone(), Some(item(1, Some("p"))))), (0, 1));
        let back = vec![wrote(1, Some("p"), 1, 2), deleted(3, 4), wrote(2, Some("p"), 5, 6)];
        assert_eq!(wrong(back, None), 1);
    }
}
