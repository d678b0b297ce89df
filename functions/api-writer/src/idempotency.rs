//! `Idempotency-Key`: what a key is to the table.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sapwood_core::write::Idempotency;
use sapwood_http::caller::Caller;
use sha2::{Digest, Sha256};

/// A key of a caller's, and the request that came with it.
pub(crate) fn idempotency(caller: &Caller, key: &str, request: &[&[u8]]) -> Idempotency {
    Idempotency {
        tenant: caller.tenant.clone(),
        // Two callers may have chosen the same key.
        hash: hash(&[caller.name.as_bytes(), key.as_bytes()]),
        fingerprint: hash(request),
    }
}

/// The key of one operation of a batch.
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
