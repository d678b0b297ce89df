//! Least privilege, seen from the code: each function calls what its role allows, nothing else, and all of it.
//!
//! What the roles allow is in `tests/rehearsal/permissions.txt`, which the rehearsal holds against the translated
//! template.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_core::model::Settings;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::announce::announce;
use sapwood_engine::auditor::{Auditor, Clock, Report};
use sapwood_engine::fanout::Limits;
use sapwood_local::template::Template;
use sapwood_store::{Client, Deadline};
use sapwood_tests::api::{Answered, Asked};
use sapwood_tests::client::{self, s};
use sapwood_tests::faults::{Call, Fault};
use sapwood_tests::oracle::Oracle;
use sapwood_tests::running::{Running, TABLE, TEMPLATE};
use sapwood_tests::serving::Serving;
use serde_json::json;

const LISTED: &str = include_str!("../rehearsal/permissions.txt");

/// What the auditor's role allows with `Audit=report`: each action, with its condition.
fn listed_of_a_report() -> BTreeSet<String> {
    let (_, everything) = LISTED.split_once("[with everything switched on]").unwrap();
    let lines = everything.lines().filter_map(|line| line.strip_prefix("AuditorRole allows dynamodb:"));
    let without_table = |line: &str| {
        let (action, rest) = line.split_once(" on ").unwrap();
        rest.split_once(" if ").map_or_else(|| action.to_owned(), |(_, condition)| format!("{action} if {condition}"))
    };
    lines.map(without_table).collect()
}

/// What a role may do to the table.
fn listed(role: &str) -> BTreeSet<String> {
    let (_, by_default) = LISTED.split_once("[by default]").unwrap();
    let (by_default, _) = by_default.split_once("\n[").unwrap();
    let to_the_table = by_default.lines().filter_map(|line| line.strip_suffix(" on Table.Arn"));
    let prefix = format!("{role} allows dynamodb:");
    to_the_table.filter_map(|line| line.strip_prefix(prefix.as_str())).map(str::to_owned).collect()
}

/// The actions that were needed for the calls of one function.
#[derive(Clone, Default)]
struct Needed(Arc<Mutex<BTreeSet<String>>>);

impl Needed {
    fn recorder(&self) -> impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static {
        let needed = Arc::clone(&self.0);
        move |call| {
            needed.lock().unwrap().extend(call.actions());
            None
        }
    }

    fn so_far(&self) -> BTreeSet<String> {
        self.0.lock().unwrap().clone()
    }
}

async fn ask(serving: &Serving, status: u16, asked: Asked) -> Answered {
    let answered = serving.send(&asked).await;
    let body = String::from_utf8_lossy(&answered.body);
    assert_eq!(answered.status, status, "{} {}: {body}", asked.method, asked.target);
    answered
}

async fn create(serving: &Serving, id: &str, parent: Option<&str>) {
    ask(serving, 201, Asked::new("POST", "/nodes").json(&json!({"id": id, "parent": parent}))).await;
}

async fn read_everything(serving: &Serving) {
    let node =
        ["", "/ancestors", "/children", "/descendants", "/tree", "/count", "/latest", "/revisions", "/propagation"];
    let topic = ["/latest/Audit", "/revisions/Audit", "/revisions/Audit/1"];
    let of_a_node = node.into_iter().chain(topic).map(|what| format!("/nodes/a{what}"));
    let others = [
        "/nodes/a/children?order=asc",
        "/nodes/a/links/tags",
        "/nodes/a/links/tags?below=a",
        "/nodes/a/inherited?attributes=name",
        "/nodes/a/granted?attribute=tags&principal=p",
        "/roots?order=desc",
        "/roots",
        "/paths/top",
        "/paths/top/a",
        "/health",
        "/openapi.json",
        "/docs",
    ]
    .map(str::to_owned);
    for target in of_a_node.chain(others) {
        ask(serving, 200, Asked::new("GET", &target)).await;
    }
}

async fn write_everything(serving: &Serving) {
    let waiting = |asked: Asked| asked.header("prefer", "wait=20");
    create(serving, "top", None).await;
    create(serving, "a", Some("top")).await;
    create(serving, "b", Some("a")).await;
    for id in ["c", "d", "e"] {
        create(serving, id, Some("b")).await;
    }
    serving.running.settle().await;
    let moved = Asked::new("PATCH", "/nodes/b").json(&json!({"parent": "top"})).header("idempotency-key", "once");
    ask(serving, 200, waiting(moved)).await;
    ask(serving, 200, Asked::new("PUT", "/nodes/e").json(&json!({"parent": "b", "attributes": {"name": "e"}}))).await;
    let batch = json!({"operations": [{"put": {"id": "f", "parent": "e"}}, {"put": {"id": "g", "parent": "f"}}]});
    ask(serving, 200, Asked::new("POST", "/batch").json(&batch)).await;
    for _ in 0..3 {
        let revision = json!({"attributes": {"auditor": "Rick"}});
        ask(serving, 201, waiting(Asked::new("POST", "/nodes/a/revisions/Audit").json(&revision))).await;
    }
    ask(serving, 200, Asked::new("PUT", "/nodes/a/revisions/Audit/1").json(&json!({"attributes": {}}))).await;
    ask(serving, 204, waiting(Asked::new("DELETE", "/nodes/a/revisions/Audit/3"))).await;
}

async fn remove_everything(serving: &Serving) {
    ask(serving, 204, Asked::new("DELETE", "/nodes/g")).await;
    for (id, children) in [("e", "adopt"), ("b", "detach"), ("top", "delete&revisions=delete")] {
        serving.running.settle().await;
        let accepted = ask(serving, 202, Asked::new("DELETE", format!("/nodes/{id}?children={children}"))).await;
        ask(serving, 200, Asked::new("GET", accepted.header("location").unwrap())).await;
    }
    serving.running.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_function_calls_what_its_role_allows_and_nothing_else() {
    let [by_handler, by_reader, by_writer] = <[Needed; 3]>::default();
    // Small slices, so that cursors are written too.
    let limits = Limits { touch_slice_items_max: 2, action_slice_items_max: 2, ..Limits::default() };
    let parameters = [("RevisionsMutable", "on"), ("OrderAttribute", "name"), ("LinkAttributes", "tags")];
    let running = Running::start_through(&parameters, limits, by_handler.recorder()).await;
    let [of_reader, of_writer] = [running.another_proxy().await, running.another_proxy().await];
    of_reader.follow(by_reader.recorder());
    of_writer.follow(by_writer.recorder());
    let urls = [of_reader.url(), of_writer.url()];
    let serving = Serving::through(running, urls.each_ref().map(String::as_str), &parameters).await;

    write_everything(&serving).await;
    serving.running.settle().await;
    read_everything(&serving).await;
    // Nodes of another client's, and those that it takes away.
    client::put_all(&serving.running.client, TABLE, vec![client::node("z", Some("top"), "z")]).await;
    remove_everything(&serving).await;

    assert_eq!(by_handler.so_far(), listed("StreamHandlerRole"), "the stream handler's");
    assert_eq!(by_reader.so_far(), listed("ApiReaderRole"), "the reader's");
    assert_eq!(by_writer.so_far(), listed("ApiWriterRole"), "the writer's");
}

/// Damages two rows, and makes runs of the auditor until one has seen the effect of its repairs. To the auditor a
/// quarter of an hour goes by from each to the next.
async fn audit(
    running: &Running,
    heals: bool,
    policy: impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static,
) -> Vec<Report> {
    let of_nobody = [("_id", s("nobody")), ("_depth", AttributeValue::N("1".to_owned())), ("_parent", s("top"))];
    let mut surplus = client::item([("PK", s("top")), ("SK", s("NODE#0001#nobody"))]);
    surplus.extend(client::item(of_nobody));
    client::put(&running.client, TABLE, surplus).await;
    client::delete_all(&running.client, TABLE, vec![("top".to_owned(), "NODE#0002#b".to_owned())]).await;

    let proxy = running.another_proxy().await;
    proxy.follow(policy);
    let variables = Template::parse(TEMPLATE).unwrap().environment(TABLE).unwrap();
    let settings = Settings::read(|name| variables.get(name).cloned()).unwrap();
    let deadline = Deadline::after(Duration::from_secs(60));
    let [table, of_handler] =
        [proxy.url(), running.url()].map(|url| DynamoTable::local(&url, TABLE, settings.schema.clone()));
    announce(&Client::new(&of_handler, &deadline, &settings.schema), &settings, "0.1.0").await.unwrap();
    let mut reports = Vec::new();
    for run in 1..=5 {
        let client = Client::new(&table, &deadline, &settings.schema);
        let auditor = Auditor::new(&client, &settings, Default::default(), heals);
        let clock = Clock { now: run * 900, name: run * 1_000, pace: || true };
        reports.push(auditor.run(clock).await.unwrap());
        running.settle().await;
    }
    reports
}

async fn with_nodes_and_revisions() -> Running {
    let running = Running::start(&[]).await;
    let nodes = [("top", None), ("a", Some("top")), ("b", Some("a"))];
    let nodes = nodes.into_iter().map(|(id, parent)| client::node(id, parent, id));
    client::put_all(&running.client, TABLE, nodes.collect()).await;
    client::put(&running.client, TABLE, client::item([("PK", s("b")), ("SK", s("v001_Audit"))])).await;
    running.settle().await;
    running
}

#[tokio::test(flavor = "multi_thread")]
async fn the_auditor_calls_what_its_role_allows_and_nothing_else() {
    let running = with_nodes_and_revisions().await;
    let needed = Needed::default();
    let reports = audit(&running, true, needed.recorder()).await;
    assert_eq!(reports.iter().map(|report| report.healed).sum::<u64>(), 2, "{reports:#?}");
    assert_eq!(needed.so_far(), listed("AuditorRole"));
    running.assert_right(&Oracle::default()).await;
}

/// IAM can tell partition keys apart, so a report can't change anything of a user's, whatever the code does.
#[tokio::test(flavor = "multi_thread")]
async fn an_auditor_that_reports_writes_its_own_item_only() {
    let running = with_nodes_and_revisions().await;
    let needed = Needed::default();
    let called = Arc::clone(&needed.0);
    let reports = audit(&running, false, move |call| {
        let condition = match call.operation.as_str() {
            "PutItem" => format!(
                " if ForAllValues:StringEquals dynamodb:LeadingKeys {}",
                call.body["Item"]["PK"]["S"].as_str().unwrap()
            ),
            _ => String::new(),
        };
        called.lock().unwrap().insert(format!("{}{condition}", call.operation));
        None
    })
    .await;
    assert_eq!(reports.iter().map(|report| report.left.len()).sum::<usize>(), 2, "{reports:#?}");
    assert_eq!(needed.so_far(), listed_of_a_report());
    assert_eq!(Oracle::default().differences(&running.contents().await).len(), 2);
}

/// What wasn't met above could only be one of these: the SDK is named in one crate (`layout` holds that), and this is
/// all that it asks for.
#[test]
fn the_code_knows_no_operation_that_no_role_allows() {
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/dynamodb/src");
    let files = std::fs::read_dir(module).unwrap().map(|entry| entry.unwrap().path());
    let sdk: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let operations = [
        ("get_item", "GetItem"),
        ("batch_get_item", "BatchGetItem"),
        ("query", "Query"),
        ("scan", "Scan"),
        ("put_item", "PutItem"),
        ("update_item", "UpdateItem"),
        ("delete_item", "DeleteItem"),
        ("batch_write_item", "BatchWriteItem"),
        ("transact_write_items", "ConditionCheckItem"),
        ("transact_get_items", "GetItem"),
        ("execute_statement", "PartiQLSelect"),
        ("batch_execute_statement", "PartiQLUpdate"),
        ("batch_execute_statement", "PartiQLDelete"),
        ("describe_table", "DescribeTable"),
        ("delete_table", "DeleteTable"),
    ];
    let called: BTreeSet<String> = operations
        .iter()
        .filter(|(method, _)| sdk.contains(&format!(".{method}()")))
        .map(|(_, action)| (*action).to_owned())
        .collect();
    // Only the commands ask for the names of the table's keys: docs/policies/repair.json.
    let (of_commands, of_functions): (BTreeSet<String>, BTreeSet<String>) =
        called.into_iter().partition(|action| action == "DescribeTable");
    let (handler, auditor) = (listed("StreamHandlerRole"), listed("AuditorRole"));
    assert_eq!(of_functions, handler.union(&auditor).cloned().collect());
    // The auditor alone reads the whole table (`Scannable`), and no function that answers somebody does.
    let scanning: Vec<&String> = auditor.difference(&handler).collect();
    assert_eq!(scanning, ["Scan"]);
    let touching: Vec<&String> = handler.difference(&auditor).collect();
    assert_eq!(touching, ["BatchWriteItem", "PartiQLDelete", "PartiQLUpdate"]);
    assert!(["ApiReaderRole", "ApiWriterRole"].iter().all(|role| listed(role).is_subset(&handler)));
    assert_eq!(of_commands.len(), 1);
    let policy = include_str!("../../docs/policies/repair.json");
    assert!(["DescribeTable", "Scan"].iter().all(|action| policy.contains(&format!("\"dynamodb:{action}\""))));
    // Each call of the SDK is one of those: none has a name that isn't in the list.
    let sent = sdk.matches(".send()").count();
    let methods: BTreeSet<&str> = operations.iter().map(|(method, _)| *method).collect();
    let known: usize = methods.iter().map(|method| sdk.matches(&format!(".{method}()")).count()).sum();
    assert_eq!(sent, known, "a call in shared/dynamodb/src that this test doesn't know");
}

#[test]
fn a_transaction_needs_the_actions_of_its_parts() {
    let body = json!({"TransactItems": [{"Update": {}}, {"ConditionCheck": {}}, {"Put": {}}]});
    let call = Call { operation: "TransactWriteItems".to_owned(), nth: 0, body };
    assert_eq!(call.actions(), ["UpdateItem", "ConditionCheckItem", "PutItem"]);
    let body = json!({"Statements": [{"Statement": "UPDATE \"t\" SET a = ?"}, {"Statement": "SELECT a FROM \"t\""}]});
    let call = Call { operation: "BatchExecuteStatement".to_owned(), nth: 0, body };
    assert_eq!(call.actions(), ["PartiQLUpdate", "PartiQLSelect"]);
}
