//! Compares the table, or a node's partition, with its base records, page by page, and mends what is wrong, by plans.
//!
//! A caller scans the table in [`Audit::page`]s, which find suspects, and looks at each again a while later
//! ([`Audit::look`]): a difference counts if it is found again with the same evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use sapwood_core::audit::{
    Class, Difference, Mended, NotBegun, Position, Recount, Redriven, Subject, begin_epoch, count_holds, end_epoch,
    look, look_at_history, look_at_totals, mend, redrive, start_anew,
};
use sapwood_core::fanout::{Context, Limits, Run};
use sapwood_core::keys::{ItemKey, NodeRef};
use sapwood_core::model::{Epoch, Item, Settings, key_of};
use sapwood_core::plan::{Rule, Rules};
use sapwood_store::{Client, Query, ReadOptions, RetryPolicy, Scan, Scannable, Table, TableError};

use crate::run::{run, run_settled};

const HISTORY_PAGE_ITEMS_MAX: usize = 1_000;

/// Children in a page of a look at totals. Each takes five items that are read by their keys.
const TOTALS_PAGE_ITEMS_MAX: usize = 200;

const RECOUNT_PAGE_ITEMS_MAX: usize = 1_000;

/// The subjects looked at in one go. A node has 300 rows at most: 2 for each ancestor, 1 for each link, and a few.
const SUBJECTS_MAX: usize = 100;

/// Comparisons of one table.
#[must_use]
pub struct Audit<'a, T, P> {
    client: &'a Client<'a, T, P>,
    settings: &'a Settings,
    totals_children_max: usize,
    history_bytes_max: usize,
    strong: bool,
}

/// The findings of a page of the table, or of a partition.
#[derive(Debug, Default)]
pub struct Page {
    /// The number of items.
    pub items: u64,
    /// How many of them are what.
    pub classes: BTreeMap<Class, u64>,
    /// The items.
    pub contents: BTreeMap<ItemKey, Item>,
    /// The number of nodes, rows, histories and cursors that were looked at.
    pub subjects: u64,
    /// The differences found, unconfirmed.
    pub suspects: Vec<Difference>,
    /// Where the next page begins; `None` at the part's end.
    pub next: Option<Position>,
}

impl<'a, T: Table, P: RetryPolicy> Audit<'a, T, P> {
    /// Comparisons by these settings.
    pub fn new(client: &'a Client<'a, T, P>, settings: &'a Settings) -> Self {
        Self { client, settings, totals_children_max: usize::MAX, history_bytes_max: usize::MAX, strong: false }
    }

    /// The same, but the totals of nodes with more children aren't compared. A comparison reads all children at once.
    pub fn with_totals_of(self, totals_children_max: usize) -> Self {
        Self { totals_children_max, ..self }
    }

    /// The same, but for histories of more bytes than this: they aren't compared. A page of one is always read.
    pub fn with_histories_of(self, history_bytes_max: usize) -> Self {
        Self { history_bytes_max, ..self }
    }

    /// The same, but pages of the table are read strongly consistent, for twice the read units.
    pub fn with_strong_pages(self, strong: bool) -> Self {
        Self { strong, ..self }
    }

    /// Looks at the page of a part of the table that begins here.
    pub async fn page(
        &self,
        segment: u32,
        segments: u32,
        from: Option<&Position>,
        items_max: usize,
    ) -> Result<Page, TableError>
    where
        T: Scannable,
    {
        let reading = ReadOptions { strong: self.strong, attributes: None };
        let after = from.map(|position| position.after.clone());
        let scanned = self.client.scan(&Scan { segment, segments, after, limit: items_max, reading }).await?;
        self.judged(scanned.items, scanned.next, from, BTreeSet::new()).await
    }

    /// Looks at a page of a node's partition, and at its beginning at the node itself, even if it has no item at all.
    pub async fn partition(
        &self,
        node: &NodeRef,
        from: Option<&Position>,
        items_max: usize,
    ) -> Result<Page, TableError> {
        let schema = &self.settings.schema;
        let pk = schema.partition(node);
        let after = from.map(|position| position.after.sk.clone());
        let reading = ReadOptions { strong: false, attributes: None };
        let query = Query { after, reading, ..Query::first(pk.clone(), schema.partition_range(), items_max) };
        let page = self.client.query(&query).await?;
        let own = from.is_none().then(|| Subject::Node(node.clone()));
        let next = page.next.map(|sk| ItemKey { pk, sk });
        self.judged(page.items, next, from, own.into_iter().collect()).await
    }

    async fn judged(
        &self,
        items: Vec<Item>,
        next: Option<ItemKey>,
        from: Option<&Position>,
        mut subjects: BTreeSet<Subject>,
    ) -> Result<Page, TableError> {
        let schema = &self.settings.schema;
        let mut history = from.and_then(|position| position.history.clone());
        // The rows of a node's children follow one another, and one of them is enough to have its totals looked at.
        let mut totals = from.and_then(|position| Subject::totals_at(&position.after, schema));
        let mut classes = BTreeMap::new();
        for item in &items {
            *classes.entry(Class::of(item, schema)).or_default() += 1;
            match Subject::of(item, schema) {
                Some(Subject::History(node)) => {
                    if history.replace(node.clone()).as_ref() != Some(&node) {
                        subjects.insert(Subject::History(node));
                    }
                }
                other => subjects.extend(other),
            }
            if self.settings.totals.is_some()
                && let Some(found) = key_of(item, schema).and_then(|key| Subject::totals_at(&key, schema))
                && totals.replace(found.clone()).as_ref() != Some(&found)
            {
                subjects.insert(found);
            }
        }
        let count = items.len() as u64;
        let known: BTreeMap<ItemKey, Item> =
            items.into_iter().filter_map(|item| Some((key_of(&item, schema)?, item))).collect();
        let looked_at = subjects.len() as u64;
        let suspects = self.compare(subjects, &known, false).await?;
        let next = next.map(|after| Position { after, history });
        Ok(Page { items: count, classes, contents: known, subjects: looked_at, suspects, next })
    }

    /// Looks at these subjects, strongly consistent.
    pub async fn look(&self, subjects: BTreeSet<Subject>) -> Result<Vec<Difference>, TableError> {
        self.compare(subjects, &BTreeMap::new(), true).await
    }

    async fn compare(
        &self,
        subjects: BTreeSet<Subject>,
        known: &BTreeMap<ItemKey, Item>,
        strong: bool,
    ) -> Result<Vec<Difference>, TableError> {
        let is_of_several = |subject: &Subject| matches!(subject, Subject::History(_) | Subject::Totals(_));
        let (of_several, others): (Vec<_>, Vec<_>) = subjects.into_iter().partition(is_of_several);
        let mut found = Vec::new();
        for some in others.chunks(SUBJECTS_MAX) {
            let look = look(self.settings, some.iter().cloned().collect(), known, strong);
            found.extend(run(self.client, look).await?);
        }
        for subject in of_several {
            let (settings, bytes_max, children_max) = (self.settings, self.history_bytes_max, self.totals_children_max);
            let look = match subject {
                Subject::History(node) => look_at_history(settings, node, strong, HISTORY_PAGE_ITEMS_MAX, bytes_max),
                Subject::Totals(node) if settings.totals.is_some() => {
                    look_at_totals(settings, node, strong, TOTALS_PAGE_ITEMS_MAX, children_max)
                }
                _ => continue,
            };
            found.extend(run(self.client, look).await?);
        }
        Ok(found)
    }

    /// Mends a difference. `name` has at most 19 digits, and no other repair of this table has had it.
    pub async fn mend(&self, difference: Difference, name: String, rules: Rules) -> Result<Mended, TableError> {
        run_settled(self.client, || mend(self.context(rules), difference.clone(), name.clone())).await
    }

    /// Returns true if the totals above a node hold what it was counted as, so that counting it anew makes them right.
    pub async fn count_holds(&self, node: &NodeRef) -> Result<bool, TableError> {
        let children_max = self.totals_children_max;
        run(self.client, count_holds(self.settings, node.clone(), TOTALS_PAGE_ITEMS_MAX, children_max)).await
    }

    /// Begins all totals anew, in an epoch later than these: handlers count in it from their next batch on. `name` is
    /// one that nobody else has. Who begins it again by that name is told of the epoch that was begun.
    pub async fn begin_epoch(
        &self,
        used: &[Epoch],
        name: &str,
        rules: Rules,
    ) -> Result<Result<Epoch, NotBegun>, TableError> {
        run(self.client, begin_epoch(self.context(rules), used, name.to_owned())).await
    }

    /// Notes that every node was written since the epoch of this name began. Returns false if another one has begun.
    pub async fn end_epoch(&self, epoch: Epoch, name: &str, rules: Rules) -> Result<bool, TableError> {
        run(self.client, end_epoch(self.context(rules), epoch, name.to_owned())).await
    }

    /// Puts a cursor without a position in the place of one that comes from another stream. `name` as for
    /// [`Audit::mend`].
    pub async fn start_anew(&self, node: NodeRef, name: String) -> Result<Mended, TableError> {
        run(self.client, start_anew(self.context(Rules::default()), node, name)).await
    }

    /// Counts the totals of these nodes and their ancestors anew, from what all nodes are counted as, and corrects
    /// them. It reads them, waits for `settled` (as long as any transaction that was under way), reads the whole table
    /// in so many parts side by side, and after each page waits as `pace` says of its read units. `name` is unique
    /// among recounts.
    pub async fn recount<W: Future<Output = ()>>(
        &self,
        nodes: BTreeSet<NodeRef>,
        name: String,
        rules: Rules,
        segments: u32,
        settled: impl Future<Output = ()>,
        pace: impl Fn(f64) -> W,
    ) -> Result<BTreeMap<NodeRef, Mended>, TableError>
    where
        T: Scannable,
    {
        let recount = Mutex::new(run(self.client, Recount::begin(self.context(rules), nodes, name)).await?);
        if rules.keeps(Rule::RecountWaits) {
            settled.await;
        }
        let parts = (0..segments).map(|segment| self.count(segment, segments, &recount, &pace));
        futures::future::try_join_all(parts).await?;
        let recount = recount.into_inner().unwrap_or_else(PoisonError::into_inner);
        run(self.client, recount.end(self.context(rules))).await
    }

    async fn count<W: Future<Output = ()>>(
        &self,
        segment: u32,
        segments: u32,
        recount: &Mutex<Recount>,
        pace: &impl Fn(f64) -> W,
    ) -> Result<(), TableError>
    where
        T: Scannable,
    {
        let (limit, reading) = (RECOUNT_PAGE_ITEMS_MAX, ReadOptions::default());
        let mut scan = Scan { segment, segments, after: None, limit, reading };
        loop {
            let before = self.client.usage().read_units;
            let scanned = self.client.scan(&scan).await?;
            recount.lock().unwrap_or_else(PoisonError::into_inner).take(&scanned.items, &self.settings.schema);
            scan.after = scanned.next;
            if scan.after.is_none() {
                return Ok(());
            }
            // Parts that run side by side share what they take.
            pace((self.client.usage().read_units - before) / f64::from(segments)).await;
        }
    }

    /// Has an item handled again whose stream record was lost. `name`: see [`Audit::mend`].
    pub async fn redrive(&self, key: ItemKey, name: String, rules: Rules) -> Result<Redriven, TableError> {
        run_settled(self.client, || redrive(self.context(rules), key.clone(), name.clone(), false)).await
    }

    /// Says what [`Audit::redrive`] would do, and writes nothing.
    pub async fn would_redrive(&self, key: ItemKey) -> Result<Redriven, TableError> {
        run(self.client, redrive(self.context(Rules::default()), key, String::new(), true)).await
    }

    fn context(&self, rules: Rules) -> Context<'a> {
        Context { settings: self.settings, limits: Limits::default(), rules, run: Run::default() }
    }
}
