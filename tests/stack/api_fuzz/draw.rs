//! Requests, drawn.

use rand::RngExt;
use rand::rngs::SmallRng;
use sapwood_api::contract::Operation;
use sapwood_tests::api::Asked;

use super::bodies::body;
use super::headers::header;

/// Ids: none begins as a UUID does, so that lists are in the same order however the ids that the API makes turn out.
pub(crate) const ID: [&str; 20] = [
    "n", "m", "o", "p", "t", "u", "x", "z", "n#1", "n/../m", "..", ".", "%6E", "~6E", "p q", "é", "🌳", "n\u{0}", "\"",
    "v0_n",
];

pub(crate) const TOPIC: [&str; 8] = ["Audit", "Audit#w", "t", "..", "v0_", "a/b", "🌳", "LINEAGE"];

pub(crate) fn pick<'a>(rng: &mut SmallRng, from: &[&'a str]) -> &'a str {
    from[rng.random_range(0..from.len())]
}

/// One of these, or one that is hard on keys.
pub(crate) fn id(rng: &mut SmallRng, from: &[&str]) -> String {
    match rng.random_range(0..60) {
        0 => String::new(),
        1 => "x".repeat(rng.random_range(1_010..1_020)),
        2 => "é".repeat(506 + rng.random_range(0..3)),
        // The first ones are there most of the time.
        3..40 => pick(rng, &from[..from.len().min(6)]).to_owned(),
        _ => pick(rng, from).to_owned(),
    }
}

/// As the contract writes it.
pub(crate) fn in_path(text: &str) -> String {
    let is_dots = matches!(text, "." | "..");
    let written = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        b'.' if !is_dots => ".".to_owned(),
        byte => format!("~{byte:02X}"),
    });
    written.collect()
}

fn in_query(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// A request: what is to be sent, with `{etag}`, `{cursor}` and `{operation}` where each way has its own.
pub(crate) fn request(rng: &mut SmallRng, operations: &[&'static Operation]) -> Asked {
    let (writes, reads): (Vec<&Operation>, Vec<&Operation>) =
        operations.iter().partition(|operation| operation.method != "GET");
    let has_tag = |operation: &&Operation| operation.statuses().contains(&304);
    let tagged: Vec<&Operation> = reads.iter().copied().filter(has_tag).collect();
    let among = match rng.random_range(0..8) {
        0..4 => writes,
        4 => tagged,
        _ => reads,
    };
    let operation = among[rng.random_range(0..among.len())];
    let method = match rng.random_range(0..20) {
        0 => pick(rng, &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW", "get", "TRACE", "X-!"]),
        1 if operation.method == "GET" => "HEAD",
        _ => operation.method.as_str(),
    };
    let mut path = path(rng, operation.path);
    if rng.random_ratio(1, 12) {
        path = broken(rng, path);
    }
    let mut target = path;
    // What is written takes few parameters: with one too many it isn't.
    if rng.random_bool(if matches!(method, "POST" | "PUT" | "PATCH") { 0.05 } else { 0.4 }) {
        target = format!("{target}?{}", query(rng));
    }
    let mut asked = Asked::new(method, target);
    if method == "GET" && rng.random_ratio(1, if has_tag(&operation) { 2 } else { 16 }) {
        asked = asked.header("if-none-match", pick(rng, &["*", "{etag}", "\"x\""]));
    }
    for _ in 0..rng.random_range(0..3) {
        if rng.random_bool(0.4) {
            let (name, value) = header(rng);
            asked = asked.header(name, &value);
        }
    }
    if matches!(method, "POST" | "PUT" | "PATCH") || rng.random_ratio(1, 30) {
        let fits = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let kind = match rng.random_range(0..12) {
            0 => pick(
                rng,
                &[
                    "text/plain",
                    "application/json; charset=utf-8",
                    "APPLICATION/JSON",
                    "application/json; charset=latin1",
                    "",
                    "/",
                    "application/merge-patch+json",
                    "application/json, text/plain",
                    "multipart/form-data",
                ],
            ),
            _ => fits,
        };
        if rng.random_ratio(29, 30) {
            asked = asked.header("content-type", kind);
        }
        if rng.random_ratio(40, 41) {
            asked = asked.bytes(body(rng, method, operation.path));
        }
    }
    asked
}

fn path(rng: &mut SmallRng, template: &str) -> String {
    let mut path = String::new();
    for segment in template.split('/').skip(1) {
        path.push('/');
        match segment {
            "{id}" if template.starts_with("/operations") => {
                path.push_str(pick(rng, &["{operation}", "{operation}", "none"]))
            }
            "{id}" | "{root}" => path.push_str(&in_path(&id(rng, &ID))),
            "{topic}" => path.push_str(&in_path(&id(rng, &TOPIC))),
            "{version}" => path.push_str(pick(
                rng,
                &["1", "2", "3", "0", "007", "x", "999999", "1000000", "~31", "-1", "99999999999999999999"],
            )),
            "{path}" => {
                let segments: Vec<String> = (0..rng.random_range(1..4))
                    .map(|_| in_path(&id(rng, &["s", "NE", "n", "m", "s/t", "#"])))
                    .collect();
                path.push_str(&segments.join("/"));
            }
            "{attribute}" => path.push_str(pick(rng, &["tags", "tags", "tags", "name", "~23", "~FF"])),
            literal => path.push_str(literal),
        }
    }
    path
}

/// With a piece that no path should have.
fn broken(rng: &mut SmallRng, mut path: String) -> String {
    let pieces = [
        "~",
        "~2",
        "~zz",
        "~FF",
        "~00",
        "~C0~80",
        "~ED~A0~80",
        "~2f",
        "~2F",
        "%41",
        "%",
        "%zz",
        "%FF",
        "%23",
        "%2F",
        "%3F",
        "%20",
        "%00",
        "%25",
        "%F0%9F%8C%B3",
        "//",
        "/",
        "/./",
        "/../",
        "/..",
        "é",
        "🌳",
        ";",
        "+",
        "=",
        "\\",
        "^",
        "|",
        "{",
        "`",
        "[",
        "\"",
        "<",
        "#",
        "#x",
        " ",
        "\u{7f}",
        "\u{1}",
        "*",
        ",",
        "@",
        ":",
        "&",
        "(",
        "'",
        "!",
        "$",
    ];
    let at = (0..=path.len()).filter(|at| path.is_char_boundary(*at)).collect::<Vec<_>>();
    match rng.random_range(0..30) {
        0 => path.push_str(&"x".repeat(rng.random_range(1_000..9_000))),
        1 => path.push_str(&"/a".repeat(rng.random_range(90..2_000))),
        2 => path.push_str(&"~41".repeat(rng.random_range(900..3_000))),
        3 => {
            return pick(
                rng,
                &[
                    "/",
                    "/*",
                    "//",
                    "/nodes",
                    "/nodes/",
                    "/paths",
                    "/paths/",
                    "/operations",
                    "/favicon.ico",
                    "/NODES/n",
                    "/.",
                    "/Health",
                ],
            )
            .to_owned();
        }
        _ => {
            let at = at[rng.random_range(1..at.len())];
            path.insert_str(at, pick(rng, &pieces));
        }
    }
    path
}

fn query(rng: &mut SmallRng) -> String {
    let count = rng.random_range(1..4);
    let parameters: Vec<String> = (0..count).map(|_| parameter(rng)).collect();
    parameters.join("&")
}

fn parameter(rng: &mut SmallRng) -> String {
    let numbers = [
        "1",
        "2",
        "3",
        "98",
        "0",
        "99",
        "1000",
        "1001",
        "-1",
        "x",
        "",
        "01",
        "1.0",
        "18446744073709551616",
        "%31",
        "+1",
        "1e1",
    ];
    match rng.random_range(0..28) {
        0..2 => format!("limit={}", pick(rng, &numbers)),
        2 => format!("min_depth={}", pick(rng, &numbers)),
        3 => format!("max_depth={}", pick(rng, &numbers)),
        4 => format!("consistent={}", pick(rng, &["true", "false", "1", "", "TRUE", "true"])),
        5 => format!(
            "fields={}",
            pick(
                rng,
                &["name", "name,n", "nothing", "", ",", "name,", "name,name", "_rev", "PK", "parent", "%00", "%FF"]
            )
        ),
        6 => format!(
            "cursor={}",
            pick(rng, &["{cursor}", "{cursor}", "{cursor}x", "x{cursor}", "", "AAAA", "%FF", "..", "{cursor}%3D"])
        ),
        7 => format!("order={}", pick(rng, &["asc", "desc", "ASC", ""])),
        8 => format!("topic_prefix={}", in_query(&id(rng, &TOPIC))),
        9 => format!("min_depth=1&max_depth=1&id_prefix={}", in_query(&id(rng, &ID))),
        10 => format!("from={}", in_query(&id(rng, &ID))),
        11 => format!("to={}", in_query(&id(rng, &ID))),
        12 => format!("children={}", pick(rng, &["restrict", "delete", "adopt", "detach", "all", "", "Delete"])),
        13 => format!("revisions={}", pick(rng, &["keep", "delete", "x"])),
        15 | 16 => {
            let ids: Vec<String> =
                (0..rng.random_range(1..5)).map(|_| format!("ids={}", in_query(&id(rng, &ID)))).collect();
            ids.join("&")
        }
        17 => format!(
            "expand={}",
            pick(rng, &["ancestors", "latest", "ancestors,latest", "latest,latest", "", "children", "ancestors,"])
        ),
        18 => format!(
            "path={}&path={}",
            in_query(&id(rng, &["s", "NE", "n", "m", "s/t", "#"])),
            in_query(&id(rng, &["s", "", "n"]))
        ),
        20 => format!("order=asc&values={}", pick(rng, &["text", "number", "", "bool"])),
        21 => format!("order=desc&value_prefix={}", in_query(&id(rng, &ID))),
        22 => format!("order=asc&values=number&from={}&to={}", pick(rng, &numbers), pick(rng, &numbers)),
        23 => format!("distinct={}", pick(rng, &["ancestor", "ancestor", "", "id"])),
        24 => format!("ancestors=true&ancestor_prefix={}", in_query(&id(rng, &ID))),
        25 => format!(
            "attributes={}&mode={}",
            pick(rng, &["name", "name,n", "tags,name", "nothing", "", "name,", "_rev", "PK", "parent", "%FF"]),
            pick(rng, &["nearest", "all", "all", "", "ALL"])
        ),
        26 => {
            let principals: Vec<String> =
                (0..rng.random_range(1..4)).map(|_| format!("principal={}", in_query(&id(rng, &ID)))).collect();
            let attribute = pick(rng, &["tags", "tags", "name", "segment", "_x", ""]);
            format!("attribute={attribute}&{}&in_trash={}", principals.join("&"), pick(rng, &["true", "false", "1"]))
        }
        27 => format!("ancestors=true&below={}", in_query(&id(rng, &ID))),
        19 => format!("status={}", pick(rng, &["running", "done", "", "over"])),
        14 => pick(
            rng,
            &[
                "unknown=1",
                "a",
                "=",
                "==",
                "&",
                "%zz=1",
                "limit=%zz",
                "%6Cimit=2",
                "limit",
                "tenant=acme",
                "x=%",
                "%FF=%FF",
                "limit=1;x=2",
                "é=1",
                "x=🌳",
                "a b=1",
                "x=#",
                "x=\"",
                "x=<",
                "[]=1",
                "x={",
                "+=+",
            ],
        )
        .to_owned(),
        _ => format!("x={}", "y".repeat(rng.random_range(1..4_000))),
    }
}
