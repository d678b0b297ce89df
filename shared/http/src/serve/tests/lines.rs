//! The log of a request.

use super::client::{Sent, by_event, ending_soon};
use super::*;

async fn logged(sent: Sent) -> (Value, String) {
    let (text, line) = lines_of(by_event(options(), &sent.event())).await;
    (line, text)
}

/// Returns all that is logged in the meantime, and the line of the request.
async fn lines_of<T>(answered: impl Future<Output = T>) -> (String, Value) {
    let (lines, guard) = Lines::logged(None);
    answered.await;
    drop(guard);
    let text = lines.take();
    let line = text.lines().find(|line| line.contains("\"message\":\"request\"")).unwrap();
    let line = serde_json::from_str(line).unwrap();
    (text, line)
}

#[tokio::test]
async fn a_request_is_one_line_with_its_route_and_its_costs() {
    let (line, text) = logged(Sent::new("POST", "/nodes").body("application/json", "{\"secret\":1}")).await;
    for (name, value) in [
        ("method", json!("POST")),
        ("route", json!("/nodes")),
        ("status", json!(201)),
        ("calls", json!(2)),
        ("retries", json!(1)),
        ("conflicts", json!(1)),
        ("read_units", json!(1.0)),
        ("write_units", json!(1.5)),
        ("request_id", json!("test")),
        ("level", json!("INFO")),
    ] {
        assert_eq!(line[name], value, "{name}");
    }
    assert!(line["ms"].is_u64() && line["timestamp"].is_string());
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
    let (_, line) = lines_of(lambda.handle(event, &ending_soon())).await;
    assert_eq!((&line["route"], &line["status"]), (&json!("/slow"), &json!(503)));
}

#[test]
fn a_tenant_claim_that_users_can_change_is_warned_of() {
    let schema = sapwood_core::keys::Schema::new(sapwood_core::keys::Names::default(), true).unwrap();
    let settings = Settings { schema, ..Settings::default() };
    for (claim, is_warned_of) in
        [("email", true), ("preferred_username", true), ("custom:tenant", false), ("principalOrgId", false)]
    {
        let (lines, _guard) = Lines::logged(None);
        let lookup = |name: &str| (name == "TENANT_CLAIM").then(|| claim.to_owned());
        Options::read(lookup, &settings).unwrap();
        let text = lines.take();
        assert_eq!(text.contains("\"level\":\"WARN\"") && text.contains(claim), is_warned_of, "{claim}: {text}");
    }
}
