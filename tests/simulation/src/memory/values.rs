//! Attributes as DynamoDB stores them: numbers have one spelling, sets have no order, and some values are refused.

use std::collections::HashMap;

use sapwood_core::model::{Item, sort_sets};
use sapwood_store::Condition;
use serde_dynamo::AttributeValue;

/// Most lists and maps inside one another.
const NESTED_MAX: usize = 31;

/// Most significant digits of a number.
const DIGITS_MAX: usize = 38;

/// Returns an item as reads return it, or why it is refused.
pub(super) fn stored(item: &Item) -> Result<Item, &'static str> {
    let stored = |(name, value): (&String, &AttributeValue)| match name.as_str() {
        "" => Err("empty attribute name"),
        _ => Ok((name.clone(), stored_value(value, NESTED_MAX)?)),
    };
    item.iter().map(stored).collect()
}

/// Returns a condition with its values as they would be stored.
pub(super) fn condition(wanted: &Condition) -> Result<Condition, &'static str> {
    let stored = |value: &AttributeValue| stored_value(value, NESTED_MAX);
    Ok(match wanted {
        Condition::Is { name, value: Some(value) } => Condition::is(name, Some(stored(value)?)),
        Condition::AbsentOr { name, value } => Condition::AbsentOr { name: name.clone(), value: stored(value)? },
        Condition::LessThan { name, value } => Condition::LessThan { name: name.clone(), value: stored(value)? },
        Condition::AtMost { name, value } => Condition::AtMost { name: name.clone(), value: stored(value)? },
        Condition::All(conditions) => Condition::All(conditions.iter().map(self::condition).collect::<Result<_, _>>()?),
        condition => condition.clone(),
    })
}

fn stored_value(value: &AttributeValue, levels: usize) -> Result<AttributeValue, &'static str> {
    let below = levels.checked_sub(1).ok_or("nested too deep");
    let mut stored = match value {
        AttributeValue::N(digits) => AttributeValue::N(number(digits)?),
        AttributeValue::Ns(set) => {
            AttributeValue::Ns(set.iter().map(|digits| number(digits)).collect::<Result<_, _>>()?)
        }
        AttributeValue::Null(false) => return Err("NULL must be true"),
        AttributeValue::L(list) => {
            let below = below?;
            AttributeValue::L(list.iter().map(|value| stored_value(value, below)).collect::<Result<_, _>>()?)
        }
        AttributeValue::M(map) if map.contains_key("") => return Err("empty attribute name"),
        AttributeValue::M(map) => {
            let below = below?;
            let stored = |(name, value): (&String, _)| Ok((name.clone(), stored_value(value, below)?));
            AttributeValue::M(map.iter().map(stored).collect::<Result<HashMap<_, _>, &str>>()?)
        }
        value => value.clone(),
    };
    sort_sets(&mut stored);
    let is_set = match &stored {
        AttributeValue::Ss(set) | AttributeValue::Ns(set) => is_set(set),
        AttributeValue::Bs(set) => is_set(set),
        _ => true,
    };
    if is_set { Ok(stored) } else { Err("a set that is empty or has a value twice") }
}

fn is_set<T: PartialEq>(sorted: &[T]) -> bool {
    !sorted.is_empty() && sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// Returns a number in the spelling in which DynamoDB returns it: plain digits.
fn number(text: &str) -> Result<String, &'static str> {
    const NO_NUMBER: &str = "no number";
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| NO_NUMBER)?),
        None => (text, 0),
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NO_NUMBER);
    }
    // The value is 0.DIGITS times ten to the power of `point`.
    let trimmed = digits.trim_start_matches('0');
    let shift = |count: usize| i32::try_from(count).map_err(|_| NO_NUMBER);
    let point = exponent.saturating_add(shift(whole.len())?).saturating_sub(shift(digits.len() - trimmed.len())?);
    let trimmed = trimmed.trim_end_matches('0');
    if trimmed.is_empty() {
        return Ok("0".to_owned());
    }
    if trimmed.len() > DIGITS_MAX || !(-129..=126).contains(&point) {
        return Err("a number of more digits or larger than DynamoDB has them");
    }
    Ok(match usize::try_from(point) {
        Ok(0) => format!("{sign}0.{trimmed}"),
        Ok(point) if point >= trimmed.len() => format!("{sign}{trimmed:0<point$}"),
        Ok(point) => format!("{sign}{}.{}", &trimmed[..point], &trimmed[point..]),
        Err(_) => format!("{sign}0.{}{trimmed}", "0".repeat(point.unsigned_abs() as usize)),
    })
}
