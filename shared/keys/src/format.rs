//! Formats: how parts are joined to a key, and a key is split into its parts.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::{Error, Place};
use crate::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};

/// How parts are joined to a key: a separator, what happens to a separator inside a part, and a limit in bytes.
///
/// [`Format::SORT_KEY`] and [`Format::PARTITION_KEY`] separate by `#` and refuse a part that contains `#`. Other
/// formats are made from these two:
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
/// DynamoDB compares keys byte by byte. That is the order of the lists of their parts
/// - **for any text**, if the format [keeps order](Format::keeps_order): it escapes, and its separator begins with a
///   character below `%` (such as `#`, `!`, `$` or a space). Then everything up to `%` is escaped, and all other
///   characters sort after the separator;
/// - with a format that refuses separators, if all bytes of the parts are greater than the separator's first byte. With
///   `#`, letters, digits and `-_.:/|` are; a space, `!` and `"` are not (`A B#x` sorts before `A#x`);
/// - with any separator, among keys of equally many parts that are [`Padded`](super::Padded), [`Utc`](super::Utc) or
///   dates, whose width is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format<'s> {
    separator: &'s str,
    escapes: bool,
    bytes_max: usize,
}

impl Format<'static> {
    /// The format of partition keys: separated by `#`, which parts can't contain, and at most
    /// [`PARTITION_KEY_BYTES_MAX`].
    pub const PARTITION_KEY: Self = Self { separator: "#", escapes: false, bytes_max: PARTITION_KEY_BYTES_MAX };

    /// The format of sort keys: separated by `#`, which parts can't contain, and at most [`SORT_KEY_BYTES_MAX`].
    pub const SORT_KEY: Self = Self { bytes_max: SORT_KEY_BYTES_MAX, ..Self::PARTITION_KEY };
}

impl<'s> Format<'s> {
    /// Returns this format with another separator, of one or several characters. A format with an empty separator
    /// returns [`Error::Format`] from every method.
    pub const fn separated_by<'t>(self, separator: &'t str) -> Format<'t> {
        Format { separator, escapes: self.escapes, bytes_max: self.bytes_max }
    }

    /// Returns this format with escapes, so that any text can be a part. Some characters are written as `%XX`, byte by
    /// byte: `%` itself and, to [keep order](Format#order), every character below it. Where the separator isn't below
    /// `%`, the separator's first character is escaped instead.
    ///
    /// With a separator that begins with `%`, `0`–`9` or `A`–`F`, every method returns [`Error::Format`].
    pub const fn escaping(self) -> Self {
        Self { escapes: true, ..self }
    }

    /// Returns this format with another limit in bytes, for keys that become a part of a longer one.
    pub const fn limited_to(self, bytes_max: usize) -> Self {
        Self { bytes_max, ..self }
    }

    /// Returns true if keys sort as the lists of their parts do, for [any text](Format#order).
    pub fn keeps_order(&self) -> bool {
        self.escapes && self.separator.chars().next().is_some_and(|c| c < '%')
    }

    /// Builds the key of these parts.
    ///
    /// # Errors
    /// [`Error::Separator`] for a part that would be split (unless the format escapes), [`Error::TooLong`] for a key
    /// over the limit, [`Error::Empty`] for a key of no bytes, and [`Error::Format`] for a separator that can't be
    /// used.
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

    /// Builds the key of one entity from its kind and its id, as in `ORDER#98765`.
    ///
    /// # Errors
    /// As [`Format::build`].
    pub fn entity(&self, kind: &str, id: &str) -> Result<String, Error> {
        self.build(&[kind, id])
    }

    /// Splits a key into its parts: the inverse of [`Format::build`].
    ///
    /// # Errors
    /// The errors of [`Format::build`] for a key that it can't make, and [`Error::Value`] for a part that isn't escaped
    /// as this format escapes it.
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

    /// Splits a key into exactly `N` parts, for a pattern to take apart.
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

    /// Builds the prefix of all keys that begin with these parts and have more, for `begins_with`. It ends with the
    /// separator.
    ///
    /// # Errors
    /// As [`Format::build`]. Without any part it is [`Error::Empty`]: leave out the condition on the sort key instead.
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

    /// Builds the prefix of all keys that begin with these parts, the last of which may continue: for `begins_with`
    /// within a part, such as the month of a time.
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

    /// Builds the bounds, for `BETWEEN`, of all keys that begin with `parents` and go on with a part from `from` to
    /// `to`, both included, and of all keys below those.
    ///
    /// With `from` equal to `to` the range is one key and all keys below it, without siblings that only begin alike.
    /// The upper bound is one byte longer than the key of `to`.
    ///
    /// # Errors
    /// As [`Format::build`]; [`Error::Format`] unless the format [keeps order](Format::keeps_order), since other keys
    /// would lie between; [`Error::Value`] if `from` sorts after `to`.
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
            return Err(self.unusable("ranges need a format that escapes, with a separator below `%`"));
        };
        if from > to {
            let place = Place { index: parents.len(), field: None };
            return Err(Error::value(from, format!("at most {to:?}, the upper bound")).at(place));
        }
        let parents = parents.iter().map(AsRef::as_ref);
        // Every key that continues with the separator sorts below the separator's successor, and no other key does: the
        // other characters below it are escaped.
        let successor = char::from(first + 1).to_string();
        let from = self.join(parents.clone().chain([from]), "")?;
        let to = self.join(parents.chain([to]), &successor)?;
        Ok(from..=to)
    }

    /// Returns a part as it is written between separators.
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

    /// Returns the part that is written as `text`: the inverse of [`Format::escape_part`].
    ///
    /// # Errors
    /// [`Error::Value`] for a text that [`Format::escape_part`] never returns.
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

    /// Joins the parts with separators between them, and `end` after the last.
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
            None => Err(self.unusable("it is empty")),
            Some('%' | '0'..='9' | 'A'..='F') if self.escapes => {
                Err(self.unusable("escapes begin with `%` and have `0`-`9` and `A`-`F` in them"))
            }
            Some(_) => Ok(()),
        }
    }

    fn unusable(&self, why: &'static str) -> Error {
        Error::Format { separator: self.separator.to_owned(), why }
    }
}

/// Replaces each `%XX` with its byte. The caller checks that the text was written in the one right way.
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
