#![allow(clippy::unwrap_used, clippy::panic)]

use std::io;

use serde_json::{Value, json};

use super::*;
use crate::lines::Lines;

fn written(metrics: Vec<Metric>) -> String {
    let lines = Lines::default();
    Metrics::new("Sapwood", "a-function", || 1_574_109_732_004, lines.clone()).write(|_| metrics);
    lines.take()
}

fn parsed(metrics: Vec<Metric>) -> Value {
    serde_json::from_str(&written(metrics)).unwrap()
}

/// Returns the breaches of the specification and of its schema.
fn breaches(line: &Value) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut hold = |holds: bool, what: String| breaches.extend((!holds).then_some(what));
    hold(line["_aws"]["Timestamp"].is_u64(), "Timestamp".to_owned());
    let directives = line["_aws"]["CloudWatchMetrics"].as_array().map_or(&[][..], Vec::as_slice);
    hold(!directives.is_empty(), "CloudWatchMetrics".to_owned());
    for directive in directives {
        let namespace = directive["Namespace"].as_str().unwrap_or_default().len();
        hold((1..=255).contains(&namespace), "Namespace".to_owned());
        let sets = directive["Dimensions"].as_array().map_or(&[][..], Vec::as_slice);
        hold(!sets.is_empty(), "Dimensions".to_owned());
        for name in sets.iter().flat_map(|set| set.as_array().unwrap()) {
            let value = line[name.as_str().unwrap()].as_str().unwrap_or_default().len();
            hold((1..=1_024).contains(&value), format!("dimension {name}"));
        }
        let metrics = directive["Metrics"].as_array().map_or(&[][..], Vec::as_slice);
        hold((1..=100).contains(&metrics.len()), "Metrics".to_owned());
        for metric in metrics {
            hold(matches!(metric["Unit"].as_str(), Some("Count" | "Milliseconds")), format!("unit of {metric}"));
            let is_value = match metric["Name"].as_str().map(|name| &line[name]) {
                Some(Value::Array(values)) => (1..=100).contains(&values.len()) && values.iter().all(Value::is_number),
                Some(value) => value.is_number(),
                None => false,
            };
            hold(is_value, format!("value of {metric}"));
        }
    }
    breaches
}

#[test]
fn a_line_is_this_json() {
    let metrics = vec![
        Metric::count("Records", 3),
        Metric::amount("WriteUnits", 2.5),
        Metric::times("Lag", vec![1_004, 4]),
        Metric::time("Latency", 12.345),
    ];
    assert_eq!(
        written(metrics),
        concat!(
            r#"{"_aws":{"Timestamp":1574109732004,"CloudWatchMetrics":[{"Namespace":"Sapwood","Dimensions":[["FunctionName"]],"#,
            r#""Metrics":[{"Name":"Records","Unit":"Count"},{"Name":"WriteUnits","Unit":"Count"},"#,
            r#"{"Name":"Lag","Unit":"Milliseconds"},{"Name":"Latency","Unit":"Milliseconds"}]}]},"FunctionName":"a-function","#,
            r#""Records":3,"WriteUnits":2.5,"Lag":[1004,4],"Latency":12.345}"#,
            "\n"
        )
    );
}

#[test]
fn a_line_follows_the_specification() {
    assert_eq!(breaches(&parsed(vec![Metric::count("Records", 0), Metric::times("Lag", vec![1; 5_000])])), [""; 0]);
    let many: Vec<&'static str> = (0..150).map(|n| &*format!("Metric{n}").leak()).collect();
    let many = parsed(many.into_iter().map(|name| Metric::count(name, 1)).collect());
    assert_eq!(breaches(&many), [""; 0]);
    assert_eq!(many.as_object().unwrap().len(), 2 + METRICS_MAX);
}

#[test]
fn breaches_of_the_specification_are_found() {
    let good = parsed(vec![Metric::count("Records", 1), Metric::times("Lag", vec![1, 2])]);
    assert_eq!(breaches(&good), [""; 0]);
    for (pointer, bad) in [
        ("/_aws/Timestamp", json!("2026-01-01T00:00:00Z")),
        ("/_aws/CloudWatchMetrics", json!([])),
        ("/_aws/CloudWatchMetrics/0/Namespace", json!("")),
        ("/_aws/CloudWatchMetrics/0/Dimensions", json!([])),
        ("/_aws/CloudWatchMetrics/0/Metrics", json!([])),
        ("/_aws/CloudWatchMetrics/0/Metrics/0/Name", json!("Absent")),
        ("/_aws/CloudWatchMetrics/0/Metrics/0/Unit", json!("Things")),
        ("/FunctionName", json!(null)),
        ("/Records", json!("1")),
        ("/Records", json!(null)),
        ("/Lag", json!([])),
        ("/Lag", json!(vec![1; 101])),
    ] {
        let mut line = good.clone();
        *line.pointer_mut(pointer).unwrap() = bad;
        assert_eq!(breaches(&line).len(), 1, "{pointer}: {:?}", breaches(&line));
    }
}

#[test]
fn a_metric_without_a_number_is_not_named() {
    let line = parsed(vec![
        Metric::times("Lag", Vec::new()),
        Metric::amount("ReadUnits", f64::NAN),
        Metric::time("Latency", f64::INFINITY),
        Metric::count("Records", 1),
    ]);
    assert_eq!(breaches(&line), [""; 0]);
    assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Metrics"], json!([{"Name": "Records", "Unit": "Count"}]));
    assert!(["Lag", "ReadUnits", "Latency"].iter().all(|name| line.get(name).is_none()));
}

#[test]
fn a_hundred_values_stand_for_more() {
    let values = |all: Vec<u64>| -> Vec<u64> {
        serde_json::from_value(parsed(vec![Metric::times("Lag", all)])["Lag"].take()).unwrap()
    };
    assert_eq!(values(vec![7, 3, 5]), [7, 3, 5]);
    assert_eq!(values((0..100).rev().collect()).len(), 100);
    for count in [101, 199, 1_000, 10_000] {
        let spread = values((0..count).rev().collect());
        assert_eq!((spread.len(), spread[0], spread[99]), (100, 0, count - 1));
        let median = count as f64 / 2.0;
        assert!((spread[50] as f64 - median).abs() < count as f64 / 90.0, "{}", spread[50]);
    }
}

#[test]
fn without_a_namespace_or_a_function_nothing_is_written() {
    let read = |variables: &[(&str, &str)]| {
        Metrics::read(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    };
    let (namespace, function) = (("METRICS_NAMESPACE", "Sapwood"), ("AWS_LAMBDA_FUNCTION_NAME", "f"));
    assert!(read(&[namespace, function]).is_on());
    for missing in
        [&[][..], &[namespace], &[function], &[("METRICS_NAMESPACE", ""), function], &[(namespace.0, " "), function]]
    {
        let metrics = read(missing);
        assert!(!metrics.is_on());
        metrics.write(|_| panic!("metrics are made for nobody"));
    }
}

#[test]
fn metrics_have_the_time_of_their_line() {
    let lines = Lines::default();
    Metrics::new("n", "f", || 1_000, lines.clone()).write(|now| vec![Metric::times("Lag", vec![now - 400])]);
    let line: Value = serde_json::from_str(&lines.take()).unwrap();
    assert_eq!((&line["_aws"]["Timestamp"], &line["Lag"]), (&json!(1_000), &json!([600])));
}

/// An output that can't be written.
struct Broken;

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn a_line_that_cannot_be_written_is_lost_without_a_panic() {
    let metrics = Metrics::new("n", "f", || 0, Broken);
    metrics.write(|_| vec![Metric::count("Records", 1)]);
    metrics.write(|_| vec![Metric::count("Records", 1)]);
}

/// An output that counts its writes.
struct Writes(Arc<Mutex<usize>>);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0.lock().unwrap() += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_line_is_written_at_once() {
    let writes = Arc::new(Mutex::new(0));
    let metrics = Metrics::new("n", "f", || 0, Writes(writes.clone()));
    metrics.write(|_| vec![Metric::count("Records", 1), Metric::times("Lag", (0..100).collect())]);
    assert_eq!(*writes.lock().unwrap(), 1);
}
