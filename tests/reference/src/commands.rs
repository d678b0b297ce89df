//! The commands, of the arguments' own description.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::{Arg, Command};

use super::row;

/// An option that at least this many commands have stands once, in the table of common options.
const COMMON: usize = 4;

/// The commands in their groups, each with its own options, and the options that several commands have.
pub(crate) fn page() -> String {
    let command = sapwood_cli::command();
    let mut uses: BTreeMap<(String, String), usize> = BTreeMap::new();
    for leaf in leaves(&command, "sapwood") {
        for option in options(leaf.1) {
            *uses.entry((shown(option), help(option))).or_default() += 1;
        }
    }
    let is_common = |option: &&Arg| uses[&(shown(option), help(option))] >= COMMON;
    let mut page = String::new();
    for (group, names) in sapwood_cli::GROUPS {
        let _ = writeln!(page, "## {group}\n");
        for name in names.split(' ') {
            let Some(below) = command.find_subcommand(name) else { continue };
            for (path, leaf) in leaves(below, &format!("sapwood {name}")) {
                let _ = writeln!(page, "### `{path}`\n\n{}\n", about(leaf));
                let arguments: String = leaf.get_positionals().map(entry).collect();
                let own: String = options(leaf).filter(|option| !is_common(option)).map(entry).collect();
                if !(arguments.is_empty() && own.is_empty()) {
                    let _ = writeln!(page, "| argument or option | meaning |\n|---|---|\n{arguments}{own}");
                }
                let common: Vec<String> = options(leaf)
                    .filter(is_common)
                    .filter_map(|one| Some(format!("`--{}`", one.get_long()?)))
                    .collect();
                if !common.is_empty() {
                    let _ = writeln!(page, "Common options: {}\n", common.join(", "));
                }
            }
        }
    }
    let common: BTreeMap<String, String> = leaves(&command, "sapwood")
        .into_iter()
        .flat_map(|(_, leaf)| options(leaf))
        .filter(is_common)
        .map(|option| (shown(option), entry(option)))
        .collect();
    let _ = write!(page, "## Common options\n\n| option | meaning |\n|---|---|\n");
    common.into_values().for_each(|entry| page.push_str(&entry));
    page
}

/// The commands that do something, each with its path.
fn leaves<'a>(command: &'a Command, path: &str) -> Vec<(String, &'a Command)> {
    let below: Vec<_> = command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
        .flat_map(|below| leaves(below, &format!("{path} {}", below.get_name())))
        .collect();
    if below.is_empty() { vec![(path.to_owned(), command)] } else { below }
}

fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_opts().filter(|option| !option.is_hide_set()).chain(flags(command))
}

fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_ours = |flag: &&Arg| !flag.is_hide_set() && !["help", "version"].contains(&flag.get_id().as_str());
    command.get_arguments().filter(|one| !one.is_positional() && !one.get_action().takes_values()).filter(is_ours)
}

fn entry(argument: &Arg) -> String {
    row(&[shown(argument), help(argument)])
}

/// An argument as it is typed.
fn shown(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let value = names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    match argument.get_long() {
        Some(long) if argument.get_action().takes_values() => {
            match argument.get_num_args().map(|range| range.min_values()) {
                Some(0) => format!("`--{long}[={value}]`"),
                _ => format!("`--{long} {value}`"),
            }
        }
        Some(long) => format!("`--{long}`"),
        None => format!("`{value}`"),
    }
}

/// What an argument means, which values it takes, and its default.
fn help(argument: &Arg) -> String {
    let mut text = argument.get_help().map(ToString::to_string).unwrap_or_default().trim_end_matches('.').to_owned();
    let values: Vec<String> = if argument.get_action().takes_values() {
        argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect()
    } else {
        Vec::new()
    };
    if !values.is_empty() {
        let _ = write!(text, ": {}", values.join(", "));
    }
    let defaults: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && argument.get_action().takes_values() {
        let _ = write!(text, " (default `{}`)", defaults.join(" "));
    }
    if let Some(variable) = argument.get_env() {
        let _ = write!(text, " (variable `{}`)", variable.to_string_lossy());
    }
    text
}

fn about(command: &Command) -> String {
    let text = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    format!("{}.", text.split("\n\n").next().unwrap_or_default().trim_end_matches('.'))
}
