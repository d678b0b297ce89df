//! What shells, pipes and `man` get.

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use crate::running::{Sapwood, command, printed};

fn bare(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_sapwood")).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output
}

/// The names of all commands, from the help.
fn commands() -> Vec<String> {
    let help = String::from_utf8(bare(&["--help"]).stdout).unwrap();
    let listed = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0.to_owned();
    let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned));
    let names: Vec<String> = names.filter(|name| !name.is_empty() && name != "help").collect();
    assert!(names.len() > 10, "{names:?}");
    names
}

#[test]
fn completions_are_scripts_that_know_every_command() {
    let bash = bare(&["completions", "bash"]).stdout;
    let mut check = Command::new("bash").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    check.stdin.take().unwrap().write_all(&bash).unwrap();
    let checked = check.wait_with_output().unwrap();
    assert!(checked.status.success() && checked.stderr.is_empty(), "{checked:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = String::from_utf8(bare(&["completions", shell]).stdout).unwrap();
        let unknown: Vec<String> = commands().into_iter().filter(|name| !script.contains(name.as_str())).collect();
        assert!(unknown.is_empty(), "{shell}: {unknown:?}");
    }
    // The script offers what follows.
    let script = format!(
        "{}\nCOMP_WORDS=(sapwood ver) COMP_CWORD=1\n_sapwood sapwood ver sapwood\necho \"${{COMPREPLY[*]}}\"",
        String::from_utf8(bash).unwrap()
    );
    let offered = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8(offered.stdout).unwrap(), "verify\n");
}

#[test]
fn every_command_has_a_man_page() {
    let page = String::from_utf8(bare(&["man"]).stdout).unwrap();
    assert!(page.contains(".TH sapwood 1") && page.contains("verify"), "{page}");
    let directory = tempfile::tempdir().unwrap();
    bare(&["man", "--dir", directory.path().to_str().unwrap()]);
    for command in commands() {
        let page = std::fs::read_to_string(directory.path().join(format!("sapwood-{command}.1"))).unwrap();
        assert!(page.contains("Examples:") && page.contains(".SH OPTIONS"), "{command}: {page}");
    }
    let nowhere = Command::new(env!("CARGO_BIN_EXE_sapwood")).args(["man", "--dir", "/nowhere"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(4), "{nowhere:?}");
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("/nowhere can't be written"));
}

/// Neither colours nor bars: the first byte of both is an escape.
#[tokio::test(flavor = "multi_thread")]
async fn pipes_get_neither_colours_nor_bars() {
    let running = Sapwood::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tree.jsonl");
    std::fs::write(&file, "{\"id\": \"D\"}\n{\"id\": \"V\", \"parent\": \"D\"}\n").unwrap();
    let file = file.to_str().unwrap();
    let calls: [&[&str]; 9] = [
        &["import", file],
        &["tree", "D"],
        &["put", "D", "--set", "name=x"],
        &["get", "D"],
        &["verify", "--settle", "1"],
        &["verify", "--settle", "1", "--under", "D"],
        &["export"],
        &["verify", "--colour"],
        &["tree", "--help"],
    ];
    for no_color in [None, Some("1")] {
        for arguments in calls {
            let mut command = command(&running.url, arguments);
            // What a terminal would be told.
            command.env("TERM", "xterm-256color").env_remove("NO_COLOR").envs(no_color.map(|on| ("NO_COLOR", on)));
            let Output { stdout, stderr, .. } = command.output().unwrap();
            assert!(!stdout.is_empty() || !stderr.is_empty(), "{arguments:?}");
            let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
            assert!(!said.contains(['\u{1b}', '\r', '\u{8}']), "{arguments:?}: {said:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_goes_away_is_no_panic() {
    let running = Sapwood::start(&[]);
    printed(&running.url, &["put", "D"], 0);
    for arguments in [&["tree", "D"][..], &["get", "D"], &["verify", "--settle", "1"], &["export"]] {
        let mut process =
            command(&running.url, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(process.stdout.take());
        let mut said = String::new();
        process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(4), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}
