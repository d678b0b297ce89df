//! What shells, pipes and `man` get.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use sapwood_tests::pace::slowness;

use crate::running::{Sapwood, command, printed};

fn bare(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_sapwood")).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output
}

/// The names of all commands, from the help.
fn commands() -> Vec<String> {
    let help = String::from_utf8(bare(&["--help"]).stdout).unwrap();
    let listed = help.split_once("Use:\n").unwrap().1.split_once("Options:\n").unwrap().0.to_owned();
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
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path().join("new/man1");
    bare(&["man", "--dir", directory.to_str().unwrap()]);
    for command in commands() {
        let page = std::fs::read_to_string(directory.join(format!("sapwood-{command}.1"))).unwrap();
        assert!(page.contains("Examples:") && page.contains(".SH OPTIONS"), "{command}: {page}");
    }
    let nowhere = Command::new(env!("CARGO_BIN_EXE_sapwood")).args(["man", "--dir", "/dev/null/man"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(4), "{nowhere:?}");
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("/dev/null/man can't be written"));
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
        &["verify", "--confirmation-window", "1"],
        &["verify", "--confirmation-window", "1", "--under", "D"],
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

/// As `sapwood completions bash | head -1`.
#[test]
fn a_reader_of_completions_may_go_away() {
    for arguments in [&["completions", "bash"][..], &["man"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
        let mut process = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}

/// The names of a place that isn't there: a profile, a region, an endpoint.
#[test]
fn what_was_named_wrongly_is_named() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".aws")).unwrap();
    std::fs::write(home.path().join(".aws/config"), "[profile prod]\nregion = eu-central-1\n[profile dev]\n").unwrap();
    let said = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_sapwood"))
            .args(arguments)
            .args(["--table", "t"])
            .env_clear()
            .envs([("AWS_EC2_METADATA_DISABLED", "true"), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")])
            .env("HOME", home.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let none = "there is no profile `nope`: ~/.aws/config and ~/.aws/credentials have dev, prod";
    let nobody = ["--endpoint", "http://127.0.0.1:9"];
    let calls: [(&[&str], &str); 7] = [
        (&["get", "D", "--profile", "nope"], none),
        (&["verify", "--profile", "nope", "--region", "eu-central-1"], none),
        (&["get", "D", "--region", "eu-nowhere-9"], "no connection to DynamoDB in eu-nowhere-9"),
        (&["get", "D", "--parameter", "PathRows=off", "--region", "eu-nowhere-9"], "DynamoDB in eu-nowhere-9"),
        (&["get", "D", "--profile", "prod", nobody[0], nobody[1]], "no connection to DynamoDB at http://127.0.0.1:9"),
        (&["doctor", nobody[0], nobody[1]], "can't be described at http://127.0.0.1:9: "),
        (&["doctor", "--region", "eu-nowhere-9"], "can't be described in eu-nowhere-9: "),
    ];
    // Each waits for half a minute for what may come back.
    std::thread::scope(|scope| {
        let said = &said;
        let all = calls.map(|(call, wanted)| scope.spawn(move || (said(call), wanted)));
        for (told, wanted) in all.map(|one| one.join().unwrap()) {
            assert!(told.contains(wanted), "{wanted}: {told}");
        }
    });
}

/// As in a terminal.
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_in_verify_says_what_was_looked_at() {
    let running = Sapwood::start(&[]);
    for id in ["D", "V"] {
        printed(&running.url, &["put", id, "--wait"], 0);
    }
    for (option, said) in [(&[][..], "items looked at so far, 0 suspects"), (&["--json"], "\"stopped\":true")] {
        // So slow that it would take hours.
        let slow = [&["verify", "--rate", "0.001"], option].concat();
        let mut process = command(&running.url, &slow).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It says by which settings it compares, and then looks at the first items.
        let mut said_first = String::new();
        let mut told = BufReader::new(process.stderr.take().unwrap());
        told.read_line(&mut said_first).unwrap();
        tokio::time::sleep(Duration::from_secs(3).mul_f64(slowness())).await;
        assert!(Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap().success());
        let output = process.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.contains(said) && !told.contains("0 items"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_goes_away_is_no_panic() {
    let running = Sapwood::start(&[]);
    printed(&running.url, &["put", "D"], 0);
    for arguments in [&["tree", "D"][..], &["get", "D"], &["verify", "--confirmation-window", "1"], &["export"]] {
        let mut process =
            command(&running.url, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(process.stdout.take());
        let mut said = String::new();
        process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(4), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}
