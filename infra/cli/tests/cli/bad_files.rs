//! `sapwood import`, the real binary, on files that can't be imported: each ends with its code, and with what to do.
//! Nothing listens where the table should be, so nothing can be written.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::stack::{command, words};

/// Nothing listens there.
const NOBODY: &str = "http://127.0.0.1:9";
const FAULTS: i32 = 1;
const FAILED: i32 = 4;

/// A file of such a content ends with this code, and these words are said.
fn refused(name: &str, content: impl AsRef<[u8]>, code: i32, said: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(name);
    std::fs::write(&file, content).unwrap();
    ends(&file, &[], code, said);
}

fn ends(file: &Path, arguments: &[&str], code: i32, said: &[&str]) {
    let file = file.to_str().unwrap();
    let output = command(NOBODY, &[&["import", file][..], arguments].concat()).output().unwrap();
    let told = words(&output);
    assert_eq!(output.status.code(), Some(code), "{file}: {told}");
    let missing: Vec<_> = said.iter().filter(|words| !told.contains(**words)).collect();
    assert!(missing.is_empty() && !told.contains("panicked"), "{file}: {missing:?} isn't in: {told}");
}

#[test]
fn another_encoding_is_named_with_the_command_that_converts_it() {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let iconv = "`iconv -f UTF-16 -t UTF-8`";
    refused("a.jsonl", utf16("\u{feff}{\"id\": \"a\"}\n"), FAILED, &["is UTF-16", iconv]);
    refused("a.csv", utf16("\u{feff}id,parent\na,\n"), FAILED, &["is UTF-16", iconv]);
    let iconv = "`iconv -f ISO-8859-1 -t UTF-8`";
    refused(
        "a.jsonl",
        b"{\"id\": \"a\"}\n{\"id\": \"caf\xe9\"}\n",
        FAULTS,
        &["a.jsonl:2:", iconv, "nothing is written"],
    );
    refused("a.csv", b"id,parent\ncaf\xe9,\n", FAULTS, &["a.csv:2:", iconv, "nothing is written"]);
    refused("a.csv", b"id,par\xe9nt\n", FAILED, &["the first row", "UTF-8"]);
}

#[test]
fn lines_that_make_too_large_an_item_are_named() {
    let large = "x".repeat(400 * 1_024);
    let line = format!("{{\"id\": \"a\"}}\n{{\"id\": \"b\", \"attributes\": {{\"text\": \"{large}\"}}}}\n");
    refused("a.jsonl", line, FAULTS, &["a.jsonl:2:", "over its limit", "make it smaller", "nothing is written"]);
    refused("a.csv", format!("id,parent,text\na,,{large}\n"), FAULTS, &["a.csv:2:", "make it smaller"]);
    let endless = format!("{{\"id\": \"{}\"}}\n", "x".repeat(9 << 20));
    refused("a.jsonl", endless, FAULTS, &["a.jsonl:1:", "make it shorter", "nothing is written"]);
}

#[test]
fn missing_columns_are_named_with_those_that_are_there() {
    refused("a.csv", "key,parent\na,\n", FAILED, &["has no column `id`", "`key`, `parent`", "Name the column"]);
    refused("a.csv", "id,name\na,b\n", FAILED, &["has no column `parent`"]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.csv");
    std::fs::write(&file, "Country,State\nUSA,NE\n").unwrap();
    ends(&file, &["--levels", "Country,City"], FAILED, &["has no column `City`"]);
}

#[test]
fn what_is_no_file_of_records_is_named() {
    refused("a.jsonl", "", FAILED, &["is empty", "written completely"]);
    refused("a.txt", "id,parent\n", FAILED, &["can't be told", "name the format"]);
    refused("a.csv", "id,parent\n", FAULTS, &["has no record", "nothing is written", "written completely"]);
    refused("a.csv", "id,parent\ra,\r", FAILED, &["carriage returns alone", "`tr "]);
    let faults = &["a.jsonl:1:", "nothing is written"];
    refused("a.jsonl", [0; 1_000], FAULTS, faults);
    refused("a.jsonl", b"{\"id\": \"a\0b\"}\n", FAULTS, faults);
    refused("a.csv", b"id,parent\na\0b,\n", FAULTS, &["a.csv:2:", "is NUL", "nothing is written"]);
    let directory = tempfile::tempdir().unwrap();
    ends(directory.path(), &["--format", "jsonl"], FAILED, &["is a directory", "name the file"]);
    ends(directory.path(), &[], FAILED, &["has no files that end in .json"]);
    ends(Path::new("/nowhere.jsonl"), &[], FAILED, &["doesn't exist"]);
}

#[test]
fn a_file_that_may_not_be_read_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.jsonl");
    std::fs::write(&file, "{\"id\": \"a\"}\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut import = command(NOBODY, &["import", file.to_str().unwrap()]);
    if std::fs::File::open(&file).is_ok() {
        // Root may read everything, nobody may not.
        import.uid(65_534).gid(65_534).current_dir("/");
    }
    let output = import.output().unwrap();
    assert_eq!(output.status.code(), Some(FAILED), "{}", words(&output));
    assert!(words(&output).contains("may not be read by this user"), "{}", words(&output));
}

#[test]
fn an_import_that_reaches_no_table_is_planned_and_not_begun() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.jsonl");
    std::fs::write(&file, "{\"id\": \"a\"}\n{\"id\": \"b\", \"parent\": \"a\"}\n").unwrap();
    // Only now somebody waits for the table.
    ends(&file, &["--dry-run"], 0, &["no connection", "the import is planned with", "write units"]);
    ends(&file, &[], FAILED, &["no connection"]);
}
