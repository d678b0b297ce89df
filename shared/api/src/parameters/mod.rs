//! The parameters of a query string. A request may give only parameters that its call knows, each once and with a value
//! of its type. Only a parameter that takes several values may come again.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::request::Parts;

use crate::problem::{Kind, Problem};

/// The parameters of a request that haven't been read yet. A call reads each by its name and type; [`Parameters::end`]
/// refuses the others.
///
/// ```
/// use sapwood_api::parameters::Parameters;
/// let mut parameters = Parameters::read("limit=10&id_prefix=ORDER%23")?;
/// assert_eq!(parameters.number("limit", 1..=1_000)?, Some(10));
/// assert_eq!(parameters.text("id_prefix"), Some("ORDER#".to_owned()));
/// parameters.end()?;
/// # Ok::<(), sapwood_api::problem::Problem>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    left: BTreeMap<String, Vec<String>>,
    asked: Vec<&'static str>,
    /// A parameter that came again and takes one value.
    twice: Option<&'static str>,
    /// The query string as it arrived.
    query: String,
}

impl Parameters {
    /// Reads a query string as it arrived.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] for bad percent-encoding, and for bytes that aren't UTF-8.
    pub fn read(query: &str) -> Result<Self, Problem> {
        let mut left: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name).ok_or_else(|| bad("", "the name of a parameter is badly percent-encoded"))?;
            let value = decode(value).ok_or_else(|| bad(&name, "it is badly percent-encoded; write a `%` as `%25`"))?;
            left.entry(name).or_default().push(value);
        }
        Ok(Self { left, query: query.to_owned(), ..Self::default() })
    }

    /// Reads a text; `None` if the parameter is absent.
    pub fn text(&mut self, name: &'static str) -> Option<String> {
        let mut values = self.texts(name).into_iter();
        let first = values.next();
        self.twice = self.twice.or(values.next().map(|_| name));
        first
    }

    /// Reads the texts of a parameter that may come several times (`ids=a&ids=b`), in their order.
    pub fn texts(&mut self, name: &'static str) -> Vec<String> {
        self.asked.push(name);
        self.left.remove(name).unwrap_or_default()
    }

    /// Returns what asks for the page after this one: the same query string, with another cursor.
    #[must_use]
    pub fn next_page(&self) -> NextPage {
        NextPage(self.query.clone())
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

    /// Refuses parameters that the call hasn't read, and repeated ones that take one value.
    ///
    /// # Errors
    /// [`Kind::BadParameter`] for the first such parameter.
    pub fn end(self) -> Result<(), Problem> {
        if let Some(name) = self.twice {
            return Err(bad(name, "it is given more than once"));
        }
        let Some(unknown) = self.left.into_keys().next() else { return Ok(()) };
        let known: Vec<String> = self.asked.iter().map(|name| format!("`{name}`")).collect();
        let detail = match (nearest(&unknown, &self.asked), known.is_empty()) {
            (_, true) => format!("this call takes no parameters, so no `{unknown}`"),
            (None, _) => format!("this call has no parameter `{unknown}`; it takes {}", known.join(", ")),
            (Some(meant), _) => {
                format!("this call has no parameter `{unknown}`; did you mean `{meant}`? It takes {}", known.join(", "))
            }
        };
        Err(bad(&unknown, &detail))
    }
}

/// The known name that is written most like another, if at most a third of its letters differ.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known.iter().map(|known| (strsim::levenshtein(name, known), *known));
    near.filter(|(distance, known)| 3 * distance <= known.len().max(3)).min().map(|(_, known)| known)
}

const CURSOR: &str = "cursor";

/// The longest header `Link`, in bytes. All headers have at most 10,240 ([AWS: quotas of HTTP APIs][aws]).
///
/// [aws]: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
const LINK_BYTES_MAX: usize = 4_096;

/// The query string of a list, as it arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextPage(String);

impl NextPage {
    /// The value of `Link` ([RFC 8288]), relative (`?…`) for any base path; `None` if no header can hold it.
    ///
    /// [RFC 8288]: https://www.rfc-editor.org/rfc/rfc8288
    #[must_use]
    pub fn link(&self, cursor: &str) -> Option<HeaderValue> {
        let is_cursor = |pair: &&str| decode(pair.split('=').next().unwrap_or_default()).as_deref() == Some(CURSOR);
        let others = self.0.split('&').filter(|pair| !pair.is_empty() && !is_cursor(pair));
        let cursor = format!("{CURSOR}={cursor}");
        let target = others.chain([cursor.as_str()]).collect::<Vec<_>>().join("&");
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"<>\"".contains(&byte);
        let link = format!("<?{target}>; rel=\"next\"");
        let fits = target.bytes().all(is_plain) && link.len() <= LINK_BYTES_MAX;
        HeaderValue::try_from(link).ok().filter(|_| fits)
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
