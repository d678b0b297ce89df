//! Versions of a topic, whose byte order is number order.

use super::KeyError;

/// The number of a revision, 1 to 999,999. It is written so that byte order is number order: `v001` to `v999`, then
/// with a letter that counts the extra digits, `va1000`, `vb10000`, `vc100000` (seed: sort-keys-version-control).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    /// The highest version.
    pub const MAX: u32 = 999_999;

    /// Makes a version of a number. Fails outside 1 to [`Version::MAX`].
    pub fn new(version: u64) -> Result<Self, KeyError> {
        match u32::try_from(version) {
            Ok(number @ 1..=Self::MAX) => Ok(Self(number)),
            _ => Err(KeyError::Version { version }),
        }
    }

    /// Returns the number.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns the version as a sort key begins with it, for example `v003` or `va1000`.
    pub(super) fn prefix(self) -> String {
        match self.0 {
            n @ 0..=999 => format!("v{n:03}"),
            n @ 1_000..=9_999 => format!("va{n}"),
            n @ 10_000..=99_999 => format!("vb{n}"),
            n => format!("vc{n}"),
        }
    }

    /// Returns the version that is written as `text`, or `None` if it would be written otherwise.
    pub(super) fn parse_prefix(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('v')?.trim_start_matches(['a', 'b', 'c']);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let version = Self::new(digits.parse().ok()?).ok()?;
        (version.prefix() == text).then_some(version)
    }
}
