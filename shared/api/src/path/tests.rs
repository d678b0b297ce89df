#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

#[test]
fn a_segment_spells_all_but_unreserved_characters_byte_by_byte() {
    for (text, segment) in [
        ("ORDER#98765", "ORDER~2398765"),
        ("a-b_c.d", "a-b_c.d"),
        ("🌳", "~F0~9F~8C~B3"),
        ("~", "~7E"),
        ("a/b?c d%", "a~2Fb~3Fc~20d~25"),
        (".", "~2E"),
        ("..", "~2E~2E"),
        ("...", "..."),
        ("", ""),
    ] {
        assert_eq!(encode_segment(text), segment);
        assert_eq!(decode_segment(segment).unwrap(), text);
    }
    assert_eq!(decode_segment("~2f").unwrap(), "/", "lower case is read");
}

#[test]
fn a_bad_escape_says_how_it_is_written() {
    for segment in ["~", "a~2", "~2G", "~é", "~~23"] {
        assert_eq!(decode_segment(segment), Err(SegmentError::BadEscape('~')), "{segment}");
    }
    assert_eq!(decode_segment("~FF"), Err(SegmentError::NotUtf8));
    assert!(SegmentError::BadEscape('~').to_string().contains("~7E"));
    assert!(SegmentError::BadEscape('%').to_string().contains("~25"));
}

#[test]
fn every_spelling_of_a_path_becomes_one() {
    for (path, normal) in [
        ("/", "/"),
        ("/nodes/ORDER~2398765", "/nodes/ORDER~2398765"),
        ("/nodes/ORDER%2398765/children", "/nodes/ORDER~2398765/children"),
        ("/nodes/a%2Fb", "/nodes/a~2Fb"),
        ("/nodes/%41", "/nodes/A"),
        ("/nodes/%7E23", "/nodes/~23"),
        ("/nodes/~7E23", "/nodes/~7E23"),
        ("/nodes/%F0~9F%8c~B3", "/nodes/~F0~9F~8C~B3"),
        ("/nodes/~2E", "/nodes/~2E"),
        ("/nodes/a/", "/nodes/a/"),
    ] {
        assert_eq!(normalise(path).unwrap(), normal, "{path}");
    }
}

#[test]
fn no_other_spelling_reaches_a_node_that_a_rule_names() {
    for (path, spelling) in [
        ("/nodes/~70ayroll", "payroll"),
        ("/nodes/%7E70ayroll", "payroll"),
        ("/nodes/a~2fb", "a~2Fb"),
        ("/nodes/.~2E", "~2E~2E"),
        ("/nodes/...~2E", "...."),
    ] {
        let problem = normalise(path).unwrap_err();
        assert_eq!(problem.kind(), Kind::BadPath);
        assert!(problem.detail().ends_with(&format!("write it as {spelling}")), "{path}: {}", problem.detail());
    }
}

#[test]
fn a_decoded_character_is_refused_and_the_problem_spells_it() {
    for (path, spelling) in [
        ("/nodes/ORDER#98765", "~23"),
        ("/nodes/a?b", "~3F"),
        ("/nodes/a b", "~20"),
        ("/nodes/🌳", "~F0~9F~8C~B3"),
        ("/nodes/a\u{0}", "~00"),
        ("/nodes/100%", "~25"),
        ("/nodes/%zz", "~25"),
        ("/nodes/a:b", "~3A"),
        ("/nodes/a\\b", "~5C"),
        ("/nodes/.", "~2E"),
        ("/nodes/../roots", "~2E"),
        ("/nodes/%2E%2e/roots", "~2E"),
    ] {
        let problem = normalise(path).unwrap_err();
        assert_eq!(problem.kind(), Kind::BadPath);
        assert!(problem.detail().contains(spelling), "{path}: {problem}");
    }
    for path in ["", "*", "nodes", "//nodes", "/nodes//latest", "/nodes/~FF", "/nodes/%FF", "/nodes/~2"] {
        assert_eq!(normalise(path).unwrap_err().kind(), Kind::BadPath, "{path}");
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[.~%/#?A-F0-9 ]{0,6}", "\\PC{1,8}"]
}

proptest! {
    #[test]
    fn any_text_comes_back(text in texts()) {
        prop_assert_eq!(decode_segment(&encode_segment(&text)).unwrap(), text);
    }

    #[test]
    fn a_segment_has_only_characters_that_no_proxy_changes(text in texts()) {
        let segment = encode_segment(&text);
        prop_assert!(segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b)));
        prop_assert!(segment != "." && segment != "..");
    }

    #[test]
    fn an_ids_path_stays_as_it_is(text in texts().prop_filter("an id isn't empty", |text| !text.is_empty())) {
        let path = format!("/nodes/{}/children", encode_segment(&text));
        prop_assert_eq!(normalise(&path).unwrap(), path);
    }

    #[test]
    fn a_percent_encoded_id_reaches_its_node(text in texts().prop_filter("an id isn't empty", |text| !text.is_empty())) {
        // A transport that keeps percent-encoding hands this over. Nothing has to be guessed about `~`.
        let percents: String = encode_segment(&text).bytes().map(|b| format!("%{b:02x}")).collect();
        prop_assert_eq!(normalise(&format!("/nodes/{percents}")).ok(),
            Some(format!("/nodes/{}", encode_segment(&text))).filter(|_| text != "." && text != ".." || percents.starts_with("%7e")));
    }

    #[test]
    fn a_normal_path_stays_as_it_is(path in "/[a-z%/.~0-9A-F#]{0,12}") {
        if let Ok(normal) = normalise(&path) {
            prop_assert_eq!(normalise(&normal).unwrap(), normal);
        }
    }

    #[test]
    fn a_decoded_path_reaches_its_own_node_or_none(text in texts(), rest in "(/children|\\?children=delete|#x)?") {
        // API Gateway decodes a client's percent-encoding.
        if let Ok(normal) = normalise(&format!("/nodes/{text}{rest}")) {
            let sent: Vec<&str> = text.split('/').collect();
            // A decoded slash can't be told from a separator, and `~XX` and `%XX` are meant to be decoded. Any other
            // path names the same id.
            if !text.contains(['/', '~', '%']) && !rest.contains(['?', '#']) {
                let id = decode_segment(normal.split('/').nth(2).unwrap()).unwrap();
                prop_assert_eq!(id.as_str(), sent[0]);
            }
            prop_assert!(!text.contains(['#', '?']) && !rest.contains(['?', '#']));
        }
    }
}
