//! The benchmark's end of `answering-table` (tests/processor-time).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use sapwood_tests::running::TABLE;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The table's process. Dropping it kills the process.
pub(crate) struct Table {
    process: Child,
    /// The table's URL.
    pub(crate) url: String,
    connection: TcpStream,
}

impl Table {
    /// Starts a table without items, which are kept as `empty`.
    pub(crate) async fn start(directory: &Path) -> Self {
        let mut process =
            Command::new(directory.join("answering-table")).stdout(Stdio::piped()).spawn().expect("answering-table");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().to_owned();
        let connection = TcpStream::connect(url.trim_start_matches("http://")).await.unwrap();
        connection.set_nodelay(true).unwrap();
        let mut table = Self { process, url, connection };
        table.tell("Keep", &json!("empty")).await;
        table
    }

    /// Puts items.
    pub(crate) async fn put(&mut self, items: &[Value]) {
        let writes: Vec<Value> = items.iter().map(|item| json!({"PutRequest": {"Item": item}})).collect();
        self.tell("BatchWriteItem", &json!({"RequestItems": {TABLE: writes}})).await;
    }

    /// Sends an operation, and returns its answer.
    pub(crate) async fn tell(&mut self, operation: &str, body: &Value) -> Value {
        let body = body.to_string();
        let head = format!("POST / HTTP/1.1\r\nX-Amz-Target: {operation}\r\nContent-Length: {}\r\n\r\n", body.len());
        self.connection.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await.unwrap();
        let mut answer = Vec::new();
        let end = loop {
            self.connection.read_buf(&mut answer).await.unwrap();
            if let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let head = String::from_utf8_lossy(&answer[..end]);
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
        let length: usize = length.trim().parse().unwrap();
        answer.drain(..end);
        while answer.len() < length {
            assert!(self.connection.read_buf(&mut answer).await.unwrap() > 0, "the table went away");
        }
        serde_json::from_slice(&answer).unwrap()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // A process that has ended already is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
