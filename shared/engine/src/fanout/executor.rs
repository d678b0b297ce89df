//! Runs the plans of the fan-out, and collects what they report.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use sapwood_core::keys::ItemKey;
use sapwood_core::plan::{Failure, Plan, PlanReport, Problem, Rule, Rules, Tally};
use sapwood_core::request::{ErrorKind, TableError};
use sapwood_store::{Client, RetryPolicy, Table};

use crate::run::{Errors, drive, drive_all};

pub(super) struct Executor<'a, T, P> {
    pub(super) client: &'a Client<'a, T, P>,
    rules: Rules,
    report: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    tally: Tally,
    problems: Vec<Problem>,
    known: BTreeSet<Problem>,
}

impl<'a, T: Table, P: RetryPolicy> Executor<'a, T, P> {
    pub(super) fn new(client: &'a Client<'a, T, P>, rules: Rules) -> Self {
        Self { client, rules, report: Mutex::default() }
    }

    pub(super) async fn run<D>(&self, mut plan: Plan<'_, D>) -> Result<D, Failure> {
        let done = drive(self.client, &mut plan, self).await;
        self.take_report(&mut plan);
        done
    }

    fn take_report<D>(&self, plan: &mut Plan<'_, D>) {
        let PlanReport { tally, problems } = plan.take_report();
        self.note(problems);
        self.report.lock().unwrap_or_else(PoisonError::into_inner).tally += tally;
    }

    /// Runs plans to their ends, side by side. Their touches share requests. The results are in the order of the plans.
    pub(super) async fn run_all<D: Send>(&self, mut plans: Vec<Plan<'_, D>>) -> Vec<Result<D, Failure>> {
        let done = drive_all(self.client, &mut plans, self).await;
        plans.iter_mut().for_each(|plan| self.take_report(plan));
        done
    }

    /// Notes problems. A problem that a later round finds again is noted once.
    pub(super) fn note(&self, problems: Vec<Problem>) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        for problem in problems {
            if report.known.insert(problem.clone()) {
                report.problems.push(problem);
            }
        }
    }

    pub(super) fn finish(self) -> (Tally, Vec<Problem>) {
        let Noted { tally, problems, .. } = self.report.into_inner().unwrap_or_else(PoisonError::into_inner);
        (tally, problems)
    }

    /// Notes an error that an operator has to mend before a retry can help.
    fn give_up(&self, key: &ItemKey, error: &TableError) {
        if error.kind != ErrorKind::Retry {
            self.note(vec![problem(key, format!("given up for now: {error}"))]);
        }
    }
}

/// A failed read lets the plan go on without the item. The plan is told of a write that the table refuses.
impl<T: Table, P: RetryPolicy> Errors for Executor<'_, T, P> {
    fn read(&self, key: &ItemKey, error: &TableError) -> Result<(), Failure> {
        self.give_up(key, error);
        Ok(())
    }

    fn write(&self, key: Option<&ItemKey>, error: &TableError) -> Failure {
        let Some(key) = key else { return Failure::Again };
        if error.kind == ErrorKind::Refuse {
            self.note(vec![problem(key, format!("the table refuses this write: {error}"))]);
            return Failure::Refused;
        }
        self.give_up(key, error);
        Failure::Again
    }

    fn minds_late_writes(&self) -> bool {
        self.rules.keeps(Rule::LateWrites)
    }
}

fn problem(key: &ItemKey, reason: String) -> Problem {
    Problem { key: key.clone(), reason, unreadable: false }
}
