//! Text of a table's owner, made safe to print.

use std::borrow::Cow;
use std::fmt::Write;

use anyhow::{Result, anyhow};
use serde::Serialize;

/// Returns a text for a terminal: controls, marks of direction and characters without a width become `\u{..}`.
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

/// Returns a text as a word of a shell that a terminal may show: `$'…'`, as Bash has it, where it has such characters.
pub(crate) fn word(text: &str) -> String {
    if !text.contains(is_unsafe) {
        return shlex::try_quote(text).map_or_else(|_| text.to_owned(), Into::into);
    }
    let mut word = String::from("$'");
    for character in text.chars() {
        let _ = match character {
            '\'' | '\\' => write!(word, "\\{character}"),
            other if is_unsafe(other) => write!(word, "\\U{:08X}", u32::from(other)),
            other => write!(word, "{other}"),
        };
    }
    word + "'"
}

/// Returns a value as a line of JSON, as a terminal may show it.
pub(crate) fn line(value: &impl Serialize) -> Result<String> {
    json(value).map(shown_json)
}

/// Returns a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| anyhow!("it can't be written as JSON: {error}"))
}

/// Returns JSON as a terminal may show it: the same value, with these characters as `\uXXXX`.
pub(crate) fn shown_json(json: String) -> String {
    if !json.contains(is_unsafe) {
        return json;
    }
    let mut shown = String::with_capacity(json.len() + 8);
    for character in json.chars() {
        if is_unsafe(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

/// True for what `shown` spells out.
pub(crate) fn is_unsafe(character: char) -> bool {
    // `char::is_control` is true for C0, DELETE and C1.
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods)]
mod tests {
    use super::{shown, shown_json, word};

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
    #[test]
    fn a_shell_reads_a_word_as_the_text() {
        for text in ["a", "v001_t'x y", "\u{1b}[2J\\'\u{202e}ü\n🌲", "\u{9b}41"] {
            let word = word(text);
            assert!(!word.contains(super::is_unsafe), "{word}");
            let mut bash = std::process::Command::new("bash");
            let read = bash.env("LC_ALL", "C.UTF-8").args(["-c", &format!("printf %s {word}")]).output().unwrap();
            assert_eq!(String::from_utf8(read.stdout).unwrap(), text, "{word}");
        }
    }

    #[test]
    fn json_reaches_a_terminal_as_the_same_value() {
        let value = serde_json::json!({"a\u{9b}\u{202e}": ["\u{1b}[2J\n", "Größe 🌲", "\u{7f}\u{feff}\\u0041\""]});
        let shown = shown_json(value.to_string());
        assert!(!shown.contains(super::is_unsafe), "{shown}");
        assert!(shown.contains("\\u009b\\u202e") && shown.contains("Größe 🌲"), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
