//! Representations: numbers as text, compressed answers, what is hard to escape, and ids that only look alike.

use sapwood_tests::api::Asked;
use sapwood_tests::serving::Way;
use serde_json::{Value, json};

use super::support::{expect, get, patch, post, put, read, refused, start};

pub(crate) async fn long_numbers_are_text_for_clients_that_ask(way: Way) {
    let serving = start(way).await;
    let digits = "12345678901234567890.12345678";
    let numbers = |numbers: &str| format!("{{\"parent\":null,\"attributes\":{numbers}}}");
    let plain = numbers(&format!(
        "{{\"long\":{digits},\"short\":[0.1,-7,1e125,9007199254740991],\"set\":{{\"$set\":[1,{digits}]}}}}"
    ));
    let as_put = |body: &str| Asked::new("PUT", "/nodes/n").header("content-type", "application/json").bytes(body);
    let put_plain = expect(&serving, 201, &as_put(&plain)).await;
    assert!(String::from_utf8_lossy(&put_plain.body).contains(&format!("\"long\":{digits}")));
    let asked = get("/nodes/n").header("prefer", "numbers=strings");
    let answered = expect(&serving, 200, &asked).await;
    assert_eq!(answered.header("preference-applied"), Some("numbers=strings"));
    let attributes = &answered.json()["attributes"];
    assert_eq!(attributes["long"], json!({"$number": digits}));
    assert_eq!(attributes["short"], json!([0.1, -7, 1e125, 9_007_199_254_740_991_u64]));
    assert_eq!(attributes["set"], json!({"$set": [1, {"$number": digits}]}));
    // What was read can be written: nothing changes.
    let body = json!({"parent": null, "attributes": attributes});
    let written = expect(&serving, 200, &put("/nodes/n", &body).header("prefer", "x, numbers=\"strings\"")).await;
    assert_eq!(written.json()["attributes"], *attributes);
    assert_eq!(expect(&serving, 200, &get("/nodes/n")).await.json()["attributes"], put_plain.json()["attributes"]);
    serving.running.settle().await;
    for list in ["/roots", "/nodes/n/descendants?min_depth=0", "/nodes?ids=n"] {
        let page = expect(&serving, 200, &get(list).header("prefer", "numbers=strings")).await.json();
        assert_eq!(page["items"][0]["attributes"]["long"], json!({"$number": digits}), "{list}");
    }
    let batch = json!({"operations": [{"patch": {"id": "n", "attributes": {"long": {"$number": "1e-130"}}}}]});
    let results = expect(&serving, 200, &post("/batch", &batch).header("prefer", "numbers=strings")).await.json();
    assert_eq!(results["results"][0]["body"]["attributes"]["set"], json!({"$set": [1, {"$number": digits}]}));
    for (wrong, status) in
        [("\"ten\"", 400), ("7", 400), ("\"1e999\"", 422), ("\"123456789012345678901234567890123456789\"", 422)]
    {
        let asked = as_put(&numbers(&format!("{{\"n\":{{\"$number\":{wrong}}}}}")));
        assert_eq!(serving.send(&asked).await.status, status, "{wrong}");
    }
}

pub(crate) async fn a_representation_with_numbers_as_text_has_a_tag_of_its_own(way: Way) {
    let serving = start(way).await;
    expect(&serving, 201, &put("/nodes/n", &json!({"parent": null}))).await;
    let as_text = get("/nodes/n").header("prefer", "numbers=strings");
    let plain = expect(&serving, 200, &get("/nodes/n")).await;
    let strings = expect(&serving, 200, &as_text).await;
    let [plain_tag, tag] = [&plain, &strings].map(|answered| answered.header("etag").unwrap().to_owned());
    assert!(tag.ends_with(";strings\"") && plain_tag != tag);
    for answered in [&plain, &strings] {
        assert!(answered.header("vary").unwrap().to_lowercase().contains("prefer"));
    }
    // A browser that has the plain one must not show it to a page that asks for text.
    expect(&serving, 200, &as_text.clone().header("if-none-match", &plain_tag)).await;
    expect(&serving, 200, &get("/nodes/n").header("if-none-match", &tag)).await;
    let known = expect(&serving, 304, &as_text.clone().header("if-none-match", &tag)).await;
    assert_eq!(known.header("etag"), Some(tag.as_str()));
    assert!(known.header("vary").unwrap().to_lowercase().contains("prefer"));
    expect(&serving, 200, &as_text.header("if-match", &tag)).await;
    expect(&serving, 200, &patch("/nodes/n", &json!({"attributes": {"n": 1}})).header("if-match", &tag)).await;
    // A read takes no notice of what only writes heed.
    let read = expect(&serving, 200, &get("/nodes/n").header("prefer", "wait=x, return=minimal")).await;
    assert_eq!((read.header("preference-applied"), read.body.is_empty()), (None, false));
}

pub(crate) async fn a_compressed_answer_has_a_tag_of_its_own_that_writes_take(way: Way) {
    let serving = start(way).await;
    let text = "x".repeat(5_000);
    expect(&serving, 201, &post("/nodes", &json!({"id": "n", "attributes": {"text": text}}))).await;
    let packed = get("/nodes/n").header("accept-encoding", "gzip");
    let plain = expect(&serving, 200, &get("/nodes/n")).await.header("etag").unwrap().to_owned();
    let tag = expect(&serving, 200, &packed).await.header("etag").unwrap().to_owned();
    assert_eq!(tag, plain.replace("\"", ";gzip\"").replacen(";gzip\"", "\"", 1));
    // Each names the answer that it came with, and both name the same state of the node.
    for (known, encoding) in [(&tag, "gzip"), (&plain, "identity")] {
        let again = get("/nodes/n").header("accept-encoding", encoding).header("if-none-match", known);
        assert_eq!(expect(&serving, 304, &again).await.header("etag"), Some(known.as_str()));
    }
    expect(&serving, 200, &patch("/nodes/n", &json!({"attributes": {"n": 1}})).header("if-match", &tag)).await;
    assert_eq!(
        refused(&serving, 412, &patch("/nodes/n", &json!({})).header("if-match", &tag)).await.0,
        "precondition-failed"
    );
}

pub(crate) async fn what_is_hard_to_escape_fits_an_answer(way: Way) {
    let serving = start(way).await;
    // In an answer of Lambda's, whose body is a text within JSON, a quotation mark takes four bytes.
    let text = "\"".repeat(390_000);
    let mut parent = Value::Null;
    for n in 0..8 {
        let id = format!("q{n}");
        expect(&serving, 201, &put(&format!("/nodes/{id}"), &json!({"parent": parent, "attributes": {"t": text}})))
            .await;
        parent = json!(id);
    }
    serving.running.settle().await;
    for target in [
        "/nodes?ids=q0&ids=q1&ids=q2&ids=q3&ids=q4&ids=q5&ids=q6",
        "/nodes/q7/ancestors?fields=t",
        "/nodes/q7?expand=ancestors,latest&fields=t",
    ] {
        let answered = expect(&serving, 200, &get(target)).await;
        let enveloped = serde_json::to_string(&String::from_utf8(answered.body).unwrap()).unwrap().len();
        assert!(enveloped < 6_000_000, "{target}: {enveloped}");
    }
}

pub(crate) async fn ids_that_look_alike_are_kept_apart(way: Way) {
    let serving = start(way).await;
    // Composed and decomposed, with a NUL, with marks that turn the direction of text, and with a space of no width.
    let alike = ["caf\u{e9}", "cafe\u{301}", "caf\u{e9}\0", "\u{202e}caf\u{e9}", "caf\u{200b}\u{e9}"];
    for (number, id) in alike.iter().enumerate() {
        let body = json!({"id": id, "attributes": {"number": number}});
        let place = expect(&serving, 201, &post("/nodes", &body)).await.header("location").unwrap().to_owned();
        // A place shows what an id is made of: nothing in it is invisible.
        assert!(place.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte)), "{place}");
        assert_eq!(read(&serving, &place).await, expect(&serving, 200, &get(&place)).await.json());
        assert_eq!(read(&serving, &place).await["id"], *id);
    }
    serving.running.settle().await;
    let roots = read(&serving, "/roots").await;
    assert_eq!(roots["items"].as_array().unwrap().len(), alike.len());
    for root in roots["items"].as_array().unwrap() {
        let number = usize::try_from(root["attributes"]["number"].as_u64().unwrap()).unwrap();
        assert_eq!(root["id"], alike[number]);
    }
}
