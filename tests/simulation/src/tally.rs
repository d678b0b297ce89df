//! What long searches have done so far, in all calls together: lines of words in a file that is committed, so that the
//! next call goes on there, on any machine.

use std::fs;
use std::process::Command;

/// The lines of a tally, which have `N` words each. Without a file there are none.
///
/// # Panics
/// Where a line has another number of words.
#[must_use]
pub fn read<const N: usize>(file: &str) -> Vec<[String; N]> {
    let words = |line: &str| {
        let words: Vec<String> = line.split('\t').map(str::to_owned).collect();
        words.try_into().unwrap_or_else(|words| panic!("{N} words in a line, not {words:?}"))
    };
    fs::read_to_string(file).unwrap_or_default().lines().map(words).collect()
}

/// A number of a tally.
///
/// # Panics
/// Where it is none.
pub fn number<T: std::str::FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("{word:?} is no number"))
}

/// Writes a tally, whole or not at all.
///
/// # Panics
/// Where the file can't be written.
pub fn write<const N: usize>(file: &str, lines: impl IntoIterator<Item = [String; N]>) {
    let lines = lines.into_iter().map(|words| words.join("\t") + "\n");
    let new = format!("{file}.new");
    fs::write(&new, lines.collect::<String>()).unwrap();
    fs::rename(new, file).unwrap();
}

/// The commit that is checked out, with a plus if other files than the tallies (`tests/simulation/*.tsv`) were changed
/// since.
///
/// # Panics
/// Without Git.
#[must_use]
pub fn checked_out() -> String {
    let git = |arguments: &[&str]| Command::new("git").args(arguments).output().expect("git");
    let said = git(&["rev-parse", "--short", "HEAD"]);
    let others = ["diff", "--quiet", "HEAD", "--", ":/", ":(exclude,top)tests/simulation/*.tsv"];
    let is_same = git(&others).status.success();
    format!("{}{}", String::from_utf8_lossy(&said.stdout).trim(), if is_same { "" } else { "+" })
}
