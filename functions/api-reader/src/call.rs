//! One call: from a request to its answer.

use axum::extract::{FromRequestParts, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use axum::http::{Extensions, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Latest;
use sapwood_engine::query::Reader;
use sapwood_http::caller::Caller;
use sapwood_http::headers::{Preconditions, etag};
use sapwood_http::parameters::Parameters;
use sapwood_http::path::PathParams;
use sapwood_http::problem::{Kind, Problem};
use sapwood_table::{Client, Deadline, Table};
use serde::Serialize;

use crate::state::{Shared, State};

/// A call of the contract: what is asked for, and how that is answered.
pub(crate) trait Call: Sized + Send {
    /// Reads a request. Parameters that it doesn't take are refused after it.
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem>;

    /// Answers it.
    fn answer<T: Table>(
        self,
        reader: &Reader<'_, T, Deadline>,
        shared: &Shared,
    ) -> impl Future<Output = Result<Response, Problem>> + Send;
}

/// What a request says.
pub(crate) struct Asked<'a> {
    pub(crate) caller: Caller,
    pub(crate) path: PathParams,
    pub(crate) parameters: Parameters,
    pub(crate) preconditions: Preconditions,
    pub(crate) shared: &'a Shared,
}

impl Asked<'_> {
    /// The node of a part of the path: the caller's tenant's, whatever it is called.
    pub(crate) fn node(&self, name: &'static str) -> Result<NodeRef, Problem> {
        Ok(NodeRef { tenant: self.caller.tenant.clone(), id: self.path.id(name)? })
    }

    /// The topic that the path names.
    pub(crate) fn topic(&self) -> Result<Latest, Problem> {
        Ok(Latest { node: self.node("id")?, topic: self.path.text("topic")? })
    }

    /// How ids or topics are to begin.
    pub(crate) fn prefix(&mut self, name: &'static str, bytes_max: usize) -> Result<Option<String>, Problem> {
        let prefix = self.parameters.text(name);
        if prefix.as_ref().is_some_and(|prefix| prefix.is_empty() || prefix.len() > bytes_max) {
            let detail = format!("it takes 1 to {bytes_max} bytes; leave it out for all of them");
            return Err(Problem::new(Kind::BadParameter, detail).at(name));
        }
        Ok(prefix)
    }

    /// Whether it is to be read strongly.
    pub(crate) fn strong(&mut self) -> Result<bool, Problem> {
        Ok(self.parameters.flag("consistent")?.unwrap_or(false))
    }
}

/// The handler of a call.
pub(crate) async fn handle<C: Call, T: Table + 'static>(
    axum::extract::State(state): axum::extract::State<State<T>>,
    request: Request,
) -> Response {
    let (mut parts, _) = request.into_parts();
    let read = async {
        let caller = Caller::from_request_parts(&mut parts, &()).await?;
        if caller.tenant.is_some() != state.shared().settings.schema.has_tenants() {
            tracing::error!("who says which tenant a caller belongs to, and the table's settings, don't fit together");
            return Err(Problem::internal());
        }
        let path = PathParams::from_request_parts(&mut parts, &()).await?;
        let parameters = Parameters::from_request_parts(&mut parts, &()).await?;
        let preconditions = Preconditions::read(&parts.headers)?;
        let mut asked = Asked { caller, path, parameters, preconditions, shared: state.shared() };
        let call = C::read(&mut asked)?;
        asked.parameters.end()?;
        Ok::<_, Problem>((call, deadline(&parts.extensions)?))
    };
    let (call, deadline) = match read.await {
        Ok(read) => read,
        Err(problem) => return problem.into_response(),
    };
    let shared = state.shared();
    let table = state.table(deadline);
    let session = Client::new(&table, &deadline, &shared.settings.schema);
    let answered = call.answer(&Reader::new(&session, &shared.settings), shared).await;
    let mut response = answered.unwrap_or_else(IntoResponse::into_response);
    response.extensions_mut().insert(session.usage());
    response
}

fn deadline(extensions: &Extensions) -> Result<Deadline, Problem> {
    extensions.get().copied().ok_or_else(|| {
        tracing::error!("the router is served without anybody saying until when");
        Problem::internal()
    })
}

/// An answer in JSON.
pub(crate) fn json(body: &impl Serialize) -> Result<Response, Problem> {
    let written = serde_json::to_vec(body).map_err(|error| {
        // A number attribute that is no number, say: no client of DynamoDB's can write one.
        tracing::error!(category = ?error.classify(), "an answer can't be written");
        Problem::internal()
    })?;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], written).into_response())
}

/// An answer with the entity tag of the whole, whatever is `shown` of it: writes are compared with that. None of it goes to a
/// client that has it.
pub(crate) fn tagged<B: Serialize>(
    preconditions: &Preconditions,
    whole: B,
    shown: impl FnOnce(B) -> B,
) -> Result<Response, Problem> {
    let etag = etag(&whole)?;
    let mut response = match preconditions.unchanged(&etag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => json(&shown(whole))?,
    };
    response.headers_mut().insert(ETAG, etag.header());
    // To be kept by the client alone, and asked for again each time.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(response)
}
