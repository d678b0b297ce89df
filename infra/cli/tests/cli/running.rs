//! `sapwood dev` as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use sapwood_tests::client::{client, contents};
use sapwood_tests::oracle::{Contents, Oracle};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::stack::OURS;

pub(crate) const TABLE: &str = "sapwood";

/// The binary with these arguments, on the table behind a URL.
pub(crate) fn command(url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    command.args(arguments).args(["--table", TABLE, "--endpoint", url]).stdin(Stdio::null());
    command
}

pub(crate) fn sapwood(url: &str, arguments: &[&str]) -> Output {
    command(url, arguments).output().unwrap()
}

/// What it printed, if it ended with this code.
pub(crate) fn printed(url: &str, arguments: &[&str], code: i32) -> String {
    let output = sapwood(url, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", words(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// What it said in both ways.
pub(crate) fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The base records, without Sapwood's own attributes.
pub(crate) async fn records(running: &Sapwood) -> Contents {
    let oracle = Oracle::default();
    let all = contents(&running.client, TABLE, ["PK", "SK"]).await;
    let base = all.into_iter().filter(|((pk, sk), _)| pk != OURS && oracle.is_base(pk, sk));
    base.map(|(key, item)| (key, item.into_iter().filter(|(name, _)| !name.starts_with('_')).collect())).collect()
}

/// The time without a batch after which the table is looked at: longer than the handler needs for one.
const QUIET: Duration = Duration::from_millis(500);
/// The time within which the table has to be right.
const RIGHT_WITHIN: Duration = Duration::from_secs(180);

/// `sapwood dev`, running.
pub(crate) struct Sapwood {
    process: Child,
    pub(crate) url: String,
    /// The API's URL, if it is served.
    pub(crate) http: Option<String>,
    /// The explorer's URL, if it is served.
    pub(crate) explorer: Option<String>,
    pub(crate) client: Client,
    /// Changes with each line that is printed: one for each batch of the stream.
    batches: watch::Receiver<()>,
}

impl Sapwood {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_sapwood"))
            .args(["dev", "--json"])
            .args(["--dynamodb", "127.0.0.1:0"].iter().filter(|_| !arguments.contains(&"--dynamodb")))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(first["event"], "listening");
        let url = first["dynamodb"].as_str().unwrap().to_owned();
        let [http, explorer] = ["http", "explorer"].map(|name| first[name].as_str().map(str::to_owned));
        let (printed, batches) = watch::channel(());
        std::thread::spawn(move || lines.for_each(|_| printed.send_replace(())));
        Self { process, client: client(&url), url, http, explorer, batches }
    }

    pub(crate) fn start_on(data: &Path, arguments: &[&str]) -> Self {
        Self::start(&[&["--data", data.to_str().unwrap()], arguments].concat())
    }

    /// Not a word of farewell: SIGKILL.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) fn interrupt(mut self) -> i32 {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.process.wait().unwrap().code().unwrap()
    }

    pub(crate) async fn differences(&self) -> Vec<String> {
        Oracle::default().differences(&contents(&self.client, TABLE, ["PK", "SK"]).await)
    }

    /// Waits until no batch has come for a while, and the table is right then.
    pub(crate) async fn becomes_right(&self) {
        let begun = Instant::now();
        let mut batches = self.batches.clone();
        loop {
            while timeout(QUIET, batches.changed()).await.is_ok_and(|printed| printed.is_ok()) {}
            let differences = self.differences().await;
            if differences.is_empty() {
                break;
            }
            assert!(
                begun.elapsed() < RIGHT_WITHIN,
                "after {RIGHT_WITHIN:?} still {} differences: {:?}",
                differences.len(),
                &differences[..differences.len().min(5)]
            );
        }
    }
}

impl Drop for Sapwood {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
