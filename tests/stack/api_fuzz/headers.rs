//! Headers, drawn.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::draw::pick;

/// A header: one that calls heed, or one that none does.
pub(crate) fn header(rng: &mut SmallRng) -> (&'static str, String) {
    let tags = [
        "{etag}",
        "{etag}",
        "*",
        "\"x\"",
        "W/\"x\"",
        "\"x\", {etag}",
        "x",
        "\"",
        "\"\"",
        "",
        "W/{etag}",
        "*, \"x\"",
        "\"x\",,\"y\"",
        "\"é\"",
        "\"a b\"",
        ",",
    ];
    let (name, value) = match rng.random_range(0..12) {
        0..2 => ("if-match", pick(rng, &tags)),
        2..4 => ("if-none-match", pick(rng, &tags)),
        4 => (
            "prefer",
            pick(
                rng,
                &[
                    "wait=20",
                    "wait=20",
                    "wait=0",
                    "wait=21",
                    "wait=x",
                    "wait=-1",
                    "wait",
                    "respond-async",
                    "wait=20, wait=19",
                    "return=minimal; x=\"y,z\"",
                    "\"",
                    "",
                    "wait=99999999999999999999",
                    "WAIT=20",
                    "wait=\"20\"",
                    "numbers=strings",
                    "numbers=strings, wait=1",
                    "numbers=\"strings\"; x=1",
                    "numbers=words",
                    "return=minimal, numbers=strings",
                    "é",
                ],
            ),
        ),
        5..7 => (
            "idempotency-key",
            pick(rng, &["k1", "k2", "k3", "\"k1\"", "", "\"", "\"\"", "a b", "é", "\"a\\\"b\"", "k,k", "LONG"]),
        ),
        7 => (
            "accept-encoding",
            pick(rng, &["gzip", "gzip", "br, gzip;q=0", "identity;q=0", "*;q=0", "gzip;q=x", ",", "é"]),
        ),
        8 => ("accept", pick(rng, &["text/html", "application/json", "*/*;q=0", "", "x"])),
        9 => ("content-encoding", pick(rng, &["gzip", "identity", "", "br, gzip", "é"])),
        10 => ("origin", pick(rng, &["https://example.org", "null", "é", ""])),
        _ => (
            *[
                ("x-tenant"),
                ("x-forwarded-for"),
                ("x-http-method-override"),
                ("range"),
                ("authorization"),
                ("x-amzn-request-context"),
            ]
            .get(rng.random_range(0..6))
            .unwrap(),
            pick(rng, &["DELETE", "bytes=0-1", "{\"a\":1}", "acme", "", "\u{ff}"]),
        ),
    };
    (name, if value == "LONG" { "k".repeat(rng.random_range(250..260)) } else { value.to_owned() })
}
