//! The binary without a table.

use std::process::Command;

#[test]
fn without_its_settings_it_ends_and_says_why_in_one_line_of_the_log() {
    let output = Command::new(env!("CARGO_BIN_EXE_api-reader")).env_clear().output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    let line: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(line["level"] == "ERROR" && line["timestamp"].is_string(), "{said}");
    assert!(said.contains("TABLE_NAME isn't set"), "{said}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}
