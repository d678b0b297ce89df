//! What the auditor has found.

use axum::response::Response;
use jiff::Timestamp;
use sapwood_core::audit::{Kept, Pass};
use sapwood_store::{RetryPolicy, Table};

use super::call::{Asked, At, ReaderState};
use crate::call::Call;
use crate::contract::{AuditBody, PassBody};
use crate::problem::Problem;

/// `GET /health/audit`
pub(super) struct Audit;

impl Call<ReaderState> for Audit {
    fn read(_: &mut Asked<'_>) -> Result<Self, Problem> {
        Ok(Self)
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let now = at.deadline.now_ms() / 1_000;
        let Kept { state, impossible } = at.reader().audit(now).await?;
        // A tenant learns nothing of the others, not even how much they have.
        let is_whole = !at.shared.settings.schema.has_tenants();
        at.json(&AuditBody {
            right_as_of: state.right_as_of.map(time),
            age_seconds: state.age(now),
            last_run_at: time(state.saved),
            wrong_per_million: is_whole.then(|| state.wrong_per_million()).flatten(),
            impossible: impossible.into_iter().filter(|_| is_whole).map(str::to_owned).collect(),
            suspects: is_whole.then_some(state.suspects.len() as u64),
            unconfirmed: is_whole.then(|| state.suspects.unconfirmed().count() as u64),
            confirmation_window_seconds: is_whole.then(|| state.suspects.settle().as_secs()),
            last_pass: state.last.as_ref().filter(|_| is_whole).map(pass),
            pass: is_whole.then(|| pass(&state.pass)),
        })
    }
}

fn pass(pass: &Pass) -> PassBody {
    PassBody {
        number: pass.number,
        began_at: time(pass.began),
        ended_at: pass.ended.map(time),
        items: pass.items,
        recent: pass.recent,
        differences: pass.differences,
        repaired: pass.healed,
        left: pass.left,
        still_changing: pass.restless,
        skipped: pass.skipped,
        findings: pass.findings.iter().map(|(kind, count)| (kind.as_str().to_owned(), *count)).collect(),
    }
}

fn time(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.unwrap_or(Timestamp::MAX).to_string()
}
