//! Text of a table's owner, made safe to print.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns a text as a terminal may show it. What would steer the terminal, break the line, or show the text other than it is (controls, marks
/// of direction, characters without a width) becomes `\u{..}`.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_unsafe(character) {
            // Writing into a string can't fail.
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

fn is_unsafe(character: char) -> bool {
    // `char::is_control` is true for C0, DELETE and C1.
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_text_reaches_a_terminal_without_what_steers_it() {
        for (text, wanted) in [
            ("Größe ~ 7/ü 漢字 🌲", "Größe ~ 7/ü 漢字 🌲"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("line\nnext\r\t\0\u{7f}", "line\\u{a}next\\u{d}\\u{9}\\u{0}\\u{7f}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}exe.\u{2066}x\u{2069}", "\\u{202e}exe.\\u{2066}x\\u{2069}"),
            (
                "\u{200b}\u{200d}\u{200f}\u{2028}\u{2029}\u{61c}\u{feff}",
                "\\u{200b}\\u{200d}\\u{200f}\\u{2028}\\u{2029}\\u{61c}\\u{feff}",
            ),
        ] {
            assert_eq!(shown(text), wanted);
        }
    }
}
