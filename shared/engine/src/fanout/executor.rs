//! Runs the plans of the fan-out. The executor reads what a plan needs and carries out what the plan decides; it decides nothing
//! itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sapwood_core::keys::ItemKey;
use sapwood_core::plan::{Facts, Failure, Need, Outcome, Plan, PlanReport, Problem, Read, Step, Tally, Task};
use sapwood_core::request::{ErrorKind, TableError};
use sapwood_table::{Client, RetryPolicy, Table};

/// Runs plans on a table, and collects what they report.
pub(super) struct Executor<'a, T, P> {
    client: &'a Client<'a, T, P>,
    report: Mutex<PlanReport>,
}

impl<'a, T: Table, P: RetryPolicy> Executor<'a, T, P> {
    pub(super) fn new(client: &'a Client<'a, T, P>) -> Self {
        Self { client, report: Mutex::default() }
    }

    /// Runs a plan to its end.
    pub(super) async fn run<D>(&self, mut plan: impl Plan<Done = D>) -> Result<D, Failure> {
        let mut facts = Facts::None;
        let done = loop {
            facts = match plan.next(facts) {
                Ok(Step::Need(need)) => Facts::Read(self.read(need).await),
                Ok(Step::Do(tasks)) => {
                    Facts::Done(self.client.all(tasks.iter().map(|task| self.carry_out(task)).collect()).await)
                }
                Ok(Step::Write(writes)) => {
                    let failed = self.client.write_many(writes).await;
                    Facts::Written(
                        failed.into_iter().map(|(key, error)| (key.clone(), self.failure(&key, &error))).collect(),
                    )
                }
                Ok(Step::Wait(attempt)) => Facts::Waited(self.client.wait(attempt).await),
                Ok(Step::Done(done)) => break Ok(done),
                Err(failure) => break Err(failure),
            }
        };
        let PlanReport { tally, problems } = plan.take_report();
        self.note(problems);
        self.report.lock().unwrap_or_else(PoisonError::into_inner).tally += tally;
        done
    }

    /// Runs futures to their end, several at a time.
    pub(super) async fn all<F: Future + Send>(&self, futures: Vec<F>) -> Vec<F::Output>
    where
        F::Output: Send,
    {
        self.client.all(futures).await
    }

    /// Notes problems. A problem that a later round finds again is noted once.
    pub(super) fn note(&self, problems: Vec<Problem>) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        for problem in problems {
            if !report.problems.contains(&problem) {
                report.problems.push(problem);
            }
        }
    }

    pub(super) fn finish(self) -> (Tally, Vec<Problem>) {
        let PlanReport { tally, problems } = self.report.into_inner().unwrap_or_else(PoisonError::into_inner);
        (tally, problems)
    }

    async fn read(&self, need: Need) -> Read {
        let Need { keys, options, query } = need;
        let items = self.client.get_many(keys, &options);
        let page = async {
            let query = query.as_ref()?;
            let page = self.client.query(query).await;
            // A refused read isn't the fault of an item, so the plan fails with `Again`.
            page.inspect_err(|error| self.give_up(&ItemKey::new(&query.pk, &query.range.from), error)).ok()
        };
        let (items, page) = futures::join!(items, page);
        for (key, error) in given_up_first(&items.failed) {
            self.give_up(key, error);
        }
        Read { items: items.items, unread: items.failed.into_keys().collect(), page }
    }

    async fn carry_out(&self, task: &Task) -> Result<Outcome, Failure> {
        let outcome = self.client.carry_out(task).await;
        outcome.map_err(|error| task.key().map_or(Failure::Again, |key| self.failure(key, &error)))
    }

    fn failure(&self, key: &ItemKey, error: &TableError) -> Failure {
        if error.kind == ErrorKind::Refuse {
            self.note(vec![problem(key, format!("the table refuses this write: {error}"))]);
            return Failure::Refused;
        }
        self.give_up(key, error);
        Failure::Again
    }

    /// Notes an error that somebody has to mend before a retry can help.
    fn give_up(&self, key: &ItemKey, error: &TableError) {
        if error.kind != ErrorKind::Retry {
            self.note(vec![problem(key, format!("given up for now: {error}"))]);
        }
    }
}

fn problem(key: &ItemKey, reason: String) -> Problem {
    Problem { key: key.clone(), reason, unreadable: false }
}

/// Returns one key for each error, because a request that fails fails for all of its keys.
fn given_up_first(failed: &BTreeMap<ItemKey, TableError>) -> Vec<(&ItemKey, &TableError)> {
    let mut first: Vec<(&ItemKey, &TableError)> = Vec::new();
    for (key, error) in failed {
        if !first.iter().any(|(_, known)| *known == error) {
            first.push((key, error));
        }
    }
    first
}
