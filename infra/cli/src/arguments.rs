//! Values of arguments.

use sapwood_core::keys::{Id, KeyError, NodeRef, Schema, SortKey, Tenant};
use sapwood_local::template::Template;

use crate::TEMPLATE;

/// Reads `NAME=VALUE`.
pub(crate) fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err("write it as NAME=VALUE".to_owned()),
    }
}

/// Reads a parameter of the template, with a value that it can have.
pub(crate) fn template_parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = parameter(text)?;
    let parsed = Template::parse_with(TEMPLATE, &[(name.clone(), value.clone())].into());
    parsed.map(|_| (name, value)).map_err(|error| error.to_string())
}

/// Returns the node of an id and a tenant, if the table can have it.
pub(crate) fn node(id: &str, tenant: Option<&String>, schema: &Schema) -> Result<NodeRef, KeyError> {
    let node = NodeRef { tenant: tenant.cloned().map(Tenant::new).transpose()?, id: Id::new(id)? };
    // A node of the wrong kind of table is refused here, and not by an empty answer.
    schema.item_key(&node, &SortKey::Node)?;
    Ok(node)
}
