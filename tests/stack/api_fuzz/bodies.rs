//! Bodies: valid ones, ones that only look it, and ones with their bytes changed.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::draw::{ID, TOPIC, id, pick};

/// Values of attributes, as they are written.
const VALUES: [&str; 51] = [
    "1",
    "\"x\"",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "[1,[2,[3,null]]]",
    r#"{"a":{"b":[1,{"c":null}]}}"#,
    r#""\u0000""#,
    r#""\ud83c\udf33""#,
    r#""\ud800""#,
    r#""\udc00\ud800""#,
    r#""🌳""#,
    r#""</script>""#,
    "-0",
    "0.0",
    "1e400",
    "1e125",
    "1e126",
    "1E-130",
    "1e-131",
    "-1e999999999999999999999",
    "1e99999999999999999999999999",
    "0e99999999999999999999999999",
    "12345678901234567890123456789012345678",
    "123456789012345678901234567890123456789",
    "0.00000000000000000000000000000000000000000000000000000001",
    "100000000000000000000000000000000000000000000000000000000",
    "01",
    "+1",
    "1.",
    ".5",
    "NaN",
    "'x'",
    r#"{"$set":[1,2]}"#,
    r#"{"$set":["a","a"]}"#,
    r#"{"$set":[1,1.0]}"#,
    r#"{"$set":[1,"a"]}"#,
    r#"{"$set":[]}"#,
    r#"{"$set":[{"$binary":"AQ=="}]}"#,
    r#"{"$binary":"AQ=="}"#,
    r#"{"$binary":"!"}"#,
    r#"{"$map":{"$set":1}}"#,
    r#"{"$map":1}"#,
    r#"{"$other":1,"b":[]}"#,
    r#"{"$number":"12345678901234567890.5"}"#,
    r#"{"$number":1}"#,
    r#"{"$number":"1e999"}"#,
    r#"[{"$set":[{"$number":"-9007199254740993"},1]}]"#,
    r#"{"$set":[{"$number":"x"}]}"#,
];

const NAMES: [&str; 20] = [
    "name",
    "n",
    "a",
    "b",
    "id",
    "depth",
    "parent",
    "segment",
    "PK",
    "SK",
    "_rev",
    "_",
    "",
    "$set",
    "a.b",
    "a\\u0000b",
    "é",
    "\\ud800",
    "attributes",
    "name",
];

/// Attributes; now and then with names that come twice, or nested too deep.
fn attributes(rng: &mut SmallRng) -> String {
    let mut members = Vec::new();
    for _ in 0..rng.random_range(0..3) {
        let name = if rng.random_ratio(1, 3) { pick(rng, &NAMES) } else { pick(rng, &["name", "n", "a", "tags"]) };
        let value = if rng.random_ratio(1, 2) { pick(rng, &VALUES) } else { pick(rng, &VALUES[..9]) };
        members.push(format!("\"{name}\":{value}"));
    }
    if rng.random_ratio(1, 30) {
        let levels = *[30, 31, 32, 33, 127, 128, 129, 5_000].get(rng.random_range(0..8)).unwrap();
        let (open, close) = if rng.random_bool(0.5) { ("[", "]") } else { ("{\"a\":", "}") };
        members.push(format!("\"deep\":{}1{}", open.repeat(levels), close.repeat(levels)));
    }
    if rng.random_ratio(1, 40) {
        members.push(format!("\"{}\":1", "n".repeat(*[254, 255, 256, 65_536].get(rng.random_range(0..4)).unwrap())));
    }
    if rng.random_ratio(1, 80) {
        members.push(format!(
            "\"big\":\"{}\"",
            "x".repeat(*[1_000, 20_000, 390_000, 409_700].get(rng.random_range(0..4)).unwrap())
        ));
    }
    format!("{{{}}}", members.join(","))
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// The fields of a node.
fn node(rng: &mut SmallRng, with_id: bool, parent_needed: bool) -> Vec<String> {
    let mut fields = Vec::new();
    if with_id {
        fields.push(format!("\"id\":{}", quoted(&id(rng, &ID))));
    }
    if parent_needed || rng.random_bool(0.5) {
        let parent = match rng.random_range(0..10) {
            0..3 => "null".to_owned(),
            _ => quoted(&id(rng, &ID)),
        };
        fields.push(format!("\"parent\":{parent}"));
    }
    if rng.random_ratio(1, 4) {
        let segment = quoted(pick(rng, &["s", "s/t", "NE", "#", "", "🌳", "..", "\u{0}"]));
        fields.push(format!("\"segment\":{}", if rng.random_ratio(1, 5) { "null" } else { &segment }));
    }
    if rng.random_bool(0.6) {
        fields.push(format!("\"attributes\":{}", attributes(rng)));
    }
    if rng.random_ratio(1, 20) {
        fields.push(format!("\"place\":{}", place(rng)));
    }
    fields
}

/// A place among siblings. These stacks keep no order by hand, because its values hold the time, so the two would part.
fn place(rng: &mut SmallRng) -> String {
    let beside = quoted(&id(rng, &ID));
    match rng.random_range(0..9) {
        0 => "\"first\"".to_owned(),
        1 => "\"last\"".to_owned(),
        2 => format!("{{\"before\":{beside}}}"),
        3 => format!("{{\"after\":{beside}}}"),
        4 => format!("{{\"after\":{beside},\"before\":{beside}}}"),
        5 => format!("{{\"after\":{beside},\"after\":{beside}}}"),
        6 => format!("{{\"first\":{beside}}}"),
        7 => beside,
        _ => pick(rng, &VALUES).to_owned(),
    }
}

fn object(fields: &[String]) -> String {
    format!("{{{}}}", fields.join(","))
}

/// The precondition of one operation.
fn condition(rng: &mut SmallRng) -> String {
    format!("\"if_match\":{}", pick(rng, &["\"*\"", r#""\"x\"""#, r#""\"x\", W/\"y\"""#, "\"\"", "\"x\"", "null", "7"]))
}

/// The fields of a node in a batch.
fn conditioned(rng: &mut SmallRng, parent_needed: bool) -> Vec<String> {
    let mut fields = node(rng, true, parent_needed);
    if rng.random_ratio(1, 6) {
        fields.push(condition(rng));
    }
    fields
}

fn operation(rng: &mut SmallRng) -> String {
    let named = |rng: &mut SmallRng| format!("\"id\":{}", quoted(&id(rng, &ID)));
    match rng.random_range(0..9) {
        0..3 => {
            let fields = conditioned(rng, true);
            format!("{{\"put\":{}}}", object(&fields))
        }
        3..5 => {
            let fields = conditioned(rng, false);
            format!("{{\"patch\":{}}}", object(&fields))
        }
        5 => {
            let condition = if rng.random_bool(0.5) { String::new() } else { format!(",{}", condition(rng)) };
            format!("{{\"delete\":{{{}{condition}}}}}", named(rng))
        }
        6..8 => {
            let topic = quoted(&id(rng, &TOPIC));
            format!("{{\"revision\":{{{},\"topic\":{topic},\"attributes\":{}}}}}", named(rng), attributes(rng))
        }
        _ => pick(rng, &["{}", "1", "{\"put\":{},\"delete\":{}}", "{\"get\":{\"id\":\"t\"}}", "{\"delete\":null}"])
            .to_owned(),
    }
}

/// A body that a call takes, or nearly.
fn fitting(rng: &mut SmallRng, method: &str, path: &str) -> String {
    match (method, path) {
        (_, "/batch") => {
            let count = if rng.random_ratio(1, 20) {
                *[0, 100, 101].get(rng.random_range(0..3)).unwrap()
            } else {
                rng.random_range(1..5)
            };
            let operations: Vec<String> = if count >= 100 {
                vec!["{\"delete\":{\"id\":\"nobody\"}}".to_owned(); count]
            } else {
                (0..count).map(|_| operation(rng)).collect()
            };
            format!("{{\"operations\":[{}]}}", operations.join(","))
        }
        (_, path) if path.contains("/revisions/") => format!("{{\"attributes\":{}}}", attributes(rng)),
        ("POST", _) => {
            // Without an id it gets one that differs from way to way.
            let is_named = rng.random_ratio(19, 20);
            let fields = node(rng, is_named, false);
            object(&fields)
        }
        ("PUT", _) => {
            let fields = node(rng, false, true);
            object(&fields)
        }
        _ => {
            let fields = node(rng, false, false);
            object(&fields)
        }
    }
}

/// A body for a call.
pub(crate) fn body(rng: &mut SmallRng, method: &str, path: &str) -> Vec<u8> {
    let valid = fitting(rng, method, path).into_bytes();
    match rng.random_range(0..20) {
        0..12 => valid,
        12..17 => changed(rng, valid),
        17 => wrapped(rng, valid),
        18 => with_a_field_more(rng, valid),
        _ => odd(rng),
    }
}

/// With some of its bytes changed, taken out, doubled or cut off.
fn changed(rng: &mut SmallRng, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        match rng.random_range(0..6) {
            0 if !bytes.is_empty() => bytes[at] = rng.random(),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << rng.random_range(0..8),
            2 if !bytes.is_empty() => drop(bytes.remove(at)),
            3 => bytes.insert(at, *b"{}[],:\"\\ 0-eE.\n\x00\xff\xc3".get(rng.random_range(0..18)).unwrap()),
            4 => bytes.truncate(at),
            _ => {
                let piece = bytes[at..].iter().copied().take(rng.random_range(0..12)).collect::<Vec<u8>>();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

fn wrapped(rng: &mut SmallRng, bytes: Vec<u8>) -> Vec<u8> {
    let (before, after): (&[u8], &[u8]) = match rng.random_range(0..7) {
        0 => (b"\xef\xbb\xbf", b""),
        1 => (b"", b" x"),
        2 => (b"[", b"]"),
        3 => (b" \n\t\r", b"\n"),
        4 => (b"", b"\xf0\x9f\x8c"),
        5 => (b"\xff\xfe", b""),
        _ => (b"", b"\x00"),
    };
    [before, &bytes, after].concat()
}

/// Fields that are unknown, come twice, or are of another type.
fn with_a_field_more(rng: &mut SmallRng, mut bytes: Vec<u8>) -> Vec<u8> {
    let fields: [&str; 9] = [
        "\"unknown\":1",
        "\"id\":7",
        "\"id\":\"t\"",
        "\"parent\":{}",
        "\"parent\":\"t\"",
        "\"segment\":[]",
        "\"attributes\":[]",
        "\"attributes\":{}",
        "\"operations\":{}",
    ];
    let comma = if bytes.len() > 2 { "," } else { "" };
    let field = format!("{}{comma}", pick(rng, &fields));
    bytes.splice(1..1, field.into_bytes());
    bytes
}

fn odd(rng: &mut SmallRng) -> Vec<u8> {
    match rng.random_range(0..12) {
        0 => Vec::new(),
        1 => b"null".to_vec(),
        2 => b"\"text\"".to_vec(),
        3 => b"1e9999999999".to_vec(),
        4 => "[".repeat(rng.random_range(1..200_000)).into_bytes(),
        5 => "{\"attributes\":".repeat(rng.random_range(1..50_000)).into_bytes(),
        6 => (0..rng.random_range(1..200)).map(|_| rng.random()).collect(),
        7 => vec![b' '; 1_048_576],
        8 => [b"{\"attributes\":{\"x\":\"".to_vec(), vec![b'x'; 1_048_576 - 24], b"\"}}".to_vec()].concat(),
        9 => vec![b' '; 1_048_577],
        10 => [vec![b' '; 600_000], b"{}".to_vec()].concat(),
        _ => b"{\"attributes\":{\"\xed\xa0\x80\":1}}".to_vec(),
    }
}
