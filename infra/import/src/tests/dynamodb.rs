use super::fixture::{Directory, gzip, read, refused, told};
use crate::Options;
use crate::sources::Source;

const ITEMS: &str = r#"{"Item":{"PK":{"S":"d"},"SK":{"S":"NODE"},"parent":{"S":"V"},"segment":{"S":"docs"},"name":{"S":"Documents"},"n":{"N":"12345678901234567890123456789012345678"},"tags":{"SS":["b","a"]},"raw":{"B":"AAE="},"_rev":{"N":"3"},"_born":{"S":"x"}}}
{"Item":{"PK":{"S":"d"},"SK":{"S":"LINEAGE"},"ancestors":{"L":[]}}}
{"Item":{"PK":{"S":"V"},"SK":{"S":"NODE#0001#d"},"_id":{"S":"d"}}}
{"Item":{"PK":{"S":"d"},"SK":{"S":"v003_Audit"},"auditor":{"M":{"name":{"S":"Lin"},"ok":{"BOOL":true},"at":{"NULL":true}}}}}
{"Item":{"PK":{"S":"d"},"SK":{"S":"v0_Audit"},"_version":{"N":"3"}}}
{"Item":{"PK":{"S":"d"},"SK":{"S":"INVOICE#1"}}}
{"Item":{"id":{"N":"1"}}}
"#;

const TOLD: [&str; 7] = [
    r#"1: {"id":"d","parent":"V","segment":"docs","attributes":{"n":12345678901234567890123456789012345678,"name":"Documents","raw":{"$binary":"AAE="},"tags":{"$set":["a","b"]}}}"#,
    "2: Derived",
    "3: Derived",
    r#"4: {"node":"d","topic":"Audit","version":3,"attributes":{"auditor":{"at":null,"name":"Lin","ok":true}}}"#,
    "5: Derived",
    "6: Foreign",
    "7: Foreign",
];

#[test]
fn base_records_are_read_and_other_items_are_skipped() {
    assert_eq!(read("a.json", ITEMS, &Options::default()).unwrap(), TOLD);
    assert_eq!(read("a.json.gz", gzip(ITEMS.as_bytes()), &Options::default()).unwrap(), TOLD);
}

#[test]
fn a_whole_export_is_read_file_by_file() {
    let directory = Directory::new();
    std::fs::create_dir(directory.path("data")).unwrap();
    directory.write("manifest-files.json", "{}");
    directory.write("data/b.json.gz", gzip(ITEMS.as_bytes()));
    directory.write("data/a.json.gz", gzip(b"{\"Item\":{\"PK\":{\"S\":\"V\"},\"SK\":{\"S\":\"NODE\"}}}\n"));
    directory.write("data/c.json.gz", gzip(b""));
    for path in [directory.path(""), directory.path("data")] {
        let source = Source::open(&path, &Options::default()).unwrap();
        assert_eq!(source.files.len(), 3);
        let wanted: Vec<_> = [r#"1: {"id":"V"}"#].into_iter().chain(TOLD).collect();
        assert_eq!(told(source), wanted);
    }
}

#[test]
fn exports_that_cannot_be_read_are_refused() {
    let directory = Directory::new();
    let message = refused(&directory.path(""), &Options::default());
    assert_eq!(message, "FILE has no files that end in .json or .json.gz; name the export's directory, or its `data`");
    directory.write("a.ion.gz", "x");
    let message = refused(&directory.path(""), &Options::default());
    assert!(
        message.ends_with("is an export in the format ION, which can't be read; export the table as DYNAMODB_JSON")
    );
}

#[test]
fn bad_items_are_faults() {
    let content = [
        r#"{"Item":{"PK":{"S":"a"},"SK":{"S":"NODE"},"parent":{"N":"1"}}}"#,
        r#"{"Item":{"PK":{"S":"a"},"SK":{"X":"NODE"}}}"#,
        r#"{"Item":"#,
        r#"{"Item":{"PK":{"S":"a"},"SK":{"S":"NODE"},"n":{"N":"many"}}}"#,
        r#"{"Item":{"PK":{"S":"a"},"SK":{"S":"NODE"},"":{"S":"x"}}}"#,
        r#"{"Item":{"PK":{"S":"a"},"SK":{"S":"NODE"},"n":{"N":"1.50E+3"}}}"#,
    ];
    let told = read("a.json", content.join("\n"), &Options::default()).unwrap();
    assert_eq!(told[0], "1: refused: the parent attribute is no string; write it as one, or leave it out");
    assert!(told[1].starts_with("2: unreadable: the line is no item of an export"), "{}", told[1]);
    assert!(told[2].starts_with("3: unreadable: the line is no item of an export (EOF"), "{}", told[2]);
    assert_eq!(told[3], "4: refused: a number attribute is no number; correct the item");
    assert_eq!(told[4], "5: unreadable: `attributes.`: the name is empty; give it at least one character");
    assert_eq!(told[5], r#"6: {"id":"a","attributes":{"n":1500}}"#);
}
