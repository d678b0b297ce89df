//! `Prefer: wait=5, below=true, return=minimal, numbers=strings` ([RFC 7240](https://www.rfc-editor.org/rfc/rfc7240)).

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use sapwood_json::Numbers;

use super::{bad_header, joined, split_quoted, unquote};
use crate::problem::Problem;

/// The longest wait, in seconds. A function that waits takes a place among those that the account may run at once.
pub const WAIT_SECONDS_MAX: u8 = 10;

const PREFER: HeaderName = HeaderName::from_static("prefer");

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The preferences of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefer {
    /// For how many seconds the answer may be held, 1 to [`WAIT_SECONDS_MAX`]; `None` for no wait.
    pub wait: Option<u8>,
    /// True if it is held for all that is below a moved node as well (`below=true`).
    pub below: bool,
    /// True if the answer should leave out what was written.
    pub minimal: bool,
    /// How the answer writes numbers (`numbers=strings`).
    pub numbers: Numbers,
}

impl Prefer {
    /// Reads the first `wait`, `below`, `return` and `numbers`. RFC 7240 demands to ignore what isn't known.
    ///
    /// # Errors
    /// [`Kind::BadHeader`](crate::problem::Kind::BadHeader) if `wait` isn't a number of seconds.
    pub fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(text) = joined(headers, &PREFER)? else { return Ok(Self::default()) };
        let wait = first(&text, "wait").map(|value| read_wait(&value)).transpose()?.flatten();
        let is = |name, wanted| first(&text, name).is_some_and(|value| value == wanted);
        let (below, minimal) = (is("below", "true"), is("return", "minimal"));
        Ok(Self { wait, below, minimal, numbers: read_numbers(&text) })
    }

    /// Reads the only preference that a read follows: `numbers`.
    ///
    /// # Errors
    /// [`Kind::BadHeader`](crate::problem::Kind::BadHeader) for characters other than visible ASCII.
    pub fn of_read(headers: &HeaderMap) -> Result<Self, Problem> {
        let text = joined(headers, &PREFER)?.unwrap_or_default();
        Ok(Self { numbers: read_numbers(&text), ..Self::default() })
    }

    /// The longest time to wait until the derived rows of a write are up to date; `None` for no wait.
    #[must_use]
    pub fn longest_wait(self) -> Option<Duration> {
        self.wait.map(|seconds| Duration::from_secs(seconds.into()))
    }

    /// Adds to an answer which preferences applied.
    pub fn add_to(self, headers: &mut HeaderMap) {
        if let Some(applied) = self.applied() {
            headers.insert(PREFERENCE_APPLIED, applied);
        }
    }

    /// The value of `Preference-Applied`; `None` if no preference applies.
    #[must_use]
    pub fn applied(self) -> Option<HeaderValue> {
        let wait = self.wait.map(|seconds| format!("wait={seconds}"));
        let below = (self.below && wait.is_some()).then(|| "below=true".to_owned());
        let minimal = self.minimal.then(|| "return=minimal".to_owned());
        let numbers = (self.numbers == Numbers::Strings).then(|| "numbers=strings".to_owned());
        let applied: Vec<String> = wait.into_iter().chain(below).chain(minimal).chain(numbers).collect();
        HeaderValue::try_from(applied.join(", ")).ok().filter(|value| !value.is_empty())
    }
}

/// The value of the first preference of this name, without its quotes.
fn first(text: &str, wanted: &str) -> Option<String> {
    split_quoted(text, ',').into_iter().find_map(|preference| {
        let preference = split_quoted(preference, ';').into_iter().next().unwrap_or_default();
        let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
        let value = || unquote(value.trim()).unwrap_or_else(|| value.trim().to_owned());
        name.trim().eq_ignore_ascii_case(wanted).then(value)
    })
}

fn read_numbers(text: &str) -> Numbers {
    match first(text, "numbers").as_deref() {
        Some("strings") => Numbers::Strings,
        _ => Numbers::Plain,
    }
}

/// Reads a number of seconds and cuts it to [`WAIT_SECONDS_MAX`]; `None` for 0.
fn read_wait(digits: &str) -> Result<Option<u8>, Problem> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad_header(&PREFER, "`wait` takes a number of seconds, such as `wait=5`"));
    }
    // A number with too many digits to parse is cut to the longest wait as well.
    let seconds = digits.parse().unwrap_or(WAIT_SECONDS_MAX).min(WAIT_SECONDS_MAX);
    Ok((seconds > 0).then_some(seconds))
}
