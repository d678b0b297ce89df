//! The generated parts of the documents. A part stands in its page between two comments, and is made of what the code or the
//! template says:
//!
//! ```text
//! <!-- generated: commands -->
//! <!-- end -->
//! ```
//!
//! `cargo run -p sapwood-reference` writes all parts. The test `the_generated_parts_are_what_the_code_says` compares them.

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

/// A page that lacks the comments around a part, or can't be read.
#[derive(Debug)]
pub struct Faulty(String);

impl std::fmt::Display for Faulty {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Faulty {}

/// Returns each page that differs from what it should be, with the text that it should have.
///
/// # Errors
///
/// [`Faulty`] if a page can't be read, or lacks the comments around one of its parts.
pub fn differing() -> Result<Vec<(PathBuf, String)>, Faulty> {
    let mut differing = Vec::new();
    for (page, name, make) in PARTS {
        let path = Path::new(ROOT).join(page);
        let text = fs::read_to_string(&path).map_err(|error| Faulty(format!("{page}: {error}")))?;
        let begin = format!("<!-- generated: {name} -->\n");
        let (before, rest) =
            text.split_once(&begin).ok_or_else(|| Faulty(format!("{page} lacks {}", begin.trim_end())))?;
        let (_, after) = rest.split_once("<!-- end -->").ok_or_else(|| Faulty(format!("{page} lacks <!-- end -->")))?;
        let wanted = format!("{before}{begin}\n{}\n<!-- end -->{after}", make());
        if wanted != text {
            differing.push((path, wanted));
        }
    }
    Ok(differing)
}

/// A row of a table in Markdown. A vertical bar would end a cell.
fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_generated_parts_are_what_the_code_says() {
        let differing: Vec<_> = super::differing().unwrap().into_iter().map(|(path, _)| path).collect();
        assert!(differing.is_empty(), "run `cargo run -p sapwood-reference`: {differing:#?}");
    }
}
