//! `sapwood export` and `sapwood import`, the real binary: out, in, out, in, with nodes of all types of attributes.
//!
//! `ROUND_TRIP_NODES=100000` takes so many (`.ci/full`); `SAPWOOD_SEED` replays a run.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue::{self, B, Bool, Bs, L, M, N, Ns, Null, Ss};
use rand::RngExt;
use rand::rngs::SmallRng;
use sapwood_tests::client::{node, put_all, s};
use sapwood_tests::running::{Running, TABLE};

use crate::stack::{Attributes, assert_right, chance, ends_with, records, revision, size};

/// A number of 38 digits.
fn digits(rng: &mut SmallRng) -> String {
    let digits: String = (0..37).map(|_| char::from(b'0' + rng.random_range(0..10))).collect();
    let sign = if rng.random_bool(0.5) { "-" } else { "" };
    let last = rng.random_range(1..10);
    format!("{sign}{}.{}{last}", 1 + rng.random_range(0..9), &digits[..36])
}

/// Numbers at the limits, without exponents: DynamoDB Local keeps the spelling of a number inside of a map, and an
/// import writes digits.
fn number(rng: &mut SmallRng) -> String {
    match rng.random_range(0..5) {
        0 => "0".to_owned(),
        1 => "-1".to_owned(),
        2 => format!("0.{}1", "0".repeat(129)),
        3 => format!("99{}", "0".repeat(124)),
        _ => "12345678901234567890123456789012345678".to_owned(),
    }
}

fn text(rng: &mut SmallRng) -> String {
    let letters = ['a', 'Z', ' ', '"', '\\', '\n', '\t', '#', '$', '%', '!', '/', 'é', '√', '😀', '\u{7f}', '\u{2028}'];
    (0..rng.random_range(1..12)).map(|_| letters[rng.random_range(0..letters.len())]).collect()
}

/// A value of any type.
fn value(rng: &mut SmallRng, depth: usize) -> AttributeValue {
    let bytes = |rng: &mut SmallRng| Blob::new((0..rng.random_range(1..9)).map(|_| rng.random()).collect::<Vec<u8>>());
    match rng.random_range(0..if depth > 3 { 8 } else { 10 }) {
        0 => s(text(rng)),
        1 => N(digits(rng)),
        2 => N(number(rng)),
        3 => B(bytes(rng)),
        4 => Bool(rng.random_bool(0.5)),
        5 => Null(true),
        6 => Ss((0..rng.random_range(1..4)).map(|n| format!("{}{n}", text(rng))).collect()),
        7 if rng.random_bool(0.5) => Ns((1..rng.random_range(2..5))
            .map(|n| format!("{n}{}", digits(rng).trim_start_matches('-')))
            .map(|n| format!("{}7", &n[..37]))
            .collect()),
        7 => Bs((0..rng.random_range(1..4)).map(|n: u8| Blob::new(vec![n, rng.random()])).collect()),
        8 => L((0..rng.random_range(0..4)).map(|_| value(rng, depth + 1)).collect()),
        _ => M((0..rng.random_range(0..4)).map(|n| (format!("{}{n}", text(rng)), value(rng, depth + 1))).collect()),
    }
}

fn planted(count: usize, rng: &mut SmallRng) -> Vec<Attributes> {
    let mut items = Vec::new();
    for n in 0..count {
        let parent = n.checked_sub(1).filter(|_| !rng.random_ratio(1, 50)).map(|n| format!("n{}", n / 7));
        let mut item = node(&format!("n{n}"), parent.as_deref(), "a name");
        for name in 0..rng.random_range(0..3) {
            item.insert(format!("a{name}"), value(rng, 0));
        }
        // Its place among its siblings, and its links, of each type that they can have.
        item.insert("rank".to_owned(), N((n % 11).to_string()));
        let targets = vec![format!("n{}", n / 2), text(rng)];
        match n % 4 {
            0 => drop(item.insert("tags".to_owned(), Ss(targets))),
            1 => drop(item.insert("tags".to_owned(), L(targets.into_iter().map(s).collect()))),
            2 => drop(item.insert("tags".to_owned(), s(&targets[1]))),
            _ => {}
        }
        if rng.random_ratio(1, 4) {
            item.insert("segment".to_owned(), s(text(rng)));
        }
        items.push(item);
        if rng.random_ratio(1, 10) {
            let mut revision = revision(&format!("n{n}"), ["v001_Audit", "v999_Audit", "va1000_Audit"][n % 3]);
            revision.insert("any".to_owned(), value(rng, 0));
            items.push(revision);
        }
    }
    items
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_out_and_in_and_out_again_is_equal_to_the_byte() {
    let items = planted(size("ROUND_TRIP_NODES", 400), &mut chance());
    let directory = tempfile::tempdir().unwrap();
    let mut exports: Vec<Vec<String>> = Vec::new();
    let export = |running: &Running, number: usize| {
        let file = directory.path().join(format!("{number}.jsonl")).to_str().unwrap().to_owned();
        ends_with(0, &running.url(), &["export", "--output", &file]);
        let mut lines: Vec<String> = std::fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
        lines.sort();
        (file, lines)
    };
    let mut first = Running::start(&[]).await;
    // An export reads base records only.
    first.pause().await;
    put_all(&first.client, TABLE, items).await;
    let wanted = first.contents().await;
    let (mut file, lines) = export(&first, 0);
    exports.push(lines);
    for number in 1..=2 {
        let next = Running::start(&[("OrderAttribute", "rank"), ("LinkAttributes", "tags")]).await;
        let kinds = ["--parameter", "OrderAttribute=rank", "--parameter", "LinkAttributes=tags"];
        ends_with(0, &next.url(), &[&["import", &file][..], &kinds].concat());
        assert_right(&next).await;
        let there = records(&next.contents().await, &[]);
        let changed = wanted.iter().find(|(key, item)| there.get(*key) != Some(item));
        assert!(changed.is_none(), "{changed:?} is now {:?}", changed.and_then(|(key, _)| there.get(key)));
        assert_eq!(there.len(), wanted.len());
        let (exported, lines) = export(&next, number);
        assert!(lines == exports[0], "the exports differ");
        file = exported;
        next.stop().await;
    }
    println!("{} records went out and in twice", wanted.len());
    assert_eq!(exports[0].len(), wanted.len());
}
