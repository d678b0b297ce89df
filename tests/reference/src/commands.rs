//! The commands, of the arguments' own description.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::{Arg, Command};

/// An argument that at least this many commands have is explained once, in the list of common options.
const COMMON: usize = 3;

/// Options that come together, under one name.
const SETS: [(&str, &[&str]); 3] = [
    ("table", &["table", "region", "profile", "endpoint", "parameter"]),
    ("position", &["first", "last", "before", "after"]),
    ("write", &["if-match", "by", "wait"]),
];

/// The commands in their groups, each with its own options, and the options that several commands have.
pub(crate) fn page() -> String {
    let command = sapwood_cli::command();
    let mut uses: BTreeMap<(String, String), usize> = BTreeMap::new();
    for leaf in leaves(&command, "sapwood") {
        for argument in options(leaf.1).chain(leaf.1.get_positionals()) {
            *uses.entry((shown(argument), help(argument))).or_default() += 1;
        }
    }
    let is_common = |argument: &&Arg| uses[&(shown(argument), help(argument))] >= COMMON;
    let mut page = String::new();
    for (group, names) in sapwood_cli::GROUPS {
        let _ = writeln!(page, "## {group}\n");
        for name in names.split(' ') {
            let Some(below) = command.find_subcommand(name) else { continue };
            for (path, leaf) in leaves(below, &format!("sapwood {name}")) {
                let _ = writeln!(page, "### `{path}`\n\n{}\n", about(leaf));
                let arguments: String = leaf.get_positionals().filter(|one| !is_common(one)).map(entry).collect();
                let own: String = options(leaf).filter(|option| !is_common(option)).map(entry).collect();
                let names = leaf.get_positionals().filter(is_common).map(shown).collect();
                let also = also(names, options(leaf).filter(is_common).filter_map(Arg::get_long).collect());
                let _ = writeln!(page, "{arguments}{own}{also}");
            }
        }
    }
    let mut common: BTreeMap<&str, String> = BTreeMap::new();
    for (_, leaf) in leaves(&command, "sapwood") {
        let all = options(leaf).chain(leaf.get_positionals()).filter(is_common);
        common.extend(all.map(|one| (one.get_long().unwrap_or(one.get_id().as_str()), entry(one))));
    }
    let _ = writeln!(page, "## Common options\n");
    for (name, options) in SETS {
        let _ = writeln!(page, "{}{} options:\n", name[..1].to_uppercase(), &name[1..]);
        options.iter().filter_map(|option| common.remove(option)).for_each(|entry| page.push_str(&entry));
        page.push('\n');
    }
    page.push_str("Others:\n\n");
    common.into_values().for_each(|entry| page.push_str(&entry));
    page
}

/// A line that names the common arguments of a command: these, the sets of options that it has as a whole, the others.
fn also(mut names: Vec<String>, mut common: Vec<&str>) -> String {
    for (name, options) in SETS {
        if options.iter().all(|option| common.contains(option)) {
            common.retain(|option| !options.contains(option));
            names.push(format!("*{name}*"));
        }
    }
    names.extend(common.iter().map(|option| format!("`--{option}`")));
    if names.is_empty() { String::new() } else { format!("- Also {}\n", names.join(", ")) }
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

/// The options and flags of a command, each once, but for those that every command has.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_ours = |option: &&Arg| !option.is_hide_set() && !["help", "version"].contains(&option.get_id().as_str());
    command.get_arguments().filter(|argument| !argument.is_positional()).filter(is_ours)
}

fn entry(argument: &Arg) -> String {
    format!("- {}: {}\n", shown(argument), help(argument))
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
    let text = command.get_about().or_else(|| command.get_long_about()).map(ToString::to_string).unwrap_or_default();
    format!("{}.", text.split("\n\n").next().unwrap_or_default().trim_end_matches('.'))
}
