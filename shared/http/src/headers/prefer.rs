//! `Prefer: wait=5` ([RFC 7240](https://www.rfc-editor.org/rfc/rfc7240)).

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::{bad_header, joined, split_quoted, unquote};
use crate::problem::Problem;

/// The longest wait, in seconds. API Gateway ends a request after 30.
pub const WAIT_SECONDS_MAX: u8 = 20;

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// How long an answer may be held until the derived rows of a write are up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// Whole seconds, 1 to [`WAIT_SECONDS_MAX`]; `None` for no wait.
    pub seconds: Option<u8>,
}

impl Wait {
    /// Reads the first `wait` among all preferences and cuts it to [`WAIT_SECONDS_MAX`]. RFC 7240 demands that other
    /// preferences are ignored.
    ///
    /// # Errors
    /// [`Kind::BadHeader`](crate::problem::Kind::BadHeader) if `wait` isn't a number of seconds.
    pub fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(text) = joined(headers, &PREFER)? else { return Ok(Self::default()) };
        for preference in split_quoted(&text, ',') {
            let preference = split_quoted(preference, ';').into_iter().next().unwrap_or_default();
            let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
            if name.trim().eq_ignore_ascii_case("wait") {
                return Self::parse(value.trim());
            }
        }
        Ok(Self::default())
    }

    fn parse(value: &str) -> Result<Self, Problem> {
        let unquoted = unquote(value);
        let digits = unquoted.as_deref().unwrap_or(value);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad_header(&PREFER, "`wait` takes a number of seconds, such as `wait=5`"));
        }
        // A number with too many digits to parse is cut to the longest wait as well.
        let seconds = digits.parse().unwrap_or(WAIT_SECONDS_MAX).min(WAIT_SECONDS_MAX);
        Ok(Self { seconds: (seconds > 0).then_some(seconds) })
    }

    /// The longest time to wait; `None` for no wait.
    #[must_use]
    pub fn duration(self) -> Option<Duration> {
        self.seconds.map(|seconds| Duration::from_secs(seconds.into()))
    }

    /// The value of `Preference-Applied`, with the number of seconds that applies; `None` for no wait.
    #[must_use]
    pub fn applied(self) -> Option<HeaderValue> {
        self.seconds.and_then(|seconds| HeaderValue::try_from(format!("wait={seconds}")).ok())
    }
}
