//! `Idempotency-Key`: a write that is done once, however often it is asked for.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sapwood_engine::write::{Begun, Claim, Done, Idempotency, Stamp, StoredAnswer, WriteError, Writer};
use sapwood_http::caller::Caller;
use sapwood_http::headers::Preconditions;
use sapwood_http::problem::{Kind, Problem};
use sapwood_table::{Action, ErrorKind, RetryPolicy, Table};
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::problem::refused;
use crate::state::Shared;
use crate::write::Write;

/// A key of a caller's, and the request that came with it.
pub(crate) fn idempotency(caller: &Caller, key: &str, request: &[&[u8]]) -> Idempotency {
    Idempotency {
        tenant: caller.tenant.clone(),
        // Two callers may have chosen the same key.
        hash: hash(&[caller.name.as_bytes(), key.as_bytes()]),
        fingerprint: hash(request),
    }
}

/// The key of one operation of a batch.
pub(crate) fn part(whole: &Idempotency, position: usize) -> Idempotency {
    let hash = hash(&[whole.hash.as_bytes(), position.to_string().as_bytes()]);
    Idempotency { hash, ..whole.clone() }
}

fn hash(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // With their lengths: no two lists of parts are the same bytes.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    URL_SAFE_NO_PAD.encode(hash.finalize())
}

/// What came of a key.
pub(crate) enum Once {
    Do(Claim),
    Said(StoredAnswer),
}

/// Begins the work on a request with a key.
pub(crate) async fn begin<T: Table, P: RetryPolicy>(
    writer: &Writer<'_, T, P>,
    key: &Idempotency,
    stamp: &Stamp,
) -> Result<Once, Problem> {
    match writer.begin(key, stamp).await.map_err(refused)? {
        Begun::Claimed(claim) => Ok(Once::Do(claim)),
        Begun::Answered(answer) => Ok(Once::Said(answer)),
    }
}

/// Does a write, once if it has a key.
pub(crate) async fn carry_out<T: Table, P: RetryPolicy>(
    writer: &Writer<'_, T, P>,
    write: &Write,
    stamp: &Stamp,
    preconditions: &Preconditions,
    shared: &Shared,
    key: Option<&Idempotency>,
) -> Result<Answer, Problem> {
    let Some(key) = key else {
        return write.carry_out(writer, stamp, preconditions, &shared.settings, None).await;
    };
    let claim = match begin(writer, key, stamp).await? {
        Once::Said(answer) => return Answer::of(&answer),
        Once::Do(claim) => claim,
    };
    let also = |done: &Done| -> Vec<Action> {
        // One that can't be written can't be given either, now or the next time.
        let answer = write.answer(done, stamp, &shared.settings).and_then(|answer| answer.stored());
        writer.completion(&claim, &answer.unwrap_or(StoredAnswer(Vec::new())))
    };
    let answered = write.carry_out(writer, stamp, preconditions, &shared.settings, Some(&also)).await;
    if let Err(problem) = &answered {
        give_back(writer, &claim, problem).await;
    }
    answered
}

/// Gives a claim back where nothing was done for certain, so that the same request may come again.
async fn give_back<T: Table, P: RetryPolicy>(writer: &Writer<'_, T, P>, claim: &Claim, problem: &Problem) {
    if !matches!(problem.kind(), Kind::Unavailable | Kind::Internal | Kind::InProgress) {
        release(writer, claim).await;
    }
}

/// Gives a claim back.
pub(crate) async fn release<T: Table, P: RetryPolicy>(writer: &Writer<'_, T, P>, claim: &Claim) {
    // Where this fails as well, the claim runs out by itself.
    if let Err(error) = writer.release(claim).await
        && error.kind == ErrorKind::GiveUp
    {
        tracing::warn!(%error, "a claim can't be given back");
    }
}

/// Keeps the answer to a request of which each part was done on its own.
pub(crate) async fn keep<T: Table, P: RetryPolicy>(
    writer: &Writer<'_, T, P>,
    claim: &Claim,
    answer: &StoredAnswer,
) -> Result<(), Problem> {
    writer.complete(claim, answer).await.map_err(|error| refused(WriteError::Table(error)))
}
