//! The help of all commands, and the commands in the documents.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};

use clap::Command;

use crate::help;

/// All commands, each with its words.
fn commands() -> Vec<(String, Command)> {
    let mut all = Vec::new();
    let mut left = vec![("sapwood".to_owned(), help::command())];
    while let Some((name, command)) = left.pop() {
        left.extend(command.get_subcommands().map(|below| (format!("{name} {}", below.get_name()), below.clone())));
        all.push((name, command));
    }
    assert!(all.len() > 10);
    all
}

#[test]
fn every_command_has_examples_and_they_can_be_read() {
    for (name, command) in commands() {
        let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let examples: Vec<&str> = help.lines().filter(|line| line.starts_with("  sapwood ")).collect();
        assert!(help.starts_with("Examples:\n") && !examples.is_empty(), "{name} has no examples");
        for example in examples {
            let words = shlex::split(example).unwrap_or_else(|| panic!("{example} has an open quote"));
            let words: Vec<String> =
                words.into_iter().take_while(|word| ![">", ">>", "|"].contains(&&**word)).collect();
            assert!(words.join(" ").starts_with(&name), "{example} is an example of {name}");
            if let Err(error) = help::command().try_get_matches_from(&words) {
                panic!("{example}: {error}");
            }
        }
    }
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn every_command_in_a_block_of_the_operators_pages_can_be_read() {
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operate");
    let mut read = 0;
    for page in files(Path::new(pages)) {
        let text = std::fs::read_to_string(&page).unwrap();
        let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
        for line in blocks.flat_map(str::lines).map(str::trim).filter(|line| line.starts_with("sapwood ")) {
            // A variable of the page with options in it.
            let line = line.replace(" $names", " --parameter PartitionKey=pk");
            let words = shlex::split(&line).unwrap_or_else(|| panic!("{line} has an open quote"));
            if let Err(error) = help::command().try_get_matches_from(&words) {
                panic!("{}: {line}: {error}", page.display());
            }
            read += 1;
        }
    }
    assert!(read > 10, "{read}");
}

#[test]
fn the_description_of_the_arguments_is_sound() {
    help::command().debug_assert();
}

#[test]
fn commands_that_print_for_people_print_json_too() {
    // `sapwood completions` and `sapwood man` print for a shell and for `man`, and `sapwood changes` prints only JSON.
    let silent = ["sapwood", "sapwood changes", "sapwood completions", "sapwood man"];
    for (name, command) in commands().into_iter().filter(|(name, _)| !silent.contains(&name.as_str())) {
        assert!(command.get_arguments().any(|argument| argument.get_long() == Some("json")), "{name} has no --json");
    }
}
