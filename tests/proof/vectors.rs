//! `tests/vectors/keys.json`: what the key helpers of the clients must make, as `sapwood-core` makes it. Tests of both
//! clients read it.

use std::fmt::Write as _;
use std::fs;

use sapwood_core::keys::{
    Id, KeyError, Names, NodeRef, OrderedList, Schema, SiblingPlace, SortKey, SortRange, Tenant, TrashTime, Version,
};
use sapwood_keys::{Decimal, Format, Part};
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/keys.json");

/// Texts that have been mistaken for something else, and those at the ends of UTF-8's lengths.
const HOSTILE: [&str; 34] = [
    "d",
    "ORDER#98765",
    "a/b é",
    "a!b",
    "a\"b",
    "$",
    "%",
    "%41",
    "%zz",
    " ",
    "\u{0}",
    "\t\n",
    "é",
    "e\u{301}",
    "\u{7f}",
    "\u{80}",
    "\u{7ff}",
    "\u{800}",
    "\u{d7ff}\u{e000}",
    "\u{ffff}",
    "\u{10000}",
    "😀",
    "👩\u{200d}👩\u{200d}👦",
    "\u{10ffff}",
    "~",
    "_",
    "v001_",
    "v0_",
    "NODE",
    "NODE#0001#d",
    "ROOTS",
    "TENANT#acme#d",
    "__proto__",
    "constructor",
];

/// Numbers as people and other programs write them, and what is none.
const NUMBERS: [&str; 40] = [
    "0",
    "-0",
    "-0.00",
    "1",
    "1.000",
    "+7",
    ".5",
    "5.",
    "-.5e1",
    "-120",
    "-1.2E+2",
    "0.05",
    "5e-2",
    "42.0",
    "-3.5",
    "1e-130",
    "-1e-130",
    "9.9999999999999999999999999999999999999e125",
    "-9.9999999999999999999999999999999999999e125",
    "12345678901234567890123456789012345678",
    "0.00000000000000000000000000000000000001",
    "9007199254740993",
    "1e21",
    "1E-7",
    "000000000000000000000000000000000000000000000001",
    "1000000000000000000000000000000000000000000000000",
    "",
    "-",
    ".",
    "e1",
    "1e",
    "1e126",
    "1e-131",
    "1 ",
    "0x1",
    "1.2.3",
    "--1",
    "1e999999999999",
    "NaN",
    "١",
];

/// The same numbers on every machine, of no quality (Knuth's linear congruential generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A text of some hostile pieces. One in eight is about as long as a key has room for.
    fn text(&mut self) -> String {
        let pieces = (0..=self.below(4)).map(|_| *self.one(&HOSTILE)).collect::<String>();
        if self.below(8) > 0 {
            return pieces;
        }
        let repeated = *self.one(&["x", "%", "é", "€", "😀", "\u{1}"]);
        format!("{pieces}{}", repeated.repeat([90, 253, 340, 1_000, 1_014][self.below(5)] / repeated.len()))
    }

    /// An id: a text that isn't too long for one.
    fn id(&mut self) -> String {
        loop {
            let text = self.text();
            if Id::new(text.as_str()).is_ok() {
                return text;
            }
        }
    }

    fn number(&mut self) -> String {
        let mut text = ["", "-", "+"][self.below(3)].to_owned();
        let point = self.below(40);
        for position in 0..=self.below(40) {
            text.extend((position == point).then_some('.'));
            write!(text, "{}", self.below(10)).unwrap();
        }
        if self.below(2) == 0 {
            write!(text, "{}{}", ["e", "E", "e-", "E+"][self.below(4)], self.below(140)).unwrap();
        }
        text
    }
}

/// A text as the file has it: long runs of one character, `[["LINK#", 1], ["x", 300]]`, would make the file ten times
/// as long.
fn spelt(text: &str) -> Value {
    let mut pieces: Vec<(String, usize)> = Vec::new();
    let characters: Vec<char> = text.chars().collect();
    for run in characters.chunk_by(|a, b| a == b) {
        match pieces.last_mut() {
            _ if run.len() >= 16 => pieces.push((run[0].to_string(), run.len())),
            Some((plain, 1)) => plain.extend(run),
            _ => pieces.push((run.iter().collect(), 1)),
        }
    }
    if pieces.iter().all(|(_, times)| *times == 1) { json!(text) } else { json!(pieces) }
}

fn kind(error: &KeyError) -> &'static str {
    match error {
        KeyError::Empty { .. } => "empty",
        KeyError::TooLong { .. } => "too-long",
        KeyError::NoSegments => "no-segments",
        KeyError::Version { .. } => "version",
        _ => panic!("no helper gives this error: {error}"),
    }
}

/// A schema that the helpers are asked with.
struct Asked {
    schema: Schema,
    tenant: Option<Tenant>,
}

impl Asked {
    fn all() -> [Self; 3] {
        let metadata = Names { node: "METADATA".to_owned(), ..Names::default() };
        [
            Self { schema: Schema::default(), tenant: None },
            Self { schema: Schema::new(metadata, false).unwrap(), tenant: None },
            Self {
                schema: Schema::new(Names::default(), true).unwrap(), tenant: Some(Tenant::new("acme é").unwrap())
            },
        ]
    }

    fn node(&self, id: &str) -> Result<NodeRef, KeyError> {
        Ok(NodeRef { tenant: self.tenant.clone(), id: Id::new(id)? })
    }

    fn partition(&self, id: &str) -> Result<String, KeyError> {
        Ok(self.schema.partition(&self.node(id)?))
    }

    /// What a helper is asked, and what it must give: a range or a reason.
    fn vector(&self, helper: &str, of: Value, given: Result<(String, SortRange), KeyError>) -> Value {
        let mut vector = json!({ "helper": helper, "of": of });
        if let Some(tenant) = &self.tenant {
            vector["tenant"] = json!(tenant.as_str());
        }
        if self.schema.names().node != "NODE" {
            vector["node"] = json!(self.schema.names().node);
        }
        match given {
            Ok((pk, SortRange { from, to })) => {
                vector["pk"] = spelt(&pk);
                vector["low"] = spelt(&from);
                if from != to {
                    vector["high"] = spelt(&to);
                }
            }
            Err(error) => vector["error"] = json!(kind(&error)),
        }
        vector
    }

    /// The key of one item, as the range that has it alone.
    fn key(&self, id: &str, key: &SortKey) -> Result<(String, SortRange), KeyError> {
        let key = self.schema.item_key(&self.node(id)?, key)?;
        Ok((key.pk, SortRange { from: key.sk.clone(), to: key.sk }))
    }
}

/// One vector of each helper, of these texts.
fn of_each_helper(asked: &Asked, id: &str, text: &str, numbers: &mut Numbers) -> Vec<Value> {
    let schema = &asked.schema;
    let with = |range: Result<SortRange, KeyError>| Ok((asked.partition(id)?, range?));
    let version = *numbers.one(&[1, 9, 99, 100, 999, 1_000, 9_999, 10_000, 99_999, 100_000, 999_999]);
    let (min, max) = (numbers.below(99), numbers.below(99));
    let (min, max) = (min.min(max), min.max(max));
    let depth = 1 + numbers.below(98);
    let (topic, other) = (text.to_owned(), numbers.text());
    let segments: Vec<String> = (0..=numbers.below(3)).map(|_| numbers.text()).chain([topic.clone()]).collect();
    let attributes = 1 + numbers.below(4);
    let number = numbers.number();
    let revision = SortKey::Revision { version: Version::new(version).unwrap(), topic: topic.clone() };
    let (s_id, s_text, s_other) = (spelt(id), spelt(text), spelt(&other));
    let s_segments: Vec<Value> = segments.iter().map(|segment| spelt(segment)).collect();
    let times = ["2026-02-03T04:05:06.789Z", "2026-11-21T09:07:00.000Z"].map(|time| TrashTime::parse(time).unwrap());
    let text_place = |text: &str| SiblingPlace::text_bound(text, attributes);
    let list = *numbers.one(&[OrderedList::Children, OrderedList::Roots]);
    let (in_order, list_of) = match list {
        OrderedList::Children => ("childrenInOrder", asked.partition(id)),
        OrderedList::Roots => ("rootsInOrder", Ok(schema.roots_partition(asked.tenant.as_ref()))),
    };
    let ordered = |of: Value, range: Result<SortRange, KeyError>| {
        asked.vector(in_order, json!({ "id": s_id, "bounds": of }), list_of.clone().and_then(|pk| Ok((pk, range?))))
    };
    let too_long = KeyError::TooLong { part: "the prefix", bytes: 0, limit: 0 };
    let mut vectors = vec![
        asked.vector("node", json!({ "id": s_id }), asked.key(id, &SortKey::Node)),
        asked.vector("revision", json!({ "id": s_id, "topic": s_text, "version": version }), asked.key(id, &revision)),
        asked.vector(
            "latest",
            json!({ "id": s_id, "topic": s_text }),
            asked.key(id, &SortKey::Latest { topic: topic.clone() }),
        ),
        asked.vector("latestOf", json!({ "id": s_id, "topicPrefix": s_text }), with(schema.latest_range(text))),
        asked.vector(
            "descendants",
            json!({ "id": s_id, "min": min, "max": max }),
            with(Ok(schema.depth_range(min, max))),
        ),
        asked.vector(
            "level",
            json!({ "id": s_id, "depth": depth, "idPrefix": s_text }),
            with(schema.level_range(depth, text)),
        ),
        asked.vector("path", json!({ "root": s_id, "segments": s_segments }), with(schema.path_range(&segments))),
        asked.vector("pathAlone", json!({ "root": s_id, "segments": s_segments }), with(schema.path_alone(&segments))),
        asked.vector(
            "pathBetween",
            json!({ "root": s_id, "above": s_segments, "from": s_text, "to": s_other }),
            with(schema.path_between(&segments, Some(text), Some(&other))),
        ),
        asked.vector(
            "pathBetween",
            json!({ "root": s_id, "above": [], "from": s_text }),
            with(schema.path_between(&[], Some(text), None)),
        ),
        asked.vector(
            "links",
            json!({ "target": s_id, "attribute": "product", "idPrefix": s_text }),
            with(schema.link_range("product", text)),
        ),
        asked.vector(
            "orphansOf",
            json!({ "parent": s_id }),
            asked.node(id).map(|parent| (schema.orphans_partition(&parent), schema.orphan_range())),
        ),
        ordered(
            json!({ "from": s_text, "to": s_other, "attributes": attributes }),
            Ok(schema.ordered_range(list, Some(&text_place(text)), Some(&text_place(&other)))),
        ),
        ordered(
            json!({ "prefix": s_text, "attributes": attributes }),
            SiblingPlace::texts(text, attributes)
                .ok_or(too_long)
                .and_then(|prefix| schema.ordered_prefix_range(list, &prefix)),
        ),
    ];
    if let Some(bound) = SiblingPlace::number_bound(&number) {
        let range = schema.ordered_range(list, Some(&bound), Some(&text_place(text)));
        vectors
            .push(ordered(json!({ "from": { "number": number }, "to": s_text, "attributes": attributes }), Ok(range)));
    }
    let trash = || schema.trash_partition(asked.tenant.as_ref());
    vectors.extend([
        asked.vector(
            "trash",
            json!({ "from": times[0].as_str() }),
            Ok((trash(), schema.trash_range(Some(&times[0]), None))),
        ),
        asked.vector(
            "trash",
            json!({ "to": times[1].as_str() }),
            Ok((trash(), schema.trash_range(None, Some(&times[1])))),
        ),
    ]);
    vectors
}

/// Sort keys, and what the helpers must say of them: a revision, the names of a path, or nothing.
fn sort_keys(schema: &Schema, numbers: &mut Numbers) -> Vec<Value> {
    let mut keys: Vec<String> = [
        "v1_x",
        "v000_x",
        "va999_x",
        "va1000_x",
        "vd1_x",
        "v1000000_x",
        "vacation",
        "v001x",
        "PATH#%41",
        "PATH#a b",
        "PATH#a!",
        "PATH##a",
        "PATH#%e9",
        "PATH#%FF",
        "PATH#a!b!c",
    ]
    .map(str::to_owned)
    .to_vec();
    for _ in 0..60 {
        let version = Version::new(u64::try_from(1 + numbers.below(999_999)).unwrap()).unwrap();
        let (topic, path) = (numbers.text(), (0..=numbers.below(3)).map(|_| numbers.text()).collect::<Vec<_>>());
        let id = Some(Id::new(numbers.id()).unwrap()).filter(|_| numbers.below(2) == 0);
        let made = [
            SortKey::Revision { version, topic: topic.clone() },
            SortKey::Latest { topic },
            SortKey::Path { segments: path, id },
        ];
        keys.extend(made.iter().filter_map(|key| schema.sort_key(key).ok()));
    }
    let said = |key: &String| {
        let mut vector = json!({ "sk": spelt(key) });
        match schema.parse_sort_key(key) {
            Some(SortKey::Revision { version, topic }) => {
                vector["revision"] = json!({ "version": version.number(), "topic": spelt(&topic) });
            }
            Some(SortKey::Path { segments, id }) => {
                let segments: Vec<Value> = segments.iter().map(|segment| spelt(segment)).collect();
                vector["path"] = json!({ "segments": segments });
                if let Some(id) = id {
                    vector["path"]["id"] = spelt(id.as_str());
                }
            }
            _ => {}
        }
        vector
    };
    keys.iter().map(said).collect()
}

/// The ranges by which the clients read an id's revisions without the copies. docs/guides/history.md names them, too.
const REVISIONS: [(&str, &str); 2] = [("v00", "v09z"), ("v1", "vcz")];

fn vectors() -> Value {
    let (mut numbers, asked) = (Numbers(20_261_126), Asked::all());
    let mut ranges = Vec::new();
    for (position, text) in HOSTILE.iter().enumerate() {
        ranges.extend(of_each_helper(&asked[position % 3], text, HOSTILE[HOSTILE.len() - 1 - position], &mut numbers));
    }
    for position in 0..45 {
        let (id, text) = (numbers.id(), numbers.text());
        ranges.extend(of_each_helper(&asked[position % 3], &id, &text, &mut numbers));
    }
    for asked in &asked {
        let roots = asked.schema.roots_partition(asked.tenant.as_ref());
        ranges.push(asked.vector("roots", json!({}), Ok((roots, asked.schema.root_range()))));
        for bounds in [json!({}), json!({ "attributes": 2 })] {
            let all = asked.schema.ordered_range(OrderedList::Children, None, None);
            let given = asked.partition("d").map(|pk| (pk, all));
            ranges.push(asked.vector("childrenInOrder", json!({ "id": "d", "bounds": bounds }), given));
        }
        for (id, wrong) in [("", "empty"), (&*"x".repeat(1_015), "too-long"), (&*"é".repeat(508), "too-long")] {
            let given = asked.key(id, &SortKey::Node);
            assert_eq!(given.as_ref().map_err(kind).err(), Some(wrong));
            ranges.push(asked.vector("node", json!({ "id": spelt(id) }), given));
        }
        let of_totals = asked.partition("d").map(|pk| (pk, asked.schema.totals_range()));
        ranges.push(asked.vector("totals", json!({ "id": "d" }), of_totals));
        let nowhere = asked.schema.path_range(&[]).map(|range| ("d".to_owned(), range));
        ranges.push(asked.vector("path", json!({ "root": "d", "segments": [] }), nowhere));
    }
    let decimals = NUMBERS.map(str::to_owned).into_iter().chain((0..300).map(|_| numbers.number()));
    let decimals: Vec<Value> = decimals
        .map(|number| match number.parse::<Decimal>() {
            Ok(decimal) => json!({ "number": number, "part": decimal.encode().unwrap() }),
            Err(_) => json!({ "number": number, "error": true }),
        })
        .collect();
    let escaped = HOSTILE.iter().map(|text| (*text).to_owned()).chain((0..100).map(|_| numbers.text()));
    let escaped: Vec<Value> = escaped
        .map(|text| json!({ "text": spelt(&text), "part": spelt(&Format::SORT_KEY.escaping().escape_part(&text)) }))
        .collect();
    json!({
        "about": "What the clients' key helpers must make: SAPWOOD_WRITE=1 cargo test -p sapwood-proof vectors writes this file. \
                  A long text is a list of pieces, each with how often it comes. Without `high` it is `low`.",
        "escaped": escaped,
        "numbers": decimals,
        "ranges": ranges,
        "revisions": REVISIONS,
        "sort_keys": sort_keys(&asked[0].schema, &mut numbers),
    })
}

/// A vector is a line, so that a change shows which.
fn written(vectors: &Value) -> String {
    let mut text = String::from("{\n");
    let fields = vectors.as_object().unwrap();
    for (position, (name, value)) in fields.iter().enumerate() {
        let comma = if position + 1 < fields.len() { "," } else { "" };
        match value.as_array() {
            Some(lines) => {
                let lines: Vec<String> = lines.iter().map(|line| format!("    {line}")).collect();
                writeln!(text, "  \"{name}\": [\n{}\n  ]{comma}", lines.join(",\n")).unwrap();
            }
            None => writeln!(text, "  \"{name}\": {value}{comma}").unwrap(),
        }
    }
    text + "}\n"
}

/// `SAPWOOD_WRITE=1` writes them anew.
#[test]
fn the_vectors_of_the_clients_are_as_the_core_makes_keys() {
    let wanted = vectors();
    if std::env::var_os("SAPWOOD_WRITE").is_some() {
        fs::write(FILE, written(&wanted)).unwrap();
    }
    let published: Option<Value> = serde_json::from_str(&fs::read_to_string(FILE).unwrap_or_default()).ok();
    assert!(
        published.as_ref() == Some(&wanted),
        "SAPWOOD_WRITE=1 cargo test -p sapwood-proof vectors writes tests/vectors/keys.json"
    );
}

/// The two ranges have each revision in the order of versions, and no copy.
#[test]
fn revisions_are_read_without_their_copies() {
    let schema = Schema::default();
    let ranges = REVISIONS.map(|(from, to)| SortRange { from: from.to_owned(), to: to.to_owned() });
    let key = |key: SortKey| schema.sort_key(&key).unwrap();
    let mut before = String::new();
    let (longest, last) = ("\u{10ffff}".repeat(200), u64::from(Version::MAX));
    for topic in ["", "Audit", "z", "\u{0}", longest.as_str()] {
        assert!(ranges.iter().all(|range| !range.contains(&key(SortKey::Latest { topic: topic.to_owned() }))));
        for number in (1..2_000).chain((2_000..last).step_by(997)).chain([9_999, 10_000, 99_999, 100_000, last]) {
            let version = Version::new(number).unwrap();
            let sk = key(SortKey::Revision { version, topic: topic.to_owned() });
            assert_eq!(ranges.iter().filter(|range| range.contains(&sk)).count(), 1, "{sk}");
            let in_order = number == 1 || number == 10_000 || number == 9_999 || number == 99_999 || before < sk;
            assert!(in_order, "{before} {sk}");
            before = sk;
        }
    }
    assert!(ranges[0].to < ranges[1].from);
}
