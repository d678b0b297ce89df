//! The calls of this function: what a request says of how it is to be carried out, and where it is answered.

use std::marker::PhantomData;
use std::time::Duration;

use axum::http::header::HeaderName;
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};
use sapwood_core::model::Settings;
use sapwood_core::write::{
    Answered, Children, Command, Idempotency, Operation, Outcome, Preconditions, Prefetched, Request, Stamp, Tiebreak,
};
use sapwood_engine::query::{Derived, ReadError, Reader};
use sapwood_engine::write::Writer;
use sapwood_http::call::{self, handler};
use sapwood_http::caller::{Caller, Right};
use sapwood_http::headers::{IdempotencyKey, Prefer};
use sapwood_http::problem::{Kind, Problem};
use sapwood_http::wait::Pauses;
use sapwood_store::{Client, Deadline, Table};

use crate::answer::{Answer, called, located, url_of};
use crate::idempotency::idempotency;
use crate::problem::refused;
use crate::state::{Shared, State};

/// The header of an answer that an earlier request with the same `Idempotency-Key` had.
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// What a request says.
pub(crate) type Asked<'a> = call::Asked<'a, Shared>;

impl call::Shared for Shared {
    fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// A call of the contract: what is asked for, and how that is answered.
pub(crate) trait Call: Sized + Send + 'static {
    /// Reads a request. Parameters that the call doesn't read are refused afterwards.
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem>;

    /// What the caller's token must allow. `None`: the call asks for it itself.
    fn right(method: &Method) -> Option<Right> {
        Some(Right::of(method))
    }

    /// True if a request that is sent twice writes twice, although its method is one of those that can be repeated.
    fn appends(&self) -> bool {
        false
    }

    /// Answers the request.
    fn answer<T: Table>(self, at: &At<'_, T>) -> impl Future<Output = Result<Response, Problem>> + Send;
}

/// Where and for whom a call is answered.
pub(crate) struct At<'a, T> {
    pub(crate) client: &'a Client<'a, T, Deadline>,
    pub(crate) shared: &'a Shared,
    pub(crate) caller: Caller,
    pub(crate) preconditions: Preconditions,
    pub(crate) key: Option<Idempotency>,
    pub(crate) prefer: Prefer,
    deadline: Deadline,
}

impl<'a, T: Table> At<'a, T> {
    pub(crate) fn writer(&self) -> Writer<'a, T, Deadline> {
        Writer::new(self.client, &self.shared.settings)
    }

    /// A stamp for one write.
    pub(crate) fn stamp(&self) -> Stamp {
        self.shared.source.stamp(self.caller.name.clone())
    }

    /// Carries out a command, as one of a batch by what was read ahead, with the tiebreak of the batch.
    pub(crate) async fn write(
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
            match (refused(error), command) {
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
    pub(crate) async fn wait(&self, derived: &[Derived]) -> bool {
        match self.prefer.wait.duration() {
            Some(longest) => self.has(derived, longest).await,
            None => true,
        }
    }

    /// Returns true if the table has all of this, at once or within this time.
    async fn has(&self, derived: &[Derived], longest: Duration) -> bool {
        let (tenant, waits) = (self.caller.tenant.as_ref(), &self.shared.waits);
        let reader = Reader::new(self.client, &self.shared.settings);
        let mut pauses = Pauses::new(waits, tenant, self.deadline, longest);
        for of in derived {
            let mut watch = of.watch();
            while !watch.is_right(&reader, tenant).await {
                if !pauses.pause(!watch.is_cut()).await {
                    // Many nodes take their time, which says nothing of the fan-out.
                    if pauses.has_waited() && !of.is_of_many() {
                        waits.ended_in_vain(tenant);
                    }
                    return false;
                }
            }
        }
        true
    }

    /// How the copy that this outcome has begun has ended; `None` if it began none, or if that is forgotten. Where that
    /// can't be read, the copy has begun all the same.
    async fn copied(&self, outcome: &Outcome) -> Result<Option<Operation>, ReadError> {
        let Outcome::Copying { operation, .. } = outcome else { return Ok(None) };
        let reader = Reader::new(self.client, &self.shared.settings);
        match reader.operation(self.caller.tenant.as_ref(), operation).await {
            Err(ReadError::Absent { .. }) => Ok(None),
            operation => operation.map(Some),
        }
    }

    /// True if the client waits at all. If it doesn't, nothing is known of what is derived.
    pub(crate) fn waits(&self) -> bool {
        self.prefer.wait.duration().is_some()
    }

    /// True if the answer leaves out what was written: the client prefers that, and everything is derived, or the
    /// client may not read. Generated clients expect a body with 202.
    pub(crate) fn leaves_out(&self, is_derived: bool) -> bool {
        (self.prefer.minimal && is_derived) || !self.caller.may(Right::Read)
    }

    /// Adds to an answer which preferences applied.
    pub(crate) fn applied(&self, mut response: Response, minimal: bool) -> Response {
        Prefer { minimal: minimal && self.prefer.minimal, ..self.prefer }.add_to(response.headers_mut());
        response
    }
}

/// Says in an answer that an earlier request with the same key had it.
pub(crate) fn replayed(is_repeated: bool, mut response: Response) -> Response {
    if is_repeated {
        response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// A call, with what its request says of how it is to be carried out.
struct Conditioned<C> {
    call: C,
    caller: Caller,
    preconditions: Preconditions,
    key: Option<Idempotency>,
}

impl<C: Call> call::Call<Shared> for Conditioned<C> {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let key = key(asked)?;
        let call = C::read(asked)?;
        let key = key.filter(|_| call.appends() || [Method::POST, Method::DELETE].contains(&asked.parts.method));
        Ok(Self { call, caller: asked.caller.clone(), preconditions: asked.preconditions.clone(), key })
    }

    fn right(method: &Method) -> Option<Right> {
        C::right(method)
    }

    async fn answer<T: Table>(self, at: &call::At<'_, T, Shared>) -> Result<Response, Problem> {
        let Self { call, caller, preconditions, key } = self;
        let call::At { client, shared, prefer, deadline } = *at;
        call.answer(&At { client, shared, caller, preconditions, key, prefer, deadline }).await
    }
}

/// A call that is one command.
pub(crate) trait Write: Send + 'static {
    /// Reads the command off a request.
    fn command(asked: &mut Asked<'_>) -> Result<Command, Problem>;
}

/// A call that carries out one command. Its answer is held until everything is derived, where the client waits for
/// that.
pub(crate) struct One<W>(Command, PhantomData<W>);

impl<W: Write> Call for One<W> {
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

/// A call that is one command about what rows show. It is carried out once the rows have what its parameter `written`
/// names, if they count.
pub(crate) struct Seeing<W> {
    written: Vec<Derived>,
    one: One<W>,
}

impl<W: Write> Call for Seeing<W> {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        Ok(Self { written: asked.written(Derived::of_token)?, one: One::read(asked)? })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let counts = matches!(self.one.0, Command::Delete { children: Children::Restrict, .. });
        if counts && !at.has(&self.written, at.prefer.wait.duration().unwrap_or_default()).await {
            return Err(Problem::not_yet_written());
        }
        self.one.answer(at).await
    }
}

/// The handler of a call.
pub(crate) fn handle<C: Call, T: Table + 'static>(method: MethodFilter) -> MethodRouter<State<T>> {
    handler::<Conditioned<C>, T, Shared>(method)
}

/// The `Idempotency-Key` of a POST or of a DELETE, whose repetition would be told that nothing is there, or that it is
/// being deleted. Other methods are idempotent by themselves, but for a revision that is appended with a node.
fn key(asked: &Asked<'_>) -> Result<Option<Idempotency>, Problem> {
    let IdempotencyKey(key) = IdempotencyKey::read(&asked.parts.headers)?;
    let (method, target) = (&asked.parts.method, asked.parts.uri.path());
    // Tokens say what the request must know of, and not what it asks for.
    let of_request = |pair: &&str| !pair.starts_with("written=");
    let query: Vec<&str> = asked.parts.uri.query().unwrap_or_default().split('&').filter(of_request).collect();
    let query = query.join("&");
    Ok(key.map(|key| {
        let request = [method.as_str().as_bytes(), target.as_bytes(), query.as_bytes(), &asked.body];
        idempotency(&asked.caller, &key, &request)
    }))
}
