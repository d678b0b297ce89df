//! Values of arguments.

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
