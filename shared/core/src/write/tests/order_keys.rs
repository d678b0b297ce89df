//! The texts of an order by hand.

use proptest::prelude::*;

use crate::write::Tiebreak;
use crate::write::reorder::order_key::{between, ceiling, first, floor, last, right_after, right_before, spread};

/// Any text, often of few characters, so that texts begin alike.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[0Vz~. ]{0,5}", "[./0-9A-Za-z~]{0,12}", "\\PC{0,4}", "(.|\\n){0,3}"]
}

fn turn(micros: u64) -> Tiebreak {
    Tiebreak::new(micros, "a write")
}

/// Clocks differ, and other clients write any text: what comes last after a time that is ahead begins with that time.
#[test]
fn next_to_what_a_clock_that_is_ahead_put_last_or_first_there_is_room_for_the_end() {
    for text in ["~aA0A0AaA0~", "~aA0A0AaA0~00tW7Fq9Ys1b01", "~aA0A0AaA0~00tW7Fq9Y~"] {
        let after = between(Some(text), Some(&ceiling(text).unwrap()), 7).unwrap();
        assert!(*text < *after && after < last(Some(text), &turn(1 << 50)), "{text} {after}");
    }
    for text in [".aA0A0AaA0.zzi2Z0gsSK1b61", ".aA0A0AaA0.zzi2Z0gsS.V"] {
        let before = between(Some(&floor(text).unwrap()), Some(text), 7).unwrap();
        let first = first(Some(text), &turn(1 << 50)).unwrap();
        assert!(first < before && *before < *text, "{text} {first} {before}");
    }
}

proptest! {
    #[test]
    fn what_is_between_two_texts_sorts_between_them(a in any_text(), b in any_text(), seed: u64) {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        if let Some(middle) = between(Some(&low), Some(&high), seed) {
            prop_assert!(low < middle && middle < high, "{low:?} < {middle:?} < {high:?}");
            prop_assert!(!middle.ends_with('0'));
        } else {
            // Nothing that could be written is between them: the greater one is the other and the smallest characters.
            prop_assert!(high.strip_prefix(&*low).is_some_and(|rest| rest.chars().all(|c| c <= '0')));
        }
        let after = between(Some(&low), None, seed).unwrap();
        prop_assert!(low < after);
        prop_assert!(between(None, Some(&high), seed).is_none_or(|before| before < high));
    }

    #[test]
    fn there_is_always_room_between_texts_of_ours(steps in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 1..200)) {
        let mut texts: Vec<String> = Vec::new();
        for (at, seed) in steps {
            let at = at.index(texts.len() + 1);
            let low = at.checked_sub(1).map(|at| texts[at].as_str());
            let text = between(low, texts.get(at).map(String::as_str), seed).unwrap();
            texts.insert(at, text);
            prop_assert!(texts.is_sorted_by(|a, b| a < b));
        }
        let spread = spread(texts.first().map(String::as_str), texts.get(1).map(String::as_str), 20, 7).unwrap();
        let all: Vec<&String> = texts.first().into_iter().chain(&spread).chain(texts.get(1)).collect();
        prop_assert!(all.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn first_and_last_are_outside_of_all_others(text in any_text(), micros in 0_u64..1 << 52) {
        prop_assert!(last(Some(&text), &turn(micros)) > text);
        if let Some(before) = first(Some(&text), &turn(micros)) {
            prop_assert!(before < text && !before.ends_with('0'));
        }
        let after = format!("{text}b");
        for between in [right_after(&text, &after, &turn(micros)), right_before(&text, &after, &turn(micros))] {
            prop_assert!(between.is_none_or(|between| text < between && between < after));
        }
        // Whatever a text is like, what is put next to it in the direction of an end doesn't keep others from being put
        // there.
        if let Some(ceiling) = ceiling(&text) {
            prop_assert!(ceiling > text);
            let after = between(Some(&text), Some(&ceiling), micros);
            prop_assert!(after.is_none_or(|after| after < last(Some(&text), &turn(micros))));
        }
        if let Some(floor) = floor(&text) {
            prop_assert!(floor < text);
            let before = between(Some(&floor), Some(&text), micros);
            // Before a text that ends with a time, nothing may be put first, and its siblings make room.
            let first = first(Some(&text), &turn(micros));
            let is_time = text.rsplit_once('.').is_some_and(|(_, time)| time.len() == 9);
            prop_assert!(before.is_none_or(|before| first.map_or(is_time, |first| first < before)));
        }
    }

    /// The rows of the later ones don't show the earlier ones. `seen` is what all of them see: what other clients or
    /// the API have written.
    #[test]
    fn those_placed_last_are_in_the_order_of_their_times(
        seen in prop::option::of("[./0-9A-Za-z]{0,12}"),
        skewed in prop::option::of(0_u64..1 << 52),
        micros in prop::collection::btree_set(0_u64..1 << 52, 2..6),
    ) {
        let seen = match skewed {
            Some(ahead) => Some(last(seen.as_deref(), &turn(ahead))),
            None => seen,
        };
        let lasts: Vec<String> = micros.iter().map(|micros| last(seen.as_deref(), &turn(*micros))).collect();
        prop_assert!(lasts.is_sorted_by(|a, b| a < b), "{lasts:?} after {seen:?}");
        let above = skewed.map(|ahead| first(None, &turn(ahead)).unwrap());
        let firsts: Vec<String> = micros.iter().map(|micros| first(above.as_deref(), &turn(*micros)).unwrap()).collect();
        prop_assert!(firsts.is_sorted_by(|a, b| a > b), "{firsts:?} before {above:?}");
    }

    /// What is put after the last one that was seen comes before what was placed last meanwhile, unseen.
    #[test]
    fn the_ends_leave_room_for_what_isnt_seen(earlier in 1_u64..1 << 50, pause in 1_u64..1 << 50, seed: u64) {
        let (seen, unseen) = (last(None, &turn(earlier)), last(None, &turn(earlier + pause)));
        let after = between(Some(&seen), ceiling(&seen).as_deref(), seed).unwrap();
        prop_assert!(seen < after && after < unseen);
        let (seen, unseen) = (first(None, &turn(earlier)).unwrap(), first(None, &turn(earlier + pause)).unwrap());
        let before = between(floor(&seen).as_deref(), Some(&seen), seed).unwrap();
        prop_assert!(unseen < before && before < seen);
    }
}

#[test]
fn the_operations_of_a_batch_stay_together_and_in_order() {
    let (batch, other) = (Tiebreak::new(5_000_000, "batch"), Tiebreak::new(5_000_001, "other"));
    let part = |part| Tiebreak { part, ..batch };
    let lasts: Vec<String> = (0..100).map(|n| last(None, &part(n))).collect();
    assert!(lasts.is_sorted_by(|a, b| a < b) && last(None, &other) > lasts[99]);
    let firsts: Vec<String> = (0..100).map(|n| first(None, &part(n)).unwrap()).collect();
    assert!(firsts.is_sorted_by(|a, b| a > b) && first(None, &other).unwrap() < firsts[99]);
    // Nothing of the same microsecond comes between.
    let same = Tiebreak::new(5_000_000, "same microsecond");
    assert!(last(None, &same) < lasts[0] || last(None, &same) > lasts[99]);
}

#[test]
fn texts_that_are_taken_at_the_same_time_differ() {
    let taken: std::collections::BTreeSet<String> =
        (0..1_000).map(|n| between(Some("V"), Some("W"), Tiebreak::new(0, &n.to_string()).seed).unwrap()).collect();
    assert!(taken.len() > 950, "{}", taken.len());
}

/// 10,000 placements at random in one list, of which a third are first, last, or next to the same one again and again.
#[test]
fn texts_stay_short() {
    let mut random = 1_u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % limit
    };
    let mut texts = vec![last(None, &turn(1 << 50))];
    for n in 1..10_000_u64 {
        let (kind, at) = (below(9), below(texts.len() + 1));
        let (at, text) = match kind {
            0 => (texts.len(), last(texts.last().map(String::as_str), &turn((1 << 50) + n))),
            1 => (0, first(texts.first().map(String::as_str), &turn((1 << 50) + n)).unwrap()),
            _ => {
                let (low, high) = (at.checked_sub(1).map(|at| &*texts[at]), texts.get(at).map(String::as_str));
                let (floor, ceiling) = (high.and_then(floor), low.and_then(ceiling));
                (at, between(low.or(floor.as_deref()), high.or(ceiling.as_deref()), n).unwrap())
            }
        };
        texts.insert(at, text);
    }
    assert!(texts.is_sorted_by(|a, b| a < b));
    let bytes: usize = texts.iter().map(String::len).sum();
    let longest = texts.iter().map(String::len).max().unwrap();
    println!("{} bytes on average, {longest} at most", bytes / texts.len());
    assert!(bytes / texts.len() < 24 && longest <= 64, "{} bytes on average, {longest} at most", bytes / texts.len());
}
