//! The comparison of `sapwood verify`, for the page: of the whole table, or of a node and what is below it.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use sapwood_core::audit::{Difference, Mended, Position, Subject, due};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Settings;
use sapwood_core::plan::Rules;
use sapwood_engine::audit::{Audit, Page};
use sapwood_engine::subtree::Subtree;
use sapwood_import::backlog::Part;
use sapwood_store::{Client, RetryPolicy, Scannable};
use serde_json::{Value, json};

use crate::clock::{RateLimit, nanoseconds, now};
use crate::compare::{PAGE_ITEMS_MAX, Reading};

/// The longest time that a comparison goes on. Then it says that it hasn't seen all.
const TIME_MAX: Duration = Duration::from_secs(15);
/// Most differences that are named.
const NAMED_MAX: usize = 200;

/// Compares a node and what is below it, or the whole table. `wrong` are the differences that a second look has found
/// as the first did, `moving` those that it hasn't: the handler is at them. Only their owner can mend `findings`.
pub(super) async fn compared<T: Scannable, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    top: Option<NodeRef>,
) -> Result<Value> {
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
pub(super) async fn mended<T: Scannable, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    top: Option<NodeRef>,
) -> Result<usize> {
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

/// The page shows what lags at this moment: the second look comes at once, and what it finds otherwise is moving.
async fn differences<T: Scannable, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    top: Option<NodeRef>,
) -> Result<TwoLooks> {
    let reading = Reading { client, settings, pace: RateLimit::new(None), until: Some(now() + TIME_MAX) };
    let taken = Mutex::new((0, Vec::new(), Part::At(None)));
    let locked = || taken.lock().unwrap_or_else(PoisonError::into_inner);
    let take = |page: Page| {
        let mut taken = locked();
        taken.0 += page.items;
        taken.1.extend(page.suspects);
        taken.2 = page.next.map_or(Part::Done, |next| Part::At(Some(next)));
    };
    let is_whole = match top {
        Some(top) => reading.below(Subtree::new(client, top), |_| true, take).await?,
        None => {
            let (reading, take) = (&reading, &take);
            let page = |_, from: Option<Position>| async move {
                take(reading.audit().page(0, 1, from.as_ref(), PAGE_ITEMS_MAX).await?);
                Ok(())
            };
            reading.parts(1, |_| Ok(locked().2.clone()), page).await?
        }
    };
    let (items, suspects, _) = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
    let subjects: BTreeSet<Subject> = suspects.iter().map(Difference::subject).collect();
    let again = if subjects.is_empty() { Vec::new() } else { reading.audit().look(subjects).await? };
    let is_the_same = |one: &Difference| {
        suspects.iter().any(|first| (&first.key, first.kind) == (&one.key, one.kind) && first.evidence == one.evidence)
    };
    let settled: Vec<Difference> = again.into_iter().filter(is_the_same).collect();
    let faults = |found: &[Difference]| found.iter().filter(|one| !one.kind.is_finding()).count();
    let moving = faults(&suspects).saturating_sub(faults(&settled));
    Ok(TwoLooks { items, settled, moving, is_whole })
}
