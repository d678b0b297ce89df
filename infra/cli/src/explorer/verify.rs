//! The comparison of `sapwood verify`, for the page: of the whole table, or of a node and what is below it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sapwood_core::audit::{Difference, Mended, Subject, due};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Settings;
use sapwood_core::plan::Rules;
use sapwood_engine::audit::Audit;
use sapwood_engine::subtree::Subtree;
use sapwood_store::{Client, RetryPolicy, Scannable, Table, TableError};
use serde::Serialize;

use crate::clock::{nanoseconds, now};

/// Items of a page.
const PAGE_ITEMS_MAX: usize = 500;
/// The longest time that a comparison goes on. Then it says that it hasn't seen all.
const TIME_MAX: Duration = Duration::from_secs(15);
/// Most differences that are named.
const NAMED_MAX: usize = 200;

/// What a comparison has found.
#[derive(Serialize)]
pub(super) struct Compared {
    /// The number of items that were compared.
    items: u64,
    /// The number of differences that a second look has found as the first did.
    wrong: usize,
    /// The number of differences that the second look has found otherwise, or not at all: the handler is at them.
    moving: usize,
    /// The number of findings about base records, which only their owner can mend.
    findings: usize,
    differences: Vec<Named>,
    /// False if there was more than the time was enough for.
    is_whole: bool,
    requests: u64,
    read_units: f64,
}

#[derive(Serialize)]
struct Named {
    pk: String,
    sk: String,
    node: String,
    kind: &'static str,
    is_finding: bool,
}

/// Compares a node and what is below it, or the whole table.
pub(super) async fn compared<T: Scannable, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    top: Option<NodeRef>,
) -> Result<Compared, TableError> {
    let Found { items, settled: found, moving, is_whole } = differences(client, settings, top).await?;
    let named = |one: &Difference| Named {
        pk: one.key.pk.clone(),
        sk: one.key.sk.clone(),
        node: one.node.id.as_str().to_owned(),
        kind: one.kind.as_str(),
        is_finding: one.kind.is_finding(),
    };
    let findings = found.iter().filter(|one| one.kind.is_finding()).count();
    let usage = client.usage();
    Ok(Compared {
        items,
        wrong: found.len() - findings,
        moving,
        findings,
        differences: found.iter().take(NAMED_MAX).map(named).collect(),
        is_whole,
        requests: usage.requests,
        read_units: usage.read_units,
    })
}

/// Has what is wrong written anew. Returns how many items are.
pub(super) async fn mended<T: Scannable, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    top: Option<NodeRef>,
) -> Result<usize, TableError> {
    let found = differences(client, settings, top).await?.settled;
    let audit = Audit::new(client, settings);
    let (mut name, mut count) = (nanoseconds(), 0);
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

/// What two looks find.
struct Found {
    /// The number of items that were compared.
    items: u64,
    /// What both looks have found alike.
    settled: Vec<Difference>,
    /// How much of what the first look found has changed since.
    moving: usize,
    /// False if the time wasn't enough for all.
    is_whole: bool,
}

async fn differences<T: Scannable, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    top: Option<NodeRef>,
) -> Result<Found, TableError> {
    let (audit, until) = (Audit::new(client, settings), now() + TIME_MAX);
    let (items, suspects, is_whole) = match top {
        Some(top) => below(client, &audit, top, until).await?,
        None => whole(&audit, until).await?,
    };
    let subjects: BTreeSet<Subject> = suspects.iter().map(Difference::subject).collect();
    let again = if subjects.is_empty() { Vec::new() } else { audit.look(subjects).await? };
    // What has changed since is being handled.
    let is_the_same = |one: &Difference| {
        suspects.iter().any(|first| (&first.key, first.kind) == (&one.key, one.kind) && first.evidence == one.evidence)
    };
    let settled: Vec<Difference> = again.into_iter().filter(is_the_same).collect();
    let faults = |found: &[Difference]| found.iter().filter(|one| !one.kind.is_finding()).count();
    let moving = faults(&suspects).saturating_sub(faults(&settled));
    Ok(Found { items, settled, moving, is_whole })
}

async fn whole<T: Scannable, P: RetryPolicy>(
    audit: &Audit<'_, T, P>,
    until: Instant,
) -> Result<(u64, Vec<Difference>, bool), TableError> {
    let (mut items, mut found, mut from) = (0, Vec::new(), None);
    loop {
        let page = audit.page(0, 1, from.as_ref(), PAGE_ITEMS_MAX).await?;
        items += page.items;
        found.extend(page.suspects);
        from = page.next;
        match from {
            None => return Ok((items, found, true)),
            Some(_) if now() > until => return Ok((items, found, false)),
            Some(_) => {}
        }
    }
}

async fn below<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    audit: &Audit<'_, T, P>,
    top: NodeRef,
    until: Instant,
) -> Result<(u64, Vec<Difference>, bool), TableError> {
    let (mut items, mut found) = (0, Vec::new());
    let mut walk = Subtree::new(client, top);
    loop {
        let nodes = walk.next().await?;
        if nodes.is_empty() {
            return Ok((items, found, true));
        }
        for one in nodes {
            let mut from = None;
            loop {
                if now() > until {
                    return Ok((items, found, false));
                }
                let page = audit.partition(&one.node, from.as_ref(), PAGE_ITEMS_MAX).await?;
                items += page.items;
                found.extend(page.suspects);
                from = page.next;
                if from.is_none() {
                    break;
                }
            }
        }
    }
}
