//! The messages in the log, of the macros that write them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// What writes the log, each with its sources, the narrower ones first.
const WRITERS: [(&str, &str); 5] = [
    ("Stream handler", "shared/handlers/src/stream"),
    ("Auditor", "shared/handlers/src/audit"),
    ("API", "shared/http/src"),
    ("API", "shared/api/src"),
    ("All", "shared/telemetry/src"),
];

/// Sources that run on one machine alone.
const LOCAL: [&str; 2] = ["serve/local.rs", "serve/options.rs"];

/// The messages of each writer: level, message, fields.
pub(crate) fn page() -> String {
    let mut lists: BTreeMap<usize, (&str, Vec<String>)> = BTreeMap::new();
    for (of, directory) in WRITERS {
        let at = WRITERS.iter().position(|(other, _)| *other == of).unwrap_or_default();
        let (_, lines) = lists.entry(at).or_insert_with(|| (of, Vec::new()));
        for path in sources(&Path::new(crate::ROOT).join(directory)) {
            lines.extend(messages(&path));
        }
    }
    let mut page = String::new();
    for (of, lines) in lists.into_values() {
        let _ = writeln!(page, "{of}:\n\n{}", lines.concat());
    }
    page
}

/// The sources below a directory, without those of tests, in the order of their names.
#[allow(clippy::expect_used, reason = "the sources are part of this repository")]
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the directory is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    paths.sort();
    paths.retain(|path| !LOCAL.iter().any(|local| path.ends_with(local)));
    paths.retain(|path| !["tests", "tests.rs"].iter().any(|tests| path.ends_with(tests)));
    paths.retain(|path| path.is_dir() || path.extension().is_some_and(|extension| extension == "rs"));
    paths.into_iter().flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

#[allow(clippy::expect_used, reason = "the sources are part of this repository, and of Rust")]
fn messages(path: &Path) -> Vec<String> {
    let source = fs::read_to_string(path).expect("the source can be read");
    let mut found = Vec::new();
    gather(source.parse().expect("the source is of Rust"), &mut found);
    found
}

/// Finds `info!(…)`, `warn!(…)` and `error!(…)` among tokens.
fn gather(tokens: TokenStream, found: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for window in tokens.windows(3) {
        if let [TokenTree::Ident(level), TokenTree::Punct(mark), TokenTree::Group(arguments)] = window
            && mark.as_char() == '!'
            && let level @ ("info" | "warn" | "error") = &*level.to_string()
        {
            found.push(entry(level, arguments));
        }
    }
    for token in tokens {
        if let TokenTree::Group(group) = token {
            gather(group.stream(), found);
        }
    }
}

/// The line of a message. A field is a name with a value, a name alone, or one after `%` or `?`.
fn entry(level: &str, arguments: &Group) -> String {
    assert_eq!(arguments.delimiter(), Delimiter::Parenthesis);
    let (mut fields, mut message, mut is_value) = (Vec::new(), String::new(), false);
    for token in arguments.stream() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == ',' => is_value = false,
            TokenTree::Punct(mark) if mark.as_char() == '=' => is_value = true,
            TokenTree::Ident(name) if !is_value => {
                fields.push(format!("`{name}`"));
                is_value = true;
            }
            TokenTree::Literal(text) if !is_value => message = text.to_string().trim_matches('"').to_owned(),
            _ => {}
        }
    }
    assert!(!message.is_empty(), "a message is a literal: {arguments}");
    let level = if level == "info" { String::new() } else { format!(" ({})", level.to_uppercase()) };
    let fields = if fields.is_empty() { String::new() } else { format!(": {}", fields.join(", ")) };
    format!("- `{message}`{level}{fields}\n")
}
