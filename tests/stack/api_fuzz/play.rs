//! Drawn requests, sent both ways to stacks of their own.

use std::env;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use sapwood_tests::api::{Answered, Asked};
use sapwood_tests::oracle::Oracle;
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};

use super::draw::request;
use super::judge::{Carried, Judge, SECRET, carried, common, decoded, uuid_in};

const REQUESTS: u64 = 600;
const SEED: u64 = 20_261_121;
/// How many failures are shown before it ends.
const SHOWN: usize = 12;

/// A number that a variable of the environment says.
fn told(name: &str, otherwise: u64) -> u64 {
    env::var(name).ok().map_or(otherwise, |value| value.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// One way, and what it has answered that later requests name.
struct Player {
    serving: Serving,
    etag: String,
    cursor: String,
    operation: String,
}

impl Player {
    async fn start(way: Way) -> Self {
        let parameters = [("RevisionsMutable", "on"), ("OrderAttribute", "rank"), ("LinkAttributes", "tags")];
        let serving = Serving::start(way, &parameters, &[("sub", "ada")]).await;
        let parents =
            [("t", None), ("n", Some("t")), ("m", Some("n")), ("o", Some("m")), ("p", Some("t")), ("u", Some("t"))];
        for (id, parent) in parents {
            let node = json!({"id": id, "parent": parent, "attributes": {"password": SECRET}});
            assert_eq!(serving.send(&Asked::new("POST", "/nodes").json(&node)).await.status, 201);
        }
        let revision =
            Asked::new("POST", "/nodes/n/revisions/Audit").json(&json!({"attributes": {"password": SECRET}}));
        assert_eq!(serving.send(&revision).await.status, 201);
        Self { serving, etag: "\"none\"".to_owned(), cursor: "none".to_owned(), operation: "none".to_owned() }
    }

    /// A request with what this way has answered in it.
    fn with_own(&self, asked: &Asked) -> Asked {
        let mut asked = asked.clone();
        asked.target = asked.target.replace("{cursor}", &self.cursor).replace("{operation}", &self.operation);
        for (_, value) in &mut asked.headers {
            *value = value.replace("{etag}", &self.etag);
        }
        asked
    }

    async fn send(&mut self, asked: &Asked) -> Answered {
        let answered = self.serving.send(&self.with_own(asked)).await;
        if let Some(etag) = answered.header("etag") {
            etag.clone_into(&mut self.etag);
        }
        if let Some(place) = answered.header("location").and_then(|place| place.strip_prefix("/operations/")) {
            place.clone_into(&mut self.operation);
        }
        let body: Value = serde_json::from_slice(&decoded(&answered)).unwrap_or_default();
        if answered.status == 200
            && let Some(cursor) = body["cursor"].as_str()
        {
            cursor.clone_into(&mut self.cursor);
        }
        answered
    }

    /// Takes away the nodes whose ids the API made: their order differs from way to way.
    async fn forget_made(&mut self, answered: &Answered) {
        let Ok(body) = serde_json::from_slice::<Value>(&decoded(answered)) else { return };
        let results = body["results"].as_array().into_iter().flatten().map(|result| &result["body"]);
        for made in results.chain([&body]).filter_map(|body| body["id"].as_str()).filter(|id| uuid_in(id) == Some(0)) {
            self.serving.send(&Asked::new("DELETE", format!("/nodes/{made}"))).await;
        }
    }

    async fn end(&self) {
        self.serving.running.settle().await;
        let oracle = Oracle { order: Some("rank".to_owned()), links: vec!["tags".to_owned()], ..Oracle::default() };
        self.serving.running.assert_right(&oracle).await;
        assert_eq!(self.serving.send(&Asked::new("GET", "/health")).await.status, 200);
    }
}

/// What reaches one way alone mustn't change anything, or the two stacks would part.
fn harmless(mut asked: Asked) -> Asked {
    match asked.method.as_str() {
        "POST" | "PUT" | "PATCH" => asked.body = Some(b"{".to_vec()),
        "DELETE" if asked.target.contains('?') => asked.target += "&children=never",
        "DELETE" => asked.target += "?children=never",
        _ => {}
    }
    asked
}

fn shown(asked: &Asked) -> String {
    let body = asked.body.as_ref().map(|body| {
        let text: String = String::from_utf8_lossy(body).chars().take(400).collect();
        format!("{} bytes: {text:?}", body.len())
    });
    let target: String = asked.target.chars().take(300).collect();
    format!("{} {target:?} {:?} {body:?}", asked.method, asked.headers)
}

fn answer(answered: &Answered) -> String {
    format!("{} {:.600}", answered.status, String::from_utf8_lossy(&decoded(answered)))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_answered_otherwise_than_the_contract_says() {
    let (seed, count) = (told("SAPWOOD_API_FUZZ_SEED", SEED), told("SAPWOOD_API_FUZZ_REQUESTS", REQUESTS));
    let mut rng = SmallRng::seed_from_u64(seed);
    let judge = Judge::new();
    let (mut http, mut gateway) = (Player::start(Way::Http).await, Player::start(Way::Gateway).await);
    let mut failures = Vec::new();
    let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
    let (mut is_settled, mut settled) = (false, 0);
    for number in 0..count {
        let mut asked = request(&mut rng, &judge.operations);
        let Carried { over_http, alike } = carried(&asked);
        if !alike {
            asked = harmless(asked);
        }
        // Rows are made in their own time: whoever reads them both ways waits for them.
        let reads_rows =
            matches!(asked.method.as_str(), "GET" | "HEAD" | "DELETE") || asked.target.starts_with("/batch");
        if reads_rows && !is_settled {
            tokio::join!(http.serving.running.settle(), gateway.serving.running.settle());
            (is_settled, settled) = (true, settled + 1);
        }
        let (by_http, by_gateway) = tokio::join!(http.send(&asked), gateway.send(&asked));
        *statuses.entry(by_gateway.status).or_default() += 1;
        let mut faults = Vec::new();
        if over_http {
            faults.extend(judge.faults(&asked, &by_http));
        } else if !(400..500).contains(&by_http.status) {
            faults.push(format!("{} for what is no request of HTTP's", by_http.status));
        }
        // The gateway answers some of them itself.
        if sapwood_tests::api::event(&asked, &Default::default()).is_some() {
            faults.extend(judge.faults(&asked, &by_gateway).into_iter().map(|fault| format!("gateway: {fault}")));
        }
        if alike && common(&by_http) != common(&by_gateway) {
            faults.push(format!("the two ways differ: {:?} and {:?}", common(&by_http).1, common(&by_gateway).1));
        }
        if !faults.is_empty() {
            let (http, gateway) = (answer(&by_http), answer(&by_gateway));
            let all = [format!("request {number}: {}", shown(&asked)), http, gateway, faults.join("\n    ")];
            failures.push(all.join("\n    "));
            if failures.len() >= SHOWN {
                break;
            }
        }
        if asked.method == "POST" {
            tokio::join!(http.forget_made(&by_http), gateway.forget_made(&by_gateway));
        }
        if !matches!(asked.method.as_str(), "GET" | "HEAD" | "OPTIONS") && by_gateway.status < 400 {
            is_settled = false;
        }
        if by_gateway.status == 202 {
            tokio::join!(http.serving.running.settle(), gateway.serving.running.settle());
        }
    }
    println!("seed {seed}, {count} requests, settled {settled} times, answered {statuses:?}");
    assert!(failures.is_empty(), "SAPWOOD_API_FUZZ_SEED={seed} shows them again:\n\n{}", failures.join("\n\n"));
    for expected in [200, 201, 204, 304, 400, 404, 405, 409, 412, 415, 422] {
        assert!(count < REQUESTS || statuses.contains_key(&expected), "{expected} was never drawn: {statuses:?}");
    }
    tokio::join!(http.end(), gateway.end());
}
