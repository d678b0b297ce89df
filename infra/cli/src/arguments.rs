//! Values of arguments.

/// Reads `NAME=VALUE`.
pub(crate) fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err("write it as NAME=VALUE".to_owned()),
    }
}
