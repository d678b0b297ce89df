//! Repairs of a table in use: the plans of `sapwood verify`, `sapwood repair` and the auditor, one call at a time.
//!
//! A repair doesn't wait here, so nothing keeps it from acting on what is only on its way. It must do no harm then,
//! either.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::seq::IndexedRandom;
use sapwood_core::audit::{Class, Difference, Kind, Subject, due};
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema, SortKey};
use sapwood_core::model::{Item, Settings, with_key};
use sapwood_core::plan::Rules;
use sapwood_engine::announce::announce;
use sapwood_engine::audit::Audit;
use sapwood_engine::auditor::{Auditor, Clock, Limits};
use sapwood_engine::subtree::Subtree;
use sapwood_store::{Client, ReadOptions, RetryPolicy, Scannable, Table, TableError};

use super::calls::{Calls, Shared, SimRetryPolicy, SimTable};

/// How many repairs, one after another, mend a table at rest. A row that no lineage names waits until its node's
/// lineage is right.
pub(super) const REPAIRS_AT_REST: usize = 6;

/// How many runs of the auditor follow one another. The first ones suspect, and those after them mend.
const AUDITOR_RUNS: u64 = 3;

/// Items in a page of a partition.
const PARTITION_PAGE_ITEMS_MAX: usize = 7;

/// Nodes whose totals are counted anew, wrong or not. Most scripts have them.
const COUNTED_ANEW: [&str; 3] = ["a", "b", "p"];

/// Most looks until all that is named decides for itself.
const LOOKS_MAX: usize = 10;

/// Puts rows of some nodes where the nodes never were, and takes rows away. Nobody is told.
pub(super) fn damage(calls: &mut Calls) {
    let items = calls.memory.scan(0, 1, None);
    let rows = items.filter(|(key, _)| key.sk.starts_with("NODE#")).map(|(key, item)| (key.clone(), item.clone()));
    let rows: Vec<(ItemKey, Item)> = rows.collect();
    let partitions: Vec<String> = rows.iter().map(|(key, _)| key.pk.clone()).collect();
    for (key, item) in rows {
        if calls.rng.random_ratio(1, 4) {
            let pk = partitions.choose(&mut calls.rng).unwrap().clone();
            let other = ItemKey { pk, ..key.clone() };
            if calls.memory.get(&other).is_none() {
                let item = item.into_iter().chain(with_key(&other, &Schema::default())).collect();
                calls.memory.write(&other, Some(item));
            }
        }
        if calls.rng.random_ratio(1, 8) {
            calls.memory.write(&key, None);
        }
    }
    calls.memory.stream.clear();
}

/// What the pages of a pass suspect, what a second look at that finds, and how many items of each class the pass has
/// seen.
type Compared = (BTreeSet<Difference>, BTreeSet<Difference>, BTreeMap<Class, u64>);

/// Compares the table, as `sapwood verify` does, in so many parts and in pages of so many items.
pub(super) async fn compared<T: Scannable, P: RetryPolicy>(
    audit: &Audit<'_, T, P>,
    segments: u32,
    items_max: usize,
) -> Result<Compared, TableError> {
    let (mut suspects, mut classes) = (BTreeSet::new(), BTreeMap::new());
    for segment in 0..segments {
        let mut from = None;
        loop {
            let page = audit.page(segment, segments, from.as_ref(), items_max).await?;
            suspects.extend(page.suspects);
            page.classes.into_iter().for_each(|(class, count)| *classes.entry(class).or_default() += count);
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    let found = looked_at_again(audit, &suspects).await?;
    Ok((suspects, found, classes))
}

/// Compares a node and what is below it, as `sapwood verify --under` does. Returns what a second look finds.
pub(super) async fn compared_below<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    top: NodeRef,
) -> Result<BTreeSet<Difference>, TableError> {
    let (audit, mut below) = (Audit::new(client, settings), Subtree::new(client, top));
    let mut suspects = BTreeSet::new();
    loop {
        let found = below.next().await?;
        if found.is_empty() {
            return looked_at_again(&audit, &suspects).await;
        }
        for found in found {
            let mut from = None;
            loop {
                let page = audit.partition(&found.node, from.as_ref(), PARTITION_PAGE_ITEMS_MAX).await?;
                suspects.extend(page.suspects);
                from = page.next;
                if from.is_none() {
                    break;
                }
            }
        }
    }
}

/// Looks at suspects until a look finds what the one before has found.
async fn looked_at_again<T: Table, P: RetryPolicy>(
    audit: &Audit<'_, T, P>,
    suspects: &BTreeSet<Difference>,
) -> Result<BTreeSet<Difference>, TableError> {
    // A look at a node whose parent is wrong names the parent, and the next look perhaps what is above it.
    let mut found: BTreeSet<Difference> = suspects.clone();
    for _ in 0..LOOKS_MAX {
        let subjects: BTreeSet<Subject> = found.iter().map(Difference::subject).collect();
        let again: BTreeSet<Difference> = audit.look(subjects).await?.into_iter().collect();
        let is_same = again == found;
        found = again;
        if is_same {
            break;
        }
    }
    Ok(found)
}

/// Begins some runs of the auditor, which take everything they see twice for settled.
pub(super) fn audits(
    number: u64,
    calls: Shared,
    settings: Settings,
    rules: Rules,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let table = SimTable { calls: Arc::clone(&calls), invocation: number };
        let now = calls.lock().unwrap().now;
        let retry_policy = SimRetryPolicy(calls);
        let limits =
            Limits { settle: Duration::ZERO, pass_every: Duration::ZERO, page_items_max: 20, ..Limits::default() };
        for run in 0..AUDITOR_RUNS {
            let client = Client::new(&table, &retry_policy, &settings.schema);
            let _ = announce(&client, &settings, "0.1.0").await;
            let auditor = Auditor::new(&client, &settings, limits, true).with(rules);
            let clock = Clock { now, name: number * 10_000 + run * 1_000, pace: || true };
            let _ = auditor.run(clock).await;
        }
    })
}

/// Most attempts of a backfill whose requests fail.
const BACKFILLS_MAX: u64 = 50;

/// Begins all totals anew, as `sapwood backfill --totals` does. The command is given once more as often as it fails.
pub(super) fn backfill(
    number: u64,
    calls: Shared,
    settings: Settings,
    rules: Rules,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let table = SimTable { calls: Arc::clone(&calls), invocation: number };
        let (shown, retry_policy) = (Arc::clone(&calls), SimRetryPolicy(calls));
        let client = Client::new(&table, &retry_policy, &settings.schema);
        let audit = Audit::new(&client, &settings).with_strong_pages(true);
        let name = format!("backfill {number}");
        for attempt in 0..BACKFILLS_MAX {
            let Ok(Ok(epoch)) = audit.begin_epoch(&[], &name, rules).await else { continue };
            let first = number * 1_000_000 + attempt * 1_000;
            if write_all(&audit, &settings, first, rules).await.is_err() {
                continue;
            }
            match audit.end_epoch(epoch, &name, rules).await {
                Ok(true) => {
                    shown.lock().unwrap().is_epoch_unfinished = false;
                    return;
                }
                // Whoever has begun another one ends that.
                Ok(false) => return,
                Err(_) => {}
            }
        }
    })
}

/// Has each node counted, and deletes the parts of totals that nobody reads. Names begin with this number.
async fn write_all<T: Scannable, P: RetryPolicy>(
    audit: &Audit<'_, T, P>,
    settings: &Settings,
    first: u64,
    rules: Rules,
) -> Result<(), TableError> {
    let (schema, mut names, mut from) = (&settings.schema, first.., None);
    loop {
        let page = audit.page(0, 1, from.as_ref(), 30).await?;
        for (key, name) in page.contents.keys().zip(&mut names) {
            let Ok(node) = schema.parse_partition(&key.pk) else { continue };
            let kind = match schema.parse_sort_key(&key.sk) {
                Some(SortKey::Node) => Kind::CountWrong,
                Some(SortKey::Totals { .. }) => Kind::TotalsLeft,
                _ => continue,
            };
            audit.mend(Difference::unseen(kind, key.clone(), node), name.to_string(), rules).await?;
        }
        from = page.next;
        if from.is_none() {
            return Ok(());
        }
    }
}

/// Begins a repair: it compares the table, looks again at what seems wrong, and mends what it finds a second time.
pub(super) fn repair(
    number: u64,
    calls: Shared,
    settings: Settings,
    rules: Rules,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let table = SimTable { calls: Arc::clone(&calls), invocation: number };
        let (shown, retry_policy) = (Arc::clone(&calls), SimRetryPolicy(calls));
        let client = Client::new(&table, &retry_policy, &settings.schema);
        let audit = Audit::new(&client, &settings);
        let Ok((suspects, found, _)) = compared(&audit, 1, 50).await else { return };
        let confirmed = found.intersection(&suspects).cloned().collect();
        let (totals, due): (Vec<_>, Vec<_>) = due(confirmed).into_iter().partition(|one| one.kind.is_recounted());
        let mut nodes: BTreeSet<NodeRef> = totals.into_iter().map(|one| one.node).collect();
        if settings.totals.is_some() && number.is_multiple_of(2) {
            // What isn't wrong may be counted anew as well.
            for node in COUNTED_ANEW.iter().filter_map(|id| Id::new(*id).ok()).map(NodeRef::from) {
                let record = client.get(&settings.schema.node_key(&node), &ReadOptions::default()).await;
                nodes.extend(record.ok().flatten().map(|_| node));
            }
        }
        if !nodes.is_empty() {
            let settled = async { shown.lock().unwrap().show_all() };
            let pace = |_| std::future::ready(());
            let _ = audit.recount(nodes, number.to_string(), rules, 1, settled, pace).await;
        }
        for (position, difference) in due.into_iter().enumerate() {
            let name = (number * 1_000 + position as u64).to_string();
            let _ = audit.mend(difference, name, rules).await;
        }
    })
}
