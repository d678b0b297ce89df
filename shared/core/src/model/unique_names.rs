//! Which names count as one.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::folding::folded;
use crate::keys::{NAME_BYTES_MAX, SEGMENT_BYTES_MAX};
use crate::words::words;

words! {
    /// Whether siblings have names of their own, and which names count as one.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum UniqueNames {
        /// Siblings may have the same name.
        Off = "off" #[default],
        /// Names are compared byte by byte.
        Exact = "exact",
        /// Case doesn't count, nor do Unicode's forms: canonical caseless matching, by Unicode's default case folding.
        Caseless = "caseless",
    }
}

impl UniqueNames {
    /// True if siblings have names of their own.
    #[must_use]
    pub fn is_on(self) -> bool {
        self != Self::Off
    }

    /// The name as names are compared, with at most [`NAME_BYTES_MAX`] bytes. Folding can make a name longer.
    /// A name that is too long for a key is cut, and a hash of the whole is appended.
    #[must_use]
    pub fn compared(self, name: &str) -> String {
        let compared = match self {
            Self::Off | Self::Exact => Cow::Borrowed(name),
            Self::Caseless => Cow::Owned(folded(name)),
        };
        if compared.len() <= NAME_BYTES_MAX {
            return compared.into_owned();
        }
        let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(compared.as_bytes()));
        let cut = compared.floor_char_boundary(NAME_BYTES_MAX - hash.len() - 1);
        format!("{}#{hash}", &compared[..cut])
    }
}

/// The `n`th name to try where a sibling has this one, such as `name (2)`. It is cut to what fits a segment.
#[must_use]
pub fn numbered(name: &str, n: u64) -> String {
    ending(name, &format!(" ({n})"))
}

/// A name with this behind it, cut where a segment has no room for both.
#[must_use]
pub fn ending(name: &str, end: &str) -> String {
    format!("{}{end}", &name[..name.floor_char_boundary(SEGMENT_BYTES_MAX - end.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_form_are_taken_away_by_unicodes_own_data() {
        let caseless = |name: &str| UniqueNames::Caseless.compared(name);
        let same = [
            ("Docs", "dOCS"),
            ("Stra\u{df}e", "STRASSE"),
            ("\u{e9}", "E\u{301}"),
            ("\u{1e9b}\u{323}", "\u{17f}\u{323}\u{307}"),
            ("\u{3a3}", "\u{3c2}"),
            ("\u{212a}", "k"),
            ("\u{345}\u{301}", "\u{301}\u{345}"),
        ];
        for (one, other) in same {
            assert_eq!(caseless(one), caseless(other), "{one} {other}");
            assert_ne!(UniqueNames::Exact.compared(one), UniqueNames::Exact.compared(other));
            // What is compared is what it is compared with.
            assert_eq!(caseless(&caseless(one)), caseless(one));
        }
        for (one, other) in [("i", "\u{131}"), ("a", "\u{e4}"), ("\u{fb01}le", "f1le"), ("a b", "a\u{a0}b")] {
            assert_ne!(caseless(one), caseless(other), "{one} {other}");
        }
    }

    #[test]
    fn a_number_has_room_in_the_longest_segment() {
        assert_eq!(numbered("name", 2), "name (2)");
        let longest = numbered(&"\u{e9}".repeat(SEGMENT_BYTES_MAX), u64::MAX);
        assert!((SEGMENT_BYTES_MAX - 1..=SEGMENT_BYTES_MAX).contains(&longest.len()));
        assert!(longest.ends_with(&format!("\u{e9} ({})", u64::MAX)));
    }

    #[test]
    fn what_has_no_room_in_a_key_is_cut_and_stays_apart() {
        let long = |last: char| format!("{}{last}", "\u{149}".repeat(506));
        let (one, other) = (UniqueNames::Caseless.compared(&long('a')), UniqueNames::Caseless.compared(&long('b')));
        assert_ne!(one, other);
        assert_eq!(one, UniqueNames::Caseless.compared(&long('A')));
        assert!(one.len() <= NAME_BYTES_MAX && one.len() > NAME_BYTES_MAX - 5, "{}", one.len());
        let longest = "x".repeat(1_014);
        assert_eq!(UniqueNames::Exact.compared(&longest), longest);
    }
}
