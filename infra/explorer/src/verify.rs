//! The comparison of `sapwood verify`, for the page: of the whole table, or of a node and what is below it.

use std::collections::BTreeSet;
use std::time::Duration;

use sapwood_core::audit::{Difference, Mended, Subject, due};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Settings;
use sapwood_core::plan::Rules;
use sapwood_engine::audit::{Audit, Page};
use sapwood_engine::subtree::Subtree;
use sapwood_store::clock::{now, since_1970};
use sapwood_store::{Client, Deadline, RetryPolicy, Scannable, Table, TableError};
use serde_json::{Value, json};

use crate::lag::PAGE_ITEMS_MAX;

/// The longest time that a comparison goes on. Then it says that it hasn't seen all.
const TIME_MAX: Duration = Duration::from_secs(15);
/// Most differences that are named.
const NAMED_MAX: usize = 200;

/// Compares a node and what is below it, or the whole table. `wrong` are the differences that a second look has found
/// as the first did, `moving` those that it hasn't: the handler is at them. Only their owner can mend `findings`.
pub(crate) async fn compared<T: Scannable, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    top: Option<NodeRef>,
) -> Result<Value, TableError> {
    let TwoLooks { items, settled: found, moving, is_whole } = differences(client, settings, top).await?;
    let named = |Difference { key, node, kind, .. }: &Difference| {
        let (node, is_finding) = (node.id.as_str(), kind.is_finding());
        json!({"pk": key.pk, "sk": key.sk, "node": node, "kind": kind.as_str(), "is_finding": is_finding})
    };
    let findings = found.iter().filter(|one| one.kind.is_finding()).count();
    let usage = client.usage();
    Ok(json!({
        "items": items, "wrong": found.len() - findings, "moving": moving, "findings": findings,
        "differences": found.iter().take(NAMED_MAX).map(named).collect::<Vec<_>>(), "is_whole": is_whole,
        "requests": usage.requests, "read_units": usage.read_units,
    }))
}

/// Has what is wrong written anew. Returns how many items are.
pub(crate) async fn mended<T: Scannable, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    top: Option<NodeRef>,
) -> Result<usize, TableError> {
    let found = differences(client, settings, top).await?.settled;
    let audit = Audit::new(client, settings);
    let (mut name, mut count) = (since_1970().as_nanos(), 0);
    let (totals, due): (Vec<_>, Vec<_>) = due(found).into_iter().partition(|one| one.kind.is_recounted());
    if !totals.is_empty() {
        let nodes = totals.into_iter().map(|one| one.node).collect();
        // Only the table of `sapwood dev` is mended here, and all reads see its transactions at once.
        let (settled, pace) = (std::future::ready(()), |_| std::future::ready(()));
        let recounted = audit.recount(nodes, name.to_string(), Rules::default(), 1, settled, pace).await?;
        count += recounted.values().filter(|mended| **mended == Mended::Recounted).count();
    }
    for difference in due {
        name += 1;
        let done = audit.mend(difference, name.to_string(), Rules::default()).await?;
        count += usize::from(!matches!(done, Mended::Gone | Mended::Left));
    }
    Ok(count)
}

/// The results of two looks.
struct TwoLooks {
    items: u64,
    /// The differences that both looks have found alike.
    settled: Vec<Difference>,
    /// How much of what the first look found has changed since.
    moving: usize,
    /// False if the time wasn't enough for all.
    is_whole: bool,
}

/// Compares a node's partition. False: cut.
async fn partition<T: Table, P: RetryPolicy>(
    audit: &Audit<'_, T, P>,
    node: &NodeRef,
    until: Deadline,
) -> Result<(Vec<Page>, bool), TableError> {
    let (mut pages, mut from) = (Vec::new(), None);
    while !until.left().is_zero() {
        let mut page = audit.partition(node, from.as_ref(), PAGE_ITEMS_MAX).await?;
        from = page.next.take();
        pages.push(page);
        if from.is_none() {
            return Ok((pages, true));
        }
    }
    Ok((pages, false))
}

/// The page shows what lags at this moment: the second look comes at once, and what it finds otherwise is moving.
async fn differences<T: Scannable, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    top: Option<NodeRef>,
) -> Result<TwoLooks, TableError> {
    let (audit, until) = (Audit::new(client, settings), Deadline::at(now() + TIME_MAX));
    let (mut items, mut suspects, mut is_whole) = (0, Vec::new(), true);
    let mut take = |page: Page| {
        items += page.items;
        suspects.extend(page.suspects);
        page.next
    };
    match top {
        Some(top) => {
            let mut walk = Subtree::new(client, top);
            while is_whole
                && let found = walk.next().await?
                && !found.is_empty()
            {
                let partitions = found.iter().map(|found| partition(&audit, &found.node, until)).collect();
                for compared in client.all(partitions).await {
                    let (pages, is_read) = compared?;
                    is_whole &= is_read;
                    pages.into_iter().for_each(|page| _ = take(page));
                }
            }
        }
        None => {
            let mut from = None;
            while is_whole {
                from = take(audit.page(0, 1, from.as_ref(), PAGE_ITEMS_MAX).await?);
                if from.is_none() {
                    break;
                }
                is_whole = !until.left().is_zero();
            }
        }
    }
    let subjects: BTreeSet<Subject> = suspects.iter().map(Difference::subject).collect();
    let again = if subjects.is_empty() { Vec::new() } else { audit.look(subjects).await? };
    let is_the_same = |one: &Difference| {
        suspects.iter().any(|first| (&first.key, first.kind) == (&one.key, one.kind) && first.evidence == one.evidence)
    };
    let settled: Vec<Difference> = again.into_iter().filter(is_the_same).collect();
    let faults = |found: &[Difference]| found.iter().filter(|one| !one.kind.is_finding()).count();
    let moving = faults(&suspects).saturating_sub(faults(&settled));
    Ok(TwoLooks { items, settled, moving, is_whole })
}
