//! Runs plans: reads what a plan needs, carries out what it plans, and decides nothing.

use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use futures::future::{BoxFuture, Either, select};
use futures::stream::FuturesUnordered;
use sapwood_core::keys::ItemKey;
use sapwood_core::model::Item;
use sapwood_core::plan::{Facts, Failure, Need, Plan, Read, Step, Task, Writes};
use sapwood_core::request::{ErrorKind, TableError};
use sapwood_store::{BATCH_UPDATES_MAX, CarriedOut, Client, RetryPolicy, Table};

pub(crate) trait Errors: Sync {
    /// Takes the error of a read. If the plan can't go on without what it asked for, that is the failure it ends with.
    fn read(&self, key: &ItemKey, error: &TableError) -> Result<(), Failure>;

    /// Takes the error of a write, and returns what the plan is told. A task without an item has no key.
    fn write(&self, key: Option<&ItemKey>, error: &TableError) -> Failure;

    /// True if a write that may be carried out once more, later, leaves its record undone.
    fn minds_late_writes(&self) -> bool;
}

/// A plan stops at touches, or because it is done.
enum Stop<D> {
    Touch(Vec<Task>),
    Done(D),
}

struct Running<'p, 'a, D> {
    plan: &'p mut Plan<'a, D>,
    facts: Facts,
    may_come_again: bool,
}

impl<'p, 'a, D> Running<'p, 'a, D> {
    fn new(plan: &'p mut Plan<'a, D>) -> Self {
        Self { plan, facts: Facts::None, may_come_again: false }
    }

    /// Runs the plan until it is done, or asks for nothing but touches that may share a request.
    async fn go_on<T: Table, R: RetryPolicy>(
        &mut self,
        client: &Client<'_, T, R>,
        errors: &impl Errors,
        shares: bool,
    ) -> Result<Stop<D>, Failure> {
        loop {
            self.facts = match self.plan.next(std::mem::take(&mut self.facts))? {
                Step::Need(need) => Facts::Read(read(client, need, errors).await?),
                Step::Do(tasks) if shares && tasks.iter().all(Task::is_update_of_existing) => {
                    return Ok(Stop::Touch(tasks));
                }
                Step::Do(tasks) => {
                    let outcomes = client.all(tasks.iter().map(|task| client.carry_out(task)).collect()).await;
                    self.told(&tasks, outcomes.into_iter(), errors)
                }
                Step::Try(task) => match client.attempt(&task).await {
                    Ok(outcome) => Facts::Tried(outcome),
                    Err(error) => return Err(errors.write(task.key(), &error)),
                },
                Step::Write(writes) => write(client, writes, errors).await,
                Step::Wait(attempt) => Facts::Waited(client.wait(attempt).await),
                Step::Done(_) if self.may_come_again && errors.minds_late_writes() => return Err(Failure::Again),
                Step::Done(done) => return Ok(Stop::Done(done)),
            };
        }
    }

    fn told(&mut self, tasks: &[Task], outcomes: impl Iterator<Item = CarriedOut>, errors: &impl Errors) -> Facts {
        let told = tasks.iter().zip(outcomes).map(|(task, carried_out)| {
            let is_settled = task.is_settled_by_an_answer() && carried_out.outcome.is_ok();
            self.may_come_again |= carried_out.unanswered && !is_settled;
            carried_out.outcome.map_err(|error| errors.write(task.key(), &error))
        });
        Facts::Done(told.collect())
    }
}

pub(crate) async fn drive<T: Table, P: RetryPolicy, D>(
    client: &Client<'_, T, P>,
    plan: &mut Plan<'_, D>,
    errors: &impl Errors,
) -> Result<D, Failure> {
    match Running::new(plan).go_on(client, errors, false).await? {
        Stop::Done(done) => Ok(done),
        Stop::Touch(_) => Err(Failure::Again),
    }
}

/// A plan that waits until its touches are done: its position, and the number of its touches.
type Waiting<'p, 'a, D> = (usize, Running<'p, 'a, D>, usize);

enum Event<'p, 'a, D> {
    Stopped(usize, Running<'p, 'a, D>, Result<Stop<D>, Failure>),
    Touched(Vec<Waiting<'p, 'a, D>>, Vec<Task>, Vec<CarriedOut>),
}

/// An attempt whose wait (0.1 s at most) touches wait for others to share requests with, if no other plan stops.
const PAUSE: u32 = 2;

struct SideBySide<'p, 'a, D> {
    /// The results, in the order of the plans.
    results: Vec<Option<Result<D, Failure>>>,
    /// The plans that have touched, and go on.
    touched: VecDeque<(usize, Running<'p, 'a, D>)>,
    waiting: Vec<Waiting<'p, 'a, D>>,
    /// The touches of the plans that wait, one plan's after the other's.
    touches: Vec<Task>,
    going: usize,
    is_touching: bool,
}

impl<'p, 'a, D> SideBySide<'p, 'a, D> {
    fn new(plans: usize) -> Self {
        let results = std::iter::repeat_with(|| None).take(plans).collect();
        let (touched, waiting, touches) = (VecDeque::new(), Vec::new(), Vec::new());
        Self { results, touched, waiting, touches, going: 0, is_touching: false }
    }

    fn take(&mut self, event: Event<'p, 'a, D>, errors: &impl Errors) {
        match event {
            Event::Stopped(position, one, stop) => {
                self.going -= 1;
                match stop {
                    Ok(Stop::Touch(touches)) => {
                        self.waiting.push((position, one, touches.len()));
                        self.touches.extend(touches);
                    }
                    Ok(Stop::Done(done)) => self.results[position] = Some(Ok(done)),
                    Err(failure) => self.results[position] = Some(Err(failure)),
                }
            }
            Event::Touched(plans, touches, outcomes) => {
                self.is_touching = false;
                let (mut touches, mut outcomes) = (touches.as_slice(), outcomes.into_iter());
                for (position, mut one, count) in plans {
                    let (own, others) = touches.split_at(count);
                    touches = others;
                    one.facts = one.told(own, outcomes.by_ref().take(count), errors);
                    self.touched.push_back((position, one));
                }
            }
        }
    }
}

/// Runs plans to their ends, side by side, several at a time. Touches wait until they fill all requests that may be
/// under way, all other plans wait or are done, or none has stopped for a moment, and share requests. So no plan waits
/// long for a throttled one, and a plan whose touches are done goes on. The results are in the order of the plans.
pub(crate) async fn drive_all<T: Table, P: RetryPolicy, D: Send>(
    client: &Client<'_, T, P>,
    plans: &mut [Plan<'_, D>],
    errors: &impl Errors,
) -> Vec<Result<D, Failure>> {
    let full = BATCH_UPDATES_MAX * client.in_flight_max();
    let mut side = SideBySide::new(plans.len());
    let mut new = plans.iter_mut().map(Running::new).enumerate();
    let mut under_way = FuturesUnordered::<BoxFuture<'_, Event<'_, '_, D>>>::new();
    loop {
        while side.going < client.in_flight_max() {
            let next = match side.touched.pop_front() {
                None if side.touches.len() < full => new.next(),
                next => next,
            };
            let Some((position, mut one)) = next else { break };
            side.going += 1;
            under_way.push(Box::pin(async move {
                let stop = one.go_on(client, errors, true).await;
                Event::Stopped(position, one, stop)
            }));
        }
        let may_touch = !side.is_touching && !side.waiting.is_empty();
        let event = if may_touch && (side.going == 0 || side.touches.len() >= full) {
            None
        } else {
            let pause = async {
                if may_touch {
                    client.wait(PAUSE).await;
                } else {
                    std::future::pending::<()>().await;
                }
            };
            match select(under_way.next(), pin!(pause)).await {
                Either::Left((None, _)) => break,
                Either::Left((event, _)) => event,
                Either::Right(_) => None,
            }
        };
        if let Some(event) = event {
            side.take(event, errors);
        } else {
            side.is_touching = true;
            let (plans, touches) = (std::mem::take(&mut side.waiting), std::mem::take(&mut side.touches));
            under_way.push(Box::pin(async move {
                let outcomes = client.touch_all(&touches).await;
                Event::Touched(plans, touches, outcomes)
            }));
        }
    }
    side.results.into_iter().map(|result| result.unwrap_or(Err(Failure::Again))).collect()
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
    let Need { keys, options, bytes_max, time, query } = need;
    let page = async {
        let query = query.as_ref()?;
        Some((query, client.query(query).await))
    };
    let items = async {
        match (bytes_max, time) {
            (None, None) => client.get_many(keys, &options).await,
            _ => client.get_within(keys.into_iter().collect(), &options, bytes_max.unwrap_or(usize::MAX), time).await,
        }
    };
    let (items, page) = futures::join!(items, page);
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
    Ok(Read { items: shared(items.items), unread, left: items.left, page })
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

    /// The plans of the API's writes look themselves whether a write without an answer was carried out.
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
    mut plan: Plan<'_, D>,
) -> Result<D, TableError> {
    Ok(run_telling(client, &mut plan).await?.0)
}

/// Runs a plan of a repair, and again a moment later if a write without an answer may still be carried out.
pub(crate) async fn run_settled<'p, T: Table, P: RetryPolicy, D>(
    client: &Client<'_, T, P>,
    plan: impl Fn() -> Plan<'p, D>,
) -> Result<D, TableError> {
    let (done, mut may_come_again) = run_telling(client, &mut plan()).await?;
    for _ in 0..LATE_LOOKS_MAX {
        if !may_come_again {
            break;
        }
        for _ in 0..LATE_WAITS {
            if !client.wait(LATE_WAIT).await {
                return Ok(done);
            }
        }
        (_, may_come_again) = run_telling(client, &mut plan()).await?;
    }
    Ok(done)
}

/// How often a repair looks again because of a write without an answer.
const LATE_LOOKS_MAX: u32 = 3;

/// The attempt before which is waited, and how often: two seconds on average. DynamoDB may still be at work.
const LATE_WAIT: u32 = 4;
const LATE_WAITS: u32 = 5;

/// Runs a plan to its end. Says, too, whether one of its writes got no answer and may be carried out once more.
pub(crate) async fn run_telling<T: Table, P: RetryPolicy, D>(
    client: &Client<'_, T, P>,
    plan: &mut Plan<'_, D>,
) -> Result<(D, bool), TableError> {
    let (errors, mut running) = (LastError::default(), Running::new(plan));
    match running.go_on(client, &errors, false).await {
        Ok(Stop::Done(done)) => Ok((done, running.may_come_again)),
        Ok(Stop::Touch(_)) | Err(_) => {
            let last = errors.0.into_inner().unwrap_or_else(PoisonError::into_inner);
            Err(last.unwrap_or_else(|| TableError::new(ErrorKind::GiveUp, "the plan wasn't told what it asked for")))
        }
    }
}

pub(crate) fn shared(items: BTreeMap<ItemKey, Item>) -> BTreeMap<ItemKey, Arc<Item>> {
    items.into_iter().map(|(key, item)| (key, Arc::new(item))).collect()
}
