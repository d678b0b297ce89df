//! The parameters of a query string. A request may give only parameters that its call knows, each once and with a value of its
//! type.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::problem::{Kind, Problem};

/// The parameters of a request that haven't been read yet. A call reads each by its name and type; [`Parameters::end`] refuses
/// the others.
///
/// ```
/// use sapwood_http::parameters::Parameters;
/// let mut parameters = Parameters::read("limit=10&id_prefix=ORDER%23")?;
/// assert_eq!(parameters.number("limit", 1..=1_000)?, Some(10));
/// assert_eq!(parameters.text("id_prefix"), Some("ORDER#".to_owned()));
/// parameters.end()?;
/// # Ok::<(), sapwood_http::problem::Problem>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    left: BTreeMap<String, String>,
    asked: Vec<&'static str>,
}

impl Parameters {
    /// Reads a query string as it arrived.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] for bad percent-encoding, for bytes that aren't UTF-8, and for a name that is given twice.
    pub fn read(query: &str) -> Result<Self, Problem> {
        let mut left = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name).ok_or_else(|| bad("", "the name of a parameter is badly percent-encoded"))?;
            let value = decode(value).ok_or_else(|| bad(&name, "it is badly percent-encoded; write a `%` as `%25`"))?;
            if left.insert(name.clone(), value).is_some() {
                return Err(bad(&name, "it is given more than once"));
            }
        }
        Ok(Self { left, asked: Vec::new() })
    }

    /// Reads a text; `None` if the parameter is absent.
    pub fn text(&mut self, name: &'static str) -> Option<String> {
        self.asked.push(name);
        self.left.remove(name)
    }

    /// Reads a whole number, in digits; `None` if the parameter is absent.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] if the value isn't a number in the range.
    pub fn number(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        match text.parse().ok().filter(|number| digits && range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(bad(name, &format!("it takes a whole number from {} to {}", range.start(), range.end()))),
        }
    }

    /// Reads `true` or `false`; `None` if the parameter is absent.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] for another value.
    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Problem> {
        self.choice(name, &[("true", true), ("false", false)])
    }

    /// Reads one of several words; `None` if the parameter is absent.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] for another word.
    pub fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&str, T)]) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text) else {
            let words: Vec<String> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
            return Err(bad(name, &format!("it takes one of {}", words.join(", "))));
        };
        Ok(Some(*choice))
    }

    /// Reads names with commas between them; `None` if the parameter is absent.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] for an empty name.
    pub fn list(&mut self, name: &'static str) -> Result<Option<Vec<String>>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.split(',').any(str::is_empty) {
            true => Err(bad(name, "it takes names with commas between them")),
            false => Ok(Some(text.split(',').map(str::to_owned).collect())),
        }
    }

    /// Refuses the parameters that the call hasn't read, so that a misspelt parameter never changes an answer silently.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] for the first such parameter.
    pub fn end(self) -> Result<(), Problem> {
        let Some(unknown) = self.left.into_keys().next() else { return Ok(()) };
        let known: Vec<String> = self.asked.iter().map(|name| format!("`{name}`")).collect();
        Err(match known.is_empty() {
            true => bad(&unknown, "this call takes no parameters"),
            false => bad(&unknown, &format!("this call has no such parameter; it takes {}", known.join(", "))),
        })
    }
}

/// The longest name that a problem repeats, in characters.
const NAME_CHARS_MAX: usize = 100;

fn bad(name: &str, detail: &str) -> Problem {
    let name = name.chars().take(NAME_CHARS_MAX).collect::<String>();
    Problem::new(Kind::BadParameter, detail).at(name)
}

/// Decodes a form's value: `+` is a space, `%XX` is a byte.
fn decode(text: &str) -> Option<String> {
    let bytes = crate::path::percent_decode(&text.replace('+', " ")).ok()?;
    String::from_utf8(bytes).ok()
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Self::read(parts.uri.query().unwrap_or_default())
    }
}

/// The parameters of a call that takes none.
#[derive(Clone, Copy, Debug)]
pub struct NoParameters;

impl<S: Send + Sync> FromRequestParts<S> for NoParameters {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Parameters::from_request_parts(parts, state).await?.end().map(|()| Self)
    }
}
