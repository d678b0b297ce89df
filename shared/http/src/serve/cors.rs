//! Cross-origin requests ([Fetch](https://fetch.spec.whatwg.org/#http-cors-protocol)). CORS is off unless the
//! deployment names origins.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method};

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
/// The headers of the calls and of AWS's signatures (Signature Version 4).
const ALLOWED: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, if-match, if-none-match, prefer, \
     x-amz-content-sha256, x-amz-date, x-amz-security-token",
);
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "etag, idempotency-replayed, link, location, preference-applied, retry-after, sapwood-consistency-token, www-authenticate, \
     x-request-id",
);
const MAX_AGE: HeaderValue = HeaderValue::from_static("3600");

pub(super) struct Cors {
    allowed: Option<HeaderValue>,
    preflight: bool,
}

impl Cors {
    pub(super) fn of(origins: &[String], method: &Method, headers: &HeaderMap) -> Option<Self> {
        if origins.is_empty() {
            return None;
        }
        let any = origins.iter().any(|origin| origin == "*");
        let named = || headers.get(ORIGIN).filter(|origin| origins.iter().any(|allowed| *origin == allowed.as_str()));
        Some(Self {
            allowed: if any { Some(HeaderValue::from_static("*")) } else { named().cloned() },
            preflight: method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD),
        })
    }

    pub(super) fn apply(self, headers: &mut HeaderMap) {
        // Other origins get other headers, so caches must tell them apart, even if this origin may do nothing.
        headers.append(VARY, HeaderValue::from_static("origin"));
        let Some(origin) = self.allowed else { return };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        if self.preflight {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED);
            headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        }
    }
}
