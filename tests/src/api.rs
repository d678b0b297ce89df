//! Clients of the HTTP API: one over a local port, and one that hands requests to the functions as API Gateway does.
//! Both must get the same answers, so suites run through each.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::Router;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sapwood_api::caller::Claims;
use sapwood_http::serve::{Front, Lambda, Options, answer, lambda_service, serve_local};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// A request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// The path and the query string as they are on the wire.
    pub target: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The status code.
    pub status: u16,
    /// The headers, with their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Asked {
    /// Makes a request without a body.
    #[must_use]
    pub fn new(method: &str, target: impl Into<String>) -> Self {
        Self { method: method.to_owned(), target: target.into(), headers: Vec::new(), body: None }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a JSON body with the media type that the method calls for.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        let kind = if self.method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        self.header("content-type", kind).bytes(body.to_string())
    }

    /// Adds a body of any bytes.
    #[must_use]
    pub fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }
}

impl Answered {
    /// Returns the body as JSON.
    ///
    /// # Panics
    /// If the body isn't JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, String::from_utf8_lossy(&self.body)))
    }

    /// Returns a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A client of the API.
#[derive(Debug)]
pub enum Api {
    /// The API listens on a local port.
    Http {
        /// The address that it listens on.
        address: SocketAddr,
        /// Dropping this stops it.
        _stop: oneshot::Sender<()>,
    },
    /// The functions are behind API Gateway, which routes requests as template.yaml says.
    Gateway {
        /// The function that reads.
        reader: Box<Lambda>,
        /// The function that writes.
        writer: Box<Lambda>,
        /// The claims of every caller, from the authorizer.
        claims: Claims,
    },
}

impl Api {
    /// Serves both routers on one local port.
    pub async fn http(reader: Router, writer: Router, options: Options, claims: Claims) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        tokio::spawn(serve_local(listener, reader.merge(writer), options, claims, Front::default(), shutdown));
        Self::Http { address, _stop: stop }
    }

    /// Puts each router into a function of its own.
    #[must_use]
    pub fn gateway(reader: Router, writer: Router, options: &Options, claims: Claims) -> Self {
        let lambda = |router| Box::new(lambda_service(router, options.clone()));
        Self::Gateway { reader: lambda(reader), writer: lambda(writer), claims }
    }

    /// Sends a request.
    pub async fn send(&self, asked: &Asked) -> Answered {
        match self {
            Self::Http { address, .. } => over_http(*address, asked).await.expect("an answer has a head"),
            Self::Gateway { reader, writer, claims } => {
                let Some(event) = event(asked, claims) else {
                    // The gateway answers a path with `%25` itself.
                    return Answered { status: 400, headers: BTreeMap::new(), body: Vec::new() };
                };
                let function = if is_for_writer(asked) { writer } else { reader };
                through_gateway(function, &event).await
            }
        }
    }
}

/// True if a request goes to the writer, by method and path, as the template has it.
fn is_for_writer(asked: &Asked) -> bool {
    matches!(asked.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE")
}

/// Sends an event to a function.
pub async fn through_gateway(function: &Lambda, event: &Value) -> Answered {
    answered_to(&answer(function, &event.to_string()).await.unwrap())
}

/// Returns what a client gets of a function's answer.
#[must_use]
pub fn answered_to(response: &Value) -> Answered {
    let headers = response["headers"].as_object().into_iter().flatten();
    let body = response["body"].as_str().unwrap_or_default();
    Answered {
        status: response["statusCode"].as_u64().unwrap().try_into().unwrap(),
        headers: headers.map(|(name, value)| (name.to_lowercase(), value.as_str().unwrap().to_owned())).collect(),
        body: match response["isBase64Encoded"].as_bool() {
            Some(true) => BASE64_STANDARD.decode(body).unwrap(),
            _ => body.as_bytes().to_vec(),
        },
    }
}

/// Returns the event that API Gateway's HTTP API makes of a request (payload 2.0); `None` if the gateway answers 400
/// itself.
#[must_use]
pub fn event(asked: &Asked, claims: &Claims) -> Option<Value> {
    let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    let path = as_the_gateway_decodes(path)?;
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in &asked.headers {
        let entry = headers.entry(name.to_lowercase()).or_default();
        *entry = if entry.is_empty() { value.clone() } else { format!("{entry},{value}") };
    }
    let mut event = json!({
        "version": "2.0",
        "routeKey": format!("{} /{{proxy+}}", asked.method),
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "api",
            "authorizer": { "jwt": { "claims": claims, "scopes": null } },
            "domainName": "api.execute-api.eu-central-1.amazonaws.com",
            "domainPrefix": "api",
            "http": {
                "method": asked.method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "test",
            },
            "requestId": "test",
            "routeKey": format!("{} /{{proxy+}}", asked.method),
            "stage": "$default",
            "time": "21/Nov/2026:04:39:45 +0000",
            "timeEpoch": 1_795_236_000_000_u64,
        },
        "isBase64Encoded": false,
    });
    if let Some(body) = &asked.body {
        match std::str::from_utf8(body) {
            Ok(text) => event["body"] = text.into(),
            Err(_) => {
                event["body"] = BASE64_STANDARD.encode(body).into();
                event["isBase64Encoded"] = true.into();
            }
        }
    }
    Some(event)
}

/// Decodes a path as the gateway does. It keeps `..` and cuts nothing. Returns `None` for what the gateway refuses.
fn as_the_gateway_decodes(path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = |at: usize| after.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        match (byte, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                let decoded = u8::try_from(high * 16 + low).unwrap();
                if decoded == b'%' {
                    return None;
                }
                bytes.push(decoded);
                rest = &after[2..];
            }
            (b'%', _, _) => return None,
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Sends a request over a connection of its own, exactly as the test wrote it. A library would correct what is to be
/// tested. `None` if the server is gone, or goes before it has answered.
pub async fn over_http(address: SocketAddr, asked: &Asked) -> Option<Answered> {
    let mut request = format!("{} {} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n", asked.method, asked.target);
    for (name, value) in &asked.headers {
        request += &format!("{name}: {value}\r\n");
    }
    if let Some(body) = &asked.body {
        request += &format!("content-length: {}\r\n", body.len());
    }
    let mut bytes = request.into_bytes();
    bytes.extend(b"\r\n");
    bytes.extend(asked.body.iter().flatten());
    let mut stream = TcpStream::connect(address).await.ok()?;
    // A server may answer, and close the connection, before it has read everything.
    let _ = stream.write_all(&bytes).await;
    let mut raw = Vec::new();
    let _ = stream.read_to_end(&mut raw).await;
    answered(&raw)
}

fn answered(raw: &[u8]) -> Option<Answered> {
    let end = raw.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(raw[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: BTreeMap<String, String> = lines
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let body = &raw[end + 4..];
    let is_chunked = headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked");
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let body = if is_chunked { unchunked(body)? } else { body.to_vec() };
    // What is cut off in its body is no answer. HEAD has none.
    let is_whole = body.is_empty() || length.is_none_or(|length: usize| body.len() == length);
    is_whole.then_some(Answered { status, headers, body })
}

/// The body that came in chunks; `None` if it is cut off.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if length == 0 {
            return Some(body);
        }
        body.extend(rest.get(line + 2..line + 2 + length)?);
        rest = rest.get(line + 2 + length + 2..)?;
    }
}
