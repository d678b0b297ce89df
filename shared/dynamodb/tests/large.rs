//! Requests that DynamoDB takes no part of: too many bytes, or no connection.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that can't go on should say so")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, text};
use sapwood_dynamodb::DynamoTable;
use sapwood_store::{ANSWER_BYTES_MAX, Action, Condition, ErrorKind, Query, ReadOptions, Table, Write};

/// A DynamoDB that gives this answer to each request. The answer is the status, and the bytes of the body. Returns the
/// URL.
fn answering(status: &'static str, body: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut request, mut part) = (Vec::new(), [0; 65_536]);
            let whole = |request: &[u8]| {
                let head = String::from_utf8_lossy(request).to_lowercase();
                let (head, body) = head.split_once("\r\n\r\n")?;
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
                (body.len() >= length.trim().parse::<usize>().ok()?).then_some(())
            };
            while whole(&request).is_none() {
                match stream.read(&mut part) {
                    Ok(0) | Err(_) => break,
                    Ok(bytes) => request.extend(&part[..bytes]),
                }
            }
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            // The client may not read it.
            drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)));
        }
    });
    url
}

#[tokio::test]
async fn what_no_connection_takes_was_never_sent() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let _listener = socket.listen(1).unwrap();
    // Nobody accepts these, and the next one isn't even begun.
    let waiting: Vec<_> = (0..8).map(|_| tokio::spawn(tokio::net::TcpStream::connect(address))).collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let table =
        DynamoTable::local(&format!("http://{address}"), "table", Schema::default()).waiting(Duration::from_secs(60));
    let item = Item::from([("PK".to_owned(), text("n")), ("SK".to_owned(), text("NODE"))]);
    let error = table.put(&item, &Condition::Always).await.unwrap_err();
    assert!(error.kind == ErrorKind::Retry && !error.is_unanswered(), "{error:?}");
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_status_413_is_a_request_that_is_too_large_and_an_answer_of_many_bytes_is_none() {
    let table = DynamoTable::local(&answering("413 Payload Too Large", Vec::new()), "table", Schema::default());
    let item = Item::from([("PK".to_owned(), text("n")), ("SK".to_owned(), text("NODE"))]);
    let write = Write::Put { key: ItemKey::new("n", "NODE"), item: item.clone() };
    let errors = [
        table.write_many(&[write]).await.unwrap_err(),
        table.put(&item, &Condition::Always).await.unwrap_err(),
        table
            .transact(&[Action::Check { key: ItemKey::new("n", "NODE"), condition: Condition::Absent }])
            .await
            .unwrap_err(),
    ];
    assert!(errors.iter().all(|error| error.is_too_large() && error.kind == ErrorKind::Refuse), "{errors:?}");
    let read = table.read_many(&[ItemKey::new("n", "NODE")], &ReadOptions::default()).await.unwrap_err();
    assert_eq!(read.kind, ErrorKind::GiveUp, "no item is at fault");

    let bulk = "x".repeat(ANSWER_BYTES_MAX);
    let item = format!(r#"{{"PK":{{"S":"n"}},"SK":{{"S":"NODE"}},"bulk":{{"S":"{bulk}"}}}}"#);
    let body = format!(r#"{{"Responses":{{"table":[{item}]}},"UnprocessedKeys":{{}},"Items":[{item}],"Count":1}}"#);
    let table = DynamoTable::local(&answering("200 OK", body.into_bytes()), "table", Schema::default());
    let keys = ["m", "n"].map(|pk| ItemKey::new(pk, "NODE"));
    let several = table.read_many(&keys, &ReadOptions::default()).await.unwrap_err();
    assert!(several.is_unanswered(), "{several:?}");
    let found = table.read_many(&keys[1..], &ReadOptions::default()).await.unwrap();
    assert_eq!(found.value.items.len(), 1, "one item is read whatever its size");
    let query = |limit| Query {
        pk: "n".to_owned(),
        range: Schema::default().revision_range(),
        after: None,
        limit,
        descending: false,
        reading: ReadOptions::default(),
    };
    assert!(table.query(&query(2)).await.unwrap_err().is_unanswered());
    assert_eq!(table.query(&query(1)).await.unwrap().value.items.len(), 1);
}
