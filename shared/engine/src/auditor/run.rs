//! One run of the auditor at work: it looks again, mends, follows trails, and scans.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sapwood_core::audit::{AuditorState, Difference, Kind, Stage, Subject, Suspect, TRAILS, due, one_a_node};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Stored;
use sapwood_core::plan::Rule;
use sapwood_store::{ErrorKind, Query, ReadOptions, RetryPolicy, Scannable, TableError};

use super::{Auditor, Pace, Report};
use crate::announce::announced;

pub(super) struct Run<'r, 'a, T, P> {
    pub(super) auditor: &'r Auditor<'a, T, P>,
    pub(super) state: AuditorState,
    pub(super) report: Report,
    pub(super) name: u64,
    pub(super) now: u64,
}

impl<T: Scannable, P: RetryPolicy> Run<'_, '_, T, P> {
    pub(super) async fn work(&mut self, pace: &impl Pace) -> Result<(), TableError> {
        let now = Duration::from_secs(self.now);
        let ended = self.look_and_scan(pace, now).await;
        // However the run ends: what it has mended may explain what the next one finds.
        self.explain(now).await;
        ended
    }

    async fn look_and_scan(&mut self, pace: &impl Pace, now: Duration) -> Result<(), TableError> {
        self.state.suspects.forget_old(now);
        self.look_again(pace, now).await?;
        self.mend(now).await?;
        for suspect in self.state.suspects.take_restless(now) {
            // It was the same all the time, and only waited for others.
            if suspect.difference.kind.is_left_to_repair() && self.state.suspects.counts(&suspect) {
                self.leave_confirmed(vec![suspect]);
                continue;
            }
            self.state.give_up(&suspect.difference);
            self.report.restless.push(suspect.difference);
        }
        self.state.begin_pass(self.auditor.limits.pass_every, self.now);
        self.follow_trails(pace, now).await?;
        while !self.state.scanned && self.has_units() && pace.wait(self.units()).await && self.scan(now).await? {}
        Ok(())
    }

    fn units(&self) -> f64 {
        self.auditor.client.usage().read_units
    }

    fn has_units(&self) -> bool {
        self.units() < self.auditor.limits.read_units_max
    }

    async fn look(&self, subjects: &BTreeSet<Subject>, pace: &impl Pace) -> Result<Vec<Difference>, TableError> {
        let subjects: Vec<&Subject> = subjects.iter().collect();
        let mut found = Vec::new();
        for some in subjects.chunks(SUBJECTS_AT_ONCE) {
            pace.wait(self.units()).await;
            found.extend(self.auditor.audit().look(some.iter().copied().cloned().collect()).await?);
        }
        // A difference that waits for a node is reported with it, so the node may be found more than once.
        let mut known = BTreeSet::new();
        found.retain(|one| known.insert((one.key.clone(), one.kind)));
        Ok(found)
    }

    /// Learns which suspects lie below mended nodes. Where that can't be read, they count as such and teach nothing.
    async fn explain(&mut self, now: Duration) {
        let nodes = self.state.suspects.unexplained();
        if nodes.is_empty() {
            return;
        }
        let schema = &self.auditor.settings.schema;
        let keys = nodes.iter().map(|node| schema.lineage_key(node)).collect();
        let options = ReadOptions { strong: false, attributes: None };
        let read = self.auditor.client.get_many(keys, &options).await;
        let above = |node: &NodeRef| {
            let key = schema.lineage_key(node);
            if read.failed.contains_key(&key) {
                return None;
            }
            let stored = Stored::read(read.items.get(&key), schema);
            let ancestors = stored.lineage().map(|lineage| lineage.placement.ancestors.clone()).unwrap_or_default();
            Some(ancestors.into_iter().map(|id| node.sibling(id)).collect())
        };
        let ancestors: BTreeMap<NodeRef, BTreeSet<NodeRef>> =
            nodes.iter().filter_map(|node| Some((node.clone(), above(node)?))).collect();
        self.state.suspects.explain(&ancestors, now);
    }

    async fn look_again(&mut self, pace: &impl Pace, now: Duration) -> Result<(), TableError> {
        let subjects = self.state.suspects.subjects();
        if subjects.is_empty() {
            return Ok(());
        }
        let found = self.minded(self.look(&subjects, pace).await?);
        // There may be more to find of a subject than was suspected: each copy of a long history, say.
        let awaited: BTreeSet<NodeRef> = found.iter().filter_map(|one| one.waits_for.clone()).collect();
        let (known, mut new): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| self.state.suspects.contains(one));
        // The suspects that others wait for have to come in, or none of them would ever make room.
        let is_awaited = |one: &Difference| one.waits_for.is_none() && awaited.contains(&one.node);
        new.sort_by_key(|one| !is_awaited(one));
        let awaited = new.iter().take(AWAITED_MAX).filter(|one| is_awaited(one)).count();
        let fitting = self.fitting(&new).max(awaited);
        self.state.pass.skipped += (new.len() - fitting) as u64;
        new.truncate(fitting);
        let found = known.into_iter().chain(new).collect();
        let gone = self.state.suspects.take_again(&subjects, found, now);
        let healed = gone.iter().filter(|suspect| suspect.stage == Stage::Mended).count() as u64;
        self.state.pass.healed += healed;
        if healed > 0 {
            self.state.pass.unheeded = 0;
        }
        self.report.healed += healed;
        Ok(())
    }

    /// Mends what counts by now. What was mended already and still counts is left.
    async fn mend(&mut self, now: Duration) -> Result<(), TableError> {
        if !self.state.suspects.iter().any(|suspect| self.state.suspects.counts(suspect)) {
            return Ok(());
        }
        let is_fit = self.is_fit().await?;
        let again = self.state.suspects.take_unheeded();
        self.state.pass.unheeded += again.len() as u64;
        self.leave(again);
        let is_heeded = self.state.pass.unheeded < self.auditor.limits.unheeded_max;
        if is_fit && !is_heeded {
            self.report.unfit = Some("nothing has come of its last repairs: does the stream handler run?".to_owned());
        }
        if !is_fit || !is_heeded {
            // No repair follows, so no suspect has to wait.
            let settled = self.state.suspects.take_settled();
            self.leave_confirmed(settled);
            return Ok(());
        }
        let (waiting, room) = self.take_waiting();
        self.mend_each(waiting, room, now).await
    }

    /// Takes out what is to be mended, and leaves what can't be. Returns how many repairs there is room for.
    fn take_waiting(&mut self) -> (Vec<Suspect>, usize) {
        let (in_vain, waiting) = self.state.take_due();
        let under_way = self.state.suspects.iter().filter(|suspect| suspect.stage == Stage::Mended).count();
        let (of_repair, waiting): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|suspect| suspect.difference.kind.is_left_to_repair());
        if waiting.is_empty() && under_way == 0 {
            self.leave_confirmed(of_repair);
        } else {
            // Totals seem wrong as long as a row below them is.
            of_repair.into_iter().for_each(|suspect| self.state.suspects.put_back(suspect));
        }
        let (in_vain, waiting) = (self.confirmed(in_vain), self.confirmed(waiting));
        self.leave(in_vain);
        (waiting, self.auditor.limits.repairs_max.saturating_sub(under_way))
    }

    /// Mends those of these suspects whose turn it is, until a request fails. The others wait.
    async fn mend_each(&mut self, waiting: Vec<Suspect>, room: usize, now: Duration) -> Result<(), TableError> {
        let all = waiting.iter().map(|suspect| suspect.difference.clone()).collect();
        let due: Vec<Difference> = due(all).into_iter().take(room).collect();
        let mut ended = Ok(());
        for suspect in waiting {
            if ended.is_err() || !due.contains(&suspect.difference) {
                self.state.suspects.put_back(suspect);
                continue;
            }
            match self.mend_one(&suspect.difference).await {
                Ok(true) => self.state.suspects.put_mended(suspect.difference, now),
                Ok(false) => self.leave(vec![suspect]),
                Err(error) => {
                    self.state.suspects.put_back(suspect);
                    ended = Err(error);
                }
            }
        }
        ended
    }

    /// Mends a difference. Returns false if it is left: a mend could make totals worse, or the table refuses it.
    async fn mend_one(&mut self, difference: &Difference) -> Result<bool, TableError> {
        if !self.may_mend(difference).await? {
            return Ok(false);
        }
        self.name += 1;
        let mended = self.auditor.audit().mend(difference.clone(), self.name.to_string(), self.auditor.rules).await;
        match mended {
            Err(error) if error.kind == ErrorKind::Refuse => Ok(false),
            mended => mended.map(|_| true),
        }
    }

    /// True if a mend makes nothing worse. The handler adds to totals the difference from what a node was counted as.
    /// If that was altered, right totals become wrong: only `sapwood repair`, which counts totals anew, may mend it.
    async fn may_mend(&self, difference: &Difference) -> Result<bool, TableError> {
        let is_counted = self.auditor.settings.totals.is_some() && difference.kind.is_of_node();
        if !is_counted || !self.auditor.rules.keeps(Rule::CountHolds) {
            return Ok(true);
        }
        let audit = self.auditor.audit();
        let found = audit.look([Subject::Node(difference.node.clone())].into()).await?;
        if found.iter().any(|one| matches!(one.kind, Kind::CountAhead | Kind::EpochWrong)) {
            return Ok(false);
        }
        let is_counted_otherwise = |one: &Difference| matches!(one.kind, Kind::CountWrong | Kind::CountSurplus);
        Ok(!found.iter().any(is_counted_otherwise) || audit.count_holds(&difference.node).await?)
    }

    /// True if what counts is to be mended, by settings that are the handler's.
    async fn is_fit(&mut self) -> Result<bool, TableError> {
        if !self.auditor.heals {
            return Ok(false);
        }
        let unfit = match announced(self.auditor.client).await? {
            Ok(Some(handler)) => {
                let names = handler.differs_in(self.auditor.settings);
                if names.is_empty() {
                    return Ok(true);
                }
                format!("its settings differ from the stream handler's, in {}", names.join(", "))
            }
            Ok(None) => "no stream handler has left its settings in the table".to_owned(),
            Err(error) => error.to_string(),
        };
        self.report.unfit = Some(unfit);
        Ok(false)
    }

    fn confirmed(&mut self, mut suspects: Vec<Suspect>) -> Vec<Suspect> {
        for suspect in &mut suspects {
            suspect.stage = Stage::Confirmed;
            if !std::mem::replace(&mut suspect.counted, true) {
                self.state.pass.differences += 1;
                self.report.confirmed.push(suspect.difference.clone());
            }
        }
        suspects
    }

    fn leave_confirmed(&mut self, suspects: Vec<Suspect>) {
        let confirmed = self.confirmed(suspects);
        self.leave(confirmed);
    }

    fn leave(&mut self, suspects: Vec<Suspect>) {
        for suspect in suspects {
            self.state.leave(&suspect.difference);
            self.report.left.push(suspect.difference);
        }
    }

    /// Looks at what was written lately, up to a share of the units. The pass comes by the rest.
    async fn follow_trails(&mut self, pace: &impl Pace, now: Duration) -> Result<(), TableError> {
        let schema = &self.auditor.settings.schema;
        let first = Query::first(schema.trail_key(0).pk, schema.trail_range(), TRAILS.into());
        let query = Query { reading: ReadOptions { strong: false, attributes: None }, ..first };
        let trails = self.auditor.client.query(&query).await?.items;
        let units_max = self.units() + self.auditor.limits.read_units_max * SHARE_FOR_TRAILS;
        for some in self.state.follow(&trails, schema, self.now).chunks(RECENT_AT_ONCE) {
            if self.units() >= units_max || !self.has_units() || !pace.wait(self.units()).await {
                break;
            }
            let audit = self.auditor.audit().with_histories_of(self.auditor.limits.recent_history_bytes_max);
            let found = audit.look(some.iter().cloned().collect()).await?;
            let mut suspects = self.minded(found);
            // The first are as good as any.
            suspects.truncate(self.fitting(&suspects));
            self.state.suspects.take(suspects, now);
            self.state.pass.recent += some.len() as u64;
            self.report.recent += some.len() as u64;
        }
        Ok(())
    }

    /// Looks at the next page. Returns false if its suspects have to wait until there is room for them.
    async fn scan(&mut self, now: Duration) -> Result<bool, TableError> {
        let limits = self.auditor.limits;
        let audit = self.auditor.audit();
        let page = audit.page(0, 1, self.state.position.as_ref(), limits.page_items_max).await?;
        let findings: Vec<Kind> = page.suspects.iter().map(|one| one.kind).filter(|kind| kind.is_finding()).collect();
        let tidied: Vec<Difference> = page.suspects.iter().filter(|one| one.kind.is_tidied()).cloned().collect();
        let mut suspects = self.minded(page.suspects);
        let fitting = self.fitting(&suspects);
        if fitting < suspects.len() {
            if !self.state.suspects.is_empty() {
                return Ok(false);
            }
            // No waiting makes more room. The pass goes on, and says that it hasn't looked at everything.
            self.state.pass.skipped += (suspects.len() - fitting) as u64;
            suspects.truncate(fitting);
        }
        self.state.suspects.take(suspects, now);
        self.tidy(tidied).await?;
        self.report.findings += findings.len() as u64;
        for kind in findings {
            *self.state.pass.findings.entry(kind).or_default() += 1;
        }
        self.state.pass.items += page.items;
        self.report.items += page.items;
        self.state.scanned = page.next.is_none();
        self.state.position = page.next;
        Ok(true)
    }

    /// Mends the claims of names on a page and deletes empty totals, at once, because nothing follows them with a lag:
    /// strong reads decide, and the writes are conditional. The next pass mends the rest.
    async fn tidy(&mut self, found: Vec<Difference>) -> Result<(), TableError> {
        if found.is_empty() || !self.is_fit().await? {
            return Ok(());
        }
        for one in found.into_iter().take(self.auditor.limits.repairs_max) {
            self.name += 1;
            self.auditor.audit().mend(one, self.name.to_string(), self.auditor.rules).await?;
        }
        Ok(())
    }

    /// Picks a difference for each write that mends, but for those that this pass has left.
    fn minded(&self, mut found: Vec<Difference>) -> Vec<Difference> {
        found.retain(|one| !one.kind.is_finding() && !self.state.is_left(one));
        one_a_node(found)
    }

    fn fitting(&self, suspects: &[Difference]) -> usize {
        let bytes =
            |one: &Difference| one.key.pk.len() + one.key.sk.len() + one.node.id.as_str().len() + BYTES_OF_SUSPECT;
        let limits = self.auditor.limits;
        let mut used: usize = self.state.suspects.iter().map(|suspect| bytes(&suspect.difference)).sum();
        let room = limits.suspects_max.saturating_sub(self.state.suspects.len());
        let fits = suspects.iter().take(room).take_while(|one| {
            used += bytes(one);
            used <= limits.suspects_bytes_max
        });
        fits.count()
    }
}

/// Most suspects for which there is room because others wait for them.
const AWAITED_MAX: usize = 20;

/// The bytes of a suspect besides its keys: the names of its attributes, numbers, and a tenant.
const BYTES_OF_SUSPECT: usize = 400;

/// The share of a run's read units for what was written lately. It is a choice.
const SHARE_FOR_TRAILS: f64 = 0.25;

/// How many subjects of trails are looked at in one go. Each can be a page of a history, of 256 read units.
const RECENT_AT_ONCE: usize = 5;

/// How many subjects are looked at in one go, so that a run doesn't read much at once.
const SUBJECTS_AT_ONCE: usize = 25;
