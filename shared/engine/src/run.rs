//! Runs a plan of the HTTP API: reads what the plan needs, carries out what it plans, and decides nothing.

use std::collections::BTreeMap;

use sapwood_core::plan::{Facts, Failure, Need, Plan, Read, Step};
use sapwood_core::request::{ErrorKind, TableError};
use sapwood_table::{Client, RetryPolicy, Table};

/// Runs a plan to its end.
///
/// # Errors
/// [`TableError`] where something can't be read, or where the plan can't go on without a write that failed.
pub(crate) async fn run<T: Table, P: RetryPolicy, D>(
    client: &Client<'_, T, P>,
    mut plan: impl Plan<Done = D>,
) -> Result<D, TableError> {
    let mut facts = Facts::None;
    let mut last_error = None;
    loop {
        facts = match plan.next(facts) {
            Ok(Step::Need(need)) => Facts::Read(read(client, need).await?),
            Ok(Step::Do(tasks)) => {
                let answers = client.all(tasks.iter().map(|task| client.carry_out(task)).collect()).await;
                let answers = answers.into_iter().map(|answer| answer.map_err(|error| fail(error, &mut last_error)));
                Facts::Done(answers.collect())
            }
            Ok(Step::Write(writes)) => {
                let failed = client.write_many(writes).await.into_iter();
                Facts::Written(
                    failed.map(|(key, error)| (key, fail(error, &mut last_error))).collect::<BTreeMap<_, _>>(),
                )
            }
            Ok(Step::Wait(attempt)) => Facts::Waited(client.wait(attempt).await),
            Ok(Step::Done(done)) => return Ok(done),
            Err(_) => {
                let unanswered = || TableError::new(ErrorKind::GiveUp, "the plan wasn't told what it asked for");
                return Err(last_error.unwrap_or_else(unanswered));
            }
        }
    }
}

fn fail(error: TableError, last_error: &mut Option<TableError>) -> Failure {
    *last_error = Some(error);
    Failure::Again
}

async fn read<T: Table, P: RetryPolicy>(client: &Client<'_, T, P>, need: Need) -> Result<Read, TableError> {
    let Need { keys, options, query } = need;
    let items = async { client.get_many(keys, &options).await.all() };
    let page = async {
        match &query {
            Some(query) => client.query(query).await.map(Some),
            None => Ok(None),
        }
    };
    let (items, page) = futures::try_join!(items, page)?;
    Ok(Read { items, page, ..Read::default() })
}
