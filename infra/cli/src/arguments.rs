//! Values of arguments.

use clap::Args;
use sapwood_core::keys::{Id, KeyError, NodeRef, Schema, SortKey, Tenant};
use sapwood_local::template::Template;

use crate::TEMPLATE;

/// Default of the parts of the table that are read at a time.
const SEGMENTS: u32 = 4;

/// How a table is cut for reading.
#[derive(Args)]
pub(crate) struct Segments {
    /// Read so many parts of the table in parallel. By default 4, and 1 with --endpoint, because a local engine has one
    /// thread.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    segments: Option<u32>,
}

impl Segments {
    /// The number of parts. A local engine answers one request after another, and may have no index for parts.
    pub(crate) fn count(&self, is_local: bool) -> u32 {
        self.segments.unwrap_or(if is_local { 1 } else { SEGMENTS })
    }
}

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

/// Reads the URL of an endpoint. Without its scheme it would be looked up as a name, for a long time.
pub(crate) fn endpoint(text: &str) -> Result<String, String> {
    let rest = ["http://", "https://"].into_iter().find_map(|scheme| text.strip_prefix(scheme));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.starts_with(['/', ':']) && !rest.contains(char::is_whitespace) => {
            Ok(text.to_owned())
        }
        _ => Err("write it with its scheme and its host, as in http://127.0.0.1:8000".to_owned()),
    }
}
