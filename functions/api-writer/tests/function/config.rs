//! What the function's environment may say.

use sapwood_core::model::VariableError;
use sapwood_http::config::WriterConfig;

fn read(variables: &[(&str, &str)]) -> Result<WriterConfig, VariableError> {
    WriterConfig::read(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
}

const TABLE: (&str, &str) = ("TABLE_NAME", "trees");

#[test]
fn a_table_is_enough_and_revisions_are_kept() {
    let config = read(&[TABLE]).unwrap();
    assert_eq!((config.table_name.as_str(), config.revisions_mutable), ("trees", false));
    assert!(read(&[("TABLE_NAME", " ")]).unwrap_err().to_string().contains("TABLE_NAME"));
}

#[test]
fn revisions_can_be_changed_where_that_is_said_in_so_many_words() {
    let mutable = |value| read(&[TABLE, ("REVISIONS_MUTABLE", value)]);
    assert!(mutable("on").unwrap().revisions_mutable);
    assert!(!mutable("off").unwrap().revisions_mutable);
    for value in ["true", "1", "ON"] {
        assert!(mutable(value).unwrap_err().to_string().contains("REVISIONS_MUTABLE"), "{value}");
    }
}

#[test]
fn tenants_and_the_claim_that_names_them_go_together() {
    assert!(read(&[TABLE, ("TENANTS", "on")]).is_err());
    assert!(read(&[TABLE, ("TENANT_CLAIM", "custom:tenant")]).is_err());
    let config = read(&[TABLE, ("TENANTS", "on"), ("TENANT_CLAIM", "custom:tenant")]).unwrap();
    assert_eq!(config.options.authority.tenant_claim.as_deref(), Some("custom:tenant"));
    assert!(config.settings.schema.has_tenants());
}

#[test]
fn metrics_are_written_if_a_namespace_and_a_function_are_named() {
    let with = |more: &[(&str, &str)]| read(&[&[TABLE][..], more].concat()).unwrap().options.metrics.is_on();
    let (namespace, function) = (("METRICS_NAMESPACE", "Sapwood"), ("AWS_LAMBDA_FUNCTION_NAME", "f"));
    assert!(with(&[namespace, function]));
    assert!(!with(&[]) && !with(&[namespace]) && !with(&[function]) && !with(&[("METRICS_NAMESPACE", ""), function]));
}
