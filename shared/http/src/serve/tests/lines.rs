//! What is logged of a request.

use std::io::Write;
use std::sync::{Arc, Mutex};

use super::client::{Sent, by_event};
use super::*;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn logged(sent: Sent) -> (Value, String) {
    let (text, line) = lines_of(by_event(options(), &sent.event())).await;
    (line, text)
}

/// All that is logged meanwhile, and the line of the request.
async fn lines_of<T>(answered: impl Future<Output = T>) -> (String, Value) {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(move || writer.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    answered.await;
    drop(guard);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let line = text.lines().find(|line| line.contains("\"message\":\"request\"")).unwrap();
    let line = serde_json::from_str(line).unwrap();
    (text, line)
}

#[tokio::test]
async fn a_request_is_one_line_with_its_route_and_what_it_took() {
    let (line, text) = logged(Sent::new("POST", "/nodes").body("application/json", "{\"secret\":1}")).await;
    for (name, value) in [
        ("method", json!("POST")),
        ("route", json!("/nodes")),
        ("status", json!(201)),
        ("calls", json!(2)),
        ("retries", json!(1)),
        ("read_units", json!(1.0)),
        ("write_units", json!(1.5)),
        ("request_id", json!("test")),
        ("level", json!("INFO")),
    ] {
        assert_eq!(line[name], value, "{name}");
    }
    assert!(line["ms"].is_u64());
    assert_eq!(text.lines().count(), 1);
}

#[tokio::test]
async fn no_line_holds_what_a_user_chose() {
    for (method, target, route) in [
        ("GET", "/nodes/secret?secret=secret", "/nodes/{id}"),
        ("PUT", "/nodes/secret", "/nodes/{id}"),
        ("GET", "/secret", "none"),
        ("GET", "/nodes/secret#", "none"),
        ("SECRET", "/nodes/secret", "/nodes/{id}"),
        ("GET", "/panics", "/panics"),
    ] {
        let (line, text) = logged(Sent::new(method, target)).await;
        assert_eq!(line["route"], route, "{method} {target}");
        assert!(!text.to_lowercase().contains("secret"), "{text}");
    }
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_logged_with_its_route() {
    let event = serde_json::from_value(Sent::new("GET", "/slow").event()).unwrap();
    let lambda = super::super::lambda_service(router(), options());
    // An invocation whose time is over.
    let context = lambda_http::Context::default();
    let (_, line) = lines_of(lambda.handle(event, &context)).await;
    assert_eq!((&line["route"], &line["status"]), (&json!("/slow"), &json!(503)));
}
