//! What is mended first.
#![allow(clippy::unwrap_used)]

use super::{Difference, Kind, Subject, due, look};
use crate::fanout::tests::world::{World, node};
use crate::keys::{Id, NodeRef, Schema};
use crate::model::{InTrash, Placement};

fn wrong(id: &str, kind: Kind, waits_for: Option<&str>) -> Difference {
    let node = |id: &str| NodeRef::from(Id::new(id).unwrap());
    let unseen = Difference::unseen(kind, Schema::default().lineage_key(&node(id)), node(id));
    Difference { waits_for: waits_for.map(node), ..unseen }
}

fn ids(differences: Vec<Difference>) -> Vec<(Kind, String)> {
    due(differences).into_iter().map(|one| (one.kind, one.node.id.to_string())).collect()
}

#[test]
fn whoever_waits_for_another_node_is_mended_after_it() {
    let (missing, wrong_one) = (wrong("b", Kind::LineageMissing, Some("a")), wrong("a", Kind::LineageWrong, None));
    assert_eq!(ids(vec![missing, wrong_one]), [(Kind::LineageWrong, "a".to_owned())]);
}

/// The handler places `a` by what the records of `c` and `b` predict, and that isn't where `a` belongs in a circle. If
/// `a` came first each time, nothing would ever be mended.
#[test]
fn of_a_circle_in_which_all_wait_those_without_a_lineage_come_first() {
    let circle = [("a", Kind::LineageWrong, "c"), ("b", Kind::LineageMissing, "a"), ("c", Kind::LineageMissing, "b")];
    let due = ids(circle.map(|(id, kind, above)| wrong(id, kind, Some(above))).into());
    assert_eq!(due.iter().map(|(_, id)| id.as_str()).collect::<Vec<_>>(), ["b", "c", "a"]);
}

/// A lineage that has lost that its node is in the trash: placed below it now, the children would come out and go in
/// again.
#[test]
fn a_lineage_that_lies_about_the_trash_is_wrong_and_what_is_below_it_waits() {
    let mut world = World::drawn("p c<p");
    let record = world.schema().node_key(&node("p"));
    world.items.get_mut(&record).unwrap().insert("_trashed".to_owned(), crate::model::text("long ago"));
    let ancestors = vec![Id::new("p").unwrap()];
    world.put_lineage("c", Placement { ancestors, trash: InTrash::Below, ..Placement::default() }, None);
    let (settings, known) = (world.settings.clone(), std::collections::BTreeMap::new());
    let subjects = ["p", "c"].map(|id| Subject::Node(node(id))).into();
    let (_, found) = world.run(&mut look(&settings, subjects, &known, true));
    let found: Vec<_> = found.unwrap().into_iter().map(|one| (one.node, one.kind, one.waits_for)).collect();
    assert!(found.contains(&(node("p"), Kind::LineageWrong, None)), "{found:?}");
    assert!(found.iter().all(|(of, _, waits)| *of != node("c") || *waits == Some(node("p"))), "{found:?}");
    assert!(found.iter().any(|(of, ..)| *of == node("c")), "{found:?}");
}
