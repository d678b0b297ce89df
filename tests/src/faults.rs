//! A proxy in front of a DynamoDB engine, on HTTP/1.1. It answers, cuts and stalls requests as a policy says, and keeps
//! a log.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// The operations that a fan-out uses.
pub const OPERATIONS: [&str; 7] =
    ["BatchGetItem", "Query", "BatchWriteItem", "PutItem", "UpdateItem", "BatchExecuteStatement", "DeleteItem"];

/// Those that write.
pub const WRITES: [&str; 5] = ["BatchWriteItem", "PutItem", "UpdateItem", "BatchExecuteStatement", "DeleteItem"];

/// Those that read.
pub const READS: [&str; 2] = ["BatchGetItem", "Query"];

/// A request that the proxy received.
#[derive(Debug)]
pub struct Call {
    /// The operation, such as `PutItem`.
    pub operation: String,
    /// The number of requests of this operation before this one since the policy was set.
    pub nth: usize,
    /// The body of the request.
    pub body: Value,
}

impl Call {
    /// The number of keys, writes or statements in a batch.
    #[must_use]
    pub fn batch_len(&self) -> usize {
        if let Some(statements) = list(&self.body["Statements"]) {
            return statements.len();
        }
        let tables = self.body["RequestItems"].as_object();
        tables.map_or(0, |tables| tables.values().filter_map(list).map(Vec::len).sum())
    }

    /// The actions that IAM must allow for the request, such as `PutItem`. A transaction has none of its own: it needs
    /// those of its parts. So does a batch of statements.
    #[must_use]
    pub fn actions(&self) -> Vec<String> {
        if let Some(statements) = list(&self.body["Statements"]) {
            return statements.iter().map(|statement| action_of(statement["Statement"].as_str().unwrap())).collect();
        }
        let Some(parts) = list(&self.body["TransactItems"]) else { return vec![self.operation.clone()] };
        let names = parts.iter().filter_map(Value::as_object).filter_map(|part| part.keys().next());
        names.map(|name| format!("{name}Item")).collect()
    }
}

/// The action of a PartiQL statement.
fn action_of(statement: &str) -> String {
    let verb = statement.split_whitespace().next().unwrap_or_default();
    format!("PartiQL{}{}", verb[..1].to_uppercase(), verb[1..].to_lowercase())
}

/// What the proxy does with a request instead of passing it on.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The proxy answers with this status and body.
    Answer(u16, String),
    /// The proxy cuts the connection. The engine doesn't get the request.
    CutBefore,
    /// The engine carries out the request, and the proxy cuts the connection without an answer.
    CutAfter,
    /// The engine carries out the request, and the proxy cuts the connection in the middle of the answer.
    CutWithin,
    /// The engine carries out the request, and the proxy answers 200 with a body that isn't JSON.
    Garbled,
    /// The proxy answers that everything in the batch is unprocessed.
    Unprocessed,
    /// The engine carries out the first half of the batch, and the proxy answers that the rest is unprocessed.
    Half,
    /// The proxy waits for this time, then cuts the connection.
    Stall(Duration),
    /// The proxy waits for this time, then passes the request on: a queue before the engine.
    Late(Duration),
    /// The proxy cuts the connection, and the engine carries out the request after this time.
    CutThenLate(Duration),
}

impl Fault {
    /// The fault that answers with an error of `DynamoDB`, by its full name, such as
    /// `com.amazonaws.dynamodb.v20120810#InternalServerError`.
    #[must_use]
    pub fn error(status: u16, name: &str) -> Self {
        Self::Answer(status, json!({ "__type": name, "message": "a fault, on purpose" }).to_string())
    }
}

/// A line of the log.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The operation, such as `PutItem`.
    pub operation: String,
    /// The time at which the request had come in.
    pub at: Instant,
    /// True if the policy had a fault for the request.
    pub faulted: bool,
}

/// A policy returns the fault of a request, or `None` to pass it on.
pub type Policy = Box<dyn Fn(&Call) -> Option<Fault> + Send + Sync>;

#[derive(Default)]
struct State {
    policy: Option<Policy>,
    counts: BTreeMap<String, usize>,
    seen: Vec<Seen>,
}

/// A running proxy. Dropping it cuts every connection.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy in front of the engine at this address. It passes everything on until it has a policy.
    pub async fn start(engine: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                // Errors of a connection are ignored, because broken connections are what the proxy is for.
                connections.spawn(serve(client, engine, Arc::clone(&shared)));
                while connections.try_join_next().is_some() {}
            }
        });
        Self { address, state, task }
    }

    /// The URL of the proxy.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Follows this policy from now on. The counts begin again, and the log is empty.
    pub fn follow(&self, policy: impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static) {
        *self.state.lock().unwrap() = State { policy: Some(Box::new(policy)), ..State::default() };
    }

    /// Returns the log since the policy was set.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }

    /// Returns the number of requests of an operation since the policy was set.
    #[must_use]
    pub fn count(&self, operation: &str) -> usize {
        self.state.lock().unwrap().counts.get(operation).copied().unwrap_or_default()
    }

    /// Returns the number of an operation's requests that had a fault since the policy was set.
    #[must_use]
    pub fn faults(&self, operation: &str) -> usize {
        let state = self.state.lock().unwrap();
        state.seen.iter().filter(|seen| seen.faulted && seen.operation == operation).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    #[allow(clippy::disallowed_methods, reason = "the log says when a request came in")]
    fn decide(&mut self, operation: &str, body: &[u8]) -> (Call, Option<Fault>) {
        let count = self.counts.entry(operation.to_owned()).or_default();
        let body = serde_json::from_slice(body).unwrap_or_default();
        let call = Call { operation: operation.to_owned(), nth: *count, body };
        *count += 1;
        let fault = self.policy.as_ref().and_then(|policy| policy(&call));
        self.seen.push(Seen { operation: call.operation.clone(), at: Instant::now(), faulted: fault.is_some() });
        (call, fault)
    }
}

/// A request or an answer.
struct Message {
    head: String,
    body: Vec<u8>,
}

impl Message {
    /// Reads the next message of a connection; `None` if the connection has ended. `buffer` holds bytes that were read
    /// and not yet used.
    async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Self>> {
        const END: &[u8] = b"\r\n\r\n";
        let end = loop {
            if let Some(end) = buffer.windows(END.len()).position(|window| window == END) {
                break end + END.len();
            }
            if stream.read_buf(buffer).await? == 0 {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        let mut message = Self { head, body: Vec::new() };
        assert!(message.header("transfer-encoding").is_none(), "the proxy can't read chunks: {}", message.head);
        let length: usize = message.header("content-length").map_or(0, |length| length.parse().unwrap());
        while buffer.len() < end + length {
            if stream.read_buf(buffer).await? == 0 {
                return Ok(None);
            }
        }
        message.body = buffer[end..end + length].to_vec();
        buffer.drain(..end + length);
        Ok(Some(message))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }

    fn answer(status: u16, body: Vec<u8>) -> Self {
        let head = format!(
            "HTTP/1.1 {status} Fault\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        Self { head, body }
    }

    /// Returns the request with another body.
    fn with_body(&self, body: &Value) -> Self {
        let body = body.to_string().into_bytes();
        let lines = self.head.trim_end().lines();
        let kept = lines.filter(|line| !line.to_ascii_lowercase().starts_with("content-length:"));
        let head = kept.fold(String::new(), |head, line| head + line + "\r\n");
        Self { head: format!("{head}content-length: {}\r\n\r\n", body.len()), body }
    }

    fn bytes(&self) -> Vec<u8> {
        [self.head.as_bytes(), &self.body].concat()
    }
}

/// Serves one connection of a client, request by request, until one side closes it.
async fn serve(mut client: TcpStream, engine: SocketAddr, state: Arc<Mutex<State>>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut engine = Upstream { address: engine, stream: None };
    let mut buffer = Vec::new();
    while let Some(request) = Message::read(&mut client, &mut buffer).await? {
        let target = request.header("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let (call, fault) = state.lock().unwrap().decide(operation, &request.body);
        let answer = match fault {
            None => engine.ask(&request).await?,
            Some(Fault::Answer(status, body)) => Message::answer(status, body.into_bytes()),
            Some(Fault::Unprocessed) => unprocessed(call),
            Some(Fault::Half) => {
                let (first, rest) = halves(&call.body);
                let answer = engine.ask(&request.with_body(&first)).await?;
                with_left(&call.operation, &answer, rest)
            }
            Some(Fault::CutBefore) => return Ok(()),
            Some(Fault::CutAfter) => {
                engine.ask(&request).await?;
                return Ok(());
            }
            Some(Fault::CutWithin) => {
                let answer = engine.ask(&request).await?;
                client.write_all(answer.head.as_bytes()).await?;
                return client.write_all(&answer.body[..answer.body.len() / 2]).await;
            }
            Some(Fault::Garbled) => {
                engine.ask(&request).await?;
                Message::answer(200, b"<html>{".to_vec())
            }
            Some(Fault::Stall(time)) => {
                tokio::time::sleep(time).await;
                return Ok(());
            }
            Some(Fault::CutThenLate(time)) => {
                drop(client);
                tokio::time::sleep(time).await;
                return engine.ask(&request).await.map(drop);
            }
            Some(Fault::Late(time)) => {
                tokio::time::sleep(time).await;
                engine.ask(&request).await?
            }
        };
        client.write_all(&answer.bytes()).await?;
    }
    Ok(())
}

/// The connection to the engine. It is made when it is first needed.
struct Upstream {
    address: SocketAddr,
    stream: Option<TcpStream>,
}

impl Upstream {
    async fn ask(&mut self, request: &Message) -> io::Result<Message> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(TcpStream::connect(self.address).await?),
        };
        stream.set_nodelay(true)?;
        stream.write_all(&request.bytes()).await?;
        let answer = Message::read(stream, &mut Vec::new()).await?;
        answer.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    }
}

/// Returns the writes or the keys of one table's part of a batch.
fn list(part: &Value) -> Option<&Vec<Value>> {
    part.as_array().or_else(|| part["Keys"].as_array())
}

fn left_name(operation: &str) -> &'static str {
    match operation {
        "BatchGetItem" => "UnprocessedKeys",
        "BatchWriteItem" => "UnprocessedItems",
        other => panic!("{other} is no batch"),
    }
}

/// What DynamoDB answers to so many statements that it throttles.
fn throttled(statements: usize) -> Vec<Value> {
    vec![json!({"Error": {"Code": "ThrottlingError", "Message": "a fault, on purpose"}}); statements]
}

fn unprocessed(mut call: Call) -> Message {
    if call.operation == "BatchExecuteStatement" {
        let answer = json!({"Responses": throttled(call.batch_len())});
        return Message::answer(200, answer.to_string().into_bytes());
    }
    let mut answer = json!({});
    if call.operation == "BatchGetItem" {
        answer["Responses"] = json!({});
    }
    answer[left_name(&call.operation)] = call.body["RequestItems"].take();
    Message::answer(200, answer.to_string().into_bytes())
}

/// Cuts a batch in two. Returns the request for the first half, and the rest as an answer names it. A batch of one has
/// only a first half.
fn halves(body: &Value) -> (Value, Value) {
    if let Some(statements) = list(&body["Statements"]) {
        let (done, left) = statements.split_at(statements.len().div_ceil(2));
        let mut first = body.clone();
        first["Statements"] = json!(done);
        return (first, json!(throttled(left.len())));
    }
    let (mut first, mut rest) = (body.clone(), json!({}));
    for (table, part) in body["RequestItems"].as_object().unwrap() {
        let all = list(part).unwrap();
        let (done, left) = all.split_at(all.len().div_ceil(2));
        let with = |some: &[Value]| match part.as_array() {
            Some(_) => json!(some),
            None => {
                let mut part = part.clone();
                part["Keys"] = json!(some);
                part
            }
        };
        first["RequestItems"][table] = with(done);
        if !left.is_empty() {
            rest[table] = with(left);
        }
    }
    (first, rest)
}

fn with_left(operation: &str, answer: &Message, left: Value) -> Message {
    assert!(answer.head.starts_with("HTTP/1.1 200"), "the first half of a {operation} failed: {}", answer.head);
    let mut body: Value = serde_json::from_slice(&answer.body).unwrap();
    if let (Some(answers), Some(left)) = (body["Responses"].as_array_mut(), left.as_array()) {
        answers.extend(left.iter().cloned());
        return Message::answer(200, body.to_string().into_bytes());
    }
    let name = left_name(operation);
    assert!(body[name].as_object().is_none_or(|left| left.is_empty()), "the engine itself left some: {body}");
    body[name] = left;
    Message::answer(200, body.to_string().into_bytes())
}
