//! A call that writes: what its request says of how it is to be done, and where it is answered.

use axum::http::Method;
use axum::http::header::HeaderName;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};
use sapwood_core::model::{Latest, Settings};
use sapwood_engine::write::{Idempotency, Stamp, Writer};
use sapwood_http::call::{self, handler};
use sapwood_http::caller::Caller;
use sapwood_http::headers::{IdempotencyKey, Preconditions, Wait};
use sapwood_http::problem::Problem;
use sapwood_table::{Client, Deadline, Table};

use crate::once::idempotency;
use crate::state::{Shared, State};
use crate::wait::until_derived;
use crate::write::Derived;

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// What a request says.
pub(crate) type Asked<'a> = call::Asked<'a, Shared>;

impl call::Shared for Shared {
    fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// A call of the contract: what is asked for, and how that is answered.
pub(crate) trait Call: Sized + Send + 'static {
    /// Reads a request. Parameters that it doesn't take are refused after it.
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem>;

    /// Answers it.
    fn answer<T: Table>(self, at: &At<'_, T>) -> impl Future<Output = Result<Response, Problem>> + Send;
}

/// Where and for whom a call is answered.
pub(crate) struct At<'a, T> {
    pub(crate) session: &'a Client<'a, T, Deadline>,
    pub(crate) shared: &'a Shared,
    pub(crate) caller: Caller,
    pub(crate) preconditions: Preconditions,
    pub(crate) key: Option<Idempotency>,
    wait: Wait,
    deadline: Deadline,
}

impl<'a, T: Table> At<'a, T> {
    pub(crate) fn writer(&self) -> Writer<'a, T, Deadline> {
        Writer::new(self.session, &self.shared.settings)
    }

    /// A stamp for one write.
    pub(crate) fn stamp(&self) -> Stamp {
        let source = &self.shared.source;
        let moment = source.now();
        Stamp { at: moment.at, seconds: moment.seconds, by: self.caller.name.clone(), token: source.name() }
    }

    /// Whether all of this is derived within the time that the client waits; true where it doesn't.
    pub(crate) async fn wait(&self, derived: &[Derived]) -> bool {
        until_derived(self.session, &self.shared.settings, self.deadline, self.wait, derived).await
    }

    /// Says in an answer that it was held.
    pub(crate) fn waited(&self, mut response: Response) -> Response {
        if let Some(applied) = self.wait.applied() {
            response.headers_mut().insert(PREFERENCE_APPLIED, applied);
        }
        response
    }
}

/// A call, with what its request says of how it is to be done.
struct Conditioned<C> {
    call: C,
    caller: Caller,
    preconditions: Preconditions,
    key: Option<Idempotency>,
    wait: Wait,
}

impl<C: Call> call::Call<Shared> for Conditioned<C> {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (key, wait) = (key(asked)?, Wait::read(&asked.parts.headers)?);
        let call = C::read(asked)?;
        Ok(Self { call, caller: asked.caller.clone(), preconditions: asked.preconditions.clone(), key, wait })
    }

    async fn answer<T: Table>(self, at: &call::At<'_, T, Shared>) -> Result<Response, Problem> {
        let Self { call, caller, preconditions, key, wait } = self;
        let call::At { session, shared, deadline } = *at;
        call.answer(&At { session, shared, caller, preconditions, key, wait, deadline }).await
    }
}

/// The handler of a call.
pub(crate) fn handle<C: Call, T: Table + 'static>(method: MethodFilter) -> MethodRouter<State<T>> {
    handler::<Conditioned<C>, T, Shared>(method)
}

/// The topic that the path names, which must have room for the highest version.
pub(crate) fn topic(asked: &Asked<'_>) -> Result<Latest, Problem> {
    let topic = asked.topic()?;
    sapwood_http::contract::check_topic(&topic.topic, &asked.shared.settings.schema)
        .map_err(|error| Problem::from(error).at("topic"))?;
    Ok(topic)
}

/// The `Idempotency-Key` of a POST; other methods are idempotent by themselves.
fn key(asked: &Asked<'_>) -> Result<Option<Idempotency>, Problem> {
    let IdempotencyKey(key) = IdempotencyKey::read(&asked.parts.headers)?;
    let (method, target) = (&asked.parts.method, asked.parts.uri.path());
    Ok(key
        .filter(|_| method == Method::POST)
        .map(|key| idempotency(&asked.caller, &key, &[method.as_str().as_bytes(), target.as_bytes(), &asked.body])))
}
