//! Texts of which case doesn't count.

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use unicase::UniCase;

/// A text of which case and Unicode's form are taken away: canonical caseless matching ([Unicode, D145][unicode]), by
/// the default case folding, and composed again, which is shorter.
///
/// [unicode]: https://www.unicode.org/versions/latest/core-spec/chapter-3/#G34145
pub(super) fn folded(text: &str) -> String {
    let decomposed: String = DecomposingNormalizerBorrowed::new_nfd().normalize_iter(text.chars()).collect();
    let folded = UniCase::unicode(decomposed).to_folded_case();
    ComposingNormalizerBorrowed::new_nfc().normalize(&folded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_case_or_form_alone_are_one() {
        for [one, other] in [["Straße", "STRASSE"], ["e\u{301}tude", "\u{c9}TUDE"], ["ΣΊΣΥΦΟΣ", "σίσυφος"], ["a", "A"]]
        {
            assert_eq!(folded(one), folded(other));
        }
        assert_ne!(folded("e"), folded("é"), "an accent counts");
        assert_eq!(folded("ß é ς"), folded(&folded("ß é ς")));
    }
}
