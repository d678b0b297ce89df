//! The settings that the function reads from its environment.

use sapwood_core::model::VariableError;
use sapwood_http::config::ReaderConfig;

fn read(variables: &[(&str, &str)]) -> Result<ReaderConfig, VariableError> {
    ReaderConfig::read(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
}

const LEAST: [(&str, &str); 2] = [("TABLE_NAME", "trees"), ("CURSOR_KEY", "a secret of enough bytes")];

#[test]
fn a_table_and_a_secret_are_enough() {
    let config = read(&LEAST).unwrap();
    assert_eq!(config.table_name, "trees");
    assert!(config.options.cors_origins.is_empty() && config.options.authority.tenant_claim.is_none());
    for (missing, given) in [(LEAST[0], LEAST[1]), (LEAST[1], LEAST[0])] {
        let error = read(&[given]).unwrap_err().to_string();
        assert!(error.contains(missing.0), "{error}");
    }
}

#[test]
fn a_secret_that_is_too_short_is_refused_and_not_shown() {
    let error = read(&[("TABLE_NAME", "trees"), ("CURSOR_KEY", "hunter2")]).unwrap_err().to_string();
    assert!(error.contains("CURSOR_KEY") && !error.contains("hunter2"), "{error}");
    assert!(!format!("{:?}", read(&LEAST).unwrap()).contains("a secret"));
}

#[test]
fn tenants_and_the_claim_that_names_them_go_together() {
    let with = |more: &[(&str, &str)]| read(&[&LEAST[..], more].concat());
    assert!(with(&[("TENANTS", "on")]).is_err());
    assert!(with(&[("TENANT_CLAIM", "custom:tenant")]).is_err());
    for chosen in ["userArn", "userId", "callerId"] {
        assert!(with(&[("TENANTS", "on"), ("TENANT_CLAIM", chosen)]).is_err(), "{chosen}");
    }
    let config = with(&[("TENANTS", "on"), ("TENANT_CLAIM", "custom:tenant")]).unwrap();
    assert_eq!(config.options.authority.tenant_claim.as_deref(), Some("custom:tenant"));
    assert!(config.settings.schema.has_tenants());
}

#[test]
fn scopes_name_what_they_allow() {
    let with =
        |scopes: &str| read(&[LEAST[0], LEAST[1], ("SCOPES", scopes)]).map(|config| config.options.authority.scopes);
    let scopes = with("read=trees/read, delete=https://api.example.org/delete").unwrap();
    let named: Vec<_> = scopes.0.values().map(String::as_str).collect();
    assert_eq!(named, ["trees/read", "https://api.example.org/delete"]);
    assert_eq!(with(" ").unwrap(), sapwood_api::caller::Scopes::default());
    for wrong in ["trees/read", "read=", "reads=a", "read=a,read=b", "read=a b", "read=a,", "read=\"a\""] {
        let error = with(wrong).unwrap_err().to_string();
        assert!(error.contains("SCOPES"), "{wrong}: {error}");
    }
}

#[test]
fn cursors_of_the_secret_before_still_open() {
    let with = |more: &[(&str, &str)]| read(&[&LEAST[..], more].concat());
    let older = read(&[LEAST[0], ("CURSOR_KEY", "the secret before this")]).unwrap().cursors;
    let scope = sapwood_api::cursor::Scope::new("roots", None);
    let cursor = older.seal(&scope, "at");
    assert!(with(&[]).unwrap().cursors.open(&scope, &cursor).is_err());
    assert!(with(&[("CURSOR_KEY_OLDER", "")]).unwrap().cursors.open(&scope, &cursor).is_err());
    let both = with(&[("CURSOR_KEY_OLDER", "the secret before this")]).unwrap().cursors;
    assert_eq!(both.open(&scope, &cursor).as_deref(), Ok("at"));
    let error = with(&[("CURSOR_KEY_OLDER", "hunter2")]).unwrap_err().to_string();
    assert!(error.contains("CURSOR_KEY_OLDER") && !error.contains("hunter2"), "{error}");
}

#[test]
fn origins_are_a_list() {
    let origins = ("CORS_ORIGINS", " https://a.example , https://b.example,");
    let config = read(&[LEAST[0], LEAST[1], origins, ("BASE_PATH", "/trees")]).unwrap();
    assert_eq!(config.options.cors_origins, ["https://a.example", "https://b.example"]);
    assert_eq!(config.options.base_path, "/trees");
}

#[test]
fn metrics_are_written_if_a_namespace_and_a_function_are_named() {
    let with =
        |more: &[(&str, &str)]| read(&[&[LEAST[0], LEAST[1]][..], more].concat()).unwrap().options.metrics.is_on();
    let (namespace, function) = (("METRICS_NAMESPACE", "Sapwood"), ("AWS_LAMBDA_FUNCTION_NAME", "f"));
    assert!(with(&[namespace, function]));
    assert!(!with(&[]) && !with(&[namespace]) && !with(&[function]) && !with(&[("METRICS_NAMESPACE", ""), function]));
}
