//! The embedded engine and its table.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;

use super::fixture::{Fixture, put_item, template};
use crate::endpoint::{Endpoint, TableError};
use crate::engine::{Data, Engine, EngineError};
use crate::stream::Stream;
use crate::template::TableDefinition;

fn anywhere() -> std::net::SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

#[test]
fn only_loopback_addresses_are_listened_on() {
    for address in ["0.0.0.0:0", "192.168.1.1:0", "[::]:0"] {
        let error = Engine::start(address.parse().unwrap(), &Data::Memory).unwrap_err();
        assert!(matches!(error, EngineError::NotLoopback(_)), "{error}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let other = TcpListener::bind(anywhere()).unwrap();
    let address = other.local_addr().unwrap();
    let error = Engine::start(address, &Data::Memory).unwrap_err();
    assert!(matches!(error, EngineError::PortInUse(in_use) if in_use == address), "{error}");
}

#[test]
fn a_data_directory_belongs_to_one_engine_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let data = Data::Directory(directory.path().join("made/on/the/way"));
    let first = Engine::start(anywhere(), &data).unwrap();
    let error = Engine::start(anywhere(), &data).unwrap_err();
    assert!(matches!(error, EngineError::DirectoryInUse { .. }), "{error}");
    drop(first);
    Engine::start(anywhere(), &data).unwrap();
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("dynamodb.sqlite");
    std::fs::write(&file, "not a database, but longer than a header would be: ".repeat(50)).unwrap();
    let before = std::fs::read(&file).unwrap();
    let error = Engine::start(anywhere(), &Data::Directory(directory.path().to_owned())).unwrap_err();
    assert!(matches!(&error, EngineError::Unreadable { path, .. } if *path == file), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn a_directory_that_is_a_file_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Engine::start(anywhere(), &Data::Directory(file.path().to_owned())).unwrap_err();
    assert!(matches!(error, EngineError::Directory { .. }), "{error}");
}

#[tokio::test]
async fn items_outlive_the_engine_in_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let data = Data::Directory(directory.path().to_owned());
    let fixture = Fixture::on(&data).await;
    fixture.put("a", "base", 7).await;
    let arn = fixture.stream.arn.clone();
    fixture.engine.stop().await.unwrap();

    let fixture = Fixture::on(&data).await;
    assert_eq!(fixture.stream.arn, arn);
    let scanned = fixture.endpoint.client.scan().table_name("things").send().await.unwrap();
    assert_eq!(scanned.count, 1);
    fixture.engine.stop().await.unwrap();
}

#[tokio::test]
async fn engines_in_memory_share_nothing() {
    let (one, other) = (Fixture::new().await, Fixture::new().await);
    one.put("a", "base", 7).await;
    let scanned = other.endpoint.client.scan().table_name("things").send().await.unwrap();
    assert_eq!(scanned.count, 0);
}

#[tokio::test]
async fn a_stopped_engine_answers_no_more() {
    let fixture = Fixture::new().await;
    let address = fixture.engine.address;
    fixture.engine.stop().await.unwrap();
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[tokio::test]
async fn a_running_engine_deletes_what_has_expired() {
    let fixture = Fixture::new().await;
    put_item(&fixture.endpoint, json!({"PK": "a", "SK": "base", "expires": 1_000_000_000})).await;
    put_item(&fixture.endpoint, json!({"PK": "b", "SK": "base", "expires": 99_999_999_999_u64})).await;
    let left = async || {
        let scanned = fixture.endpoint.client.scan().table_name("things").send().await.unwrap();
        scanned.items().iter().map(|item| item["PK"].as_s().unwrap().clone()).collect::<Vec<_>>()
    };
    // It is gone after some seconds. The test waits until the runner loses patience.
    while left().await.iter().any(|pk| pk == "a") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(left().await, ["b"]);
}

#[tokio::test]
async fn a_table_that_exists_is_taken_as_it_is() {
    let fixture = Fixture::new().await;
    let again = fixture.endpoint.ensure_table("things", &template().table).await.unwrap();
    assert_eq!(again, fixture.stream);
}

#[tokio::test]
async fn a_table_with_other_keys_is_refused() {
    let fixture = Fixture::new().await;
    let mut wanted = template().table.clone();
    wanted.key[1].name = "sort".to_owned();
    match fixture.endpoint.ensure_table("things", &wanted).await {
        Err(TableError::Keys { found, wanted, .. }) => {
            assert_eq!(found, "PK (HASH, S) and SK (RANGE, S)");
            assert_eq!(wanted, "PK (HASH, S) and sort (RANGE, S)");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_table_with_another_stream_is_refused_with_what_to_do() {
    let fixture = Fixture::new().await;
    let wanted = TableDefinition { stream_view_type: Some("KEYS_ONLY".to_owned()), ..template().table.clone() };
    let error = fixture.endpoint.ensure_table("things", &wanted).await.unwrap_err();
    assert!(matches!(error, TableError::Stream { .. }));
    assert!(error.to_string().contains("aws dynamodb update-table --table-name things"), "{error}");
}

#[tokio::test]
async fn an_endpoint_where_nobody_answers_is_named() {
    let unused = TcpListener::bind(anywhere()).unwrap().local_addr().unwrap();
    let endpoint = Endpoint::new(format!("http://{unused}"));
    let error = endpoint.ensure_table("things", &template().table).await.unwrap_err();
    assert!(matches!(&error, TableError::Unreachable { url, .. } if url.contains(&unused.to_string())), "{error}");
    let said = error.to_string();
    assert!(said.contains("Connection refused") && said.ends_with("Start one there, or name another URL"), "{said}");
    assert_plain(&said);
}

/// Panics if words for people hold the SDK's structures.
fn assert_plain(said: &str) {
    assert!(!said.contains(['{', '}', '\n']) && !said.contains("Some("), "{said}");
}

#[tokio::test]
async fn what_an_engine_refuses_is_said_in_its_own_words() {
    let fixture = Fixture::new().await;
    let error = fixture.endpoint.ensure_table("a name with spaces", &template().table).await.unwrap_err();
    assert!(matches!(error, TableError::Refused { what: "describe", .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("ValidationException: ") && said.contains("the table a name with spaces"), "{said}");
    assert_plain(&said);

    let stream = Stream::new(&fixture.engine.url(), &fixture.stream.arn.replace("table/things", "table/others"));
    let said = stream.shards().await.unwrap_err().to_string();
    assert!(said.starts_with("ResourceNotFoundException: ") && said.contains("table/others"), "{said}");
    assert_plain(&said);
}

#[tokio::test]
async fn what_answers_and_is_no_dynamodb_is_named_without_its_answer() {
    let listener = TcpListener::bind(anywhere()).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = [0; 4_096];
            std::io::Read::read(&mut connection, &mut request).unwrap();
            let page = "HTTP/1.1 404 Not Found\r\nContent-Length: 8\r\nConnection: close\r\n\r\n<secret>";
            std::io::Write::write_all(&mut connection, page.as_bytes()).unwrap();
        }
    });
    let error = Endpoint::new(&url).ensure_table("things", &template().table).await.unwrap_err();
    assert!(matches!(error, TableError::Unreachable { .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("the answer is HTTP 404, without a code") && !said.contains("secret"), "{said}");
    assert_plain(&said);
}
