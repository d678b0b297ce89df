//! Texts for an order by hand: between any two there is room for another.
//!
//! A text is read as a fraction: its characters are digits, the first one is the most significant. [`between`] takes a
//! fraction at random, near the middle, so that two writes at one place at the same moment get different ones. [`last`]
//! and [`first`] carry the time: two of them within the lag of the rows don't see one another, and still come out in
//! the order of their times.
//!
//! ```text
//! .zzi2Z0gsSK1b61   first: the time, counted down; noise; the operation of its batch
//! Vt3               in the middle
//! ~00tW7Fq9Ys1b01   last: the time; noise; the operation of its batch
//! ```
//!
//! Other clients may write any text. No text of ours ends in `0`, the smallest digit, so there is always room before
//! it.

use std::cmp::Ordering;

use crate::write::request::Tiebreak;

/// The digits, in the order of their bytes. No key escapes them.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE: u64 = 62;

/// Sorts before all digits.
const FIRST: char = '.';
/// Sorts between [`FIRST`] and all digits.
const PAST_FIRST: &str = "/";
/// Sorts after all digits.
const LAST: char = '~';

/// The digits of a time in microseconds. They last for 429 years.
const CLOCK_DIGITS: u32 = 9;
/// The digits of noise, which keep writes of the same microsecond apart.
const NOISE_DIGITS: u32 = 2;
/// How many digits finer than its room a fraction is: two taken at the same time are hardly ever equal.
const FINER_DIGITS: usize = 3;

/// Returns a text that sorts after all existing ones: `above` is the greatest of them.
pub(in crate::write) fn last(above: Option<&str>, tiebreak: &Tiebreak) -> String {
    let part = u64::from(tiebreak.part);
    let tail = tail(LAST, tiebreak.micros, tiebreak.seed, part);
    let (mut key, mut rest) = (String::new(), above.unwrap_or_default());
    // Clocks differ a little. A time ahead of ours is a prefix, below which times go on.
    while *tail <= *rest {
        let end = head(rest, LAST);
        key += &rest[..end];
        rest = &rest[end..];
    }
    key + &tail
}

/// A text before all that there are: `below` is the least of them. `None` if nothing sorts before it.
pub(in crate::write) fn first(below: Option<&str>, tiebreak: &Tiebreak) -> Option<String> {
    let part = (BASE * (BASE - 1) - 1).saturating_sub(tiebreak.part.into());
    let tail = tail(FIRST, BASE.pow(CLOCK_DIGITS) - 1 - tiebreak.micros % BASE.pow(CLOCK_DIGITS), tiebreak.seed, part);
    let Some(mut rest) = below else { return Some(tail) };
    let mut key = String::new();
    while *tail >= *rest {
        if rest.is_empty() {
            return None;
        }
        let end = head(rest, FIRST);
        key += &rest[..end];
        rest = &rest[end..];
    }
    Some(key + &tail)
}

/// The text that everything placed last after this one sorts after, and this one before; `None` if any text might come
/// to be in between.
pub(in crate::write) fn ceiling(text: &str) -> Option<String> {
    let head = text.chars().next().filter(|head| *head >= LAST);
    let Some(head) = head else { return Some(LAST.to_string()) };
    let rest = &text[head.len_utf8()..];
    if let Some((time, below)) = below_time(text, LAST).filter(|(_, below)| below.starts_with(|next| next >= LAST)) {
        // A clock behind this time puts what comes last below it.
        return ceiling(below).map(|below| format!("{time}{below}"));
    }
    let next = (head == LAST).then(|| time_after(rest)).flatten().map(|time| of_number(time, CLOCK_DIGITS));
    // A text that is placed last after one without a later time begins with its first character.
    Some(format!("{head}{}", next.or_else(|| ceiling(rest))?))
}

/// The text that everything placed first before this one sorts before, and this one after; `None` if any text might
/// come to be in between.
pub(in crate::write) fn floor(text: &str) -> Option<String> {
    let head = text.chars().next()?;
    if head > FIRST {
        return (*text > *PAST_FIRST).then(|| PAST_FIRST.to_owned());
    }
    let rest = &text[head.len_utf8()..];
    if let Some((time, below)) = below_time(text, FIRST).filter(|(_, below)| below.starts_with(|next| next <= FIRST)) {
        // A clock ahead of this time puts what comes first below it.
        return floor(below).map(|below| format!("{time}{below}"));
    }
    let before = (head == FIRST).then(|| time_before(rest)).flatten().map(|time| of_number(time, CLOCK_DIGITS));
    Some(format!("{head}{}", before.or_else(|| floor(rest))?))
}

/// The least time whose digits sort after a text, with room between: a text begins with a time, or stands between two.
fn time_after(text: &str) -> Option<u64> {
    let (begun, missing, rest) = begun_time(text);
    let next = match rest.chars().next() {
        Some(next) if missing > 0 => begun * BASE + rank(next),
        // A text with the beginning of a time sorts before the digits that it lacks, and after the smallest of them.
        None if missing > 0 => return Some(begun * BASE.pow(missing) + 1),
        _ => return Some(begun + 1).filter(|time| *time < BASE.pow(CLOCK_DIGITS)),
    };
    Some(next * BASE.pow(missing - 1)).filter(|time| *time < BASE.pow(CLOCK_DIGITS))
}

/// The greatest time whose digits sort before a text, with room between.
fn time_before(text: &str) -> Option<u64> {
    let (begun, missing, rest) = begun_time(text);
    match rest.chars().next() {
        Some(_) if missing == 0 => Some(begun),
        Some(next) => (begun * BASE + rank(next)).checked_mul(BASE.pow(missing - 1))?.checked_sub(1),
        None => (begun * BASE.pow(missing)).checked_sub(1),
    }
}

/// A time of this end that a text begins with, and what follows it. `None` for any other text.
fn below_time(text: &str, end: char) -> Option<(&str, &str)> {
    let (_, missing, below) = begun_time(text.strip_prefix(end)?);
    (missing == 0).then(|| text.split_at(text.len() - below.len()))
}

/// The digits of a time that a text begins with, how many are missing, and what follows them.
fn begun_time(text: &str) -> (u64, u32, &str) {
    let digits = text.bytes().take(CLOCK_DIGITS as usize).take_while(|digit| DIGITS.contains(digit)).count();
    let missing = CLOCK_DIGITS - u32::try_from(digits).unwrap_or(CLOCK_DIGITS);
    (to_number(&text[..digits]).unwrap_or_default(), missing, &text[digits..])
}

/// How many digits sort before a character.
fn rank(character: char) -> u64 {
    DIGITS.partition_point(|digit| char::from(*digit) < character) as u64
}

/// A text between two others such that the next after the first, at a later time, is no longer; `None` if none fits.
pub(in crate::write) fn right_after(low: &str, high: &str, tiebreak: &Tiebreak) -> Option<String> {
    let mut at = 0;
    while at < high.len() {
        let text = format!("{}{}", &high[..at], first(Some(&high[at..]), tiebreak)?);
        if *text > *low {
            return Some(text);
        }
        at += head(&high[at..], FIRST);
    }
    None
}

/// A text between two others such that the next before the second, at a later time, is no longer; `None` if none fits.
pub(in crate::write) fn right_before(low: &str, high: &str, tiebreak: &Tiebreak) -> Option<String> {
    let mut at = 0;
    loop {
        let text = format!("{}{}", &low[..at], last(Some(&low[at..]), tiebreak));
        if *text < *high {
            return Some(text);
        }
        if at == low.len() {
            return None;
        }
        at += head(&low[at..], LAST);
    }
}

/// Returns `count` texts between two others, in their order. `None` if there is no room.
pub(in crate::write) fn spread(low: Option<&str>, high: Option<&str>, count: usize, seed: u64) -> Option<Vec<String>> {
    let mut texts = Vec::with_capacity(count);
    add_spread(low, high, count, seed, &mut texts)?;
    Some(texts)
}

fn add_spread(low: Option<&str>, high: Option<&str>, count: usize, seed: u64, texts: &mut Vec<String>) -> Option<()> {
    let Some(others) = count.checked_sub(1) else { return Some(()) };
    let middle = between(low, high, seed)?;
    add_spread(low, Some(&middle), others / 2, mixed(seed ^ 1), texts)?;
    texts.push(middle.clone());
    add_spread(Some(&middle), high, others - others / 2, mixed(seed ^ 2), texts)
}

/// A text between two others; without one of them there is no bound on that side. `None` if there is no room, because
/// another client has written texts with nothing between them, or the first isn't less than the second.
pub(in crate::write) fn between(low: Option<&str>, high: Option<&str>, seed: u64) -> Option<String> {
    let (mut low, mut high) = (low.unwrap_or_default(), high);
    let mut key = String::new();
    loop {
        let (least, greatest) = (low.chars().next(), high.map(|high| high.chars().next()));
        if greatest.is_some_and(|greatest| greatest.is_none() || least > greatest) {
            return None;
        }
        let is_common = least.is_some() && greatest == Some(least);
        if !is_common && let Some(digits) = digits_between(low, high, seed) {
            return Some(key + &digits);
        }
        let next = least.or(greatest.flatten())?;
        key.push(next);
        match (least, is_common) {
            // After a character that is less than the other bound's all is free.
            (Some(_), false) => (low, high) = (&low[next.len_utf8()..], None),
            (Some(_), true) => {
                (low, high) = (&low[next.len_utf8()..], high.map(|high| &high[next.len_utf8()..]));
            }
            (None, _) => high = high.map(|high| &high[next.len_utf8()..]),
        }
    }
}

/// Digits between two texts, if they alone can be.
fn digits_between(low: &str, high: Option<&str>, seed: u64) -> Option<String> {
    let longest = low.len().max(high.map_or(0, str::len)) + FINER_DIGITS + 1;
    let room = |width: usize| {
        let low = fraction(low, width);
        let high = high.map_or_else(|| one(width), |high| fraction(high, width));
        let difference = minus(&high, &low)?;
        let enough = difference[..=width - FINER_DIGITS].iter().any(|digit| *digit > 0);
        enough.then_some((low, difference))
    };
    let (low, difference) = (FINER_DIGITS..=longest).find_map(room)?;
    // From a quarter of the room to three quarters.
    let share = (1 << 30) + mixed(seed) % (1 << 31);
    let mut rest = 0;
    let shared = difference.iter().map(|digit| {
        let product = rest * BASE + digit * share;
        rest = product % (1 << 32);
        product >> 32
    });
    let mut sum: Vec<u64> = shared.zip(&low).map(|(digit, low)| digit + low).collect();
    carry(&mut sum);
    let digits: String = sum[1..].iter().map(|digit| char_of(*digit)).collect();
    Some(digits.trim_end_matches('0').to_owned())
}

/// The first digits of a text as a fraction: a place before the point, and `width` after it. A character that is no
/// digit counts as the next digit, and what follows it as nothing.
fn fraction(text: &str, width: usize) -> Vec<u64> {
    let mut digits = vec![0; width + 1];
    for (digit, character) in digits[1..].iter_mut().zip(text.chars()) {
        *digit = rank(character);
        if u8::try_from(character).is_ok_and(|character| DIGITS.contains(&character)) {
            continue;
        }
        break;
    }
    carry(&mut digits);
    digits
}

fn one(width: usize) -> Vec<u64> {
    let mut digits = vec![0; width + 1];
    digits[0] = 1;
    digits
}

/// The difference of two fractions; `None` if the first isn't greater.
fn minus(high: &[u64], low: &[u64]) -> Option<Vec<u64>> {
    if high.cmp(low) != Ordering::Greater {
        return None;
    }
    let mut borrowed = 0;
    let mut difference: Vec<u64> = high
        .iter()
        .zip(low)
        .rev()
        .map(|(high, low)| {
            let taken = low + borrowed;
            borrowed = u64::from(*high < taken);
            high + borrowed * BASE - taken
        })
        .collect();
    difference.reverse();
    Some(difference)
}

fn carry(digits: &mut [u64]) {
    let mut over = 0;
    for digit in digits[1..].iter_mut().rev() {
        *digit += over;
        over = *digit / BASE;
        *digit %= BASE;
    }
    digits[0] += over;
}

/// A head, a time, noise, and the part of a batch, whose last digit isn't the smallest.
fn tail(head: char, micros: u64, seed: u64, part: u64) -> String {
    let noise = of_number(mixed(seed), NOISE_DIGITS);
    let part = format!("{}{}", char_of(part / (BASE - 1) % BASE), char_of(part % (BASE - 1) + 1));
    format!("{head}{}{noise}{part}", of_number(micros, CLOCK_DIGITS))
}

/// The length of what a text begins with: a head with its time, or one character.
fn head(text: &str, head: char) -> usize {
    time(text, head).unwrap_or_else(|| text.chars().next().map_or(0, char::len_utf8))
}

/// The length of a head with its time, if a text begins with one.
fn time(text: &str, head: char) -> Option<usize> {
    let digits = text.strip_prefix(head)?.get(..CLOCK_DIGITS as usize)?;
    to_number(digits)?;
    Some(head.len_utf8() + digits.len())
}

fn to_number(digits: &str) -> Option<u64> {
    let value = |digit: u8| DIGITS.binary_search(&digit).ok().map(|value| value as u64);
    digits.bytes().try_fold(0, |number, digit| Some(number * BASE + value(digit)?))
}

/// The last digits of a number.
fn of_number(number: u64, digits: u32) -> String {
    (0..digits).rev().map(|position| char_of(number / BASE.pow(position) % BASE)).collect()
}

fn char_of(digit: u64) -> char {
    char::from(DIGITS[(digit % BASE) as usize])
}

/// Spreads the bits of a seed (SplitMix64).
fn mixed(seed: u64) -> u64 {
    let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ (seed >> 31)
}
