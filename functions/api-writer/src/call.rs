//! One call: from a request to its answer.

use axum::body::Bytes;
use axum::extract::{FromRequestParts, Request};
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Latest;
use sapwood_engine::write::{Idempotency, Stamp, Writer};
use sapwood_http::body::read_whole;
use sapwood_http::caller::Caller;
use sapwood_http::headers::{IdempotencyKey, Preconditions, Wait, demand_json, demand_merge_patch};
use sapwood_http::json::{self, FromJson};
use sapwood_http::parameters::Parameters;
use sapwood_http::path::PathParams;
use sapwood_http::problem::{Kind, Problem};
use sapwood_table::{Client, Deadline, Table};

use crate::once::idempotency;
use crate::problem::unfit;
use crate::state::{Shared, State};
use crate::wait::until_derived;
use crate::write::Derived;

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// A call of the contract: what is asked for, and how that is answered.
pub(crate) trait Call: Sized + Send {
    /// Reads a request. Parameters that it doesn't take are refused after it.
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem>;

    /// Answers it.
    fn answer<T: Table>(self, at: &At<'_, T>) -> impl Future<Output = Result<Response, Problem>> + Send;
}

/// What a request says.
pub(crate) struct Asked<'a> {
    pub(crate) caller: Caller,
    pub(crate) path: PathParams,
    pub(crate) parameters: Parameters,
    pub(crate) shared: &'a Shared,
    headers: HeaderMap,
    body: Bytes,
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

impl Asked<'_> {
    /// The node of a part of the path: the caller's tenant's, whatever it is called.
    pub(crate) fn node(&self, name: &'static str) -> Result<NodeRef, Problem> {
        Ok(NodeRef { tenant: self.caller.tenant.clone(), id: self.path.id(name)? })
    }

    /// The topic that the path names.
    pub(crate) fn topic(&self) -> Result<Latest, Problem> {
        let topic = Latest { node: self.node("id")?, topic: self.path.text("topic")? };
        sapwood_http::contract::check_topic(&topic.topic, &self.shared.settings.schema)
            .map_err(|error| Problem::from(error).at("topic"))?;
        Ok(topic)
    }

    /// The body.
    pub(crate) fn body<B: FromJson>(&self) -> Result<B, Problem> {
        demand_json(&self.headers)?;
        self.json()
    }

    /// The body of a PATCH.
    pub(crate) fn merge_patch<B: FromJson>(&self) -> Result<B, Problem> {
        demand_merge_patch(&self.headers)?;
        self.json()
    }

    fn json<B: FromJson>(&self) -> Result<B, Problem> {
        if self.body.is_empty() {
            return Err(Problem::new(Kind::BadJson, "the body is empty; this call takes JSON"));
        }
        json::read(&self.body).map_err(unfit)
    }
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

/// The handler of a call.
pub(crate) async fn handle<C: Call, T: Table + 'static>(
    axum::extract::State(state): axum::extract::State<State<T>>,
    request: Request,
) -> Response {
    let shared = state.shared();
    let (mut parts, body) = request.into_parts();
    let read = async {
        let caller = Caller::from_request_parts(&mut parts, &()).await?;
        if caller.tenant.is_some() != shared.settings.schema.has_tenants() {
            tracing::error!("who says which tenant a caller belongs to, and the table's settings, don't fit together");
            return Err(Problem::internal());
        }
        let body = read_whole(body).await?;
        let key = key(&caller, &parts, &body)?;
        let deadline = deadline(&parts)?;
        let (preconditions, wait) = (Preconditions::read(&parts.headers)?, Wait::read(&parts.headers)?);
        let path = PathParams::from_request_parts(&mut parts, &()).await?;
        let parameters = Parameters::from_request_parts(&mut parts, &()).await?;
        let mut asked = Asked { caller, path, parameters, shared, headers: parts.headers, body };
        let call = C::read(&mut asked)?;
        asked.parameters.end()?;
        Ok::<_, Problem>((call, asked.caller, preconditions, wait, key, deadline))
    };
    let (call, caller, preconditions, wait, key, deadline) = match read.await {
        Ok(read) => read,
        Err(problem) => return problem.into_response(),
    };
    let table = state.table(deadline);
    let session = Client::new(&table, &deadline, &shared.settings.schema);
    let at = At { session: &session, shared, caller, preconditions, key, wait, deadline };
    // Boxed: one within the other, these futures would be deeper than the compiler looks.
    let answered = Box::pin(call.answer(&at)).await;
    let mut response = answered.unwrap_or_else(IntoResponse::into_response);
    response.extensions_mut().insert(session.usage());
    response
}

/// The `Idempotency-Key` of a POST; other methods are idempotent by themselves.
fn key(caller: &Caller, parts: &Parts, body: &[u8]) -> Result<Option<Idempotency>, Problem> {
    let IdempotencyKey(key) = IdempotencyKey::read(&parts.headers)?;
    let target = parts.uri.path();
    Ok(key
        .filter(|_| parts.method == Method::POST)
        .map(|key| idempotency(caller, &key, &[parts.method.as_str().as_bytes(), target.as_bytes(), body])))
}

fn deadline(parts: &Parts) -> Result<Deadline, Problem> {
    parts.extensions.get().copied().ok_or_else(|| {
        tracing::error!("the router is served without anybody saying until when");
        Problem::internal()
    })
}
