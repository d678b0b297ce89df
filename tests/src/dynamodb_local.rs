//! Amazon's DynamoDB Local as a child process.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What has to be run first.
const INSTALL: &str = ".ci/tools dynamodb-local";

/// On a busy machine it takes its time.
const READY_WITHIN: Duration = Duration::from_secs(90);

/// Stops Java when its input ends, that is, when this process drops the guard or ends, however it does.
const UNTIL_INPUT_ENDS: &str = r#""$@" </dev/null & read -r _; kill $!; wait $!"#;

/// A running DynamoDB Local, everything in memory. Dropping it stops it.
#[derive(Debug)]
pub struct DynamoDbLocal {
    shell: Child,
    address: SocketAddr,
}

impl DynamoDbLocal {
    /// The one that the tests of this process share: it takes seconds and 200 MB to start.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<DynamoDbLocal> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts one from where `.ci/tools dynamodb-local` installs it.
    #[must_use]
    pub fn start() -> Self {
        let directory = directory();
        let has_jars = |entries: std::fs::ReadDir| {
            entries.flatten().any(|entry| entry.path().extension().is_some_and(|extension| extension == "jar"))
        };
        let installed = std::fs::read_dir(&directory).is_ok_and(has_jars);
        assert!(installed, "DynamoDB Local isn't in {}: run {INSTALL}", directory.display());
        // Between here and Java's own listening the port may be taken by somebody else: then another one.
        (0..3)
            .find_map(|_| Self::start_in(&directory).ok())
            .unwrap_or_else(|| panic!("DynamoDB Local doesn't start: run {INSTALL}, and look whether java is there"))
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

    /// Where it listens, as a URL.
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

#[allow(clippy::disallowed_methods, reason = "a suite may be told where it is")]
fn directory() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let told = std::env::var_os("SAPWOOD_DYNAMODB_LOCAL").filter(|told| !told.is_empty());
    root.join(told.unwrap_or_else(|| ".cache/dynamodb-local".into()))
}
