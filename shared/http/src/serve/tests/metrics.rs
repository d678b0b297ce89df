//! The metrics of a request.

use sapwood_telemetry::metrics::Metrics;

use super::client::{Sent, Server, by_event, ending_soon};
use super::*;
use sapwood_api::caller::Claims;

/// Makes options that write the metrics to `to`.
fn measured(to: &Lines) -> Options {
    Options { metrics: Metrics::new("Sapwood", "an-api", || 1_700_000_000_000, to.clone()), ..options() }
}

fn parsed(lines: &Lines) -> Vec<Value> {
    lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_request_is_one_line_of_metrics() {
    let lines = Lines::default();
    by_event(measured(&lines), &Sent::new("POST", "/nodes").body("application/json", "{}").event()).await;
    let [mut line] = parsed(&lines).try_into().unwrap();
    let latency = line["Latency"].take().as_f64().unwrap();
    assert!((0.0..10_000.0).contains(&latency), "{latency}");
    let metrics: Vec<Value> = ["Requests", "Latency", "ServerErrors", "Unavailable"]
        .iter()
        .chain(&["Conflicts", "Retries", "ReadUnits", "WriteUnits"])
        .map(|name| json!({"Name": name, "Unit": if *name == "Latency" { "Milliseconds" } else { "Count" }}))
        .collect();
    assert_eq!(
        line,
        json!({
            "_aws": {
                "Timestamp": 1_700_000_000_000_u64,
                "CloudWatchMetrics": [
                    {"Namespace": "Sapwood", "Dimensions": [["FunctionName"]], "Metrics": metrics}
                ],
            },
            "FunctionName": "an-api",
            "Requests": 1, "Latency": null, "ServerErrors": 0, "Unavailable": 0, "Conflicts": 1, "Retries": 1,
            "ReadUnits": 1.0, "WriteUnits": 1.5,
        })
    );
}

#[tokio::test]
async fn the_dashboard_shows_existing_metrics() {
    let lines = Lines::default();
    by_event(measured(&lines), &Sent::new("GET", "/nodes/n").event()).await;
    let [line] = &parsed(&lines)[..] else { panic!("{}", lines.text()) };
    let dashboard = include_str!("../../../../../infra/dashboard.yaml").lines();
    let own = dashboard.filter(|line| line.contains(r#"["Sapwood""#) && line.contains("${Api"));
    let shown: Vec<&str> = own.map(|line| line.split('"').nth(3).unwrap()).collect();
    assert!(shown.len() > 5, "{shown:?}");
    assert!(shown.iter().all(|name| line.get(name).is_some()), "{shown:?}");
}

#[tokio::test]
async fn every_request_counts_whatever_the_answer() {
    for (method, target, server_errors) in [
        ("GET", "/nodes/n", 0),
        ("GET", "/nothing", 0),
        ("PUT", "/nodes/n", 0),
        ("OPTIONS", "/nodes/n", 0),
        ("GET", "/nodes/n#", 0),
        ("GET", "/panics", 1),
    ] {
        let lines = Lines::default();
        by_event(measured(&lines), &Sent::new(method, target).event()).await;
        let [line] = &parsed(&lines)[..] else { panic!("{method} {target}: {}", lines.text()) };
        let metrics = ["Requests", "ServerErrors", "Unavailable"].map(|name| line[name].as_u64().unwrap());
        assert_eq!(metrics, [1, server_errors, 0], "{method} {target}");
    }
}

#[tokio::test]
async fn an_unavailable_answer_counts_as_a_server_error_and_as_unavailable() {
    let lines = Lines::default();
    let event = serde_json::from_value(Sent::new("GET", "/slow").event()).unwrap();
    super::super::lambda_service(router(), measured(&lines)).handle(event, &ending_soon()).await;
    let [line] = &parsed(&lines)[..] else { panic!("{}", lines.text()) };
    assert_eq!((&line["Requests"], &line["ServerErrors"], &line["Unavailable"]), (&json!(1), &json!(1), &json!(1)));
}

#[tokio::test]
async fn on_a_local_port_requests_count_as_well() {
    let lines = Lines::default();
    let server = Server::start(measured(&lines), Claims::new()).await;
    for _ in 0..3 {
        server.send(&Sent::new("GET", "/nodes/n")).await;
    }
    server.stop().await;
    assert_eq!(parsed(&lines).iter().map(|line| line["Requests"].as_u64().unwrap()).sum::<u64>(), 3);
}
