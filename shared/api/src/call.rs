//! One call of the contract, from a request to its answer, and the router of a function's calls.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{self, FromRequestParts, Request};
use axum::http::Method;
use axum::http::header::{CONTENT_TYPE, HeaderValue, VARY};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{Extension, Router};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::{Latest, Settings};
use sapwood_core::write::{Idempotency, Preconditions};
use sapwood_engine::query::{Derived, Reader};
use sapwood_json::{self as json, FromJson, Numbers};
use sapwood_store::{Client, Deadline, Table};
use serde::Serialize;

use crate::body::read_whole;
use crate::caller::{Caller, Right};
use crate::contract::{Function, WRITTEN_MAX, operations};
use crate::headers::{Prefer, demand_json, demand_merge_patch, preconditions};
use crate::idempotency;
use crate::parameters::Parameters;
use crate::path::PathParams;
use crate::problem::{Kind, Problem};
use crate::wait::{Pauses, WaitFor, Waits, missing};

/// The state that a function's calls share. `own` is the state that no other function has.
pub struct Shared<O> {
    /// The settings of the table.
    pub settings: Settings,
    /// Whether waiting for the fan-out is in vain.
    pub waits: Waits,
    /// The rest.
    pub own: O,
}

/// Makes a table for each request, and holds what is the same for all requests.
pub struct ApiState<T, O> {
    tables: Arc<dyn Fn(Deadline) -> T + Send + Sync>,
    shared: Arc<Shared<O>>,
}

impl<T, O> ApiState<T, O> {
    /// Makes the state. `tables` returns the table that a request may use until a deadline.
    pub fn new(
        tables: impl Fn(Deadline) -> T + Send + Sync + 'static,
        settings: Settings,
        waits: Waits,
        own: O,
    ) -> Self {
        Self { tables: Arc::new(tables), shared: Arc::new(Shared { settings, waits, own }) }
    }
}

impl<T, O> Clone for ApiState<T, O> {
    fn clone(&self) -> Self {
        Self { tables: self.tables.clone(), shared: self.shared.clone() }
    }
}

/// A call of the contract: how a request is read and answered.
pub trait Call<O>: Sized + Send + 'static {
    /// Reads a request. Parameters that the call doesn't read are refused afterwards.
    fn read(asked: &mut Asked<'_, O>) -> Result<Self, Problem>;

    /// The right that the caller's token must give, by the method of the request. `None`: the call asks for it itself.
    fn right(method: &Method) -> Option<Right> {
        Some(Right::of(method))
    }

    /// True if a request that is sent twice writes twice, although its method is one of those that can be repeated.
    fn appends(&self) -> bool {
        false
    }

    /// Answers the request.
    fn answer<T: Table>(self, at: &At<'_, T, O>) -> impl Future<Output = Result<Response, Problem>> + Send;
}

/// The prefix of the paths in the URLs of a deployment: a stage, or the base path of a custom domain. The serving code
/// adds it to the header `Location`; answers with locations in their body add it themselves.
#[derive(Clone, Debug, Default)]
pub struct Prefix(pub String);

/// The request that a call reads.
pub struct Asked<'a, O> {
    /// The caller.
    pub caller: Caller,
    /// The parameters of the path.
    pub path: PathParams,
    /// The parameters of the query string that haven't been read yet.
    pub parameters: Parameters,
    /// The headers `If-Match` and `If-None-Match`.
    pub preconditions: Preconditions,
    /// The header `Prefer`.
    pub prefer: Prefer,
    /// The state that the function's calls share.
    pub shared: &'a Shared<O>,
    /// The method, the headers and the path, as the router saw them.
    pub parts: &'a Parts,
    /// True if reads are strongly consistent whatever `consistent` says.
    pub is_strong: bool,
    /// The prefix of the path.
    pub prefix: Prefix,
    /// The body's bytes; empty for a request without a body.
    pub body: Bytes,
}

/// The client, the caller and the preferences with which a call answers.
pub struct At<'a, T, O> {
    /// The client of the table, until the request's deadline.
    pub client: &'a Client<'a, T, Deadline>,
    /// The state that the function's calls share.
    pub shared: &'a Shared<O>,
    /// The caller.
    pub caller: Caller,
    /// The headers `If-Match` and `If-None-Match`.
    pub preconditions: Preconditions,
    /// The key of a write that must not be carried out twice.
    pub key: Option<Idempotency>,
    /// The preferences of the client.
    pub prefer: Prefer,
    /// The moment after which the request starts no call to the table.
    pub deadline: Deadline,
}

impl<O> Asked<'_, O> {
    /// Returns the node that a parameter of the path names, in the caller's tenant.
    pub fn node(&self, name: &'static str) -> Result<NodeRef, Problem> {
        Ok(NodeRef { tenant: self.caller.tenant.clone(), id: self.path.id(name)? })
    }

    /// Returns the topic that the path names with `{id}` and `{topic}`.
    pub fn topic(&self) -> Result<Latest, Problem> {
        Ok(Latest { node: self.node("id")?, topic: self.path.text("topic")? })
    }

    /// Reads the parameter of a prefix of ids or topics; `None` if the request has none.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] for an empty prefix, or one of more than `bytes_max` bytes.
    pub fn prefix(&mut self, name: &'static str, bytes_max: usize) -> Result<Option<String>, Problem> {
        let prefix = self.parameters.text(name);
        if prefix.as_ref().is_some_and(|prefix| prefix.is_empty() || prefix.len() > bytes_max) {
            let detail = format!("it takes 1 to {bytes_max} bytes; leave it out for all of them");
            return Err(Problem::new(Kind::BadParameter, detail).at(name));
        }
        Ok(prefix)
    }

    /// Reads the parameter `consistent`: true for strongly consistent reads. The default is false.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] for anything but `true` and `false`.
    pub fn strong(&mut self) -> Result<bool, Problem> {
        Ok(self.parameters.flag("consistent")?.unwrap_or(false) || self.is_strong)
    }

    /// Reads the tokens of writes (`written`) that the call is to wait for.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] for more than [`WRITTEN_MAX`], or one that is none.
    pub fn written(&mut self) -> Result<Vec<Derived>, Problem> {
        let refusal = |detail: &str| Problem::new(Kind::BadParameter, detail).at("written");
        let tokens = self.parameters.texts("written");
        if tokens.len() > WRITTEN_MAX {
            return Err(refusal("give at most 10 tokens"));
        }
        let written: Option<Vec<Derived>> = tokens.iter().map(|token| Derived::of_token(token)).collect();
        let mut written =
            written.ok_or_else(|| refusal("it takes the `Sapwood-Consistency-Token` of a write's answer, as it is"))?;
        written.dedup();
        Ok(written)
    }

    /// Reads the body of a POST or PUT.
    ///
    /// # Errors
    /// [`Kind::UnsupportedMediaType`]; [`Kind::BadJson`] for an empty body; the problem of a
    /// [`JsonError`](json::JsonError).
    pub fn body<B: FromJson>(&self) -> Result<B, Problem> {
        demand_json(&self.parts.headers)?;
        self.json()
    }

    /// The same for a call whose body may be missing: an absent body counts as an empty object.
    pub fn body_if_any<B: FromJson + Default>(&self) -> Result<B, Problem> {
        if self.body.is_empty() { Ok(B::default()) } else { self.body() }
    }

    /// Reads the body of a PATCH.
    pub fn merge_patch<B: FromJson>(&self) -> Result<B, Problem> {
        demand_merge_patch(&self.parts.headers)?;
        self.json()
    }

    fn json<B: FromJson>(&self) -> Result<B, Problem> {
        if self.body.is_empty() {
            return Err(Problem::new(Kind::BadJson, "the body is empty; this call takes JSON"));
        }
        Ok(json::read(&self.body)?)
    }
}

impl<'a, T: Table, O> At<'a, T, O> {
    /// Makes the reader of this request.
    #[must_use]
    pub fn reader(&self) -> Reader<'a, T, Deadline> {
        Reader::new(self.client, &self.shared.settings)
    }

    /// Returns true if the table has all of this, at once or within the time that the client waits.
    pub async fn has(&self, derived: &[Derived]) -> bool {
        let (tenant, waits) = (self.caller.tenant.as_ref(), &self.shared.waits);
        // While waiting is in vain there is one look.
        let wait = WaitFor::FanOut(tenant.cloned());
        let longest = self.prefer.longest_wait().filter(|_| !waits.is_in_vain(&wait)).unwrap_or_default();
        let mut pauses = Pauses::within(self.deadline, longest);
        let missing = missing(derived, &self.reader(), tenant, &mut pauses).await;
        // Many nodes take their time, which says nothing of the fan-out.
        if !longest.is_zero() && missing.is_some_and(|of| !of.is_of_many()) {
            waits.was_in_vain(wait);
        }
        missing.is_none()
    }

    /// Checks that the table has all of this, at once or within the time that the client waits.
    ///
    /// # Errors
    /// [`Kind::NotUpToDate`] if it doesn't.
    pub async fn demand(&self, derived: &[Derived]) -> Result<(), Problem> {
        if self.has(derived).await { Ok(()) } else { Err(Problem::not_yet_written()) }
    }

    /// Makes an answer of 200 in JSON, with its numbers as the client prefers them.
    pub fn json(&self, body: &impl Serialize) -> Result<Response, Problem> {
        let mut response = json_response(body, self.prefer.numbers)?;
        response.headers_mut().insert(VARY, HeaderValue::from_static("prefer"));
        self.prefer.add_to(response.headers_mut());
        Ok(response)
    }
}

/// Makes a router of a function's operations. `handler` returns `None` for another function's call.
/// `sapwood_http::serve` must serve the router, because it identifies the caller and sets the deadline.
pub fn router<S: Clone + Send + Sync + 'static>(
    handler: impl Fn(Function, MethodFilter) -> Option<MethodRouter<S>>,
) -> Router<S> {
    operations().fold(Router::new(), |router, operation| {
        let method = MethodFilter::try_from(operation.method.clone()).ok();
        match method.and_then(|method| handler(operation.function, method)) {
            Some(handler) => router.route(&operation.route(), handler),
            None => router,
        }
    })
}

/// Makes the handler of a call.
pub fn handler<C: Call<O>, T: Table + 'static, O: Send + Sync + 'static>(
    method: MethodFilter,
) -> MethodRouter<ApiState<T, O>> {
    on(method, handle::<C, T, O>)
}

async fn handle<C: Call<O>, T: Table + 'static, O: Send + Sync + 'static>(
    extract::State(state): extract::State<ApiState<T, O>>,
    request: Request,
) -> Response {
    let shared = &*state.shared;
    let Read { call, caller, preconditions, key, prefer, deadline } = match read::<C, O>(shared, request).await {
        Ok(read) => read,
        Err(problem) => return problem.into_response(),
    };
    let table = (state.tables)(deadline);
    let client = Client::new(&table, &deadline, &shared.settings.schema);
    let at = At { client: &client, shared, caller, preconditions, key, prefer, deadline };
    // The future is boxed, because futures nested this deep exceed the compiler's limit.
    let answered = Box::pin(call.answer(&at)).await;
    (Extension(client.usage()), answered.unwrap_or_else(IntoResponse::into_response)).into_response()
}

struct Read<C> {
    call: C,
    caller: Caller,
    preconditions: Preconditions,
    key: Option<Idempotency>,
    prefer: Prefer,
    deadline: Deadline,
}

async fn read<C: Call<O>, O>(shared: &Shared<O>, request: Request) -> Result<Read<C>, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, &()).await?;
    if caller.tenant.is_some() != shared.settings.schema.has_tenants() {
        tracing::error!("the tenant claim and the table's settings contradict each other");
        return Err(Problem::internal());
    }
    if let Some(right) = C::right(&parts.method) {
        caller.demand(right)?;
    }
    let body = read_whole(body).await?;
    let path = PathParams::from_request_parts(&mut parts, &()).await?;
    let parameters = Parameters::from_request_parts(&mut parts, &()).await?;
    let preconditions = preconditions(&parts.method, &parts.headers)?;
    let reads = matches!(parts.method, Method::GET | Method::HEAD);
    let prefer = if reads { Prefer::of_read(&parts.headers)? } else { Prefer::read(&parts.headers)? };
    let deadline = parts.extensions.get().copied().ok_or_else(|| {
        tracing::error!("the router is served without a deadline");
        Problem::internal()
    })?;
    let prefix = parts.extensions.get().cloned().unwrap_or_default();
    let is_strong = false;
    let key = if reads { None } else { idempotency::key(&caller, &parts, &body)? };
    let mut asked =
        Asked { prefix, caller, path, parameters, preconditions, prefer, shared, parts: &parts, is_strong, body };
    let call = C::read(&mut asked)?;
    let Asked { caller, preconditions, prefer, parameters, .. } = asked;
    parameters.end()?;
    let key = key.filter(|_| call.appends() || [Method::POST, Method::DELETE].contains(&parts.method));
    Ok(Read { call, caller, preconditions, key, prefer, deadline })
}

/// Makes an answer with status 200 and this body as JSON. `numbers` says how numbers are written.
///
/// # Errors
/// [`Kind::Internal`] if the body can't be written as JSON. That is a number attribute that is no number, which no
/// client of DynamoDB can write. [`Kind::ItemTooLarge`] if the answer is too large for a function.
pub fn json_response(body: &impl Serialize, numbers: Numbers) -> Result<Response, Problem> {
    let written = json::to_vec(body, numbers).map_err(|error| {
        tracing::error!(category = ?error.classify(), "an answer can't be written as JSON");
        Problem::internal()
    })?;
    if written.len() > ANSWER_BYTES_MAX / 2 && as_text_bytes(&written) > ANSWER_BYTES_MAX {
        let detail = "the answer has more than 6 MB, because another client has written a large item; name the attributes that you need in `fields`";
        return Err(Problem::new(Kind::ItemTooLarge, detail));
    }
    Ok(([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], written).into_response())
}

/// Most bytes of a body as JSON text. Lambda takes 6 MB, with the headers.
const ANSWER_BYTES_MAX: usize = 6_200_000;

fn as_text_bytes(body: &[u8]) -> usize {
    body.len() + body.iter().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}
