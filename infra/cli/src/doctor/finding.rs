//! What a check finds.

use serde_json::{Value, json};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Ok,
    /// The endpoint has no such thing.
    NotHere,
    /// It couldn't be read.
    Unknown,
    Warn,
    Fail,
}

impl Verdict {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotHere => "not-here",
            Self::Unknown => "unknown",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// The result of a check, with what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) verdict: Verdict,
    pub(super) words: String,
    /// The page that says more, below `docs/`.
    pub(super) page: &'static str,
}

impl Finding {
    pub(super) fn new(check: &'static str, verdict: Verdict, words: impl Into<String>, page: &'static str) -> Self {
        Self { check, verdict, words: words.into(), page }
    }

    pub(super) fn line(&self) -> String {
        let page = if self.verdict >= Verdict::Unknown { format!(" (docs/{})", self.page) } else { String::new() };
        format!("{:<8} {:<22} {}{page}", self.verdict.as_str(), self.check, self.words)
    }

    pub(super) fn json(&self) -> Value {
        let page = format!("docs/{}", self.page);
        json!({"check": self.check, "verdict": self.verdict.as_str(), "words": self.words, "page": page})
    }
}

pub(super) fn unknown(check: &'static str, reason: &str, page: &'static str) -> Finding {
    Finding::new(check, Verdict::Unknown, format!("can't be read: {reason}"), page)
}

pub(super) fn not_here(check: &'static str, service: &str) -> Finding {
    Finding::new(check, Verdict::NotHere, format!("doesn't apply: this endpoint is no {service}"), "operate/upgrade.md")
}

pub(super) fn right(check: &'static str, words: impl Into<String>) -> Finding {
    Finding::new(check, Verdict::Ok, words, "operate/verify-repair.md#check-a-deployment")
}

pub(super) fn warn(check: &'static str, words: impl Into<String>, page: &'static str) -> Finding {
    Finding::new(check, Verdict::Warn, words, page)
}

pub(super) fn fail(check: &'static str, words: impl Into<String>, page: &'static str) -> Finding {
    Finding::new(check, Verdict::Fail, words, page)
}
