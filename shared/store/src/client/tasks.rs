//! Writes on conditions, transactions and touches.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use sapwood_core::plan::{Task, TaskOutcome, WritesKind};
use sapwood_core::request::{Action, Condition, ErrorKind, TableError, Transacted};

use super::{Client, RetryPolicy, no_time};
use crate::{BATCH_UPDATES_MAX, Reply, Table};

/// The result of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedOut {
    /// The outcome, or why there is none.
    pub outcome: Result<TaskOutcome, TableError>,
    /// True if an attempt got no answer. It may be carried out later.
    pub unanswered: bool,
}

impl<T: Table, P: RetryPolicy> Client<'_, T, P> {
    /// Carries out a task: a conditional write, a transaction, or a mark, which each attempt names anew.
    pub async fn carry_out(&self, task: &Task) -> CarriedOut {
        self.carry_out_while(task, || true).await
    }

    async fn carry_out_while(&self, task: &Task, has_time: impl Fn() -> bool) -> CarriedOut {
        let (mut attempt, mut unanswered) = (0, false);
        loop {
            if !has_time() {
                return CarriedOut { outcome: Err(no_time()), unanswered };
            }
            match self.send(attempt, task).await {
                Ok(outcome) => return CarriedOut { outcome: Ok(outcome), unanswered },
                Err(error) => {
                    unanswered |= error.is_unanswered();
                    if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await {
                        return CarriedOut { outcome: Err(error), unanswered };
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Carries out a task at most once: it is sent again only after an answer that it wasn't carried out. Returns
    /// `None` without an answer: it may have been carried out, or may be later. A late put of an absent item is waited
    /// for, because its condition holds again once others have written and deleted the item.
    ///
    /// # Errors
    /// [`TableError`] if time is up or a retry is no use. Nothing was carried out.
    pub async fn attempt(&self, task: &Task) -> Result<Option<TaskOutcome>, TableError> {
        let mut attempt = 0;
        loop {
            match self.send(attempt, task).await {
                Ok(outcome) => return Ok(Some(outcome)),
                Err(error) if error.is_unanswered() => {
                    if puts_what_is_absent(task) {
                        self.retry_policy.wait_out().await;
                    }
                    return Ok(None);
                }
                Err(error) if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await => {
                    return Err(error);
                }
                Err(_) => attempt += 1,
            }
        }
    }

    async fn send(&self, attempt: u32, task: &Task) -> Result<TaskOutcome, TableError> {
        let name = || format!("{}-{}", self.name, self.marks.fetch_add(1, Ordering::Relaxed));
        match task.attempt(attempt, name) {
            Task::Transact(actions) => self.count(attempt, Box::pin(self.send_transaction(actions)).await),
            Task::Write(action) => self.count(attempt, Box::pin(self.write(action)).await),
            Task::Mark { .. } | Task::Count(_) => {
                Err(TableError::new(ErrorKind::GiveUp, "an attempt has to name its mark, or choose its lane"))
            }
        }
    }

    fn may_touch(&self) -> bool {
        self.retry_policy.has_time_for(WritesKind::Touches)
    }

    /// Touches items, or deletes rows, several at a time, each on its own conditions. They share requests. What came of
    /// the tasks is in their order. Those that there is no time for are left, so that a cursor can remember the others.
    pub async fn touch_all(&self, tasks: &[Task]) -> Vec<CarriedOut> {
        let requests = requests_of(tasks).into_iter().map(|positions| async move {
            let asked: Vec<&Task> = positions.iter().map(|position| &tasks[*position]).collect();
            let done = match asked.as_slice() {
                [task] => vec![self.carry_out_while(task, || self.may_touch()).await],
                several => self.change_together(several).await,
            };
            positions.into_iter().zip(done).collect::<Vec<_>>()
        });
        let mut done: Vec<(usize, CarriedOut)> = self.all(requests.collect()).await.into_iter().flatten().collect();
        done.sort_by_key(|(position, _)| *position);
        done.into_iter().map(|(_, carried_out)| carried_out).collect()
    }

    /// Carries out tasks that share a request. Those that DynamoDB leaves undone are tried again, without the others.
    async fn change_together(&self, tasks: &[&Task]) -> Vec<CarriedOut> {
        let actions: Vec<&Action> = tasks.iter().filter_map(|task| task.shared()).collect();
        let no_answer = || TableError::unanswered("no answer for a statement");
        let mut done: Vec<CarriedOut> =
            actions.iter().map(|_| CarriedOut { outcome: Err(no_answer()), unanswered: false }).collect();
        let mut left: Vec<usize> = (0..actions.len()).collect();
        let mut attempt = 0;
        loop {
            if !self.may_touch() {
                left.iter().for_each(|position| done[*position].outcome = Err(no_time()));
                break;
            }
            let some: Vec<Action> = left.iter().map(|position| actions[*position].clone()).collect();
            let answers = match self.count(attempt, Box::pin(self.table.change_together(&some)).await) {
                Ok(answers) => self.count_conflicts(answers),
                Err(error) => vec![Err(error); left.len()],
            };
            for (position, answer) in left.iter().zip(answers) {
                let one = &mut done[*position];
                one.unanswered |= answer.as_ref().is_err_and(TableError::is_unanswered);
                one.outcome = answer.map(outcome_of);
            }
            let asked = left.len();
            left.retain(|position| matches!(&done[*position].outcome, Err(error) if error.kind == ErrorKind::Retry));
            if left.len() < asked {
                attempt = 0;
            }
            if left.is_empty() || !self.retry_policy.wait(attempt).await {
                break;
            }
            attempt += 1;
        }
        // An impossible statement fails a whole request, and a role may not allow PartiQL, so each goes alone.
        for (task, one) in tasks.iter().zip(&mut done) {
            if matches!(&one.outcome, Err(error) if error.kind != ErrorKind::Retry) {
                let alone = self.carry_out_while(task, || self.may_touch()).await;
                *one = CarriedOut { unanswered: one.unanswered || alone.unanswered, ..alone };
            }
        }
        done
    }

    async fn send_transaction(&self, actions: Vec<Action>) -> Result<Reply<TaskOutcome>, TableError> {
        let reply = self.table.transact(&actions).await?;
        Ok(reply.map(|transacted| match transacted {
            Transacted::Done => TaskOutcome::Held,
            Transacted::Failed(positions) => TaskOutcome::Failed(positions),
        }))
    }

    async fn write(&self, action: Action) -> Result<Reply<TaskOutcome>, TableError> {
        let reply = match &action {
            Action::Put { item, condition, .. } => self.table.put(item, condition).await?,
            Action::Update { key, update, condition } => self.table.update(key, update, condition).await?,
            Action::Delete { key, condition } => self.table.delete(key, condition).await?,
            Action::Check { .. } => return Box::pin(self.send_transaction(vec![action])).await,
        };
        Ok(reply.map(outcome_of))
    }
}

fn outcome_of(held: bool) -> TaskOutcome {
    if held { TaskOutcome::Held } else { TaskOutcome::Failed(vec![0]) }
}

/// Returns the positions of the tasks that share a request. DynamoDB refuses a request that names an item twice.
fn requests_of(tasks: &[Task]) -> Vec<Vec<usize>> {
    let (mut requests, mut shared, mut keys) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (position, task) in tasks.iter().enumerate() {
        match task.shared() {
            Some(action) if keys.insert(action.key()) => shared.push(position),
            _ => requests.push(vec![position]),
        }
        if shared.len() == BATCH_UPDATES_MAX {
            requests.push(std::mem::take(&mut shared));
            keys.clear();
        }
    }
    requests.extend((!shared.is_empty()).then_some(shared));
    requests
}

fn puts_what_is_absent(task: &Task) -> bool {
    let puts = |action: &Action| matches!(action, Action::Put { condition: Condition::Absent, .. });
    match task {
        Task::Write(action) => puts(action),
        Task::Transact(actions) => actions.iter().any(puts),
        Task::Mark { .. } | Task::Count(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use sapwood_core::keys::ItemKey;
    use sapwood_core::model::text;
    use sapwood_core::request::{Condition, Update};

    use super::*;

    fn update(pk: &str, condition: Condition) -> Task {
        let update = Update::set("_touched", text("1"));
        Task::Write(Action::Update { key: ItemKey::new(pk, "NODE"), update, condition })
    }

    #[test]
    fn updates_of_items_that_have_to_exist_and_deletions_of_rows_share_requests_and_nothing_else_does() {
        let exists = |pk: &str| update(pk, Condition::Exists);
        let deletion = Action::Delete { key: ItemKey::new("d", "NODE"), condition: Condition::Exists };
        let tasks = [
            exists("a"),
            update("b", Condition::Always),
            exists("c"),
            Task::Write(deletion.clone()),
            Task::Transact(vec![deletion]),
            exists("a"),
            exists("d"),
            Task::Write(Action::Delete {
                key: ItemKey::new("e", "NODE#0001#x"),
                condition: Condition::is("_id", Some(text("x"))),
            }),
        ];
        assert_eq!(requests_of(&tasks), [vec![1], vec![3], vec![4], vec![5], vec![0, 2, 6, 7]]);
    }

    #[test]
    fn a_request_has_25_updates_at_most() {
        let tasks: Vec<Task> = (0..60).map(|number| update(&format!("n{}", number % 40), Condition::Exists)).collect();
        let requests = requests_of(&tasks);
        assert_eq!(requests.iter().map(Vec::len).collect::<Vec<_>>(), [25, 25, 10]);
        let mut positions = requests.concat();
        positions.sort_unstable();
        assert_eq!(positions, (0..60).collect::<Vec<usize>>());
    }
}
