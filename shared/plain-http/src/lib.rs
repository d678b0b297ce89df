//! HTTP without TLS, to an endpoint on the same machine.
//!
//! It stands on hyper alone, because TLS takes a sixth of the time in which `cargo run -- dev` compiles.

use std::error::Error;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::shared::IntoShared;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::ErrorKind;
use hyper_util::client::legacy::{Client, connect};
use hyper_util::rt::{TokioExecutor, TokioTimer};

/// Longest time until a connection stands, as the SDK's own client has it. What waits longer was never sent, so that
/// its sender may send it again: a caller who ends the wait couldn't know that.
const CONNECT_TIME_MAX: Duration = Duration::from_millis(3_100);

/// Returns a client for `http://` URLs. It refuses `https://`.
#[must_use]
pub fn plain_http() -> SharedHttpClient {
    let mut tcp = connect::HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIME_MAX));
    let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(tcp);
    Plain { client, read_timeout: None }.into_shared()
}

#[derive(Clone, Debug)]
struct Plain {
    /// It keeps connections, and its clones share them.
    client: Client<connect::HttpConnector, SdkBody>,
    /// Longest time until the head of an answer has come.
    read_timeout: Option<Duration>,
}

impl HttpClient for Plain {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Self { client: self.client.clone(), read_timeout: settings.read_timeout() })
    }
}

impl HttpConnector for Plain {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into()))),
        };
        let (answer, limit) = (self.client.request(request), self.read_timeout);
        HttpConnectorFuture::new(async move {
            let answered = match limit {
                Some(limit) => match tokio::time::timeout(limit, answer).await {
                    Ok(answered) => answered,
                    Err(late) => return Err(ConnectorError::timeout(late.into())),
                },
                None => answer.await,
            };
            let response = answered.map_err(failed)?;
            HttpResponse::try_from(response.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// Maps an error for the SDK: a connection that can't be made, breaks or ends is an I/O error.
fn failed(error: hyper_util::client::legacy::Error) -> ConnectorError {
    let causes = || std::iter::successors(Some(&error as &(dyn Error + 'static)), |&cause| cause.source());
    let is_of_connection = |cause: &(dyn Error + 'static)| {
        cause.is::<std::io::Error>()
            || cause.downcast_ref().is_some_and(|error: &hyper::Error| error.is_closed() || error.is_canceled())
    };
    if error.is_connect() || causes().any(is_of_connection) {
        ConnectorError::io(error.into())
    } else {
        // An answer that breaks off.
        ConnectorError::other(error.into(), Some(ErrorKind::TransientError))
    }
}
