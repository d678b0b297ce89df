//! Tests of the function: its settings, and the binary itself on a stand-in for Lambda's runtime API.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::time::Duration;

use sapwood_core::keys::{Id, ItemKey, NodeRef};
use sapwood_core::model::{number, text, with_key};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::auditor::{Limits, Pace};
use sapwood_handlers::audit::{Config, Evenly, Handler, SHARE_FOR_SCAN};
use sapwood_store::{Condition, ReadOptions, Table};
use sapwood_tests::running::Running;
use sapwood_tests::runtime_api::{Function, environment, pairs};

/// What EventBridge sends.
const SCHEDULED: &str = include_str!("../../../../tests/events/schedule/audit.json");

const BINARY: &str = env!("CARGO_BIN_EXE_auditor");

fn read(variables: &[(&str, &str)]) -> Result<Config, String> {
    let variables = [&[("TABLE_NAME", "things")], variables].concat();
    let lookup = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    Config::read(lookup).map_err(|error| error.to_string())
}

#[test]
fn every_setting_is_read_and_what_is_wrong_is_named() {
    let config =
        read(&[("AUDIT", "report"), ("AUDIT_READ_UNITS", "50"), ("AUDIT_PASS_HOURS", "2"), ("PATH_ROWS", "off")]);
    let Config { heals, limits, settings, .. } = config.unwrap();
    assert!(!heals && !settings.path_rows);
    assert_eq!((limits.read_units_max, limits.pass_every), (50.0, Duration::from_secs(7_200)));
    assert_eq!(limits.settle, Limits::default().settle);
    let settle = read(&[("AUDIT", "repair"), ("AUDIT_SETTLE_SECONDS", "3")]).unwrap();
    assert!(settle.heals && settle.limits.settle == Duration::from_secs(3));
    for (variables, said) in [
        (vec![], "AUDIT isn't set; set it to `repair` or `report`"),
        (vec![("AUDIT", "off")], "AUDIT is `off`; set it to `repair` or `report`"),
        (vec![("AUDIT", "repair"), ("AUDIT_READ_UNITS", "0")], "AUDIT_READ_UNITS is `0`; set it to a number from 1"),
        (
            vec![("AUDIT", "repair"), ("AUDIT_PASS_HOURS", "daily")],
            "AUDIT_PASS_HOURS is `daily`; set it to a number from 0",
        ),
    ] {
        assert_eq!(read(&variables).unwrap_err(), said);
    }
}

#[tokio::test]
async fn a_run_waits_until_it_may_spend_more_and_ends_when_its_time_is_up() {
    let (hour, limits) = (Duration::from_secs(3_600), Limits::default());
    let at_once = |units: f64, span| {
        tokio::time::timeout(Duration::ZERO, async move { Evenly::over(span, limits).wait(units).await })
    };
    assert_eq!(at_once(0.0, hour).await, Ok(true));
    assert!(at_once(limits.read_units_max / 2.0, hour).await.is_err(), "half an hour has to go by");
    assert_eq!(at_once(0.0, Duration::ZERO).await, Ok(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_the_function_takes_its_time() {
    let stack = Running::start(&[]).await;
    let mut variables = environment("Auditor", &stack.url());
    variables.insert("AUDIT_READ_UNITS".to_owned(), "2".to_owned());
    let config = Config::read(|name| variables.get(name).cloned()).unwrap();
    let table = DynamoTable::local(&stack.url(), config.table_name.clone(), config.settings.schema.clone());
    // It has read its state, at least a quarter of its units: a quarter of the time for the scan has to go by.
    let (left, began) = (Duration::from_secs(4), std::time::Instant::now());
    Handler::new(config, table).run(left).await.unwrap();
    assert!(began.elapsed() >= left.mul_f64(SHARE_FOR_SCAN / 4.0), "{:?}", began.elapsed());
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_a_newer_version_has_written_fails_the_run_and_is_told() {
    let stack = Running::start(&[]).await;
    let variables = environment("Auditor", &stack.url());
    let Config { table_name, settings, .. } = Config::read(|name| variables.get(name).cloned()).unwrap();
    let schema = settings.schema;
    let table = DynamoTable::local(&stack.url(), table_name, schema.clone());
    let mut item = with_key(&schema.audit_key(), &schema);
    item.insert("format".to_owned(), number(9));
    table.put(&item, &Condition::Always).await.unwrap();
    let mut function = Function::start(BINARY, pairs(&variables)).await;
    let error = format!("{:?}", function.invoke(SCHEDULED).await.unwrap_err());
    assert!(error.contains("format 9"), "{error}");
    let log = function.log();
    assert!(log.lines().any(|line| line.contains("ERROR") && line.contains("the auditor has stopped")), "{log}");
    let measured = log.lines().find(|line| line.contains("CloudWatchMetrics")).unwrap();
    assert!(measured.contains("\"AuditStateFaults\":1") && !measured.contains("AuditAge"), "{measured}");
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_row_is_named_in_the_log_and_mended_in_a_few_invocations() {
    let stack = Running::start(&[]).await;
    stack.announce().await;
    let mut variables = environment("Auditor", &stack.url());
    let Config { table_name, settings, .. } = Config::read(|name| variables.get(name).cloned()).unwrap();
    let schema = settings.schema;
    let table = DynamoTable::local(&stack.url(), table_name, schema.clone());
    for (id, parent) in [("D", None), ("V", Some("D"))] {
        let node = NodeRef::from(Id::new(id).unwrap());
        let mut item = with_key(&schema.node_key(&node), &schema);
        item.extend(parent.map(|parent| (schema.names().parent.clone(), text(parent))));
        table.put(&item, &Condition::Always).await.unwrap();
    }
    stack.settle().await;
    let row = ItemKey::new("D", "NODE#0001#V");
    table.delete(&row, &Condition::Always).await.unwrap();

    variables
        .extend([("AUDIT_SETTLE_SECONDS", "0"), ("AUDIT_PASS_HOURS", "0")].map(|(n, v)| (n.to_owned(), v.to_owned())));
    let mut function = Function::start(BINARY, pairs(&variables)).await;
    let mut healed = 0;
    for _ in 0..10 {
        let answer = function.invoke(SCHEDULED).await.unwrap();
        assert_eq!(answer["saved"], true, "{answer}");
        healed += answer["repaired"].as_u64().unwrap();
        stack.settle().await;
        if healed > 0 {
            break;
        }
    }
    assert_eq!(healed, 1, "{}", function.log());
    let found = table.read_many(std::slice::from_ref(&row), &ReadOptions::default()).await.unwrap();
    assert_eq!(found.value.items.len(), 1);
    let log = function.log();
    let is_confirmed = |line: &serde_json::Value| line["message"] == "difference" && line["state"] == "confirmed";
    let line = log.lines().filter_map(|line| serde_json::from_str(line).ok()).find(is_confirmed).unwrap();
    assert_eq!(
        (&line["pk"], &line["sk"], &line["kind"]),
        (&"D".into(), &row.sk.as_str().into(), &"row-missing".into())
    );
    // The alarms look at metrics that there are.
    let measured = log.lines().find(|line| line.contains("CloudWatchMetrics")).unwrap();
    let alarms = include_str!("../../../../infra/alarms.yaml").lines().map(str::trim);
    let named: Vec<&str> = alarms.filter_map(|line| line.strip_prefix("MetricName: Audit")).collect();
    assert!(named.len() > 1 && named.iter().all(|name| measured.contains(&format!("\"Audit{name}\""))), "{named:?}");
    stack.stop().await;
}
