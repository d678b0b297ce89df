//! Writes of which one alone may win, or that may be done once only.

use std::collections::BTreeMap;

use rand::RngExt;
use sapwood_tests::api::Asked;
use sapwood_tests::oracle::Oracle;
use serde_dynamo::AttributeValue::N;
use serde_json::{Value, json};

use super::support::{Race, at_once, kind, post, said, statuses};

#[tokio::test(flavor = "multi_thread")]
async fn of_the_writes_that_match_one_etag_exactly_one_is_done() {
    let mut race = Race::start(1).await;
    let mut won = BTreeMap::new();
    race.run(
        |run| vec![(format!("r{run}"), None), (format!("r{run}-p"), None)],
        async |serving, chance, run| {
            let target = format!("/nodes/r{run}");
            let etag = serving.send(&Asked::new("GET", &target)).await.header("etag").unwrap().to_owned();
            let all = (0..6).map(|number| {
                let asked = match chance.random_range(0..3) {
                    0 => Asked::new("PUT", &target).json(&json!({"parent": null, "attributes": {"number": number}})),
                    1 => Asked::new("PATCH", &target).json(&json!({"attributes": {"number": number}})),
                    _ => Asked::new("PATCH", &target)
                        .json(&json!({"parent": format!("r{run}-p"), "attributes": {"number": number}})),
                };
                (0, asked.header("if-match", &etag))
            });
            let all: Vec<_> = all.collect();
            let answers = at_once(serving, all).await;
            let winners: Vec<usize> = (0..6).filter(|number| answers[*number].status == 200).collect();
            assert_eq!(winners.len(), 1, "run {run}: {:?}", said(&answers));
            let mut others = statuses(&answers);
            others.remove(winners[0]);
            assert_eq!(others, [412; 5], "run {run}: {:?}", said(&answers));
            won.insert(format!("r{run}"), winners[0]);
        },
    )
    .await;
    let forest = race.rest().await;
    for (id, number) in won {
        assert_eq!(forest.0[&id]["number"], N(number.to_string()), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_creates_of_one_id_exactly_one_is_done() {
    let mut race = Race::start(2).await;
    let mut won = BTreeMap::new();
    race.run(
        |run| vec![(format!("r{run}"), None)],
        async |serving, chance, run| {
            let id = format!("r{run}-new");
            let all = (0..6).map(|number| {
                let parent = chance.random::<bool>().then(|| format!("r{run}"));
                let body = json!({"parent": parent, "attributes": {"number": number}});
                let asked = if chance.random() {
                    let mut body = body;
                    body["id"] = id.as_str().into();
                    post("/nodes", &body)
                } else {
                    Asked::new("PUT", format!("/nodes/{id}")).json(&body).header("if-none-match", "*")
                };
                (0, asked)
            });
            let all: Vec<_> = all.collect();
            let answers = at_once(serving, all).await;
            let winners: Vec<usize> = (0..6).filter(|number| answers[*number].status == 201).collect();
            assert_eq!(winners.len(), 1, "run {run}: {:?}", said(&answers));
            let are_refused = answers.iter().filter(|answered| matches!(answered.status, 409 | 412)).count();
            assert_eq!(are_refused, 5, "run {run}: {:?}", said(&answers));
            won.insert(id, winners[0]);
        },
    )
    .await;
    let forest = race.rest().await;
    for (id, number) in won {
        assert_eq!(forest.0[&id]["number"], N(number.to_string()), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_posted_with_one_key_at_the_same_time_is_done_once() {
    let mut race = Race::start(1).await;
    let mut said_of: BTreeMap<u64, Value> = BTreeMap::new();
    let mut are_at_work = 0;
    race.run(
        |run| vec![(format!("r{run}"), None)],
        async |serving, chance, run| {
            let (target, body) = match run % 3 {
                0 => ("/nodes".to_owned(), json!({"attributes": {"run": run}})),
                1 => ("/nodes".to_owned(), json!({"parent": format!("r{run}"), "attributes": {"run": run}})),
                _ => (format!("/nodes/r{run}/revisions/Audit"), json!({"attributes": {"run": run}})),
            };
            let asked = post(&target, &body).header("idempotency-key", &format!("\"key-{run}\""));
            let latest = chance.random_range(1..10);
            let all: Vec<_> = (0..8).map(|_| (chance.random_range(0..latest), asked.clone())).collect();
            let answers = at_once(serving, all).await;
            // What was still at work then is answered now.
            let again = serving.send(&asked).await;
            assert_eq!(again.status, 201, "run {run}: {:?}", said(std::slice::from_ref(&again)));
            for answered in &answers {
                match answered.status {
                    201 => assert_eq!(
                        (answered.json(), answered.header("location"), answered.header("etag")),
                        (again.json(), again.header("location"), again.header("etag")),
                        "run {run}"
                    ),
                    409 => {
                        assert_eq!(kind(answered), "in-progress", "run {run}");
                        are_at_work += 1;
                    }
                    _ => panic!("run {run}: {:?}", said(&answers)),
                }
            }
            assert!(statuses(&answers).contains(&201), "run {run}: {:?}", said(&answers));
            said_of.insert(run, again.json());
        },
    )
    .await;
    println!("{are_at_work} were answered that it is at work");
    let forest = race.rest().await;
    let oracle = Oracle::default();
    let contents = race.serving.running.contents().await;
    for (run, answer) in said_of {
        let base = contents.iter().filter(|((pk, sk), _)| oracle.is_base(pk, sk));
        let marked = Some(N(run.to_string()));
        let effects: Vec<_> = base.filter(|(_, item)| item.get("run") == marked.as_ref()).collect();
        assert_eq!(effects.len(), 1, "run {run}: {effects:?}");
        assert!(forest.has(answer["id"].as_str().unwrap()), "run {run}");
    }
}
