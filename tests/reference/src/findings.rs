//! The kinds of `sapwood verify`, of their enumeration and `fixes.yaml`, and the checks of `sapwood doctor`, of
//! `checks.yaml`.

use sapwood_core::audit::Kind;

use crate::explained;

pub(crate) fn differences() -> String {
    kinds(false)
}

pub(crate) fn findings() -> String {
    kinds(true)
}

/// The kinds that are findings about base records, or the others, each with its meaning and what to do.
fn kinds(are_findings: bool) -> String {
    explained(include_str!("../fixes.yaml"), Kind::ALL.map(Kind::as_str), |name, fix| match Kind::parse(name) {
        Some(kind) if kind.is_finding() == are_findings => {
            format!("- `{name}`: {} *{}.*\n", kind.meaning().trim(), fix.trim_end_matches('.'))
        }
        _ => String::new(),
    })
    .concat()
}

pub(crate) fn checks() -> String {
    explained(include_str!("../checks.yaml"), sapwood_cli::CHECKS.split(' '), |name, text| {
        format!("- `{name}`: {text}\n")
    })
    .concat()
}
