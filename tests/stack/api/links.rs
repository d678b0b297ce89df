//! Links, on their way to a client, and as a plain Query of any other client has them.

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_tests::oracle::Oracle;
use sapwood_tests::running::TABLE;
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};

use super::support::{delete, expect, get, ids, patch, post, put, read, refused, waiting};

/// Who links to a node, without our API: their ids, and the last of their ancestors.
async fn query(serving: &Serving, pk: &str, prefix: &str) -> Vec<(String, String)> {
    let query = serving.running.client.query().table_name(TABLE).consistent_read(true);
    let query = query.key_condition_expression("PK = :pk AND begins_with(SK, :sk)");
    let values = [(":pk", pk), (":sk", prefix)];
    let query = values.into_iter().fold(query, |query, (name, value)| {
        query.expression_attribute_values(name, AttributeValue::S(value.to_owned()))
    });
    let text = |value: &AttributeValue| value.as_s().unwrap().clone();
    let page = query.send().await.unwrap();
    assert_eq!(page.last_evaluated_key, None, "one Query");
    let rows = page.items().iter();
    rows.map(|row| (text(&row["_id"]), text(row["_ancestors"].as_l().unwrap().last().unwrap()))).collect()
}

/// The ids of the ancestors that a list of links names, each once.
fn named(list: &Value) -> Vec<&str> {
    let ancestors = list["items"].as_array().unwrap().iter().flat_map(|item| item["ancestors"].as_array().unwrap());
    ancestors.map(|id| id.as_str().unwrap()).collect()
}

const WHO: &str = "/nodes/PRODUCT~23Wireless~20Mouse/links/product?ancestor_prefix=CUSTOMER%23&distinct=ancestor";

/// The question that the seed `customer-order-item.txt` leaves open.
pub(crate) async fn all_customers_who_ordered_a_product_are_one_query_away(way: Way) {
    let serving = Serving::start(way, &[("LinkAttributes", "product,tags")], &[]).await;
    let node = |id: &str, parent: Option<&str>, attributes: Value| json!({"put": {"id": id, "parent": parent, "attributes": attributes}});
    let (mouse, keyboard) = ("PRODUCT#Wireless Mouse", "PRODUCT#Mechanical Keyboard");
    let shop = [
        node("CUSTOMER#12345", None, json!({"name": "Alice Smith"})),
        node("CUSTOMER#67890", None, json!({"name": "Bob Jones"})),
        node("CUSTOMER#3", None, json!({"name": "Carol"})),
        node("ORDER#98765", Some("CUSTOMER#12345"), json!({"tags": {"$set": ["urgent", "gift"]}})),
        node("ORDER#55555", Some("CUSTOMER#67890"), json!({})),
        node("ITEM#ABC", Some("ORDER#98765"), json!({"product": mouse, "price": 25})),
        node("ITEM#DEF", Some("ORDER#98765"), json!({"product": keyboard})),
        node("ITEM#GHI", Some("ORDER#98765"), json!({"product": mouse})),
        node("ITEM#XYZ", Some("ORDER#55555"), json!({"product": [mouse, keyboard], "tags": {"$set": ["gift"]}})),
    ];
    expect(&serving, 200, &post("/batch", &json!({"operations": shop}))).await;
    serving.running.settle().await;

    assert_eq!(named(&read(&serving, WHO).await), ["CUSTOMER#12345", "CUSTOMER#67890"]);
    let [alice, bob] = ["CUSTOMER#12345", "CUSTOMER#67890"];
    let of = |items: &[(&str, &str)]| -> Vec<(String, String)> {
        items.iter().map(|(item, customer)| ((*item).to_owned(), (*customer).to_owned())).collect()
    };
    let ordered = query(&serving, mouse, "LINK#product#").await;
    assert_eq!(ordered, of(&[("ITEM#ABC", alice), ("ITEM#GHI", alice), ("ITEM#XYZ", bob)]));
    // By pages, with all that a link has.
    let page = read(&serving, "/nodes/PRODUCT~23Wireless~20Mouse/links/product?ancestors=true&limit=1").await;
    let abc = json!({"id": "ITEM#ABC", "parent": "ORDER#98765", "ancestors": ["ORDER#98765", alice], "attributes": {"product": mouse, "price": 25}});
    assert_eq!(page["items"], json!([abc]));
    let next = format!(
        "/nodes/PRODUCT~23Wireless~20Mouse/links/product?ancestors=true&cursor={}",
        page["cursor"].as_str().unwrap()
    );
    assert_eq!(ids(&read(&serving, &next).await), ["ITEM#GHI", "ITEM#XYZ"]);
    // A tag is no node.
    assert_eq!(ids(&read(&serving, "/nodes/gift/links/tags").await), ["ITEM#XYZ", "ORDER#98765"]);
    assert_eq!(ids(&read(&serving, "/nodes/gift/links/tags?id_prefix=ORDER%23").await), ["ORDER#98765"]);
    assert_eq!(read(&serving, "/nodes/nothing/links/tags").await, json!({"items": []}));

    // An order that is given to another customer takes the links of its items along. A product that comes, or goes,
    // changes nothing.
    expect(&serving, 201, &put("/nodes/PRODUCT~23Wireless~20Mouse", &json!({"parent": null}))).await;
    expect(&serving, 200, &waiting(patch("/nodes/ORDER~2398765", &json!({"parent": "CUSTOMER#3"})))).await;
    expect(&serving, 204, &delete("/nodes/PRODUCT~23Wireless~20Mouse")).await;
    serving.running.settle().await;
    assert_eq!(named(&read(&serving, WHO).await), ["CUSTOMER#3", bob]);
    expect(&serving, 200, &patch("/nodes/ITEM~23XYZ", &json!({"attributes": {"product": keyboard}}))).await;
    serving.running.settle().await;
    let ordered = query(&serving, mouse, "LINK#product#").await;
    assert_eq!(ordered, of(&[("ITEM#ABC", "CUSTOMER#3"), ("ITEM#GHI", "CUSTOMER#3")]));

    for (target, status, kind, field) in [
        ("/nodes/t/links/name", 404, "not-found", None),
        ("/nodes/t/links/tags?distinct=id", 400, "bad-parameter", Some("distinct")),
        ("/nodes/t/links/tags?ancestor_prefix=", 400, "bad-parameter", Some("ancestor_prefix")),
    ] {
        assert_eq!(
            refused(&serving, status, &get(target)).await,
            (kind.to_owned(), field.map(str::to_owned)),
            "{target}"
        );
    }
    let oracle = Oracle { links: vec!["product".to_owned(), "tags".to_owned()], ..Oracle::default() };
    serving.running.assert_right(&oracle).await;
}
