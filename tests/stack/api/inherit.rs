//! Inherited values and grants, on their way to a client: before a move and right after it, in the trash, and as lists
//! of what was granted. All cases are in `pure/queries_of_the_api/inherit.rs`.

use sapwood_tests::serving::{Serving, Way};
use serde_json::json;

use super::support::{expect, get, ids, json as json_of, patch, post, read, refused};

pub(crate) async fn a_move_counts_at_once_for_values_and_grants(way: Way) {
    let parameters = [("LinkAttributes", "viewers"), ("NeverCopied", "viewers"), ("Trash", "on")];
    let serving = Serving::start(way, &parameters, &[]).await;
    let put = |id: &str, parent: Option<&str>, attributes: &str| {
        let attributes: serde_json::Value = serde_json::from_str(attributes).unwrap();
        json!({"put": {"id": id, "parent": parent, "attributes": attributes}})
    };
    let folders = [
        put("company", None, r#"{"owner": "ceo", "quota": {"$number": "123456789012345678901234567890"}}"#),
        put("sales", Some("company"), r#"{"owner": "grace", "viewers": ["GROUP#sales"]}"#),
        put("legal", Some("company"), r#"{"owner": "lin", "viewers": {"$set": ["GROUP#legal", "ada"]}}"#),
        put("offers", Some("sales"), "{}"),
        put("offer", Some("offers"), r#"{"viewers": ["eve"]}"#),
    ];
    expect(&serving, 200, &post("/batch", &json!({"operations": folders}))).await;
    serving.running.settle().await;
    let asked = |principal: &str| format!("/nodes/offer/granted?attribute=viewers&principal=x&principal={principal}");
    let by = |body: &serde_json::Value| -> Vec<String> {
        let by = body["by"].as_array().unwrap().iter().map(|grant| grant["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(body["allowed"], json!(body["by"] != json!([])));
        by
    };
    let owner = "/nodes/offer/inherited?attributes=owner,quota";
    assert_eq!(by(&read(&serving, &asked("GROUP%23sales")).await), ["sales"]);
    assert_eq!(by(&read(&serving, &asked("GROUP%23legal")).await), [""; 0]);
    assert_eq!(by(&read(&serving, &asked("eve")).await), ["offer"]);
    let found = read(&serving, owner).await;
    assert_eq!(found["nearest"]["owner"], json!({"value": "grace", "from": "sales", "levels_up": 2}));
    let long = json_of(&serving, 200, &get(owner).header("prefer", "numbers=strings")).await;
    assert_eq!(long["nearest"]["quota"]["value"], json!({"$number": "123456789012345678901234567890"}));

    // Nobody waits for rows.
    expect(&serving, 200, &patch("/nodes/offers", &json!({"parent": "legal"}))).await;
    assert_eq!(by(&read(&serving, &asked("GROUP%23sales")).await), [""; 0]);
    assert_eq!(by(&read(&serving, &asked("ada&principal=GROUP%23legal")).await), ["legal"]);
    assert_eq!(read(&serving, owner).await["nearest"]["owner"]["from"], "legal");
    let all = read(&serving, "/nodes/offer/inherited?attributes=viewers&mode=all").await;
    let [legal, offer] = [json!({"$set": ["GROUP#legal", "ada"]}), json!(["eve"])];
    let wanted = json!({"viewers": [
        {"value": legal, "from": "legal", "levels_up": 2}, {"value": offer, "from": "offer", "levels_up": 0},
    ]});
    assert_eq!((&all["all"], all.get("nearest")), (&wanted, None));
    serving.running.settle().await;
    let [at, above, elsewhere] = ["legal", "offer", "sales"].map(|id| format!("/nodes/ada/links/viewers?below={id}"));
    assert_eq!(ids(&read(&serving, &at).await), ["legal"]);
    assert_eq!(ids(&read(&serving, &above).await), ["legal"]);
    assert_eq!(ids(&read(&serving, &elsewhere).await), [""; 0]);
    let below = read(&serving, "/nodes/eve/links/viewers?ancestors=true&below=legal").await;
    assert_eq!(below["items"][0]["ancestors"], json!(["offers", "legal", "company"]));

    expect(&serving, 200, &post("/nodes/offers/trash", &json!({}))).await;
    let trashed = read(&serving, &asked("eve")).await;
    assert_eq!((by(&trashed), &trashed["above"]["in_trash"]), (Vec::new(), &json!(true)));
    assert_eq!(by(&read(&serving, &asked("eve&in_trash=true")).await), ["offer"]);

    for (target, status, kind, field) in [
        ("/nodes/offer/inherited?attributes=parent", 422, "reserved-name", Some("attributes")),
        ("/nodes/offer/granted?attribute=_rev&principal=x", 422, "reserved-name", Some("attribute")),
        ("/nodes/offer/granted?attribute=viewers", 400, "bad-parameter", Some("principal")),
        ("/nodes/nobody/granted?attribute=viewers&principal=x", 404, "not-found", None),
    ] {
        let found = refused(&serving, status, &get(target)).await;
        assert_eq!(found, (kind.to_owned(), field.map(str::to_owned)), "{target}");
    }
}
