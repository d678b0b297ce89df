//! A proxy between the API and the table carries a request out and swallows its answer. Meanwhile others write the same
//! records, through another function, and are answered. What they were answered stays, and no request is carried out
//! twice.

use std::time::Duration;

use sapwood_tests::api::{Answered, Api, Asked};
use sapwood_tests::client;
use sapwood_tests::faults::{Fault, Proxy};
use sapwood_tests::running::Running;
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};

/// How long the requests of the function are held back that has got no answer: time enough for others to write.
const HELD_BACK: Duration = Duration::from_millis(1_500);

const PARAMETERS: &[(&str, &str)] = &[
    ("RevisionsMutable", "on"),
    ("Trash", "on"),
    ("UniqueNames", "exact"),
    ("OrderAttribute", "rank"),
    ("OrderByHand", "on"),
];

const WRITES: [&str; 4] = ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"];

/// A stack, an API that reaches the table directly, and another one through a proxy.
struct Stack {
    running: Running,
    others: Api,
    proxied: Api,
    proxy: Proxy,
}

impl Stack {
    async fn start() -> Self {
        Self::start_with(PARAMETERS).await
    }

    async fn start_with(parameters: &[(&str, &str)]) -> Self {
        let serving = Serving::start(Way::Http, parameters, &[]).await;
        let proxy = serving.running.another_proxy().await;
        let Serving { running, api: others } = serving;
        let urls = (running.url(), proxy.url());
        let Serving { running, api: proxied } = Serving::through(running, [&urls.0, &urls.1], parameters).await;
        Self { running, others, proxied, proxy }
    }

    async fn sent(&self, asked: &Asked) -> Answered {
        self.others.send(asked).await
    }

    /// Sends requests one after another, each once what the one before has asked for is done. They must be answered so.
    async fn answered(&self, asked: &[(Asked, u16)]) {
        for (asked, status) in asked {
            let answered = self.sent(asked).await;
            assert_eq!(answered.status, *status, "{asked:?}: {}", String::from_utf8_lossy(&answered.body));
            self.running.settle().await;
        }
    }

    /// Sends a request whose first write is carried out and not answered, and these others meanwhile. Returns what it
    /// was answered in the end.
    async fn lost(&self, asked: &Asked, meanwhile: &[(Asked, u16)]) -> Answered {
        self.proxy.follow(cut_after_the_first(&WRITES));
        let others = async {
            self.fault().await;
            self.running.settle().await;
            self.answered(meanwhile).await;
        };
        let (answered, ()) = futures::join!(self.proxied.send(asked), others);
        self.running.settle().await;
        answered
    }

    /// Waits until the proxy has swallowed an answer, and the engine has carried the request out.
    async fn fault(&self) {
        while !self.proxy.seen().iter().any(|seen| seen.faulted) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    async fn node(&self, id: &str) -> Option<Value> {
        let answered = self.sent(&Asked::new("GET", format!("/nodes/{id}"))).await;
        (answered.status == 200).then(|| answered.json())
    }

    async fn name(&self, id: &str) -> Option<String> {
        Some(self.node(id).await?["attributes"]["name"].as_str().unwrap_or("-").to_owned())
    }
}

/// A policy that swallows the answer of the first of these operations, and holds back all that comes after it.
fn cut_after_the_first(
    operations: &'static [&'static str],
) -> impl Fn(&sapwood_tests::faults::Call) -> Option<Fault> + Send + Sync + 'static {
    let is_cut = std::sync::atomic::AtomicBool::new(false);
    move |call| {
        if operations.contains(&call.operation.as_str()) && !is_cut.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return Some(Fault::CutAfter);
        }
        is_cut.load(std::sync::atomic::Ordering::SeqCst).then_some(Fault::Late(HELD_BACK))
    }
}

fn put(id: &str, name: &str) -> Asked {
    Asked::new("PUT", format!("/nodes/{id}")).json(&json!({"parent": null, "attributes": {"name": name}}))
}

fn put_below(id: &str, parent: &str) -> Asked {
    Asked::new("PUT", format!("/nodes/{id}")).json(&json!({"parent": parent}))
}

fn rename(id: &str, name: &str) -> Asked {
    Asked::new("PATCH", format!("/nodes/{id}")).json(&json!({"attributes": {"name": name}}))
}

fn moved(id: &str, parent: &str) -> Asked {
    Asked::new("PATCH", format!("/nodes/{id}")).json(&json!({"parent": parent}))
}

fn delete(id: &str) -> Asked {
    Asked::new("DELETE", format!("/nodes/{id}"))
}

fn append(id: &str) -> Asked {
    Asked::new("POST", format!("/nodes/{id}/revisions/Audit")).json(&json!({"attributes": {}}))
}

fn batch(operations: &Value) -> Asked {
    Asked::new("POST", "/batch").json(&json!({"operations": operations}))
}

fn is_unknown(answered: &Answered, place: &str) {
    assert_eq!(answered.status, 503);
    assert_eq!(answered.json()["type"], "urn:sapwood:problem:outcome-unknown");
    assert_eq!((answered.header("location"), answered.header("retry-after")), (Some(place), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_created_and_deleted_does_not_come_back() {
    let stack = Stack::start().await;
    let others = [(put("n", "theirs"), 200), (delete("n"), 204)];
    assert_eq!(stack.lost(&put("n", "ours"), &others).await.status, 201);
    assert_eq!(stack.node("n").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_put_again_after_its_deletion_stays() {
    let stack = Stack::start().await;
    stack.answered(&[(put("n", "first"), 201)]).await;
    let others = [(delete("n"), 404), (put("n", "theirs"), 201)];
    assert_eq!(stack.lost(&delete("n"), &others).await.status, 204);
    assert_eq!(stack.name("n").await.as_deref(), Some("theirs"));
    // The same in a batch.
    let deletes = batch(&json!([{"delete": {"id": "n"}}]));
    let answered = stack.lost(&deletes, &others).await;
    assert_eq!(answered.json()["results"][0]["status"], 204);
    assert_eq!(stack.name("n").await.as_deref(), Some("theirs"));
}

/// Another client's record, which says nothing of the API's.
async fn put_by_another_client(stack: &Stack, name: &str) {
    let table = sapwood_tests::running::TABLE;
    client::put(&stack.running.client, table, client::node("n", None, name)).await;
    stack.running.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_comes_late_does_not_go_over_what_another_client_has_put_since() {
    let stack = Stack::start().await;
    for (asked, status, operation) in [(put("n", "ours"), 200, "PutItem"), (delete("n"), 204, "TransactWriteItems")] {
        put_by_another_client(&stack, "first").await;
        let late = Duration::from_secs(3);
        stack
            .proxy
            .follow(move |call| (call.operation == operation && call.nth == 0).then_some(Fault::CutThenLate(late)));
        let answered = stack.proxied.send(&asked).await;
        assert_eq!(answered.status, status, "{}", String::from_utf8_lossy(&answered.body));
        put_by_another_client(&stack, "theirs").await;
        tokio::time::sleep(late).await;
        assert_eq!(stack.proxy.faults(operation), 1);
        assert_eq!(stack.name("n").await.as_deref(), Some("theirs"), "{asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_can_not_be_read_is_found_done() {
    let stack = Stack::start().await;
    for (asked, status) in [(put("n", "first"), 201), (rename("n", "second"), 200), (delete("n"), 204)] {
        stack
            .proxy
            .follow(|call| (WRITES.contains(&call.operation.as_str()) && call.nth == 0).then_some(Fault::Garbled));
        let answered = stack.proxied.send(&asked).await;
        assert_eq!(answered.status, status, "{asked:?}: {}", String::from_utf8_lossy(&answered.body));
        stack.running.settle().await;
    }
    assert_eq!(stack.node("n").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_does_not_go_over_later_ones() {
    let stack = Stack::start().await;
    stack.answered(&[(put("n", "first"), 201)]).await;
    for change in [rename("n", "ours"), put("n", "ours")] {
        let answered = stack.lost(&change, &[(rename("n", "theirs"), 200)]).await;
        assert_eq!(answered.status, 200, "the write after it has kept its name");
        assert_eq!(answered.json()["attributes"]["name"], "ours");
        assert_eq!(stack.name("n").await.as_deref(), Some("theirs"));
        let others = [(rename("n", "theirs"), 200), (rename("n", "third"), 200)];
        is_unknown(&stack.lost(&change, &others).await, "/nodes/n");
        assert_eq!(stack.name("n").await.as_deref(), Some("third"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_does_not_go_over_later_ones() {
    let stack = Stack::start().await;
    stack.answered(&[(put("a", "a"), 201), (put("b", "b"), 201), (put("n", "n"), 201)]).await;
    assert_eq!(stack.lost(&moved("n", "a"), &[(moved("n", "b"), 200)]).await.status, 200);
    assert_eq!(stack.node("n").await.unwrap()["parent"], "b");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_that_got_the_number_of_a_deleted_one_stays() {
    let stack = Stack::start().await;
    stack.answered(&[(put("n", "n"), 201), (append("n"), 201), (append("n"), 201), (append("n"), 201)]).await;
    let third = Asked::new("DELETE", "/nodes/n/revisions/Audit/3");
    assert_eq!(stack.lost(&third, &[(append("n"), 201)]).await.status, 204);
    let third = Asked::new("GET", "/nodes/n/revisions/Audit/3");
    assert_eq!(stack.sent(&third).await.status, 200);
    // An append whose revision was deleted since may have been done or not.
    let fourth = Asked::new("DELETE", "/nodes/n/revisions/Audit/4");
    is_unknown(&stack.lost(&append("n"), &[(fourth.clone(), 204)]).await, "/nodes/n/revisions/Audit");
    // With a key it is known.
    let with_key = append("n").header("idempotency-key", "one");
    stack.proxy.follow(cut_after_the_first(&["TransactWriteItems"]));
    let others = async {
        stack.fault().await;
        stack.answered(&[(fourth.clone(), 204)]).await;
    };
    let (answered, ()) = futures::join!(stack.proxied.send(&with_key), others);
    assert_eq!(answered.status, 201);
    assert_eq!(stack.sent(&Asked::new("GET", "/nodes/n/revisions/Audit/4")).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_is_sent_again_closes_no_cycle() {
    // Claims of names would tell that `n` has a child.
    let mut stack = Stack::start_with(&[]).await;
    stack.answered(&[(put("x", "x"), 201)]).await;
    stack.proxy.follow(cut_after_the_first(&WRITES));
    let Stack { running, others, proxied, proxy } = &mut stack;
    let meanwhile = async {
        while !proxy.seen().iter().any(|seen| seen.faulted) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        // `n` is placed. From now on the stream is behind.
        running.pause().await;
        for (asked, status) in [
            (Asked::new("POST", "/nodes").json(&json!({"id": "k", "parent": "n"})), 201),
            (delete("n"), 204),
            (moved("x", "k"), 200),
        ] {
            assert_eq!(others.send(&asked).await.status, status, "{asked:?}");
        }
    };
    let create = put_below("n", "x");
    let (answered, ()) = futures::join!(proxied.send(&create), meanwhile);
    assert_eq!(answered.status, 201);
    assert_eq!(others.send(&Asked::new("GET", "/nodes/n")).await.status, 404, "n → x → k → n");
}

/// AWS answers so while the same transaction is carried out, for example because a proxy has sent it twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_is_under_way_is_neither_refused_nor_given_up() {
    const UNDER_WAY: &str = "com.amazonaws.dynamodb.v20120810#TransactionInProgressException";
    let stack = Stack::start().await;
    stack.answered(&[(put("n", "n"), 201)]).await;
    stack
        .proxy
        .follow(|call| (call.operation == "TransactWriteItems" && call.nth == 0).then(|| Fault::error(400, UNDER_WAY)));
    let answered = stack.proxied.send(&append("n").header("idempotency-key", "one")).await;
    assert_eq!(answered.status, 201, "{}", String::from_utf8_lossy(&answered.body));
    assert_eq!(stack.proxy.faults("TransactWriteItems"), 1);
    let all = stack.sent(&Asked::new("GET", "/nodes/n/revisions/Audit")).await.json();
    assert_eq!(all["items"].as_array().unwrap().len(), 1, "{all}");
}

/// The calls of a life: each kind of write, each with the status that it has if every answer comes.
fn life() -> Vec<(Asked, u16)> {
    vec![
        (put("r", "r"), 201),
        (Asked::new("POST", "/nodes").json(&json!({"id": "c", "parent": "r"})), 201),
        (rename("c", "second"), 200),
        (put("d", "d"), 201),
        (put("d", "over it"), 200),
        (Asked::new("POST", "/nodes").json(&json!({"parent": "r"})), 201),
        (
            Asked::new("PUT", "/nodes/s")
                .json(&json!({"parent": "r", "revision": {"topic": "Text", "attributes": {}}})),
            201,
        ),
        (
            Asked::new("PATCH", "/nodes/s")
                .json(&json!({"segment": "S", "revision": {"topic": "Text", "attributes": {}}})),
            200,
        ),
        (Asked::new("POST", "/nodes/s/trash"), 200),
        (Asked::new("POST", "/nodes/s/restore").json(&json!({})), 200),
        (Asked::new("POST", "/nodes/s/copy").json(&json!({"ids": "t", "segment": "T"})), 202),
        (moved("d", "c"), 200),
        (append("d"), 201),
        (Asked::new("PUT", "/nodes/d/revisions/Audit/1").json(&json!({"attributes": {"checked": true}})), 200),
        (Asked::new("DELETE", "/nodes/d/revisions/Audit/1"), 204),
        (Asked::new("DELETE", "/nodes/c?children=adopt"), 202),
        (batch(&json!([{"put": {"id": "e", "parent": "r"}}, {"put": {"id": "f", "parent": "r"}}])), 200),
        (append("e").header("idempotency-key", "k"), 201),
        (delete("f"), 204),
        (
            batch(&json!([{"put": {"id": "g", "parent": "r"}}, {"put": {"id": "h", "parent": "r"}}]))
                .header("idempotency-key", "k-batch"),
            200,
        ),
        (delete("g").header("idempotency-key", "k-deletion"), 204),
        (Asked::new("POST", "/nodes").json(&json!({"id": "i", "parent": "r", "position": "last"})), 201),
        (Asked::new("PATCH", "/nodes/h").json(&json!({"position": {"before": "e"}})), 200),
        (Asked::new("PATCH", "/nodes/e").json(&json!({"position": "first"})), 200),
        (
            batch(&json!([
                {"patch": {"id": "h", "position": {"after": "e"}}},
                {"revision": {"id": "h", "topic": "Text", "attributes": {}}},
                {"delete": {"id": "i"}},
            ]))
            .header("idempotency-key", "k-mixed"),
            200,
        ),
    ]
}

/// A connection is cut, and its request is carried out a second later: after the answer, if that came at once.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_carried_out_late_brings_nothing_back() {
    let stack = Stack::start().await;
    let late = Duration::from_secs(1);
    stack.answered(&[(put("p", "parent"), 201)]).await;
    for asked in [put("n", "late"), put_below("n", "p")] {
        let is_cut = std::sync::atomic::AtomicBool::new(false);
        stack.proxy.follow(move |call| {
            let is_write = WRITES.contains(&call.operation.as_str());
            (is_write && !is_cut.swap(true, std::sync::atomic::Ordering::SeqCst)).then_some(Fault::CutThenLate(late))
        });
        assert_eq!(stack.proxied.send(&asked).await.status, 201);
        assert!(stack.proxy.seen().iter().any(|seen| seen.faulted));
        stack.running.settle().await;
        stack.answered(&[(delete("n"), 204)]).await;
        tokio::time::sleep(late * 2).await;
        assert_eq!(stack.node("n").await, None, "{asked:?}");
    }
}

/// Whichever one answer of the table is swallowed, or one request of the function, no call is carried out twice, and
/// each is answered as if all had come, but for an append without a key, of which nobody can know.
async fn any_one_may_be_lost(fault: Fault) {
    let stack = Stack::start().await;
    let (mut faults, mut faults_before) = (0, None);
    for nth in 0.. {
        if faults_before.replace(faults) == Some(faults) {
            // No call has that many requests.
            break;
        }
        for (asked, status) in life() {
            let (seen, cut) = (std::sync::atomic::AtomicUsize::new(0), fault.clone());
            stack
                .proxy
                .follow(move |_| (seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == nth).then(|| cut.clone()));
            let answered = stack.proxied.send(&asked).await;
            let was_cut = stack.proxy.seen().iter().find(|seen| seen.faulted).map(|seen| seen.operation.clone());
            faults += usize::from(was_cut.is_some());
            let text = String::from_utf8_lossy(&answered.body);
            if answered.status == 503 {
                // A revision that was appended or deleted leaves no name: it may have been deleted, or put back, since.
                let nobody_knows =
                    [("PutItem", "/nodes/d/revisions/Audit"), ("DeleteItem", "/nodes/d/revisions/Audit/1")];
                let cut_here = (was_cut.as_deref().unwrap_or_default(), asked.target.as_str());
                assert!(nobody_knows.contains(&cut_here), "{cut_here:?}: {text}");
                assert_eq!(answered.json()["type"], "urn:sapwood:problem:outcome-unknown");
                if fault == Fault::CutBefore {
                    // It wasn't done, which a client finds out by reading.
                    stack.answered(&[(asked.clone(), status)]).await;
                }
            } else {
                assert_eq!(answered.status, status, "{fault:?}, number {nth}, {asked:?}, {was_cut:?}: {text}");
            }
            if asked.target == "/batch" {
                let results = answered.json()["results"].as_array().cloned().unwrap_or_default();
                let statuses: Vec<&Value> = results.iter().map(|result| &result["status"]).collect();
                let wanted: &[u16] = if results.len() == 2 { &[201, 201] } else { &[200, 201, 204] };
                assert_eq!(statuses, wanted, "{nth}: {text}");
            }
            stack.running.settle().await;
        }
        // `c` and what was deleted are gone, `d` was adopted, and one has an id that the API has made.
        let children = stack.sent(&Asked::new("GET", "/nodes/r/children")).await.json();
        let mut children: Vec<&str> =
            children["items"].as_array().into_iter().flatten().filter_map(|child| child["id"].as_str()).collect();
        children.retain(|id| !["d", "e", "h", "s", "t"].contains(id));
        assert!(children.len() == 1 && children[0].len() > 1, "{fault:?}, number {nth}: {children:?}");
        let revisions = stack.sent(&Asked::new("GET", "/nodes/e/revisions/Audit")).await.json();
        assert_eq!(revisions["items"].as_array().map(Vec::len), Some(1), "{revisions}");
        let revisions = stack.sent(&Asked::new("GET", "/nodes/s/revisions/Text")).await.json();
        assert_eq!(revisions["items"].as_array().map(Vec::len), Some(2), "each with its node: {revisions}");
        let revisions = stack.sent(&Asked::new("GET", "/nodes/h/revisions/Text")).await.json();
        assert_eq!(revisions["items"].as_array().map(Vec::len), Some(1), "{revisions}");
        let names = async |id: &str| stack.node(id).await.map(|node| node["segment"].clone());
        assert_eq!((names("s").await, names("t").await), (Some(json!("S")), Some(json!("T"))));
        for id in ["t", "s", "e", "d", "r"] {
            stack
                .answered(&[(Asked::new("DELETE", format!("/nodes/{id}?children=delete&revisions=delete")), 202)])
                .await;
        }
        // Their ids come again, and so does the key.
        stack.answered(&[]).await;
        let table = stack.running.client.scan().table_name(sapwood_tests::running::TABLE).send().await.unwrap();
        for item in table.items() {
            let (pk, sk) = (&item["PK"], &item["SK"]);
            if sk.as_s().is_ok_and(|sk| sk.starts_with("IDEMPOTENCY") || sk == "DELETED" || sk == "LINEAGE") {
                let delete = stack.running.client.delete_item().table_name(sapwood_tests::running::TABLE);
                delete.key("PK", pk.clone()).key("SK", sk.clone()).send().await.unwrap();
            }
        }
        stack.running.settle().await;
    }
    assert!(faults > 100, "{faults}");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_one_answer_may_be_lost() {
    any_one_may_be_lost(Fault::CutAfter).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_one_request_may_be_lost() {
    any_one_may_be_lost(Fault::CutBefore).await;
}
