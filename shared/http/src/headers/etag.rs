//! Entity tags: what a client saw, in a few bytes.

use std::fmt;

use axum::http::HeaderValue;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::problem::Problem;

/// How much of the hash is kept: nobody finds a second content with the same 128 bits by chance.
const ETAG_BYTES: usize = 16;

/// A strong entity tag: the hash of a content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Etag(String);

/// The entity tag of what a client sees of a thing. What is equal must be written equal, so maps are to be sorted.
///
/// # Errors
/// [`Kind::Internal`](crate::problem::Kind::Internal) for what is no JSON.
pub fn etag(content: &impl Serialize) -> Result<Etag, Problem> {
    let written = serde_json::to_vec(content).map_err(|error| {
        tracing::error!(category = ?error.classify(), "what is no JSON has no entity tag");
        Problem::internal()
    })?;
    Ok(Etag::of(&written))
}

impl Etag {
    /// The entity tag of these bytes.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        let hash = Sha256::digest(content);
        Self(URL_SAFE_NO_PAD.encode(&hash[..ETAG_BYTES]))
    }

    /// What stands between the quotes.
    #[must_use]
    pub fn opaque(&self) -> &str {
        &self.0
    }

    /// As the value of the header `ETag`.
    #[must_use]
    pub fn header(&self) -> HeaderValue {
        // base64 has no character that a header can't hold.
        HeaderValue::try_from(self.to_string()).unwrap_or(HeaderValue::from_static("\"\""))
    }
}

impl fmt::Display for Etag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}
