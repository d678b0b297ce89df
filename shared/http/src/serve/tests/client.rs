//! Two ways to send a request, and one form of answer.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::super::{Front, Options, answer, lambda_service, serve_local};
use super::router;
use sapwood_api::caller::Claims;

/// Makes the context of an invocation that ends a tenth of a second after the time reserved for the answer.
pub(super) fn ending_soon() -> lambda_http::Context {
    let mut context = lambda_http::Context::default();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    context.deadline = u64::try_from(now.as_millis()).unwrap() + 1_100;
    context
}

/// A request, as it is sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    pub(super) method: String,
    /// The path with the query string.
    pub(super) target: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Sent {
    pub(super) fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), ..Self::default() }
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn body(self, media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self.with("content-type", media) }
    }

    /// Returns the event in payload format 2.0. The path isn't decoded.
    pub(super) fn event(&self) -> Value {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let headers: BTreeMap<_, _> = self.headers.iter().cloned().chain([("host", "example.com".into())]).collect();
        let mut event = json!({
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": query,
            "headers": headers,
            "isBase64Encoded": true,
            "requestContext": {
                "stage": "$default",
                "domainName": "id.execute-api.eu-central-1.amazonaws.com",
                "requestId": "r",
                "time": "12/Mar/2020:19:03:58 +0000",
                "timeEpoch": 1_583_348_638_390_i64,
                "http": {"method": self.method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "1.2.3.4", "userAgent": "a"},
            },
        });
        if !self.body.is_empty() {
            event["body"] = STANDARD.encode(&self.body).into();
        }
        event
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

impl Answered {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Returns the slug of a problem, after checking that the answer is one.
    pub(super) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let body = self.json();
        assert_eq!(body["status"], self.status);
        body["type"].as_str().unwrap().rsplit(':').next().unwrap().to_owned()
    }

    /// Removes the headers that depend on the transport.
    pub(super) fn carried(mut self) -> Self {
        for name in ["content-length", "transfer-encoding", "connection", "date", "x-request-id"] {
            self.headers.remove(name);
        }
        self
    }
}

/// Returns the function's answer to an event.
pub(super) async fn by_event(options: Options, event: &Value) -> Answered {
    let written = answer(&lambda_service(router(), options), &event.to_string()).await.unwrap();
    let text = written["body"].as_str().unwrap_or_default();
    let body = match written["isBase64Encoded"] == true {
        true => STANDARD.decode(text).unwrap(),
        false => text.into(),
    };
    let headers = written["headers"].as_object().unwrap().iter();
    let headers = headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
    Answered { status: u16::try_from(written["statusCode"].as_u64().unwrap()).unwrap(), headers, body }
}

/// A server on its own port.
pub(super) struct Server {
    pub(super) at: SocketAddr,
    stop: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub(super) async fn start(options: Options, claims: Claims) -> Self {
        Self::behind(Front::default(), options, claims).await
    }

    /// The same behind something.
    pub(super) async fn behind(front: Front, options: Options, claims: Claims) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async { drop(stopped.await) };
        let served = tokio::spawn(serve_local(listener, router(), options, claims, front, shutdown));
        Self { at, stop, served }
    }

    pub(super) async fn send(&self, sent: &Sent) -> Answered {
        let mut head =
            format!("{} {} HTTP/1.1\r\nhost: example.com\r\nconnection: close\r\n", sent.method, sent.target);
        for (name, value) in &sent.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let length =
            if sent.body.is_empty() { String::new() } else { format!("content-length: {}\r\n", sent.body.len()) };
        let bytes = [format!("{head}{length}\r\n").as_bytes(), &sent.body].concat();
        parse(&self.exchange(bytes).await)
    }

    /// Writes bytes, and reads until the connection ends.
    pub(super) async fn exchange(&self, bytes: Vec<u8>) -> Vec<u8> {
        let at = self.at;
        let exchange = move || {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.write_all(&bytes).unwrap();
            let mut read = Vec::new();
            stream.read_to_end(&mut read).unwrap();
            read
        };
        tokio::task::spawn_blocking(exchange).await.unwrap()
    }

    pub(super) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.served.await.unwrap().unwrap();
    }
}

fn parse(bytes: &[u8]) -> Answered {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| panic!("no answer: {bytes:?}"));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = BTreeMap::new();
    for (name, value) in lines.map(|line| line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""))) {
        assert_eq!(headers.insert(name.to_owned(), value.to_owned()), None, "{name} comes twice");
    }
    let mut body = bytes[end + 4..].to_vec();
    if headers.get("transfer-encoding").is_some_and(|encoding| encoding == "chunked") {
        body = dechunked(&body);
    }
    Answered { status, headers, body }
}

fn dechunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + length]);
        rest = &rest[line + 2 + length + 2..];
    }
}
