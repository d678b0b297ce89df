use super::fixture::{Directory, gzip, not_opened, read, refused};
use crate::sources::Source;
use crate::{CsvOptions, Format, Options};

fn format_of(name: &str, content: impl AsRef<[u8]>) -> Format {
    let directory = Directory::new();
    Source::open(&directory.write(name, content), &Options::default()).unwrap().format
}

#[test]
fn the_format_is_told_from_the_name_and_the_beginning() {
    assert_eq!(format_of("a.csv", "id,parent\n"), Format::Csv);
    assert_eq!(format_of("A.CSV.gz", gzip(b"id,parent\n")), Format::Csv);
    assert_eq!(format_of("a.jsonl", "{\"id\":\"a\"}"), Format::JsonLines);
    assert_eq!(format_of("a.json", "\n {\"id\":\"a\"}"), Format::JsonLines);
    assert_eq!(format_of("a.jsonl", "broken"), Format::JsonLines);
    assert_eq!(format_of("a.json", "\u{feff} [ ]"), Format::Treebeard);
    assert_eq!(format_of("a.json", "{ \"Item\":{}}"), Format::DynamoDb);
    assert_eq!(format_of("a.json.gz", gzip(b"{\"Item\":{}}")), Format::DynamoDb);
}

#[test]
fn a_format_can_be_given() {
    let options = Options { format: Some(Format::Csv), ..Options::default() };
    assert_eq!(read("a.txt", "id,parent\na,\n", &options).unwrap(), [r#"2: {"id":"a"}"#]);
    let levels = CsvOptions { levels: vec!["id".to_owned()], ..CsvOptions::default() };
    let options = Options { csv: levels, ..options };
    assert_eq!(read("a.txt", "id,parent\na,\n", &options).unwrap(), [r#"2: {"id":"a"}"#]);
}

#[test]
fn files_that_cannot_be_read_are_refused_with_what_to_do() {
    let options = Options::default();
    assert_eq!(
        not_opened("a.txt", "id,parent\n", &options),
        "the format of FILE can't be told from its name and its beginning; name the format"
    );
    for name in ["a.csv", "a.jsonl", "a.json", "a"] {
        assert_eq!(not_opened(name, "", &options), "FILE is empty; check that it was written completely");
        assert_eq!(not_opened(name, gzip(b""), &options), "FILE is empty; check that it was written completely");
        let utf16: Vec<u8> = "\u{feff}id,parent\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big_endian: Vec<u8> = "id,parent\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for utf16 in [&utf16, &utf16[2..], &big_endian] {
            assert_eq!(
                not_opened(name, utf16, &options),
                "FILE is UTF-16; convert it to UTF-8, for example with `iconv -f UTF-16 -t UTF-8`"
            );
        }
    }
    let directory = Directory::new();
    assert_eq!(refused(&directory.path("none"), &options), "FILE doesn't exist; check the name");
    assert_eq!(
        refused(&directory.path(""), &Options { format: Some(Format::Csv), ..Options::default() }),
        "FILE is a directory, and only an export of DynamoDB can be one; name the file"
    );
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let path = directory.write("a.jsonl", "{\"id\":\"a\"}");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).unwrap();
    // Root may read everything. Then only the message can be shown.
    if std::fs::File::open(&path).is_ok() {
        let error = crate::sources::OpenError::io(&path, std::io::ErrorKind::PermissionDenied.into());
        assert!(error.to_string().contains("may not be read by this user; change its permissions"), "{error}");
        return;
    }
    let told = refused(&path, &Options::default());
    assert_eq!(told, "FILE may not be read by this user; change its permissions, or run as its owner");
}
