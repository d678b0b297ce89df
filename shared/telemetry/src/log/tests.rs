#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::{Value, json};

use crate::lines::Lines;
use crate::log::{self, Invocation, Keys};

/// Returns what is logged on this thread while `run` runs.
fn logged(level: Option<&str>, run: impl FnOnce()) -> Vec<Value> {
    let (lines, _guard) = Lines::logged(level);
    run();
    lines.take().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns true for a time in RFC 3339, such as `2026-01-02T03:04:05.678901Z`.
fn is_time(text: &str) -> bool {
    let like = "dddd-dd-ddTdd:dd:dd.ddddddZ";
    text.len() == like.len()
        && text.bytes().zip(like.bytes()).all(|(b, like)| if like == b'd' { b.is_ascii_digit() } else { b == like })
}

fn assert_line(line: &Value, level: &str) {
    assert_eq!(line["level"], level);
    assert!(is_time(line["timestamp"].as_str().unwrap()), "{line}");
}

#[test]
fn a_line_has_its_time_and_its_level() {
    let lines = logged(Some("TRACE"), || {
        tracing::error!("e");
        tracing::warn!("w");
        tracing::info!("i");
        tracing::debug!("d");
        tracing::trace!("t");
    });
    assert_eq!(lines.len(), 5);
    for (line, level) in lines.iter().zip(["ERROR", "WARN", "INFO", "DEBUG", "TRACE"]) {
        assert_line(line, level);
    }
}

#[test]
fn lines_below_lambdas_level_are_not_written() {
    for (level, count) in [
        (None, 3),
        (Some(""), 3),
        (Some("loud"), 3),
        (Some("off"), 3),
        (Some("INFO"), 3),
        (Some("WARN"), 2),
        (Some("ERROR"), 1),
        (Some("FATAL"), 1),
        (Some("DEBUG"), 4),
    ] {
        let lines = logged(level, || {
            tracing::error!("e");
            tracing::warn!("w");
            tracing::info!("i");
            tracing::debug!("d");
        });
        assert_eq!(lines.len(), count, "{level:?}");
    }
}

#[test]
fn other_crates_log_nothing_below_info() {
    for (level, ours, others) in [("TRACE", 4, 2), ("DEBUG", 3, 2), ("INFO", 2, 2), ("ERROR", 1, 1)] {
        let lines = logged(Some(level), || {
            tracing::error!(target: "sapwood_http::serve", "ours");
            tracing::info!(target: "api_writer", "ours");
            tracing::debug!(target: "stream_handler", "ours");
            tracing::trace!(target: "sapwood_engine", "ours");
            tracing::error!(target: "lambda_runtime::layers", "another's");
            tracing::info!(target: "aws_smithy_runtime", "another's");
            tracing::debug!(target: "hyper_util::client", token = "secret", "another's");
            tracing::trace!(target: "lambda_runtime", token = "secret", "another's");
        });
        let count = |message: &str| lines.iter().filter(|line| line["message"] == message).count();
        assert_eq!((count("ours"), count("another's")), (ours, others), "{level}");
        assert!(!lines.iter().any(|line| line.to_string().contains("secret")));
    }
}

#[test]
fn every_function_is_among_the_crates_whose_lines_are_written() {
    let functions = concat!(env!("CARGO_MANIFEST_DIR"), "/../../functions");
    let entries = std::fs::read_dir(functions).unwrap().map(|entry| entry.unwrap().path());
    let crates = entries.filter(|path| path.join("Cargo.toml").is_file());
    let mut names: Vec<String> =
        crates.map(|path| path.file_name().unwrap().to_str().unwrap().replace('-', "_")).collect();
    names.sort();
    let ours: Vec<&str> = log::OURS.into_iter().filter(|name| *name != "sapwood_").collect();
    assert_eq!(ours, names);
}

#[test]
fn the_error_that_ends_a_function_is_logged() {
    let lines = logged(None, || {
        assert_eq!(format!("{:?}", log::ended(Ok::<_, String>(()))), format!("{:?}", std::process::ExitCode::SUCCESS));
        let failed = log::ended(Err("TABLE_NAME isn't set"));
        assert_eq!(format!("{failed:?}"), format!("{:?}", std::process::ExitCode::FAILURE));
    });
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_line(line, "ERROR");
    assert_eq!(line["error"], "TABLE_NAME isn't set");
}

#[test]
fn a_panic_is_one_line_with_its_place_and_without_its_message() {
    // The hook is the whole process's. Another test panics only if it fails.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(log::panicked));
    let lines =
        logged(Some("ERROR"), || assert!(std::panic::catch_unwind(|| panic!("a secret,\non two lines")).is_err()));
    std::panic::set_hook(usual);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_line(line, "ERROR");
    assert_eq!(line["message"], "panic");
    assert!(line["location"].as_str().unwrap().contains("log/tests.rs:"), "{line}");
    assert!(!line.to_string().contains("secret"), "{line}");
}

#[test]
fn all_lines_of_an_invocation_have_its_keys() {
    static KEYS: Keys = Keys::none();
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = log::subscriber(None, KEYS.in_front_of(move || writer.clone()));
    let log = |word| tracing::info!(word, "line");
    tracing::subscriber::with_default(subscriber, || {
        log("before");
        KEYS.name(|name| match name {
            "AWS_LAMBDA_FUNCTION_NAME" => Some("trees-handler".to_owned()),
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE" => Some("512".to_owned()),
            _ => None,
        });
        KEYS.began(&Invocation {
            request_id: "r1",
            arn: "arn:aws:lambda:eu-west-1:123456789012:function:trees-handler:live",
            correlation_id: Some("a \"quoted\" id\n"),
            trace: Some("Parent=53995c3f42cd8ad8;Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"),
        });
        log("first");
        log("second");
        KEYS.name(|name| (name == "POWERTOOLS_SERVICE_NAME").then(|| "trees".to_owned()));
        KEYS.began(&Invocation { request_id: "r2", ..Invocation::default() });
        log("third");
    });
    let lines: Vec<Value> = lines.take().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [before, first, second, third] = &lines[..] else { panic!("{lines:?}") };
    assert!(before.get("service").is_none() && before["word"] == "before");
    let keys = |line: &Value| {
        let names =
            ["service", "function_name", "function_memory_size", "cold_start", "function_request_id", "xray_trace_id"];
        Value::from(names.map(|name| line[name].clone()).to_vec())
    };
    let root = "1-5759e988-bd862e3fe1be46a994272793";
    assert_eq!(keys(first), json!(["sapwood", "trees-handler", 512, true, "r1", root]));
    assert_eq!(first["correlation_id"], "a \"quoted\" id\n");
    assert_eq!((keys(first), second["word"].as_str()), (keys(second), Some("second")));
    assert_line(second, "INFO");
    assert_eq!(keys(third), json!(["trees", null, null, false, "r2", null]));
    assert!(third.get("correlation_id").is_none());
}
