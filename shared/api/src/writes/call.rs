//! What the calls that write have in common: what a request says of how it is carried out, and how it is answered.

use std::marker::PhantomData;

use axum::http::HeaderValue;
use axum::http::header::HeaderName;
use axum::response::Response;
use sapwood_core::write::{
    Answered, Children, Command, Idempotency, Operation, Outcome, Preconditions, Prefetched, Request, Stamp, Tiebreak,
};
use sapwood_engine::query::{Derived, ReadError};
use sapwood_engine::write::Writer;
use sapwood_store::{Deadline, Table};

use super::answer::{Answer, called, located, url_of};
use super::source::Source;
use crate::call::{self, Call};
use crate::caller::Right;
use crate::headers::Prefer;
use crate::problem::{Kind, Problem};

const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Makes a table for each request, and holds what is the same for all requests.
pub type ApiState<T> = call::ApiState<T, WriterState>;

/// The state that the calls that write share.
pub struct WriterState {
    /// True if revisions may be amended and deleted.
    pub revisions_mutable: bool,
    /// True if nodes may be put into the trash.
    pub trash: bool,
    /// Where time and names come from.
    pub source: Source,
}

pub(super) type Shared = call::Shared<WriterState>;

pub(super) type Asked<'a> = call::Asked<'a, WriterState>;

pub(super) type At<'a, T> = call::At<'a, T, WriterState>;

impl<'a, T: Table> At<'a, T> {
    pub(super) fn writer(&self) -> Writer<'a, T, Deadline> {
        Writer::new(self.client, &self.shared.settings)
    }

    pub(super) fn stamp(&self) -> Stamp {
        self.shared.own.source.stamp(self.caller.name.clone())
    }

    /// Carries out a command, as one of a batch by what was read ahead, with the tiebreak of the batch.
    pub(super) async fn write(
        &self,
        command: &Command,
        preconditions: Preconditions,
        idempotency: Option<Idempotency>,
        in_batch: Option<(&mut Prefetched, Tiebreak)>,
    ) -> Result<Answered, Problem> {
        let stamp = self.stamp();
        let (prefetched, tiebreak) = match in_batch {
            Some((prefetched, tiebreak)) => (Some(prefetched), tiebreak),
            None => (None, stamp.tiebreak),
        };
        let request = Request { stamp: Stamp { tiebreak, ..stamp }, preconditions, idempotency };
        // Boxed, since nested futures of this depth are more than the compiler follows.
        Box::pin(self.writer().write_once(command, &request, prefetched)).await.map_err(|error| {
            match (Problem::from(error), command) {
                // The node that has the id already.
                (problem, Command::Create { node, .. } | Command::Copy { node, .. }) if problem.kind() == Kind::Exists => {
                    let detail = format!("a node with the id `{}` exists already", node.id);
                    located(Problem::new(Kind::Exists, detail).at("id"), url_of(command))
                }
                (problem, _) if problem.kind() == Kind::NotFound => {
                    Problem::new(Kind::NotFound, format!("there is no {}", called(command)))
                }
                (problem, _) if problem.kind() == Kind::OutcomeUnknown => {
                    let url = url_of(command);
                    let detail = format!(
                        "the table gave no answer, so the write may have been carried out, or not; read {url} before you send it again. \
                         A POST or DELETE with an Idempotency-Key, and a node's write with a revision and a key, can be sent again as it is"
                    );
                    located(Problem::new(Kind::OutcomeUnknown, detail), url)
                }
                (problem, _) => problem,
            }
        })
    }

    /// Returns true if all of this is derived within the time that the client waits, or if it doesn't wait.
    pub(super) async fn wait(&self, derived: &[Derived]) -> bool {
        !self.waits() || self.has(derived).await
    }

    /// How the copy that this outcome has begun has ended; `None` if it began none, or if that is forgotten. Where that
    /// can't be read, the copy has begun all the same.
    async fn copied(&self, outcome: &Outcome) -> Result<Option<Operation>, ReadError> {
        let Outcome::Copying { operation, .. } = outcome else { return Ok(None) };
        match self.reader().operation(self.caller.tenant.as_ref(), operation).await {
            Err(ReadError::Absent { .. }) => Ok(None),
            operation => operation.map(Some),
        }
    }

    /// True if the client waits at all. If it doesn't, nothing is known of what is derived.
    pub(super) fn waits(&self) -> bool {
        self.prefer.longest_wait().is_some()
    }

    /// True if the answer has no body: the client prefers that and all is derived, or may not read. 202 has a body.
    pub(super) fn leaves_out(&self, is_derived: bool) -> bool {
        (self.prefer.minimal && is_derived) || !self.caller.may(Right::Read)
    }

    pub(super) fn applied(&self, mut response: Response, minimal: bool) -> Response {
        Prefer { minimal: minimal && self.prefer.minimal, ..self.prefer }.add_to(response.headers_mut());
        response
    }
}

/// Says in an answer that an earlier request with the same key had it.
pub(super) fn replayed(is_repeated: bool, mut response: Response) -> Response {
    if is_repeated {
        response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

pub(super) trait Write: Send + 'static {
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem>;
}

/// A call of one command. Its answer is held until everything is derived, where the client waits.
pub(super) struct One<W>(Command, PhantomData<W>);

impl<W: Write> Call<WriterState> for One<W> {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        W::command(asked).map(|command| Self(command, PhantomData))
    }

    fn appends(&self) -> bool {
        self.0.revision().is_some()
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Answered { outcome, is_repeated } =
            at.write(&self.0, at.preconditions.clone(), at.key.clone(), None).await?;
        let derived = Derived::of(&self.0, &outcome, at.prefer.below);
        let answer = Answer::of(&self.0, &outcome, derived.as_ref(), &at.shared.settings);
        let response = match derived {
            None => answer.response(at.prefer.numbers)?,
            Some(derived) => {
                let all: Vec<Derived> = std::iter::once(derived).chain(Derived::of_revision(&outcome)).collect();
                let is_derived = at.wait(&all).await;
                let copied = if is_derived && at.waits() { at.copied(&outcome).await } else { Ok(None) };
                let answer = match (is_derived, at.waits(), copied) {
                    (true, true, Ok(copied)) => answer.carried_out(copied),
                    (true, false, _) => answer,
                    _ => answer.accepted(),
                };
                let minimal = at.leaves_out(is_derived);
                let answer = match minimal {
                    _ if !at.caller.may(Right::Read) => answer.unread(),
                    true => answer.minimal(),
                    false => answer,
                };
                at.applied(answer.response(at.prefer.numbers)?, minimal)
            }
        };
        Ok(replayed(is_repeated, response))
    }
}

/// A call of one command that may depend on derived rows. It waits for the writes that `written` names only if it does.
pub(super) struct Seeing<W> {
    written: Vec<Derived>,
    one: One<W>,
}

impl<W: Write> Call<WriterState> for Seeing<W> {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        Ok(Self { written: asked.written()?, one: One::read(asked)? })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let counts = matches!(self.one.0, Command::Delete { children: Children::Restrict, .. });
        if counts {
            at.demand(&self.written).await?;
        }
        self.one.answer(at).await
    }
}
