//! Touches the orphans that wait for nodes whose lineages are new, by the register of orphans.

use std::collections::{BTreeMap, BTreeSet};

use super::cascade::{touch, untouched};
use super::context::Context;
use crate::keys::NodeRef;
use crate::model::{ORPHAN_ROW, orphan_row_parent, own_id};
use crate::plan::{Plan, Rule, Task, count_held};
use crate::request::Query;

/// The result of a look into the register of orphans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// Nodes whose records have to be delivered again.
    pub failed: BTreeSet<NodeRef>,
    /// Nodes, each with its sequence number, whose orphans this partition can't tell because it has more entries than a
    /// page. Their own children have to be touched.
    pub unknown: BTreeMap<NodeRef, String>,
}

/// The plan that touches the orphans that wait for nodes whose lineages are new. It looks into one partition of the
/// register, for the nodes whose orphans it holds, each with the sequence number of its lineage's record.
pub fn touch_orphans(context: Context<'_>, partition: String, nodes: BTreeMap<NodeRef, String>) -> Plan<'_, Orphans> {
    Plan::new(|io| async move {
        let (range, limit) = (context.schema().orphan_range(), context.limits.orphan_page_items_max);
        let page = io.page(Query::first(partition, range, limit).of(ORPHAN_ROW)).await?;
        if page.next.is_some() && context.rules.keeps(Rule::OrphanFallback) {
            return Ok(Orphans { unknown: nodes, ..Orphans::default() });
        }
        let (mut tasks, mut owners) = (Vec::new(), Vec::new());
        for (node, sequence) in &nodes {
            let waiting = page.items.iter().filter(|row| orphan_row_parent(row) == Some(node.id.as_str()));
            for child in waiting.filter_map(own_id) {
                tasks.push(touch(&context, node, child, sequence));
                owners.push(node);
            }
        }
        let keys = tasks.iter().filter_map(Task::key).cloned().collect();
        let outcomes = io.all(tasks).await?;
        untouched(keys, &outcomes).for_each(|problem| io.note(problem));
        let mut failed = BTreeSet::new();
        for (node, outcome) in owners.into_iter().zip(outcomes) {
            match count_held(&[outcome]) {
                Ok(held) => io.report(|report| report.tally.touches += held),
                Err(_) => _ = failed.insert(node.clone()),
            }
        }
        Ok(Orphans { failed, ..Orphans::default() })
    })
}
