//! `Idempotency-Key`: what a key is to the table.

use axum::http::request::Parts;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sapwood_core::write::Idempotency;
use sha2::{Digest, Sha256};

use crate::caller::Caller;
use crate::headers::idempotency_key;
use crate::problem::Problem;

/// Returns the key of a request, and the fingerprint of what it asks for.
pub(crate) fn key(caller: &Caller, parts: &Parts, body: &[u8]) -> Result<Option<Idempotency>, Problem> {
    let key = idempotency_key(&parts.headers)?;
    // Tokens say what the request must know of, and not what it asks for.
    let of_request = |pair: &&str| !pair.starts_with("written=");
    let query: Vec<&str> = parts.uri.query().unwrap_or_default().split('&').filter(of_request).collect();
    let query = query.join("&");
    let request = [parts.method.as_str().as_bytes(), parts.uri.path().as_bytes(), query.as_bytes(), body];
    Ok(key.map(|key| Idempotency {
        tenant: caller.tenant.clone(),
        // Two callers may have chosen the same key.
        hash: hash(&[scope(&caller.name).as_bytes(), key.as_bytes()]),
        fingerprint: hash(&request),
    }))
}

/// For whom a key holds. A session of an assumed role doesn't count: another task retries with its own.
fn scope(name: &str) -> &str {
    match name.split_once(":assumed-role/").and_then(|(_, role)| role.split_once('/')) {
        Some((_, session)) if name.starts_with("arn:") => &name[..name.len() - session.len()],
        _ => name,
    }
}

pub(crate) fn part(whole: &Idempotency, position: usize) -> Idempotency {
    let hash = hash(&[whole.hash.as_bytes(), position.to_string().as_bytes()]);
    Idempotency { hash, ..whole.clone() }
}

fn hash(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // With their lengths: no two lists of parts are the same bytes.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    URL_SAFE_NO_PAD.encode(hash.finalize())
}
