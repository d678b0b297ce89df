//! The settings that the function reads from its environment.

use std::collections::BTreeSet;

use sapwood_core::model::{Copied, Settings};
use sapwood_dynamodb::Connection;
use sapwood_handlers::stream::{Config, ConfigError};

fn read(variables: &[(&str, &str)]) -> Result<Config, String> {
    let lookup = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    Config::read(lookup).map_err(|error| error.to_string())
}

#[test]
fn a_table_name_is_enough() {
    let config = read(&[("TABLE_NAME", "things")]).unwrap();
    assert_eq!((config.table_name.as_str(), config.settings), ("things", Settings::default()));
}

#[test]
fn metrics_are_written_if_a_namespace_and_a_function_are_named() {
    let (table, namespace) = (("TABLE_NAME", "things"), ("METRICS_NAMESPACE", "Sapwood"));
    let function = ("AWS_LAMBDA_FUNCTION_NAME", "f");
    assert!(read(&[table, namespace, function]).unwrap().metrics.is_on());
    for off in [vec![table, function], vec![table, namespace], vec![table, ("METRICS_NAMESPACE", ""), function]] {
        assert!(!read(&off).unwrap().metrics.is_on(), "{off:?}");
    }
}

#[test]
fn every_setting_is_read() {
    let config = read(&[
        ("TABLE_NAME", "things"),
        ("PATH_ROWS", "off"),
        ("ROOT_ROWS", " off "),
        ("TENANTS", "on"),
        ("COPIED_ATTRIBUTES", "name, size,"),
        ("NEVER_COPIED", "GSI1PK,GSI1SK"),
        ("TTL_ATTRIBUTE", "expires"),
        ("PARTITION_KEY", "pk"),
        ("SORT_KEY", "sk"),
        ("PARENT_ATTRIBUTE", "up"),
        ("SEGMENT_ATTRIBUTE", "part"),
        ("NODE_SORT_KEY", "METADATA"),
    ]);
    let settings = config.unwrap().settings;
    let set = |names: [&str; 2]| BTreeSet::from(names.map(str::to_owned));
    assert!(!settings.path_rows && !settings.root_rows && settings.schema.has_tenants());
    assert_eq!(settings.copied, Copied::Only(set(["name", "size"])));
    assert_eq!(settings.never_copied, set(["GSI1PK", "GSI1SK"]));
    assert_eq!(settings.ttl.as_deref(), Some("expires"));
    let names = settings.schema.names();
    let names = [&names.partition_key, &names.sort_key, &names.parent, &names.segment, &names.node];
    assert_eq!(names, ["pk", "sk", "up", "part", "METADATA"]);
}

#[test]
fn a_missing_or_wrong_variable_is_named_with_what_it_should_be() {
    let table = ("TABLE_NAME", "things");
    for (variables, said) in [
        (vec![], "TABLE_NAME isn't set; set it to the name of the table"),
        (vec![("TABLE_NAME", " ")], "TABLE_NAME isn't set; set it to the name of the table"),
        (vec![table, ("PATH_ROWS", "yes")], "PATH_ROWS is `yes`; set it to `on` or `off`"),
        (vec![table, ("SORT_KEY", "PK")], "`PK` can't be the name of the sort key: another attribute has it"),
        (
            vec![table, ("NODE_SORT_KEY", "LINEAGE")],
            "`LINEAGE` can't be the name of the node's sort key: another kind of item has it",
        ),
    ] {
        assert_eq!(read(&variables).unwrap_err(), said);
    }
}

const CREDENTIALS: [(&str, &str); 3] =
    [("AWS_REGION", "eu-central-1"), ("AWS_ACCESS_KEY_ID", "AKIA"), ("AWS_SECRET_ACCESS_KEY", "hunter2")];

fn connection(variables: &[(&str, &str)]) -> Result<Connection, ConfigError> {
    Connection::read(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn lambdas_variables_are_enough() {
    let token = ("AWS_SESSION_TOKEN", "token");
    let read = connection(&[&CREDENTIALS[..], &[token]].concat()).unwrap();
    assert_eq!((read.region.as_str(), read.endpoint_url), ("eu-central-1", None));
    assert_eq!((read.access_key_id.as_str(), read.secret_access_key.as_str()), ("AKIA", "hunter2"));
    assert_eq!(read.session_token.as_deref(), Some("token"));
    assert_eq!(connection(&CREDENTIALS).unwrap().session_token, None);
}

#[test]
fn a_missing_variable_is_named_and_no_credentials_are_shown() {
    for missing in CREDENTIALS {
        let others: Vec<_> = CREDENTIALS.into_iter().filter(|variable| *variable != missing).collect();
        let error = connection(&others).unwrap_err().to_string();
        assert!(error.contains(missing.0) && !error.contains("hunter2"), "{error}");
    }
    assert!(connection(&[("AWS_REGION", " "), CREDENTIALS[1], CREDENTIALS[2]]).is_err());
    assert_eq!(
        connection(&[("AWS_DEFAULT_REGION", "us-east-1"), CREDENTIALS[1], CREDENTIALS[2]]).unwrap().region,
        "us-east-1"
    );
    assert!(!format!("{:?}", connection(&CREDENTIALS).unwrap()).contains("hunter2"));
}

#[test]
fn the_endpoint_of_dynamodb_comes_before_that_of_all_services() {
    let (all, own) = (("AWS_ENDPOINT_URL", "http://all"), ("AWS_ENDPOINT_URL_DYNAMODB", "http://own"));
    let url = |more: &[(&str, &str)]| connection(&[&CREDENTIALS[..], more].concat()).unwrap().endpoint_url.unwrap();
    assert_eq!((url(&[all]), url(&[all, own])), ("http://all".to_owned(), "http://own".to_owned()));
    assert_eq!(Connection::local("http://here").endpoint_url.unwrap(), "http://here");
}
