//! How parts become a key, and a key its parts.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::{Error, Place};
use crate::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};

/// How parts become a key: a separator, what becomes of it inside a part, and a limit.
///
/// [`Format::SORT_KEY`] and [`Format::PARTITION_KEY`] separate by `#` and refuse a part
/// with a `#` in it (the seed `composite-keys-pattern.txt`, "Separator conflicts"). The
/// other methods vary that:
///
/// ```
/// use sapwood_keys::Format;
///
/// const PIPES: Format = Format::SORT_KEY.separated_by("|");
/// assert_eq!(PIPES.build(&["A", "B", "C"])?, "A|B|C");
///
/// assert!(Format::SORT_KEY.build(&["RACK #7", "slot 2"]).is_err());
/// let escaped = Format::SORT_KEY.escaping().build(&["RACK #7", "slot 2"])?;
/// assert_eq!(escaped, "RACK%20%237#slot%202");
/// assert_eq!(Format::SORT_KEY.escaping().parse(&escaped)?, ["RACK #7", "slot 2"]);
/// # Ok::<(), sapwood_keys::Error>(())
/// ```
///
/// # Order
/// Keys are compared byte by byte, the lists of their parts part by part. The two agree
/// - **for any text**, if the format [keeps order](Format::keeps_order): it escapes, and
///   its separator begins with a character below `%` (such as `#`, `!`, `$`, a space).
///   Then everything up to `%` is escaped, and what is left sorts after the separator;
/// - with a format that refuses, among parts whose bytes are all greater than the
///   separator's first: with `#` letters, digits, `-_.:/|` are, but a space, `!` and `"`
///   are not (`A B#x` sorts before `A#x`);
/// - with any separator, among keys of as many parts, if those are
///   [`Padded`](super::Padded), [`Utc`](super::Utc) or dates, whose width is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format<'s> {
    separator: &'s str,
    escapes: bool,
    bytes_max: usize,
}

impl Format<'static> {
    /// Partition keys: `#`, refused inside a part, at most [`PARTITION_KEY_BYTES_MAX`].
    pub const PARTITION_KEY: Self = Self { separator: "#", escapes: false, bytes_max: PARTITION_KEY_BYTES_MAX };

    /// Sort keys: `#`, refused inside a part, at most [`SORT_KEY_BYTES_MAX`].
    pub const SORT_KEY: Self = Self { bytes_max: SORT_KEY_BYTES_MAX, ..Self::PARTITION_KEY };
}

impl<'s> Format<'s> {
    /// The same with another separator: one character or several, but not none; whoever
    /// uses a format without one gets an [`Error::Format`].
    pub const fn separated_by<'t>(self, separator: &'t str) -> Format<'t> {
        Format { separator, escapes: self.escapes, bytes_max: self.bytes_max }
    }

    /// The same, but any text can be a part: what can't stand in a part is written `%XX`,
    /// byte by byte.
    ///
    /// That is `%` itself and, to [keep order](Format#order), every character below it;
    /// where the separator is not below `%`, the separator's first character instead.
    /// A separator that begins with `%`, `0`–`9` or `A`–`F` is an [`Error::Format`].
    pub const fn escaping(self) -> Self {
        Self { escapes: true, ..self }
    }

    /// The same with another limit, in bytes: for a key that becomes a part of a longer one.
    pub const fn limited_to(self, bytes_max: usize) -> Self {
        Self { bytes_max, ..self }
    }

    /// Whether keys sort as the lists of their parts do, [whatever the text](Format#order).
    pub fn keeps_order(&self) -> bool {
        self.escapes && self.separator.chars().next().is_some_and(|c| c < '%')
    }

    /// The key of these parts.
    ///
    /// # Errors
    /// [`Error::Separator`] for a part that would be split (unless the format escapes),
    /// [`Error::TooLong`] over the limit, [`Error::Empty`] for a key of no bytes.
    ///
    /// ```
    /// use sapwood_keys::{Error, Format};
    ///
    /// assert_eq!(Format::SORT_KEY.build(&["2024", "12", "SALES"])?, "2024#12#SALES");
    /// let long = Format::SORT_KEY.build(&["ORDER", &"9".repeat(2000)]);
    /// assert!(matches!(long, Err(Error::TooLong { bytes: 2006, bytes_max: 1024, .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn build<P: AsRef<str>>(&self, parts: &[P]) -> Result<String, Error> {
        self.join(parts, "")
    }

    /// The key of one entity: its kind and its id, as in `ORDER#98765`.
    ///
    /// # Errors
    /// As [`Format::build`].
    pub fn entity(&self, kind: &str, id: &str) -> Result<String, Error> {
        self.build(&[kind, id])
    }

    /// The parts of a key: the inverse of [`Format::build`].
    ///
    /// # Errors
    /// For a key that `build` doesn't make: as there, and [`Error::Value`] for a part that
    /// is not escaped as this format does it.
    pub fn parse<'k>(&self, key: &'k str) -> Result<Vec<Cow<'k, str>>, Error> {
        self.check()?;
        let parts = key
            .split(self.separator)
            .enumerate()
            .map(|(index, text)| self.unescape_part(text).map_err(|error| error.at(Place { index, field: None })))
            .collect::<Result<Vec<_>, _>>()?;
        self.build(&parts)?;
        Ok(parts)
    }

    /// The parts of a key that has `N` of them, to be taken apart by a pattern.
    ///
    /// # Errors
    /// As [`Format::parse`], and [`Error::Count`] for any other number of parts.
    ///
    /// ```
    /// use sapwood_keys::Format;
    ///
    /// let [_, user, _, order] = Format::SORT_KEY.parse_exactly("USER#123#ORDER#456")?;
    /// assert_eq!((&*user, &*order), ("123", "456"));
    /// # Ok::<(), sapwood_keys::Error>(())
    /// ```
    pub fn parse_exactly<'k, const N: usize>(&self, key: &'k str) -> Result<[Cow<'k, str>; N], Error> {
        self.parse(key)?.try_into().map_err(|parts: Vec<_>| Error::Count { found: parts.len(), expected: N })
    }

    /// The prefix of all keys that begin with these parts and have more: for
    /// `begins_with`. It ends with the separator.
    ///
    /// # Errors
    /// As [`Format::build`]; without any part [`Error::Empty`] (a Query without a
    /// condition on the sort key does that).
    ///
    /// ```
    /// use sapwood_keys::Format;
    ///
    /// assert_eq!(Format::SORT_KEY.prefix(&["NE", "OMAHA"])?, "NE#OMAHA#");
    /// # Ok::<(), sapwood_keys::Error>(())
    /// ```
    pub fn prefix<P: AsRef<str>>(&self, parts: &[P]) -> Result<String, Error> {
        self.join(parts, self.separator)
    }

    /// The prefix of all keys that begin with these parts, of which the last may go on:
    /// for `begins_with` within a part, such as the month of a time.
    ///
    /// # Errors
    /// As [`Format::prefix`].
    ///
    /// ```
    /// use sapwood_keys::Format;
    ///
    /// let december = Format::SORT_KEY.prefix_within(&["ORDER", "2024-12"])?;
    /// assert!("ORDER#2024-12-01#456".starts_with(&december));
    /// # Ok::<(), sapwood_keys::Error>(())
    /// ```
    pub fn prefix_within<P: AsRef<str>>(&self, parts: &[P]) -> Result<String, Error> {
        self.join(parts, "")
    }

    /// The bounds of all keys that begin with `parents` and then have a part from `from`
    /// to `to`, both included, with whatever is below them: for `BETWEEN`.
    ///
    /// With the same part twice that is one key and all below it, without the siblings
    /// that merely begin alike.
    ///
    /// # Errors
    /// As [`Format::build`]; [`Error::Format`] unless the format
    /// [keeps order](Format::keeps_order), since other keys would lie between;
    /// [`Error::Value`] if `from` sorts after `to`. The upper bound has one byte more
    /// than the key of `to`.
    ///
    /// ```
    /// use sapwood_keys::Format;
    ///
    /// let zips = Format::SORT_KEY.escaping().between(&["NE", "OMAHA"], "68100", "68199")?;
    /// assert_eq!(zips, "NE#OMAHA#68100".to_owned()..="NE#OMAHA#68199$".to_owned());
    /// # Ok::<(), sapwood_keys::Error>(())
    /// ```
    pub fn between<P: AsRef<str>>(&self, parents: &[P], from: &str, to: &str) -> Result<RangeInclusive<String>, Error> {
        let first = self.separator.bytes().next().filter(|_| self.keeps_order());
        let Some(first) = first else {
            return Err(self.won_t_do("ranges need a format that escapes, and one below `%`"));
        };
        if from > to {
            let place = Place { index: parents.len(), field: None };
            return Err(Error::value(from, format!("at most {to:?}, the upper bound")).at(place));
        }
        let parents = parents.iter().map(AsRef::as_ref);
        // Below the separator's successor is all that continues with the separator, and
        // nothing else: other characters down there are escaped.
        let successor = char::from(first + 1).to_string();
        let from = self.join(parents.clone().chain([from]), "")?;
        let to = self.join(parents.chain([to]), &successor)?;
        Ok(from..=to)
    }

    /// A part as it stands in a key, between separators.
    pub fn escape_part<'p>(&self, part: &'p str) -> Cow<'p, str> {
        if !part.contains(|c| self.is_escaped(c)) {
            return Cow::Borrowed(part);
        }
        let mut text = String::with_capacity(part.len() + 8);
        for c in part.chars() {
            if self.is_escaped(c) {
                let mut bytes = [0; 4];
                text.extend(c.encode_utf8(&mut bytes).bytes().map(|b| format!("%{b:02X}")));
            } else {
                text.push(c);
            }
        }
        Cow::Owned(text)
    }

    /// The part that stands in a key as `text`: the inverse of [`Format::escape_part`].
    ///
    /// # Errors
    /// [`Error::Value`] for a text that this format doesn't write.
    pub fn unescape_part<'k>(&self, text: &'k str) -> Result<Cow<'k, str>, Error> {
        let part = if self.escapes && text.contains('%') {
            percent_decode(text).map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(text))
        };
        part.filter(|part| self.escape_part(part) == text)
            .ok_or_else(|| Error::value(text, "escaped as this format does it"))
    }

    fn is_escaped(&self, c: char) -> bool {
        let by_separator = || match self.keeps_order() {
            true => c < '%',
            false => self.separator.starts_with(c),
        };
        self.escapes && (c == '%' || by_separator())
    }

    /// The parts with separators between them, and `end` after the last.
    fn join<P: AsRef<str>>(&self, parts: impl IntoIterator<Item = P>, end: &str) -> Result<String, Error> {
        self.check()?;
        let mut key = String::new();
        let (mut longest, mut longest_bytes) = (Place::default(), 0);
        for (index, part) in parts.into_iter().enumerate() {
            let part = self.escape_part(part.as_ref());
            let place = Place { index, field: None };
            let start = key.len();
            key += &part;
            key += self.separator;
            if key[start..].find(self.separator) != Some(part.len()) {
                return Err(Error::Separator { part: place, separator: self.separator.to_owned() });
            }
            if part.len() > longest_bytes {
                (longest, longest_bytes) = (place, part.len());
            }
        }
        let Some(joined) = key.strip_suffix(self.separator) else {
            return Err(Error::Empty);
        };
        let key = format!("{joined}{end}");
        match key.len() {
            0 => Err(Error::Empty),
            bytes if bytes > self.bytes_max => {
                Err(Error::TooLong { bytes, bytes_max: self.bytes_max, longest, longest_bytes })
            }
            _ => Ok(key),
        }
    }

    fn check(&self) -> Result<(), Error> {
        match self.separator.chars().next() {
            None => Err(self.won_t_do("it is empty")),
            Some('%' | '0'..='9' | 'A'..='F') if self.escapes => {
                Err(self.won_t_do("escapes begin with `%` and have `0`-`9` and `A`-`F` in them"))
            }
            Some(_) => Ok(()),
        }
    }

    fn won_t_do(&self, why: &'static str) -> Error {
        Error::Format { separator: self.separator.to_owned(), why }
    }
}

/// `%XX` as bytes; the caller checks that this was the one way to write it.
fn percent_decode(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (hex, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(hex, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}
