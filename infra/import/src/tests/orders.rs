use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;

use super::fixture::{Checked, waiting};
use crate::{Options, Record};

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
