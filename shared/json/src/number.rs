//! Numbers as DynamoDB keeps them: 38 significant digits, and powers of ten from -130 to 125.

use sapwood_core::model::PLAIN_NUMBER_BYTES_MAX;

/// The most significant digits ([AWS: data types][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
const DIGITS_MAX: usize = 38;

/// The powers of ten that `0.DIGITS` can be multiplied with: 1E-130 is `0.1` times 10 to the power of -129.
const POINTS: std::ops::RangeInclusive<i64> = -129..=126;

/// Why a number can't be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberError {
    /// The text isn't a number.
    NoNumber,
    /// The number has this many significant digits.
    Digits(usize),
    /// The number is too large, or too close to zero.
    Range,
}

/// A number other than zero: 0.SIGNIFICANT times ten to the power of `point`.
struct Parts<'a> {
    sign: &'a str,
    significant: String,
    point: i64,
}

/// Returns a number in the one spelling that DynamoDB gives back: plain digits, without an exponent.
pub(super) fn spelt(text: &str) -> Result<String, NumberError> {
    Ok(parts(text)?.map_or_else(|| "0".to_owned(), |parts| parts.plain()))
}

/// Returns a number as it is written in JSON: in plain digits, or with an exponent where these are long and that is
/// shorter. DynamoDB keeps 1E125 in two bytes, and plain digits take 126.
pub(super) fn written(text: &str) -> Result<String, NumberError> {
    let Some(parts) = parts(text)? else { return Ok("0".to_owned()) };
    let plain = parts.plain();
    if plain.len() <= PLAIN_NUMBER_BYTES_MAX {
        return Ok(plain);
    }
    let scientific = parts.scientific();
    Ok(if scientific.len() < plain.len() { scientific } else { plain })
}

/// Returns true if a JSON value that begins like this is a number.
pub(super) fn is_number(json: &str) -> bool {
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Returns true if a double that is read from this number is written as the same number again.
pub(super) fn is_kept_by_doubles(text: &str) -> bool {
    let Ok(double) = text.parse::<f64>() else { return false };
    let (wanted, kept) = (spelt(text), spelt(&double.to_string()));
    wanted.is_ok() && wanted == kept
}

impl Parts<'_> {
    fn plain(&self) -> String {
        let Self { sign, significant, point } = self;
        match usize::try_from(*point) {
            Ok(0) => format!("{sign}0.{significant}"),
            Ok(point) if point >= significant.len() => format!("{sign}{significant:0<point$}"),
            Ok(point) => format!("{sign}{}.{}", &significant[..point], &significant[point..]),
            Err(_) => format!("{sign}0.{}{significant}", "0".repeat(usize::try_from(-point).unwrap_or(0))),
        }
    }

    fn scientific(&self) -> String {
        let Self { sign, significant, point } = self;
        let (first, rest) = significant.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{sign}{first}{dot}{rest}e{}", point - 1)
    }
}

/// Takes a number apart. Returns `None` for zero.
fn parts(text: &str) -> Result<Option<Parts<'_>>, NumberError> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, power(exponent)?),
        None => (text, 0),
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::NoNumber);
    }
    let significant = digits.trim_start_matches('0');
    let zeros = digits.len() - significant.len();
    let significant = significant.trim_end_matches('0').to_owned();
    if significant.is_empty() {
        return Ok(None);
    }
    if significant.len() > DIGITS_MAX {
        return Err(NumberError::Digits(significant.len()));
    }
    // The lengths are those of a text in memory, so they fit.
    let signed = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    let point = exponent.saturating_add(signed(whole.len())).saturating_sub(signed(zeros));
    if !POINTS.contains(&point) {
        return Err(NumberError::Range);
    }
    Ok(Some(Parts { sign, significant, point }))
}

/// Reads an exponent. One that doesn't fit an integer is replaced by the largest.
fn power(text: &str) -> Result<i64, NumberError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::NoNumber);
    }
    let size: i64 = digits.parse().unwrap_or(i64::MAX);
    Ok(if negative { -size } else { size })
}
