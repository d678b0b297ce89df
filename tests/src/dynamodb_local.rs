//! Amazon's DynamoDB Local as a child process.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The script that installs DynamoDB Local.
const INSTALL: &str = ".ci/tools dynamodb-local";

/// Longest time until DynamoDB Local listens. A busy machine needs most of it.
const READY_WITHIN: Duration = Duration::from_secs(90);

/// A shell script that stops Java when the script's input ends. That happens when the test drops the guard, or its
/// process ends.
const UNTIL_INPUT_ENDS: &str = r#""$@" </dev/null & read -r _; kill $!; wait $!"#;

/// A running DynamoDB Local that keeps its tables in memory. Dropping it stops it.
#[derive(Debug)]
pub struct DynamoDbLocal {
    shell: Child,
    address: SocketAddr,
}

impl DynamoDbLocal {
    /// Returns the DynamoDB Local that the tests of this process share, because one takes seconds to start, and 200 MB.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<DynamoDbLocal> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts DynamoDB Local from where `.ci/tools dynamodb-local` installs it.
    #[must_use]
    pub fn start() -> Self {
        let directory = directory();
        let has_jars = |entries: std::fs::ReadDir| {
            entries.flatten().any(|entry| entry.path().extension().is_some_and(|extension| extension == "jar"))
        };
        let installed = std::fs::read_dir(&directory).is_ok_and(has_jars);
        assert!(installed, "DynamoDB Local isn't in {}: run {INSTALL}", directory.display());
        // Another process may take the port before Java listens on it. Another port is then tried.
        (0..3)
            .find_map(|_| Self::start_in(&directory).ok())
            .unwrap_or_else(|| panic!("DynamoDB Local doesn't start: run {INSTALL}, and check that java is installed"))
    }

    fn start_in(directory: &Path) -> io::Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let shell = Command::new("sh")
            .args(["-c", UNTIL_INPUT_ENDS, "sh", "java"])
            .arg(format!("-Djava.library.path={}", directory.display()))
            .arg("-cp")
            .arg(directory.join("*"))
            .arg("com.amazonaws.services.dynamodbv2.local.main.ServerRunner")
            .args(["-inMemory", "-sharedDb", "-disableTelemetry", "-port", &address.port().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let local = Self { shell, address };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if started.elapsed() > READY_WITHIN {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(local)
    }

    /// The address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of DynamoDB Local.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for DynamoDbLocal {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

#[allow(clippy::disallowed_methods, reason = "the environment may say where DynamoDB Local is")]
fn directory() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let told = std::env::var_os("SAPWOOD_DYNAMODB_LOCAL").filter(|told| !told.is_empty());
    root.join(told.unwrap_or_else(|| ".cache/dynamodb-local".into()))
}
