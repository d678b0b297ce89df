//! Runs a function as Lambda does: its binary, on a stand-in for Lambda's runtime API ([AWS: the API][aws]).
//!
//! Cargo tells only a package's own tests where its binary is, so each function's package has a suite that uses this.
//!
//! [aws]: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sapwood_local::template::Template;
use serde_json::Value;
use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex as AsyncMutex, mpsc, watch};
use tokio::time::timeout;

use crate::running::{TABLE, TEMPLATE};

/// Longest time that a test waits for anything.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// The outcome of an invocation: the answer, or the error that the function reported.
pub type Outcome = Result<Value, Value>;

/// A function's process. Dropping it kills the process.
pub struct Function {
    process: Child,
    log: NamedTempFile,
    api: RuntimeApi,
}

impl Function {
    /// Starts a binary with Lambda's environment and these variables.
    pub async fn start<'a>(binary: impl AsRef<Path>, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let log = NamedTempFile::new().unwrap();
        // Both outputs share one position in the file.
        let output = log.reopen().unwrap();
        Self::start_writing(binary, variables, output.try_clone().unwrap(), output, log).await
    }

    /// Starts a binary like [`Function::start`]. Nobody reads its standard output and error.
    pub async fn start_unheard<'a>(
        binary: impl AsRef<Path>,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let [output, error] = [(); 2].map(|()| std::io::pipe().unwrap().1);
        Self::start_writing(binary, variables, output, error, NamedTempFile::new().unwrap()).await
    }

    async fn start_writing<'a>(
        binary: impl AsRef<Path>,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
        output: impl Into<Stdio>,
        error: impl Into<Stdio>,
        log: NamedTempFile,
    ) -> Self {
        let api = RuntimeApi::start().await;
        let process = Command::new(binary.as_ref())
            .env_clear()
            .envs([("AWS_LAMBDA_RUNTIME_API", api.address.as_str()), ("AWS_LAMBDA_FUNCTION_NAME", "function")])
            .envs([("AWS_LAMBDA_FUNCTION_VERSION", "1"), ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")])
            .envs([("AWS_REGION", "eu-central-1"), ("AWS_ACCESS_KEY_ID", "local"), ("AWS_SECRET_ACCESS_KEY", "local")])
            .envs(variables)
            .stdout(output)
            .stderr(error)
            .spawn()
            .unwrap();
        Self { process, log, api }
    }

    /// Waits until the function has started and asks for its first event.
    pub async fn ready(&mut self) {
        let asked = timeout(WAIT_MAX, self.api.asked.wait_for(|asked| *asked)).await;
        assert!(asked.is_ok_and(|asked| asked.is_ok()), "the function never asked for an event: {}", self.log());
    }

    /// Invokes the function with an event and the time of an API function in the template.
    pub async fn invoke(&mut self, event: &str) -> Outcome {
        self.invoke_within(Duration::from_secs(29), event).await
    }

    /// Invokes the function with an event and this time.
    pub async fn invoke_within(&mut self, time: Duration, event: &str) -> Outcome {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        self.invoke_until(now + time, event).await
    }

    /// Invokes the function as cargo lambda does, whose deadline is ten minutes after the beginning of 1970.
    pub async fn invoke_as_cargo_lambda(&mut self, event: &str) -> Outcome {
        self.invoke_until(Duration::from_secs(600), event).await
    }

    async fn invoke_until(&mut self, deadline: Duration, event: &str) -> Outcome {
        self.api.events.send((event.to_owned(), deadline)).unwrap();
        match timeout(WAIT_MAX, self.api.outcomes.recv()).await {
            Ok(Some(outcome)) => outcome,
            _ => panic!("no answer: {}", self.log()),
        }
    }

    /// Waits for the process to end by itself. Returns how it ended.
    pub async fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < WAIT_MAX, "the function doesn't end: {}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// True if the function has asked for an event.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        *self.api.asked.borrow()
    }

    /// The error that the function reported instead of asking for events.
    #[must_use]
    pub fn init_error(&self) -> Option<Value> {
        self.api.init_error.lock().unwrap().clone()
    }

    /// Returns what the function has written to its standard output and error so far.
    #[must_use]
    pub fn log(&self) -> String {
        let mut text = String::new();
        self.log.reopen().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    /// Returns the processor time that the function has used.
    #[must_use]
    pub fn processor_time(&self) -> Duration {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let nanoseconds = threads.map(|thread| {
            let schedstat = std::fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
            schedstat.split(' ').next().unwrap().parse::<u64>().unwrap()
        });
        Duration::from_nanos(nanoseconds.sum())
    }

    /// Returns the most memory that the function has used, in KiB.
    #[must_use]
    pub fn peak_memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux has this line");
        peak.trim().trim_end_matches("kB").trim().parse().unwrap()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the environment that template.yaml gives a function, by its logical id, with the DynamoDB at `url`.
#[must_use]
pub fn environment(function: &str, url: &str) -> BTreeMap<String, String> {
    let template = Template::parse_with(TEMPLATE, &BTreeMap::new()).unwrap();
    let given = BTreeMap::from([("CURSOR_KEY".to_owned(), "a key for tests, of no secrecy".to_owned())]);
    let mut variables = template.environment_of(function, TABLE, &given).unwrap();
    variables.insert("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), url.to_owned());
    variables
}

/// Returns an environment as [`Function::start`] takes it.
pub fn pairs(variables: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// The test's end of the stand-in for Lambda.
struct RuntimeApi {
    address: String,
    events: mpsc::UnboundedSender<(String, Duration)>,
    outcomes: mpsc::UnboundedReceiver<Outcome>,
    asked: watch::Receiver<bool>,
    init_error: Arc<Mutex<Option<Value>>>,
}

/// The function's end of the stand-in. Its connections share it.
struct Lambda {
    events: AsyncMutex<mpsc::UnboundedReceiver<(String, Duration)>>,
    outcomes: mpsc::UnboundedSender<Outcome>,
    asked: watch::Sender<bool>,
    init_error: Arc<Mutex<Option<Value>>>,
}

impl RuntimeApi {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (events, to_hand_out) = mpsc::unbounded_channel();
        let (answered, outcomes) = mpsc::unbounded_channel();
        let (asks, asked) = watch::channel(false);
        let init_error = Arc::default();
        let lambda = Arc::new(Lambda {
            events: AsyncMutex::new(to_hand_out),
            outcomes: answered,
            asked: asks,
            init_error: Arc::clone(&init_error),
        });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&lambda).connection(stream));
            }
        });
        Self { address, events, outcomes, asked, init_error }
    }
}

impl Lambda {
    async fn connection(self: Arc<Self>, mut stream: TcpStream) {
        // An answer is sent at once, without waiting for more bytes, so that benchmarks measure the function.
        stream.set_nodelay(true).unwrap();
        let (read, mut write) = stream.split();
        let mut read = BufReader::new(read);
        let mut count = 0;
        while let Some((line, body)) = request(&mut read).await {
            let body = || serde_json::from_slice(&body).unwrap_or(Value::Null);
            let answer = if line.contains("/invocation/next") {
                self.asked.send_replace(true);
                let Some((event, deadline)) = self.events.lock().await.recv().await else { return };
                count += 1;
                invocation(count, &event, deadline)
            } else {
                if line.contains("/init/error") {
                    *self.init_error.lock().unwrap() = Some(body());
                } else {
                    let outcome = if line.contains("/response") { Ok(body()) } else { Err(body()) };
                    // Sending fails once the test is over. Nobody needs the outcome then.
                    let _ = self.outcomes.send(outcome);
                }
                "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned()
            };
            if write.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

/// Makes the answer that gives a function its next event. The deadline counts from the beginning of 1970.
fn invocation(number: usize, event: &str, deadline: Duration) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nLambda-Runtime-Aws-Request-Id: request-{number}\r\n\
         Lambda-Runtime-Deadline-Ms: {}\r\n\
         Lambda-Runtime-Invoked-Function-Arn: arn:aws:lambda:eu-central-1:123456789012:function:function\r\n\
         Lambda-Runtime-Trace-Id: Root=1-67409f2e-0a1b2c3d4e5f60718293a4b5;Parent=53995c3f42cd8ad8;Sampled=0\r\n\
         Content-Length: {}\r\n\r\n{event}",
        deadline.as_millis(),
        event.len()
    )
}

/// Reads one request: its first line and its body.
async fn request(read: &mut (impl AsyncBufReadExt + Unpin)) -> Option<(String, Vec<u8>)> {
    let mut first = String::new();
    read.read_line(&mut first).await.ok().filter(|read| *read > 0)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        read.read_line(&mut header).await.ok().filter(|read| *read > 0)?;
        match header.trim().to_lowercase().split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().ok()?,
            Some(("transfer-encoding", _)) => panic!("the runtime sends chunks, which the stand-in can't read"),
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    read.read_exact(&mut body).await.ok()?;
    Some((first, body))
}
