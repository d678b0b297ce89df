//! What `-h` and `--help` print: the first is short, and the second says everything.

use std::fmt::Write;

use clap::{Command, CommandFactory};

use crate::Arguments;

/// The commands in groups, in the order in which they are listed: a heading, and names separated by spaces.
pub const GROUPS: [(&str, &str); 3] = [
    ("Use", "tree get put move copy rm trash history latest links inherited granted totals watch changes"),
    ("Operate", "import export verify repair backfill feed redrive doctor cost"),
    ("Develop", "dev explore catch-up completions man"),
];

/// The widest help, in columns.
const WIDTH_MAX: usize = 100;

/// Describes all commands and their arguments.
#[must_use]
pub fn command() -> Command {
    let command = in_two_lengths(Arguments::command());
    let mut groups = String::new();
    let style = *command.get_styles().get_header();
    for (heading, names) in GROUPS {
        let _ = writeln!(groups, "{style}{heading}:{style:#}");
        for name in names.split(' ') {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let _ = writeln!(groups, "  {name:<11}  {}", about.map(ToString::to_string).unwrap_or_default());
        }
        groups.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{style}Options:{style:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template).max_term_width(WIDTH_MAX)
}

/// Gives commands and arguments two texts each: the first sentence, and all of it. Only long help has examples.
fn in_two_lengths(mut command: Command) -> Command {
    if let Some(text) = command.get_about().map(ToString::to_string) {
        command = command.about(first_sentence(&text).to_owned()).long_about(text);
    }
    if let Some(text) = command.get_after_help().map(ToString::to_string) {
        command = command.after_help(None::<&'static str>).after_long_help(joined(&text));
    }
    let command = command.mut_args(|argument| match argument.get_help().map(ToString::to_string) {
        Some(text) => argument.help(first_sentence(&text).to_owned()).long_help(text),
        None => argument,
    });
    command.mut_subcommands(in_two_lengths)
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first)
}

/// Joins the lines of each paragraph, which are wrapped where they are shown. Examples are indented, and stay.
fn joined(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| match paragraph.contains("\n  ") {
        true => paragraph.to_owned(),
        false => paragraph.replace('\n', " "),
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use super::{GROUPS, command, joined};

    /// Where help isn't wider than it may be: a word that is longer stands in a line of its own.
    const COLUMNS: usize = 80;

    #[test]
    fn every_command_is_in_one_group_with_a_line_that_fits() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.split(' ')).collect();
        let command = command();
        let all: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!((grouped.len(), grouped.into_iter().collect::<BTreeSet<_>>()), (all.len(), all));
        let help = super::command().term_width(COLUMNS).render_help().to_string();
        let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > COLUMNS).collect();
        assert!(wide.is_empty() && help.contains("\nOperate:\n  import "), "{wide:#?}: {help}");
    }

    #[test]
    fn short_help_is_short_and_long_help_says_all_and_both_are_wrapped() {
        let mut left = vec![command().term_width(COLUMNS)];
        while let Some(mut command) = left.pop() {
            let (short, long) = (command.render_help().to_string(), command.render_long_help().to_string());
            assert!(!short.contains("Examples:") && long.contains("Examples:"), "{short}");
            assert!(short.lines().count() < long.lines().count(), "{short}");
            // Nobody breaks a word, such as an address.
            let is_wide = |line: &&str| line.chars().count() > COLUMNS && line.trim_start().contains(' ');
            let wide: Vec<&str> = short.lines().chain(long.lines()).filter(is_wide).collect();
            assert!(wide.is_empty(), "{wide:#?}");
            let ours = command.get_subcommands().filter(|below| below.get_name() != "help");
            left.extend(ours.map(|below| below.clone().term_width(COLUMNS)));
        }
    }

    #[test]
    fn paragraphs_are_joined_and_examples_are_not() {
        let text = "Examples:\n  sapwood a\n  sapwood b\n\nOne\ntwo.\n\nThree\nfour.";
        assert_eq!(joined(text), "Examples:\n  sapwood a\n  sapwood b\n\nOne two.\n\nThree four.");
    }
}
