//! Runs plans: reads what a plan needs, carries out what it plans, and decides nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sapwood_core::keys::ItemKey;
use sapwood_core::model::Item;
use sapwood_core::plan::{Facts, Failure, Need, Plan, Read, Step, Task, Writes};
use sapwood_core::request::{ErrorKind, TableError};
use sapwood_table::{CarriedOut, Client, RetryPolicy, Table};

/// What the errors of requests mean for a plan.
pub(crate) trait Errors: Sync {
    /// Takes the error of a read. If the plan can't go on without what it asked for, that is the failure it ends with.
    fn read(&self, key: &ItemKey, error: &TableError) -> Result<(), Failure>;

    /// Takes the error of a write, and returns what the plan is told. A task without an item has no key.
    fn write(&self, key: Option<&ItemKey>, error: &TableError) -> Failure;

    /// True if a write that may be carried out once more, later, leaves its record undone.
    fn minds_late_writes(&self) -> bool;
}

/// Where a plan has come to.
enum Stop<D> {
    /// It asks for these touches.
    Touch(Vec<Task>),
    /// It is done.
    Done(D),
}

/// A plan on its way.
struct Running<'p, P> {
    plan: &'p mut P,
    facts: Facts,
    may_come_again: bool,
}

impl<'p, P> Running<'p, P> {
    fn new(plan: &'p mut P) -> Self {
        Self { plan, facts: Facts::None, may_come_again: false }
    }

    /// Runs the plan until it is done, or asks for nothing but touches that may share a request.
    async fn go_on<T: Table, R: RetryPolicy, D>(
        &mut self,
        client: &Client<'_, T, R>,
        errors: &impl Errors,
        shares: bool,
    ) -> Result<Stop<D>, Failure>
    where
        P: Plan<Done = D>,
    {
        loop {
            self.facts = match self.plan.next(std::mem::take(&mut self.facts))? {
                Step::Need(need) => Facts::Read(read(client, need, errors).await?),
                Step::Do(tasks) if shares && tasks.iter().all(|task| task.update_of_existing().is_some()) => {
                    return Ok(Stop::Touch(tasks));
                }
                Step::Do(tasks) => {
                    let outcomes = client.all(tasks.iter().map(|task| client.carry_out(task)).collect()).await;
                    self.told(&tasks, outcomes.into_iter(), errors)
                }
                Step::Write(writes) => write(client, writes, errors).await,
                Step::Wait(attempt) => Facts::Waited(client.wait(attempt).await),
                Step::Done(_) if self.may_come_again && errors.minds_late_writes() => return Err(Failure::Again),
                Step::Done(done) => return Ok(Stop::Done(done)),
            };
        }
    }

    /// Returns what the plan is told of its tasks.
    fn told(&mut self, tasks: &[Task], outcomes: impl Iterator<Item = CarriedOut>, errors: &impl Errors) -> Facts {
        let told = tasks.iter().zip(outcomes).map(|(task, carried_out)| {
            self.may_come_again |= carried_out.unanswered;
            carried_out.outcome.map_err(|error| errors.write(task.key(), &error))
        });
        Facts::Done(told.collect())
    }
}

/// Runs a plan to its end.
pub(crate) async fn drive<T: Table, P: RetryPolicy, D>(
    client: &Client<'_, T, P>,
    plan: &mut impl Plan<Done = D>,
    errors: &impl Errors,
) -> Result<D, Failure> {
    match Running::new(plan).go_on(client, errors, false).await? {
        Stop::Done(done) => Ok(done),
        Stop::Touch(_) => Err(Failure::Again),
    }
}

/// Runs plans to their ends, side by side. A plan that asks for touches waits until all others ask for some or are done. The touches of all are
/// then carried out together, because many share a request. The results are in the order of the plans.
pub(crate) async fn drive_all<T: Table, P: RetryPolicy, D: Send>(
    client: &Client<'_, T, P>,
    plans: &mut [impl Plan<Done = D> + Send],
    errors: &impl Errors,
) -> Vec<Result<D, Failure>> {
    let mut results: Vec<Option<Result<D, Failure>>> = plans.iter().map(|_| None).collect();
    let mut running: Vec<_> = plans.iter_mut().map(Running::new).enumerate().collect();
    while !running.is_empty() {
        let stops = running.iter_mut().map(|(_, one)| one.go_on(client, errors, true)).collect();
        let stops = client.all(stops).await;
        let (mut waiting, mut tasks) = (Vec::new(), Vec::new());
        for ((position, one), stop) in running.into_iter().zip(stops) {
            match stop {
                Ok(Stop::Touch(asked)) => {
                    waiting.push((position, one, tasks.len()..tasks.len() + asked.len()));
                    tasks.extend(asked);
                }
                Ok(Stop::Done(done)) => results[position] = Some(Ok(done)),
                Err(failure) => results[position] = Some(Err(failure)),
            }
        }
        let mut outcomes = client.carry_out_all(&tasks).await.into_iter();
        running = Vec::with_capacity(waiting.len());
        for (position, mut one, asked) in waiting {
            let count = asked.len();
            one.facts = one.told(&tasks[asked], outcomes.by_ref().take(count), errors);
            running.push((position, one));
        }
    }
    results.into_iter().map(|result| result.unwrap_or(Err(Failure::Again))).collect()
}

async fn write<T: Table, P: RetryPolicy>(client: &Client<'_, T, P>, writes: Writes, errors: &impl Errors) -> Facts {
    let written = client.write_many(writes).await;
    let late = written.unanswered.into_iter().filter(|_| errors.minds_late_writes());
    let mut failed: BTreeMap<ItemKey, Failure> = late.map(|key| (key, Failure::Again)).collect();
    failed.extend(written.failed.into_iter().map(|(key, error)| {
        let failure = errors.write(Some(&key), &error);
        (key, failure)
    }));
    Facts::Written(failed)
}

async fn read<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    need: Need,
    errors: &impl Errors,
) -> Result<Read, Failure> {
    let Need { keys, options, query } = need;
    let page = async {
        let query = query.as_ref()?;
        Some((query, client.query(query).await))
    };
    let (items, page) = futures::join!(client.get_many(keys, &options), page);
    for (key, error) in first_of_each(&items.failed) {
        errors.read(key, error)?;
    }
    let page = match page {
        Some((query, Err(error))) => {
            errors.read(&ItemKey::new(&query.pk, &query.range.from), &error)?;
            None
        }
        Some((_, Ok(page))) => Some(page),
        None => None,
    };
    let unread = items.failed.into_keys().collect();
    Ok(Read { items: shared(items.items), unread, page })
}

/// Returns one key for each error, because a request that fails fails for all of its keys.
fn first_of_each(failed: &BTreeMap<ItemKey, TableError>) -> Vec<(&ItemKey, &TableError)> {
    let mut first: Vec<(&ItemKey, &TableError)> = Vec::new();
    for (key, error) in failed {
        if !first.iter().any(|(_, known)| *known == error) {
            first.push((key, error));
        }
    }
    first
}

/// The errors of a plan of the HTTP API. A read that fails ends the plan; the last error is the answer's.
#[derive(Default)]
struct LastError(Mutex<Option<TableError>>);

impl LastError {
    fn take(&self, error: &TableError) -> Failure {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        Failure::Again
    }
}

impl Errors for LastError {
    fn read(&self, _: &ItemKey, error: &TableError) -> Result<(), Failure> {
        Err(self.take(error))
    }

    fn write(&self, _: Option<&ItemKey>, error: &TableError) -> Failure {
        self.take(error)
    }

    /// A write of the API finds itself by its name, and its conditions keep it from coming later.
    fn minds_late_writes(&self) -> bool {
        false
    }
}

/// Runs a plan of the HTTP API to its end.
///
/// # Errors
/// [`TableError`] where something can't be read, or where the plan can't go on without a write that failed.
pub(crate) async fn run<T: Table, P: RetryPolicy, D>(
    client: &Client<'_, T, P>,
    mut plan: impl Plan<Done = D>,
) -> Result<D, TableError> {
    let errors = LastError::default();
    drive(client, &mut plan, &errors).await.map_err(|_| {
        let last = errors.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        last.unwrap_or_else(|| TableError::new(ErrorKind::GiveUp, "the plan wasn't told what it asked for"))
    })
}

/// Items as plans share them.
pub(crate) fn shared(items: BTreeMap<ItemKey, Item>) -> BTreeMap<ItemKey, Arc<Item>> {
    items.into_iter().map(|(key, item)| (key, Arc::new(item))).collect()
}
