#![allow(missing_docs, clippy::unwrap_used)]
use std::time::Instant;
#[test]
fn memory() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.sqlite").to_str().unwrap().to_owned();
    let file2 = dir.path().join("y.sqlite").to_str().unwrap().to_owned();
    let file3 = dir.path().join("z.sqlite").to_str().unwrap().to_owned();
    for (title, path, mode) in [("file off", file.as_str(), 0), ("uri", "file:m1?mode=memory&cache=shared", 2), ("file normal", file2.as_str(), 1), ("file full", file3.as_str(), 2)] {
        for index in [true, false] {
        let path = if index { path.to_owned() } else if path.starts_with("file:") { path.replace("m1", "m2") } else { format!("{path}2") };
        let db = dynoxide::Database::new(&path).unwrap();
        let c = rusqlite::Connection::open(&path).unwrap();
        if index { c.execute_batch("CREATE INDEX i ON _stream_records (table_name, CAST(sequence_number AS INTEGER), shard_id)").unwrap(); }
        match mode { 0 => db.enable_bulk_loading().unwrap(), 1 => db.disable_bulk_loading().unwrap(), _ => {} }
        db.create_table(serde_json::from_value(serde_json::json!({"TableName":"things","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"PK","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"PK","AttributeType":"S"}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}})).unwrap()).unwrap();
        let mut began = Instant::now();
        for n in 1..=20000u32 {
            db.put_item(serde_json::from_value(serde_json::json!({"TableName":"things","Item":{"PK":{"S":format!("i{n}")}, "a":{"S":"some text"}}})).unwrap()).unwrap();
            if n == 2000 || n == 20000 { println!("{title} index {index}: {:.0}/s at {n}", if n==2000 {2000.0} else {2000.0}/ began.elapsed().as_secs_f64()); }
            if n == 18000 { began = Instant::now(); }
        }
        let t = Instant::now();
        db.describe_stream(serde_json::from_value(serde_json::json!({"StreamArn": "arn:aws:dynamodb:dynoxide:000000000000:table/things/stream/1"})).unwrap()).unwrap();
        println!("   describe {:?}", t.elapsed());
        drop(c);
        }
    }
}
