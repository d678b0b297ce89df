use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::Index;

use super::fixture::{Checked, waiting};
use crate::{FaultKind, Options, Record};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn whatever_the_order_of_the_lines_parents_come_first_and_every_record_once(
        parents in prop::collection::vec(prop::option::weighted(0.9, any::<Index>()), 1..60),
        keys in prop::collection::vec(any::<u32>(), 120),
    ) {
        let node = |n: usize| match parents[n].filter(|_| n > 0) {
            Some(parent) => format!(r#"{{"id":"{n}","parent":"{}"}}"#, parent.index(n)),
            None => format!(r#"{{"id":"{n}"}}"#),
        };
        let revision = |n: usize| format!(r#"{{"node":"{n}","topic":"t","version":1}}"#);
        let mut lines: Vec<String> = (0..parents.len()).map(node).chain((0..parents.len()).map(revision)).collect();
        let mut keyed: Vec<_> = keys.iter().zip(lines.drain(..)).collect();
        keyed.sort();
        let content: String = keyed.iter().map(|(_, line)| format!("{line}\n")).collect();
        let checked = Checked::of("a.jsonl", content, &Options::default());
        prop_assert_eq!(checked.faults(), Vec::<String>::new());
        let (mut seen, mut revisions) = (BTreeSet::new(), BTreeSet::new());
        for waiting in waiting(&checked.work) {
            match waiting.record {
                Record::Node(node) => {
                    prop_assert!(revisions.is_empty());
                    prop_assert!(node.parent.is_none_or(|parent| seen.contains(&parent)));
                    prop_assert!(seen.insert(node.node.id));
                }
                Record::Revision(revision) => prop_assert!(revisions.insert(revision.node.id)),
            }
        }
        prop_assert_eq!((seen.len(), revisions.len()), (parents.len(), parents.len()));
    }
}

/// The nodes on the way up from a node, with itself, until it ends or comes round.
fn way_up(node: usize, parents: &BTreeMap<usize, usize>) -> Vec<usize> {
    let mut way = vec![node];
    while let Some(parent) = way.last().and_then(|last| parents.get(last)).filter(|parent| !way.contains(parent)) {
        way.push(*parent);
    }
    way
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Ids from 30 on are in no line.
    #[test]
    fn the_faults_are_those_that_a_naive_look_finds(
        parents in prop::collection::btree_map(0..30_usize, 0..33_usize, 0..30),
        order in Just((0..30_usize).collect::<Vec<_>>()).prop_shuffle(),
        twice in prop::collection::btree_set(0..30_usize, 0..3),
    ) {
        let line = |n: &usize| match parents.get(n) {
            Some(parent) => format!("{{\"id\":\"{n}\",\"parent\":\"{parent}\"}}\n"),
            None => format!("{{\"id\":\"{n}\"}}\n"),
        };
        let content: String = order.iter().chain(&twice).map(line).collect();
        let faults = Checked::of("a.jsonl", content, &Options::default()).work.faults().unwrap();
        let missing = parents.values().filter(|parent| **parent >= 30).count();
        // A node is on a cycle if its parent leads back to it.
        let on_cycle = |node: &usize| parents.get(node).is_some_and(|parent| way_up(*parent, &parents).contains(node));
        let cycles: BTreeSet<BTreeSet<usize>> = (0..30)
            .filter(on_cycle)
            .map(|node| way_up(node, &parents).into_iter().collect())
            .collect();
        let count = |kind: FaultKind| faults.counts.get(&kind).map_or(0, |count| *count as usize);
        prop_assert_eq!(count(FaultKind::MissingParent), missing);
        prop_assert_eq!(count(FaultKind::Cycle), cycles.len());
        prop_assert_eq!(count(FaultKind::Duplicate), twice.len());
        prop_assert_eq!(faults.count() as usize, missing + cycles.len() + twice.len());
    }
}
