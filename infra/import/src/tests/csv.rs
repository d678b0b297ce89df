use super::fixture::{Checked, lines, not_opened, read, waiting};
use crate::sources::RECORD_BYTES_MAX;
use crate::{CsvOptions, Options};

fn options(csv: CsvOptions) -> Options {
    Options { csv, ..Options::default() }
}

fn levels() -> Options {
    let levels = ["Country", "State", "City", "Zip"].map(str::to_owned).to_vec();
    options(CsvOptions { levels, numbers: vec!["people".to_owned()], ..CsvOptions::default() })
}

#[test]
fn columns_are_found_by_their_usual_names() {
    let wanted = [
        r#"2: {"id":"D","attributes":{"name":"Drive, D"}}"#,
        r#"3: {"id":"V","parent":"D"}"#,
        r#"4: {"id":"d","parent":"V","segment":"docs","attributes":{"name":"two\nlines"}}"#,
        r#"6: {"id":"e","parent":"d","attributes":{"name":"ü"}}"#,
    ];
    let content = "id,parent,segment,name\nD,,,\"Drive, D\"\nV,D,,\nd,V,docs,\"two\nlines\"\ne,d,,ü\n";
    assert_eq!(read("a.csv", content, &Options::default()).unwrap(), wanted);
    assert_eq!(read("a.csv", format!("\u{feff}{content}"), &Options::default()).unwrap(), wanted);
    let other = content.replace("parent", "parent_id");
    assert_eq!(read("a.csv", other, &Options::default()).unwrap(), wanted);
}

#[test]
fn lines_may_end_as_on_windows() {
    let content = "id,parent\r\na,\r\n\"b\",\"a\"\r\n\r\nc,a\r\nd\r\n";
    assert_eq!(
        read("a.csv", content, &Options::default()).unwrap(),
        [
            r#"2: {"id":"a"}"#,
            r#"3: {"id":"b","parent":"a"}"#,
            r#"5: {"id":"c","parent":"a"}"#,
            "6: unreadable: the row has 1 cells, and the first row has 2; quote cells that hold the separator",
        ]
    );
}

#[test]
fn a_file_of_carriage_returns_is_not_taken_for_a_row_of_names() {
    let told = not_opened("a.csv", "id,parent\ra,\rb,a\r", &Options::default());
    assert_eq!(
        told,
        r"FILE ends its lines with carriage returns alone, so all of it is one line; convert it, for example with `tr '\r' '\n'`"
    );
    let read = read("a.csv", "\"id\",parent,\"a\r\nname\"\r\na,,x\r\n", &Options::default()).unwrap();
    assert_eq!(read, [r#"3: {"id":"a","attributes":{"a\r\nname":"x"}}"#]);
}

#[test]
fn what_ends_in_tsv_has_tabs() {
    let wanted = [r#"2: {"id":"a","attributes":{"name":"x, y"}}"#];
    let content = "id\tparent\tname\na\t\tx, y\n";
    assert_eq!(read("a.tsv", content, &Options::default()).unwrap(), wanted);
    assert_eq!(read("A.TSV.gz", super::fixture::gzip(content.as_bytes()), &Options::default()).unwrap(), wanted);
    let csv = CsvOptions { delimiter: Some(b';'), ..CsvOptions::default() };
    assert_eq!(read("a.tsv", "id;parent\na;\n", &options(csv)).unwrap(), [r#"2: {"id":"a"}"#]);
}

#[test]
fn a_parent_that_a_dump_has_as_null_is_none() {
    let told = read("a.csv", "id,parent\na,NULL\nb,\\N\nc,null\nNULL,a\n", &Options::default()).unwrap();
    assert_eq!(
        told,
        [
            r#"2: {"id":"a"}"#,
            r#"3: {"id":"b"}"#,
            r#"4: {"id":"c","parent":"null"}"#,
            "5: unreadable: the id is NULL, which stands for nothing; write another one",
        ]
    );
}

#[test]
fn paths_of_ltree_name_the_parents() {
    let science = "path,name\nTop,\nTop.Science,\nTop.Science.Astronomy,Stars\n";
    let wanted = [
        r#"2: {"id":"Top"}"#,
        r#"3: {"id":"Top.Science","parent":"Top","segment":"Science"}"#,
        r#"4: {"id":"Top.Science.Astronomy","parent":"Top.Science","segment":"Astronomy","attributes":{"name":"Stars"}}"#,
    ];
    assert_eq!(read("a.csv", science, &Options::default()).unwrap(), wanted);
    let csv = CsvOptions { path: Some("at".to_owned()), ..CsvOptions::default() };
    assert_eq!(read("a.csv", science.replace("path", "at"), &options(csv)).unwrap(), wanted);
    // Labels that are the ids.
    let ids = "id,path,name\n1,1,\n4,1.4,\n7,1.4.7,x\n8,1.4.9,\n9,1..9,\n10,/1/10,\n";
    assert_eq!(
        read("a.csv", ids, &Options::default()).unwrap(),
        [
            r#"2: {"id":"1"}"#,
            r#"3: {"id":"4","parent":"1"}"#,
            r#"4: {"id":"7","parent":"4","attributes":{"name":"x"}}"#,
            "5: unreadable: the path `1.4.9` doesn't end with the id `8`; name the column of the paths with --id, too, and they are the ids",
            "6: unreadable: the path `1..9` isn't one of labels with points between, such as `Top.Science`; name the parent's column with --parent",
            "7: unreadable: the path `/1/10` isn't one of labels with points between, such as `Top.Science`; name the parent's column with --parent",
        ]
    );
    // Paths as ids, beside other ids.
    let csv = CsvOptions { id: Some("path".to_owned()), ..CsvOptions::default() };
    let told = read("a.csv", "id,path\n8,1.4.9\n", &options(csv)).unwrap();
    assert_eq!(told, [r#"2: {"id":"1.4.9","parent":"1.4","segment":"9","attributes":{"id":"8"}}"#]);
    // Where there is a column of parents a path is an attribute.
    let told = read("a.csv", "id,parent,path\na,,x.y\n", &Options::default()).unwrap();
    assert_eq!(told, [r#"2: {"id":"a","attributes":{"path":"x.y"}}"#]);
}

#[test]
fn lines_are_counted_over_blank_ones_and_inside_of_cells() {
    let content = "id,parent\n\n\na,\n\"b\n\n\",\n\nc,\"\n\"";
    let lines: Vec<String> = read("a.csv", content, &Options::default()).unwrap();
    let lines: Vec<&str> = lines.iter().map(|line| line.split_once(':').unwrap().0).collect();
    assert_eq!(lines, ["4", "5", "9"]);
}

#[test]
fn columns_can_be_named_and_be_numbers() {
    let csv = CsvOptions {
        id: Some("key".to_owned()),
        parent: Some("above".to_owned()),
        segment: Some("name".to_owned()),
        numbers: vec!["rank".to_owned()],
        delimiter: Some(b';'),
        ..CsvOptions::default()
    };
    let content = "name;key;above;rank;id\nDocs;d;V; 12345678901234567890.10 ;x\n;e;;;\n;f;;many;\n";
    assert_eq!(
        read("a.csv", content, &options(csv)).unwrap(),
        [
            r#"2: {"id":"d","parent":"V","segment":"Docs","attributes":{"id":"x","rank":12345678901234567890.1}}"#,
            r#"3: {"id":"e"}"#,
            "4: unreadable: `rank`: the value must be a number",
        ]
    );
}

#[test]
fn a_column_without_a_name_is_one_of_empty_cells() {
    let told = read("a.csv", "id,parent,,\na,,,\nb,a,,x\n", &Options::default()).unwrap();
    assert_eq!(told, [r#"2: {"id":"a"}"#, "3: unreadable: column 4 has a cell and no name; name it in the first row"]);
}

#[test]
fn missing_columns_are_named() {
    let missing = |csv: CsvOptions, content: &str| not_opened("a.csv", content, &options(csv));
    assert_eq!(
        missing(CsvOptions::default(), "key,parent\n"),
        "FILE has no column `id`; its first row has `key`, `parent`. Name the column that is meant"
    );
    assert!(missing(CsvOptions::default(), "id,name\n").starts_with("FILE has no column `parent`"));
    let numbers = CsvOptions { numbers: vec!["rank".to_owned()], ..CsvOptions::default() };
    assert!(missing(numbers, "id,parent\n").starts_with("FILE has no column `rank`"));
    let same = CsvOptions { parent: Some("id".to_owned()), ..CsvOptions::default() };
    assert_eq!(missing(same, "id\n"), "FILE: the column `id` is named twice; leave one of the two out");
    assert!(missing(CsvOptions::default(), "id,parent,id\n").contains("`id` is named twice"));
    assert!(not_opened("a.csv", "Country,State\n", &levels()).starts_with("FILE has no column `City`"));
    assert!(
        not_opened("a.csv", b"id,par\xe9nt\n", &Options::default())
            .starts_with("the first row of FILE can't be read: it isn't UTF-8")
    );
}

/// So many rows, of which the tenth has a quote that isn't closed, and this one of the others a second.
fn with_open_quote(rows: usize, other: Option<(usize, &str)>) -> String {
    let row = |n: usize| match (n, other) {
        (10, _) => "r10,,\"5 inch\n".to_owned(),
        (n, Some((of, name))) if n == of => format!("r{n},,{name}\n"),
        _ => format!("r{n},,plain\n"),
    };
    format!("id,parent,name\n{}", (1..=rows).map(row).collect::<String>())
}

#[test]
fn a_quote_that_is_not_closed_is_a_fault_on_its_line_and_swallows_nothing() {
    let fault = |content: &str, csv: CsvOptions| {
        let told = read("a.csv", content, &options(csv)).unwrap();
        assert_eq!(told.len(), 10, "{told:?}");
        told[9].clone()
    };
    let plain = CsvOptions::default;
    let long = "11: unreadable: the cell in quotes that begins here has more than 100 lines";
    assert!(fault(&with_open_quote(200, None), plain()).starts_with(long));
    let open = "11: unreadable: the file ends inside of a cell in quotes that begins here";
    assert!(fault(&with_open_quote(40, None), plain()).starts_with(open));
    assert!(fault(with_open_quote(40, None).trim_end(), plain()).starts_with(open));
    let all = CsvOptions { cell_lines_max: Some(1_000), ..CsvOptions::default() };
    assert!(fault(&with_open_quote(200, None), all).starts_with(open));
    let closed = "11: unreadable: the quote of a cell that begins here is closed in the middle of the cell";
    for other in ["\"6 inch\"", "6\" wide", "\"6 inch", "x \"y\" z"] {
        assert!(fault(&with_open_quote(40, Some((20, other))), plain()).starts_with(closed), "{other}");
    }
    // The next quote may close it as a cell ends. Then only the number of lines tells.
    assert!(fault(&with_open_quote(400, Some((200, "6\""))), plain()).starts_with(long));
    let header = not_opened("a.csv", "id,\"parent\n", &Options::default());
    assert!(header.contains("the first row of FILE can't be read") && header.contains("inside of a cell"), "{header}");
}

#[test]
fn a_cell_has_as_many_lines_as_are_allowed() {
    let content =
        |lines: usize| format!("id,parent,name\na,,\"{}x\"\nb,,\"say \"\"no\"\"\"\r\n", "x\n".repeat(lines - 1));
    let count = |lines: usize, csv: CsvOptions| {
        let told = read("a.csv", content(lines), &options(csv)).unwrap();
        told.iter().filter(|line| !line.contains("unreadable")).count()
    };
    assert_eq!((count(100, CsvOptions::default()), count(101, CsvOptions::default())), (2, 0));
    let more = |lines| CsvOptions { cell_lines_max: Some(lines), ..CsvOptions::default() };
    assert_eq!((count(101, more(101)), count(102, more(101)), count(2, more(1)), count(1, more(1))), (2, 0, 0, 2));
}

#[test]
fn an_apostrophe_is_taken_off_where_cells_are_guarded_and_nowhere_else() {
    let content = "'=id,parent,name\n'-a,,''b\n'b,'-a,'=1+1\n";
    let csv = CsvOptions { id: Some("=id".to_owned()), guards_formulas: true, ..CsvOptions::default() };
    let wanted = [
        r#"2: {"id":"-a","attributes":{"name":"'b"}}"#,
        r#"3: {"id":"'b","parent":"-a","attributes":{"name":"=1+1"}}"#,
    ];
    assert_eq!(read("a.csv", content, &options(csv)).unwrap(), wanted);
    let csv = CsvOptions { id: Some("'=id".to_owned()), ..CsvOptions::default() };
    let told = read("a.csv", content, &options(csv)).unwrap();
    assert_eq!(told[0], r#"2: {"id":"'-a","attributes":{"name":"''b"}}"#);
}

#[test]
fn a_row_that_is_too_long_ends_the_reading_with_bounded_memory() {
    let content = format!("id,parent\na,\nb{}", ",".repeat(2 * RECORD_BYTES_MAX));
    let told = read("a.csv", content, &Options::default()).unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[1].starts_with(&format!("3: unreadable: the row is longer than {RECORD_BYTES_MAX} bytes")),
        "{}",
        told[1]
    );
}

#[test]
fn rows_in_another_encoding_are_faults() {
    let told = read("a.csv", b"id,parent\ncaf\xe9,\nb,\n", &Options::default()).unwrap();
    assert!(told[0].starts_with("2: unreadable: byte 4 isn't UTF-8"), "{}", told[0]);
    assert_eq!(told[1], r#"3: {"id":"b"}"#);
}

#[test]
fn rows_with_nul_are_faults() {
    let told = read("a.csv", b"id,parent\na\0b,\nb,\n", &Options::default()).unwrap();
    assert_eq!(told[0], "2: unreadable: byte 2 is NUL, which no text has; the file is damaged, write it again");
    assert_eq!(told[1], r#"3: {"id":"b"}"#);
}

#[test]
fn rows_of_paths_make_a_node_for_each_prefix() {
    let content =
        "Country,State,City,Zip,people\nUS,NE,Omaha,68102,8000\nUS,NE,Omaha,68103,\nUS,NE,,,2000000\nUS,A/B%,,,\n";
    assert_eq!(
        read("a.csv", content, &levels()).unwrap(),
        [
            r#"2: implied {"id":"US"}"#,
            r#"2: implied {"id":"US/NE","parent":"US","segment":"NE"}"#,
            r#"2: implied {"id":"US/NE/Omaha","parent":"US/NE","segment":"Omaha"}"#,
            r#"2: {"id":"US/NE/Omaha/68102","parent":"US/NE/Omaha","segment":"68102","attributes":{"people":8000}}"#,
            r#"3: {"id":"US/NE/Omaha/68103","parent":"US/NE/Omaha","segment":"68103"}"#,
            r#"4: {"id":"US/NE","parent":"US","segment":"NE","attributes":{"people":2000000}}"#,
            r#"5: {"id":"US/A%2FB%25","parent":"US","segment":"A/B%"}"#,
        ]
    );
}

#[test]
fn a_path_is_one_node_however_often_it_comes() {
    let content = "Country,State,City,Zip,people\nUS,NE,Omaha,68102,8000\nUS,NE,,,2\nFR,,,,\nUS,NE,Omaha,68102,8000\nFR,,,,\nUS,NE,Lincoln,,1\n";
    let checked = Checked::of("a.csv", content, &levels());
    assert_eq!(checked.faults(), [""; 0]);
    assert_eq!(
        lines(&waiting(&checked.work)),
        [
            r#"{"id":"FR"}"#,
            r#"{"id":"US"}"#,
            r#"{"id":"US/NE","parent":"US","segment":"NE","attributes":{"people":2}}"#,
            r#"{"id":"US/NE/Lincoln","parent":"US/NE","segment":"Lincoln","attributes":{"people":1}}"#,
            r#"{"id":"US/NE/Omaha","parent":"US/NE","segment":"Omaha"}"#,
            r#"{"id":"US/NE/Omaha/68102","parent":"US/NE/Omaha","segment":"68102","attributes":{"people":8000}}"#,
        ]
    );
}

#[test]
fn rows_of_one_path_with_different_attributes_are_faults_and_so_are_gaps() {
    let long = "x".repeat(600);
    let content =
        format!("Country,State,City,Zip,people\nUS,NE,,,1\nUS,NE,,,2\nUS,,Omaha,,\n,,,,5\n{long},{long},,,\n");
    let checked = Checked::of("a.csv", content, &levels());
    let faults = checked.faults();
    assert_eq!(
        faults[..3],
        [
            "FILE:4: the column `State` is empty, and a level below it isn't; fill it in",
            "FILE:5: all columns of the path are empty; fill in the first at least",
            "FILE:6: the path as an id: the id has 1201 bytes, over its limit of 1014; shorten it",
        ]
        .map(str::to_owned)[..],
    );
    assert_eq!(faults[3..], ["FILE:3: `US/NE` is on line 2 already; leave one of them out"]);
}

proptest::proptest! {
    /// Quotes open and close cells in pairs, so a file with one too many has a fault. What stands before it is read as
    /// it is.
    #[test]
    fn a_quote_too_many_is_never_taken_for_a_cell(
        // Where other cells are quoted, too, the next quote of one may close it: nobody can tell then.
        cells in proptest::collection::vec("[a-c ]{0,6}", 1..60),
        at in proptest::prelude::any::<proptest::sample::Index>(),
    ) {
        let row = |cell: &str, more: &str| format!("r,{more}{cell},\n");
        let file = |more: &str, of: usize| {
            let rows = cells.iter().enumerate().map(|(n, cell)| row(cell, if n == of { more } else { "" }));
            format!("id,name,parent\n{}", rows.collect::<String>())
        };
        let good = read("a.csv", file("", 0), &Options::default()).unwrap();
        proptest::prop_assert!(good.len() == cells.len() && !good.iter().any(|line| line.contains("unreadable")));
        let of = at.index(cells.len());
        let told = read("a.csv", file("\"", of), &Options::default()).unwrap();
        proptest::prop_assert!(told[..of] == good[..of], "{:?}", told);
        proptest::prop_assert!(told[of..].iter().any(|line| line.contains(": unreadable: ")), "{:?}", told);
    }
}
