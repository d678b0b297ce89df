//! The binary itself, against a stand-in for Lambda's runtime API.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The binary with an environment as Lambda's, and `variables`.
fn function(runtime_api: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stream-handler"));
    command
        .env_clear()
        .envs([("AWS_LAMBDA_RUNTIME_API", runtime_api), ("AWS_LAMBDA_FUNCTION_NAME", "stream-handler")])
        .envs([("AWS_LAMBDA_FUNCTION_VERSION", "1"), ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")])
        .envs([("AWS_REGION", "eu-west-1"), ("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "y")])
        // Nobody answers there.
        .env("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads one request: its first line and its body.
fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut first = String::new();
    stream.read_line(&mut first).ok().filter(|n| *n > 0)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).ok()?;
        let header = header.trim().to_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((first.trim().to_owned(), String::from_utf8(body).unwrap()))
}

/// Hands these events out one after the other and returns what each was answered.
fn serve(listener: &TcpListener, events: &[String]) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    let mut handed_out = 0;
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        while let Some((first, body)) = request(&mut reader) {
            if first.contains("/invocation/next") {
                let Some(event) = events.get(handed_out) else { return answers };
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
                write!(
                    writer,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nLambda-Runtime-Aws-Request-Id: request-{handed_out}\r\n\
                     Lambda-Runtime-Deadline-Ms: {}\r\nLambda-Runtime-Invoked-Function-Arn: arn:aws:lambda:eu-west-1:1:function:f\r\n\
                     Content-Length: {}\r\n\r\n{event}",
                    now + 1_500,
                    event.len()
                )
                .unwrap();
                handed_out += 1;
            } else {
                answers.push((first, body));
                write!(writer, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").unwrap();
                if answers.len() == events.len() {
                    return answers;
                }
            }
        }
    }
    answers
}

#[test]
fn it_answers_events_one_after_the_other_and_lives_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let api = listener.local_addr().unwrap().to_string();
    let mut running = Running(function(&api, &[("TABLE_NAME", "things")]).spawn().unwrap());
    let node = r#"{"eventID":"1","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"D"},"SK":{"S":"NODE"}},"NewImage":
        {"PK":{"S":"D"},"SK":{"S":"NODE"},"name":{"S":"s3cret"}},"SequenceNumber":"111","SizeBytes":9,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#;
    let events = [
        r#"{"Records":[]}"#.to_owned(),
        r#"{"Records":[{"nonsense":true},17]}"#.to_owned(),
        // No table answers, so this one is to be delivered again.
        format!(r#"{{"Records":[{node}]}}"#),
        r#"{"no":"stream event"}"#.to_owned(),
    ];
    let answers = serve(&listener, &events);
    assert_eq!(answers[0].1, r#"{"batchItemFailures":[]}"#);
    assert_eq!(answers[1].1, r#"{"batchItemFailures":[]}"#);
    assert_eq!(answers[2].1, r#"{"batchItemFailures":[{"itemIdentifier":"111"}]}"#);
    assert!(answers[3].0.contains("/error"), "{answers:?}");
    running.0.kill().unwrap();
    let mut log = String::new();
    running.0.stdout.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(!log.contains("s3cret"), "{log}");
    let batch = log.lines().find(|line| line.contains("request-2") && line.contains(r#""message":"batch""#)).unwrap();
    let batch: serde_json::Value = serde_json::from_str(batch).unwrap();
    assert_eq!((&batch["level"], &batch["records"], &batch["failed"]), (&"INFO".into(), &1.into(), &1.into()));
    assert!(batch["timestamp"].is_string() && batch["requests"].as_u64().unwrap() > 0);
    assert_eq!(
        log.lines().filter(|line| line.contains("bad record") && line.contains("request-1")).count(),
        2,
        "{log}"
    );
}

#[test]
fn without_a_table_name_it_ends_and_says_why() {
    let output = function("127.0.0.1:9", &[]).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("TABLE_NAME isn't set"), "{said}");
    // One line, which Lambda takes for an error.
    let line: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(line["level"] == "ERROR" && line["timestamp"].is_string(), "{said}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

/// Hands this event out, and returns what is on standard output afterwards.
fn output_of(event: &str, variables: &[(&str, &str)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let api = listener.local_addr().unwrap().to_string();
    let variables = [&[("TABLE_NAME", "things")], variables].concat();
    let mut running = Running(function(&api, &variables).spawn().unwrap());
    assert_eq!(serve(&listener, &[event.to_owned()]).len(), 1);
    running.0.kill().unwrap();
    let mut output = String::new();
    running.0.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    output
}

#[test]
fn with_a_namespace_each_batch_is_a_bare_line_of_figures_as_well() {
    let output = output_of(r#"{"Records":[17]}"#, &[("METRICS_NAMESPACE", "Trees")]);
    let lines: Vec<serde_json::Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let figures: Vec<_> = lines.iter().filter(|line| line.get("_aws").is_some()).collect();
    let [line] = figures[..] else { panic!("{output}") };
    assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Namespace"], "Trees");
    assert_eq!(line["FunctionName"], "stream-handler");
    assert_eq!((&line["Records"], &line["BadRecords"]), (&1.into(), &1.into()));
    assert!(line.get("level").is_none() && line.get("message").is_none());
}

#[test]
fn without_a_namespace_there_are_no_figures() {
    for variables in [&[][..], &[("METRICS_NAMESPACE", "")]] {
        let output = output_of(r#"{"Records":[17]}"#, variables);
        assert!(output.contains("\"batch\"") && !output.contains("_aws"), "{output}");
    }
}

#[test]
fn it_lives_on_when_nobody_reads_what_it_writes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let api = listener.local_addr().unwrap().to_string();
    let variables = [("TABLE_NAME", "things"), ("METRICS_NAMESPACE", "Trees")];
    let mut running = Running(function(&api, &variables).spawn().unwrap());
    drop((running.0.stdout.take(), running.0.stderr.take()));
    let answers = serve(&listener, &[r#"{"Records":[17]}"#.to_owned(), r#"{"Records":[]}"#.to_owned()]);
    for (_, answer) in answers {
        assert_eq!(answer, r#"{"batchItemFailures":[]}"#);
    }
}
