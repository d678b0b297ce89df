// What the explorer's Ask panel shows for Rust, of every form of question.
// `SAPWOOD_WRITE=1 .ci/explorer question` writes it anew.

async fn below_0() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .query()
    .table_name("sapwood")
    .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
    .expression_attribute_names("#pk", "PK")
    .expression_attribute_names("#sk", "SK")
    .expression_attribute_values(":pk", AttributeValue::S("D".into()))
    .expression_attribute_values(":from", AttributeValue::S("NODE#0001#".into()))
    .expression_attribute_values(":to", AttributeValue::S("NODE#0098$".into()))
    .limit(100)
    .send()
    .await?;
println!("{:?}", answer.items());
if let Some(next) = answer.last_evaluated_key() {
    println!("There is more: ask again with exclusive_start_key {next:?}");
}
Ok(())
}

async fn below_1() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .query()
    .table_name("sapwood")
    .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
    .expression_attribute_names("#pk", "PK")
    .expression_attribute_names("#sk", "SK")
    .expression_attribute_values(":pk", AttributeValue::S("D".into()))
    .expression_attribute_values(":from", AttributeValue::S("NODE#0002#".into()))
    .expression_attribute_values(":to", AttributeValue::S("NODE#0002$".into()))
    .consistent_read(true)
    .limit(100)
    .send()
    .await?;
println!("{:?}", answer.items());
if let Some(next) = answer.last_evaluated_key() {
    println!("There is more: ask again with exclusive_start_key {next:?}");
}
Ok(())
}

async fn children_2() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .query()
    .table_name("sapwood")
    .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
    .expression_attribute_names("#pk", "PK")
    .expression_attribute_names("#sk", "SK")
    .expression_attribute_values(":pk", AttributeValue::S("V".into()))
    .expression_attribute_values(":from", AttributeValue::S("CHILD#".into()))
    .expression_attribute_values(":to", AttributeValue::S("CHILD$".into()))
    .scan_index_forward(false)
    .limit(100)
    .send()
    .await?;
println!("{:?}", answer.items());
if let Some(next) = answer.last_evaluated_key() {
    println!("There is more: ask again with exclusive_start_key {next:?}");
}
Ok(())
}

async fn path_3() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .query()
    .table_name("sapwood")
    .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
    .expression_attribute_names("#pk", "PK")
    .expression_attribute_names("#sk", "SK")
    .expression_attribute_values(":pk", AttributeValue::S("D".into()))
    .expression_attribute_values(":from", AttributeValue::S("PATH#V".into()))
    .expression_attribute_values(":to", AttributeValue::S("PATH#V$".into()))
    .limit(100)
    .send()
    .await?;
println!("{:?}", answer.items());
if let Some(next) = answer.last_evaluated_key() {
    println!("There is more: ask again with exclusive_start_key {next:?}");
}
Ok(())
}

async fn ancestors_4() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .get_item()
    .table_name("sapwood")
    .key("PK", AttributeValue::S("it's \"quoted\" `here` $(touch x) \\ %s {{1}}".into()))
    .key("SK", AttributeValue::S("LINEAGE".into()))
    .send()
    .await?;
println!("{:?}", answer.item());
Ok(())
}

async fn record_5() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .get_item()
    .table_name("sapwood")
    .key("PK", AttributeValue::S("it's \"quoted\" `here` $(touch x) \\ %s {{1}}".into()))
    .key("SK", AttributeValue::S("NODE".into()))
    .consistent_read(true)
    .send()
    .await?;
println!("{:?}", answer.item());
Ok(())
}

async fn newest_6() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .get_item()
    .table_name("sapwood")
    .key("PK", AttributeValue::S("D".into()))
    .key("SK", AttributeValue::S("v0_Audit".into()))
    .send()
    .await?;
println!("{:?}", answer.item());
Ok(())
}

async fn latest_7() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .query()
    .table_name("sapwood")
    .key_condition_expression("#pk = :pk AND begins_with(#sk, :from)")
    .expression_attribute_names("#pk", "PK")
    .expression_attribute_names("#sk", "SK")
    .expression_attribute_values(":pk", AttributeValue::S("D".into()))
    .expression_attribute_values(":from", AttributeValue::S("v0_".into()))
    .limit(100)
    .send()
    .await?;
println!("{:?}", answer.items());
if let Some(next) = answer.last_evaluated_key() {
    println!("There is more: ask again with exclusive_start_key {next:?}");
}
Ok(())
}

async fn history_8() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .query()
    .table_name("sapwood")
    .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
    .expression_attribute_names("#pk", "PK")
    .expression_attribute_names("#sk", "SK")
    .expression_attribute_names("#copy", "_version")
    .expression_attribute_values(":pk", AttributeValue::S("D".into()))
    .expression_attribute_values(":from", AttributeValue::S("v00".into()))
    .expression_attribute_values(":to", AttributeValue::S("vd".into()))
    .filter_expression("attribute_not_exists(#copy)")
    .limit(100)
    .send()
    .await?;
println!("{:?}", answer.items());
if let Some(next) = answer.last_evaluated_key() {
    println!("There is more: ask again with exclusive_start_key {next:?}");
}
Ok(())
}

async fn links_9() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .query()
    .table_name("sapwood")
    .key_condition_expression("#pk = :pk AND begins_with(#sk, :from)")
    .expression_attribute_names("#pk", "PK")
    .expression_attribute_names("#sk", "SK")
    .expression_attribute_values(":pk", AttributeValue::S("mouse".into()))
    .expression_attribute_values(":from", AttributeValue::S("LINK#product#".into()))
    .limit(100)
    .send()
    .await?;
println!("{:?}", answer.items());
if let Some(next) = answer.last_evaluated_key() {
    println!("There is more: ask again with exclusive_start_key {next:?}");
}
Ok(())
}

async fn roots_10() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .query()
    .table_name("sapwood")
    .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
    .expression_attribute_names("#pk", "PK")
    .expression_attribute_names("#sk", "SK")
    .expression_attribute_values(":pk", AttributeValue::S("ROOTS".into()))
    .expression_attribute_values(":from", AttributeValue::S("ROOT#".into()))
    .expression_attribute_values(":to", AttributeValue::S("ROOT$".into()))
    .limit(100)
    .send()
    .await?;
println!("{:?}", answer.items());
if let Some(next) = answer.last_evaluated_key() {
    println!("There is more: ask again with exclusive_start_key {next:?}");
}
Ok(())
}

async fn trash_11() -> Result<(), Box<dyn std::error::Error>> {
use aws_sdk_dynamodb::{Client, types::AttributeValue};

let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
    .region(aws_config::Region::new("us-east-1"))
    .endpoint_url("http://127.0.0.1:8000")
    .load()
    .await;
let client = Client::new(&config);
let answer = client
    .query()
    .table_name("sapwood")
    .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
    .expression_attribute_names("#pk", "PK")
    .expression_attribute_names("#sk", "SK")
    .expression_attribute_values(":pk", AttributeValue::S("TRASH".into()))
    .expression_attribute_values(":from", AttributeValue::S("TRASH#".into()))
    .expression_attribute_values(":to", AttributeValue::S("TRASH$".into()))
    .limit(100)
    .send()
    .await?;
println!("{:?}", answer.items());
if let Some(next) = answer.last_evaluated_key() {
    println!("There is more: ask again with exclusive_start_key {next:?}");
}
Ok(())
}
