//! The generated parts of the documents. A part stands in its page between two comments, and is made of what the code
//! or the template says:
//!
//! ```text
//! <!-- generated: commands -->
//! <!-- end -->
//! ```
//!
//! The test `the_generated_parts_are_what_the_code_says` compares them. `SAPWOOD_WRITE=1` with it writes them.

mod alarms;
mod commands;
mod findings;
mod glossary;
mod limits;
mod logs;
mod metrics;
mod problems;
mod template;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The directory of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A generated part: its page, its name, and the function that makes it.
type Part = (&'static str, &'static str, fn() -> String);

const PARTS: [Part; 12] = [
    ("docs/reference/commands.md", "commands", commands::page),
    ("docs/reference/parameters.md", "parameters", template::parameters),
    ("docs/reference/problems.md", "problems", problems::page),
    ("docs/reference/glossary.md", "glossary", glossary::page),
    ("docs/reference/findings.md", "differences", findings::differences),
    ("docs/reference/findings.md", "findings", findings::findings),
    ("docs/reference/findings.md", "checks", findings::checks),
    ("docs/reference/limits.md", "limits of the API", limits::of_the_api),
    ("docs/reference/limits.md", "limits of the table", limits::of_the_table),
    ("docs/reference/metrics.md", "metrics", metrics::page),
    ("docs/reference/metrics.md", "messages", logs::page),
    ("docs/operate/runbooks/README.md", "alarms", alarms::page),
];

/// Returns each page that differs from what it should be, with the text that it should have.
///
/// # Panics
///
/// If a page can't be read, or lacks the comments around one of its parts.
#[must_use]
#[allow(clippy::expect_used, reason = "a page that lacks its part is a fault of this repository")]
pub fn differing() -> BTreeMap<PathBuf, String> {
    let mut pages: BTreeMap<PathBuf, (String, String)> = BTreeMap::new();
    for (page, name, make) in PARTS {
        let path = Path::new(ROOT).join(page);
        let text = || fs::read_to_string(&path).expect("the page is there");
        let (_, text) = pages.entry(path.clone()).or_insert_with(|| (text(), text()));
        let begin = format!("<!-- generated: {name} -->\n");
        let (before, rest) = text.split_once(&begin).expect("the page has the comment before the part");
        let (_, after) = rest.split_once("<!-- end -->").expect("the page has the comment after the part");
        *text = format!("{before}{begin}\n{}\n\n<!-- end -->{after}", make().trim_end());
    }
    pages.into_iter().filter(|(_, (is, wanted))| is != wanted).map(|(path, (_, wanted))| (path, wanted)).collect()
}

/// An entry for each of these names, in their order: its text from the list, which names nothing else.
///
/// # Panics
///
/// If the list lacks one of the names, or has another.
#[allow(clippy::expect_used, reason = "the lists are part of this repository")]
fn explained<'a>(
    list: &str,
    names: impl IntoIterator<Item = &'a str>,
    entry: impl Fn(&str, &str) -> String,
) -> Vec<String> {
    let mut texts: BTreeMap<String, String> = serde_yaml_ng::from_str(list).expect("the list is YAML");
    let mut text = |name: &str| texts.remove(name).unwrap_or_default();
    let entries = names.into_iter().map(|name| (name, text(name))).map(|(name, text)| {
        assert!(!text.is_empty(), "the list doesn't explain {name}");
        entry(name, &text)
    });
    let entries = entries.collect();
    assert!(texts.is_empty(), "these are explained, and don't exist: {:?}", texts.keys());
    entries
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods)]

    #[test]
    fn the_generated_parts_are_what_the_code_says() {
        let mut differing = super::differing();
        if std::env::var_os("SAPWOOD_WRITE").is_some() {
            std::mem::take(&mut differing).into_iter().for_each(|(path, text)| std::fs::write(path, text).unwrap());
        }
        let paths: Vec<_> = differing.keys().collect();
        assert!(paths.is_empty(), "`SAPWOOD_WRITE=1 cargo test --workspace generated` writes them: {paths:#?}");
    }
}
