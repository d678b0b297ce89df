//! The generated parts of the documents. A part stands in its page between two comments, and is made of what the code
//! or the template says:
//!
//! ```text
//! <!-- generated: commands -->
//! <!-- end -->
//! ```
//!
//! The test `the_generated_parts_are_what_the_code_says` compares them. `SAPWOOD_WRITE=1` with it writes them.

mod commands;
mod glossary;
mod problems;
mod template;

use std::fs;
use std::path::{Path, PathBuf};

/// The directory of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A generated part: its page, its name, and the function that makes it.
type Part = (&'static str, &'static str, fn() -> String);

const PARTS: [Part; 4] = [
    ("docs/reference/commands.md", "commands", commands::page),
    ("docs/reference/parameters.md", "parameters", template::parameters),
    ("docs/reference/problems.md", "problems", problems::page),
    ("docs/reference/glossary.md", "glossary", glossary::page),
];

/// Returns each page that differs from what it should be, with the text that it should have.
///
/// # Panics
///
/// If a page can't be read, or lacks the comments around one of its parts.
#[must_use]
#[allow(clippy::expect_used, reason = "a page that lacks its part is a fault of this repository")]
pub fn differing() -> Vec<(PathBuf, String)> {
    let mut differing = Vec::new();
    for (page, name, make) in PARTS {
        let path = Path::new(ROOT).join(page);
        let text = fs::read_to_string(&path).expect("the page is there");
        let begin = format!("<!-- generated: {name} -->\n");
        let (before, rest) = text.split_once(&begin).expect("the page has the comment before the part");
        let (_, after) = rest.split_once("<!-- end -->").expect("the page has the comment after the part");
        let wanted = format!("{before}{begin}\n{}\n\n<!-- end -->{after}", make().trim_end());
        if wanted != text {
            differing.push((path, wanted));
        }
    }
    differing
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods)]

    #[test]
    fn the_generated_parts_are_what_the_code_says() {
        let mut differing = super::differing();
        if std::env::var_os("SAPWOOD_WRITE").is_some() {
            differing.drain(..).for_each(|(path, text)| std::fs::write(path, text).unwrap());
        }
        let paths: Vec<_> = differing.into_iter().map(|(path, _)| path).collect();
        assert!(paths.is_empty(), "`SAPWOOD_WRITE=1 cargo test --workspace generated` writes them: {paths:#?}");
    }
}
