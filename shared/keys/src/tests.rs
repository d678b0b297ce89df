//! The guarantees of the crate, for any text in any part.
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{CompositeKey, Error, Format, Padded, Part, Place, Utc};
use crate::composite_key;

const KEY: Format = Format::SORT_KEY;
const ESCAPED: Format = KEY.escaping();

composite_key! {
    /// Where a store is.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct StoreKey(ESCAPED) { country: String, state: String, city: String }
}

composite_key! {
    /// A key with a literal at either end, and values that aren't text.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct ReadingKey(ESCAPED) {
        "SENSOR",
        /// The sensor's name.
        sensor: String,
        "AT",
        day: Date,
        at: Utc<3>,
        number: Padded<4>,
        "READING",
    }
}

composite_key! { #[derive(Debug)] struct PlainKey { "PLAIN", name: String } }

fn place(index: usize, field: Option<&'static str>) -> Place {
    Place { index, field }
}

#[test]
fn a_separator_inside_a_part_is_refused_by_name() {
    let error = KEY.build(&["USER", "1#2"]).unwrap_err();
    assert_eq!(error, Error::Separator { part: place(1, None), separator: "#".into() });
    let error = PlainKey { name: "1#2".into() }.build().unwrap_err();
    assert_eq!(error.place(), Some(place(1, Some("name"))));
    assert!(error.to_string().starts_with("part `name` would be split by the separator \"#\""));
}

#[test]
fn a_part_that_ends_with_the_beginning_of_a_long_separator_is_refused() {
    let colons = KEY.separated_by("::");
    assert!(matches!(colons.build(&["a:", "b"]), Err(Error::Separator { .. })));
    assert!(matches!(colons.parse("a:::"), Err(Error::Separator { .. })));
    assert_eq!(colons.parse(&colons.build(&["a", ":b"]).unwrap()).unwrap(), ["a", ":b"]);
    let escaped = colons.escaping();
    assert_eq!(escaped.build(&["a:", "b"]).unwrap(), "a%3A::b");
}

#[test]
fn a_key_of_exactly_the_limit_is_built_and_one_byte_more_is_refused_whole() {
    for (format, bytes_max) in [(Format::PARTITION_KEY, 2048), (Format::SORT_KEY, 1024)] {
        // `é` has two bytes: the limit is in bytes.
        let fits = "é".repeat(bytes_max / 2 - 1);
        assert_eq!(format.build(&["K", &fits]).unwrap().len(), bytes_max);
        let longest = place(1, None);
        assert_eq!(
            format.build(&["KK", &fits]),
            Err(Error::TooLong { bytes: bytes_max + 1, bytes_max, longest, longest_bytes: bytes_max - 2 })
        );
        assert!(matches!(format.prefix(&["K", &fits]), Err(Error::TooLong { .. })));
        assert!(matches!(format.parse(&"k".repeat(bytes_max + 1)), Err(Error::TooLong { .. })));
    }
    assert!(KEY.limited_to(3).build(&["A", "B"]).is_ok());
    assert!(KEY.limited_to(2).build(&["A", "B"]).is_err());
}

#[test]
fn escapes_count_towards_the_limit_and_the_field_is_named() {
    let key = StoreKey { country: "FRANCE".into(), state: " ".repeat(400), city: "x".into() };
    let error = key.build().unwrap_err();
    assert_eq!(
        error,
        Error::TooLong {
            bytes: 6 + 1 + 1200 + 1 + 1,
            bytes_max: 1024,
            longest: place(1, Some("state")),
            longest_bytes: 1200,
        }
    );
}

#[test]
fn a_key_is_never_empty_but_its_parts_may_be() {
    assert_eq!(KEY.build::<&str>(&[]), Err(Error::Empty));
    assert_eq!(KEY.build(&[""]), Err(Error::Empty));
    assert_eq!(KEY.parse(""), Err(Error::Empty));
    assert_eq!(KEY.prefix::<&str>(&[]), Err(Error::Empty));
    assert_eq!(KEY.prefix_within(&[""]), Err(Error::Empty));
    assert_eq!(StoreKey::prefix(()), Err(Error::Empty));
    assert_eq!(KEY.build(&["", ""]).unwrap(), "#");
    assert_eq!(KEY.parse("#").unwrap(), ["", ""]);
    assert_eq!(KEY.prefix(&[""]).unwrap(), "#");
}

#[test]
fn a_separator_that_cannot_work_is_refused() {
    assert!(matches!(KEY.separated_by("").build(&["A"]), Err(Error::Format { .. })));
    assert!(matches!(KEY.separated_by("").parse("A"), Err(Error::Format { .. })));
    for separator in ["%", "0", "F#"] {
        let format = KEY.separated_by(separator);
        assert!(format.build(&["a", "b"]).is_ok());
        assert!(matches!(format.escaping().build(&["a", "b"]), Err(Error::Format { .. })));
    }
}

#[test]
fn only_the_one_way_to_write_a_part_is_parsed() {
    assert_eq!(ESCAPED.parse("a%20b%25#c").unwrap(), ["a b%", "c"]);
    for foreign in ["a b", "%2", "%", "%zz", "%+5", "%41", "%2f", "%3C", "%FF", "$", "%é"] {
        let error = ESCAPED.parse(&format!("A#{foreign}")).unwrap_err();
        assert_eq!(error.place(), Some(place(1, None)), "{foreign}: {error}");
    }
    // A format that doesn't escape takes a part as it is.
    assert_eq!(KEY.parse("a%20b#%").unwrap(), ["a%20b", "%"]);
}

#[test]
fn a_prefix_never_matches_a_sibling_that_begins_alike() {
    let prefix = KEY.prefix(&["NE", "OMAHA"]).unwrap();
    assert!("NE#OMAHA#68118".starts_with(&prefix));
    assert!(!"NE#OMAHA2#68118".starts_with(&prefix));
    assert_eq!(KEY.prefix_within(&["NE", "OMAHA"]).unwrap(), "NE#OMAHA");
    assert_eq!(KEY.prefix_within(&["NE", ""]).unwrap(), "NE#");
}

#[test]
fn a_range_has_no_strangers_in_it_or_is_refused() {
    let omaha = ESCAPED.between(&["NE"], "OMAHA", "OMAHA").unwrap();
    for (parts, inside) in [
        (vec!["NE"], false),
        (vec!["NE", "OMAHA"], true),
        (vec!["NE", "OMAHA", "68118"], true),
        (vec!["NE", "OMAHA", "\u{10FFFF}", "x"], true),
        (vec!["NE", "OMAHA "], false),
        (vec!["NE", "OMAHA$"], false),
        (vec!["NE", "OMAHA2"], false),
    ] {
        assert_eq!(omaha.contains(&ESCAPED.build(&parts).unwrap()), inside, "{parts:?}");
    }
    assert!(matches!(KEY.between(&["NE"], "A", "B"), Err(Error::Format { .. })));
    assert!(matches!(ESCAPED.separated_by("|").between(&["NE"], "A", "B"), Err(Error::Format { .. })));
    assert_eq!(ESCAPED.between(&["NE"], "B", "A").unwrap_err().place(), Some(place(1, None)));
}

#[test]
fn typed_keys_are_built_parsed_and_cut_into_prefixes() {
    let key = ReadingKey {
        sensor: "wheel 2".into(),
        day: "2024-12-01".parse().unwrap(),
        at: Utc("2024-12-01T10:30:00.25Z".parse().unwrap()),
        number: Padded(7),
    };
    let text = "SENSOR#wheel%202#AT#2024-12-01#2024-12-01T10:30:00.250Z#0007#READING";
    assert_eq!(key.build().unwrap(), text);
    assert_eq!(ReadingKey::parse(text).unwrap(), key);
    let sensor = &key.sensor;
    assert_eq!(ReadingKey::prefix(()).unwrap(), "SENSOR#");
    assert_eq!(ReadingKey::prefix((sensor,)).unwrap(), "SENSOR#wheel%202#AT#");
    assert_eq!(ReadingKey::prefix((sensor.clone(), key.day)).unwrap(), "SENSOR#wheel%202#AT#2024-12-01#");
    assert_eq!(ReadingKey::prefix_within(("a",), "2024").unwrap(), "SENSOR#a#AT#2024");
    let (first, next) = ("2024-12-01".parse::<Date>().unwrap(), "2024-12-02".parse::<Date>().unwrap());
    let days = ReadingKey::between(("a",), first, &next).unwrap();
    assert_eq!(days.into_inner(), ("SENSOR#a#AT#2024-12-01".into(), "SENSOR#a#AT#2024-12-02$".into()));
}

#[test]
fn typed_keys_say_what_is_wrong_and_in_which_field() {
    assert_eq!(StoreKey::parse("USA#NE").unwrap_err(), Error::Count { found: 2, expected: 3 });
    let literal = PlainKey::parse("FANCY#x").unwrap_err();
    assert_eq!(literal.to_string(), "part 0 (counted from 0) is \"FANCY\", but must be \"PLAIN\"");
    let number = ReadingKey::parse("SENSOR#a#AT#2024-12-01#2024-12-01T10:30:00.000Z#7#READING").unwrap_err();
    assert_eq!(number.to_string(), "part `number` is \"7\", but must be a number of exactly 4 digits");
    let early = ReadingKey {
        sensor: "a".into(),
        day: Date::new(-1, 1, 1).unwrap(),
        at: Utc(Timestamp::UNIX_EPOCH),
        number: Padded(10_000),
    };
    assert_eq!(early.build().unwrap_err().place(), Some(place(3, Some("day"))));
    let day = early.day;
    let refused =
        [ReadingKey::prefix(("a", day)), ReadingKey::between(("a",), day, day).map(|range| range.into_inner().0)];
    for refused in refused {
        assert_eq!(refused.unwrap_err().place(), Some(place(3, Some("day"))));
    }
    let number = ReadingKey { day: Date::new(0, 1, 1).unwrap(), ..early }.build().unwrap_err();
    assert_eq!(number.to_string(), "part `number` is \"10000\", but must be a number of at most 4 digits");
}

#[test]
fn numbers_and_times_are_parsed_only_in_their_own_width() {
    assert_eq!(Padded::<20>(u64::MAX).encode().unwrap(), "18446744073709551615");
    assert!(Padded::<20>::decode("18446744073709551616").is_err());
    for text in ["", "123", "12345", "+123", "-001", "１２34", "12 4"] {
        assert!(Padded::<4>::decode(text).is_err(), "{text}");
    }
    assert!(Utc::<0>::decode("2024-12-01T10:30:00Z").is_ok());
    for text in [
        "2024-12-01",
        "2024-12-01T10:30:00.0Z",
        "2024-12-01T11:30:00+01:00",
        "2024-12-01T10:30:60Z",
        "9999-12-31T23:00:00Z",
    ] {
        assert!(Utc::<0>::decode(text).is_err(), "{text}");
    }
    for text in ["2024-12-1", "20241201", "2024-12-01T00:00:00", "2024-02-30", "-000001-01-01"] {
        assert!(Date::decode(text).is_err(), "{text}");
    }
}

#[test]
fn times_outside_the_years_0_to_9999_or_too_fine_are_refused() {
    let first: Timestamp = "0000-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(Utc::<9>(first).encode().unwrap(), "0000-01-01T00:00:00.000000000Z");
    assert_eq!(Utc::<0>(Timestamp::MAX.round(jiff::Unit::Hour).unwrap_or(first)).encode().unwrap().len(), 20);
    assert!(Utc::<9>(Timestamp::MAX).encode().is_ok());
    assert!(Utc::<9>(Timestamp::MIN).encode().is_err());
    let before = Timestamp::from_nanosecond(first.as_nanosecond() - 1).unwrap();
    assert!(Utc::<9>(before).encode().is_err());
    // Before 1970 fractions are negative inside `Timestamp`.
    let fine: Timestamp = "1969-12-31T23:59:59.9995Z".parse().unwrap();
    assert!(Utc::<3>(fine).encode().is_err());
    assert_eq!(Utc::<4>(fine).encode().unwrap(), "1969-12-31T23:59:59.9995Z");
}

/// Any text; often one with characters that matter to keys.
fn text() -> impl Strategy<Value = String> {
    let awkward: Vec<char> = "#%$\"! \0&/:|AF09a~é→\u{10FFFF}".chars().collect();
    vec(prop_oneof![select(awkward), any::<char>()], 0..6).prop_map(String::from_iter)
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 1..5)
}

/// Texts that differ only near their ends, which is where order goes wrong.
fn similar_texts() -> impl Strategy<Value = Vec<String>> {
    vec(vec(select(vec!['A', ' ', '$', '%', '#', 'é']), 0..3).prop_map(String::from_iter), 1..4)
}

fn escaping() -> impl Strategy<Value = Format<'static>> {
    select(vec!["#", "|", "/", "::", "→", "é→", " - ", "$", "\0", "~%", "a", "\u{10FFFF}"])
        .prop_map(|separator| ESCAPED.separated_by(separator))
}

fn time() -> impl Strategy<Value = Timestamp> {
    let seconds = prop_oneof![-62_167_219_200..=253_402_207_200_i64, -3..3_i64];
    (seconds, 0..1_000_i32).prop_map(|(second, milli)| Timestamp::new(second, milli * 1_000_000).unwrap())
}

fn reading() -> impl Strategy<Value = ReadingKey> {
    (text(), time(), time(), 0..10_000_u64).prop_map(|(sensor, day, at, number)| ReadingKey {
        sensor,
        day: jiff::tz::Offset::UTC.to_datetime(day).date(),
        at: Utc(at),
        number: Padded(number),
    })
}

proptest! {
    #[test]
    fn any_texts_come_back_from_a_key_that_escapes(format in escaping(), parts in texts()) {
        prop_assume!(parts != [""]);
        let key = format.build(&parts).unwrap();
        prop_assert_eq!(format.parse(&key).unwrap(), parts);
    }

    #[test]
    fn a_key_that_refuses_gives_back_its_parts_or_is_not_built(
        separator in select(vec!["#", "::", "aa", "aba", "→"]),
        parts in vec(vec(select(vec!['a', 'b', ':', '#', '→']), 0..4).prop_map(String::from_iter), 1..4),
    ) {
        let format = KEY.separated_by(separator);
        match format.build(&parts) {
            Ok(key) => prop_assert_eq!(format.parse(&key).unwrap(), parts),
            Err(Error::Separator { part, .. }) => {
                let part = &parts[part.index];
                prop_assert!([part, separator].concat().find(separator) < Some(part.len()));
            }
            Err(error) => prop_assert_eq!((error, parts), (Error::Empty, vec![String::new()])),
        }
    }

    #[test]
    fn what_is_parsed_is_built_again(format in escaping(), escapes in any::<bool>(), key in text()) {
        let format = if escapes { format } else { KEY };
        if let Ok(parts) = format.parse(&key) {
            prop_assert_eq!(format.build(&parts).unwrap(), key);
        }
    }

    #[test]
    fn keys_sort_as_their_parts_do(
        separator in select(vec!["#", "!", "$", " ", "#→", "\0"]),
        (a, b) in prop_oneof![(similar_texts(), similar_texts()), (texts(), texts())],
    ) {
        prop_assume!(a != [""] && b != [""]);
        let format = ESCAPED.separated_by(separator);
        prop_assert!(format.keeps_order());
        prop_assert_eq!(format.build(&a).unwrap().cmp(&format.build(&b).unwrap()), a.cmp(&b));
    }

    #[test]
    fn keys_that_refuse_sort_as_parts_above_the_separator_do(
        a in vec("[A-C$:-]{0,2}", 1..4),
        b in vec("[A-C$:-]{0,2}", 1..4),
    ) {
        prop_assume!(a != [""] && b != [""]);
        prop_assert_eq!(KEY.build(&a).unwrap().cmp(&KEY.build(&b).unwrap()), a.cmp(&b));
    }

    #[test]
    fn prefixes_and_ranges_find_exactly_what_they_stand_for(
        all in vec(similar_texts(), 1..40),
        ends in similar_texts(),
        depth in 0..2_usize,
    ) {
        let chosen = all[0].clone();
        let (parents, rest) = chosen.split_at(depth.min(chosen.len() - 1));
        let (from, to) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
        prop_assume!(!parents.is_empty() || !from.is_empty());
        let all: Vec<_> = all.into_iter().filter(|parts| *parts != [""]).collect();
        let keys_of = |wanted: &dyn Fn(&String) -> bool| -> BTreeSet<String> {
            let below = |parts: &&Vec<String>| {
                parts.starts_with(parents) && parts.get(parents.len()).is_some_and(wanted)
            };
            all.iter().filter(below).map(|parts| ESCAPED.build(parts).unwrap()).collect()
        };
        let mut keys: BTreeSet<_> = all.iter().map(|parts| ESCAPED.build(parts).unwrap()).collect();

        let range = ESCAPED.between(parents, from, to).unwrap();
        let between: BTreeSet<_> = keys.range(range).cloned().collect();
        prop_assert_eq!(between, keys_of(&|part| from <= part && part <= to));

        let within = &rest[0];
        if let Ok(prefix) = ESCAPED.prefix_within(&chosen[..=parents.len()]) {
            let found: BTreeSet<_> = keys.iter().filter(|key| key.starts_with(&prefix)).cloned().collect();
            prop_assert_eq!(found, keys_of(&|part| part.starts_with(within.as_str())));
        }
        if let Ok(prefix) = ESCAPED.prefix(parents) {
            keys.retain(|key| key.starts_with(&prefix));
            prop_assert_eq!(keys, keys_of(&|_| true));
        }
    }

    #[test]
    fn numbers_and_times_come_back_and_sort_as_what_they_are(a in any::<u64>(), b in any::<u64>(), s in time(), t in time()) {
        let text = |n: u64| Padded::<20>(n).encode().map(Cow::into_owned).unwrap();
        prop_assert_eq!(Padded::decode(&text(a)), Ok(Padded::<20>(a)));
        prop_assert_eq!(text(a).cmp(&text(b)), a.cmp(&b));
        let text = |t: Timestamp| Utc::<3>(t).encode().map(Cow::into_owned).unwrap();
        prop_assert_eq!(Utc::decode(&text(t)), Ok(Utc::<3>(t)));
        prop_assert_eq!(text(s).cmp(&text(t)), s.cmp(&t));
    }

    #[test]
    fn typed_keys_come_back_and_sort_as_the_structs_do(a in reading(), b in reading(), same in any::<bool>()) {
        let b = if same { ReadingKey { sensor: a.sensor.clone(), ..b } } else { b };
        prop_assert_eq!(ReadingKey::parse(&a.build().unwrap()).unwrap(), a.clone());
        prop_assert_eq!(a.build().unwrap().cmp(&b.build().unwrap()), a.cmp(&b));
    }
}
