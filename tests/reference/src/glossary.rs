//! The glossary, of the list beside this file.

use serde::Deserialize;

/// A word of the glossary.
#[derive(Deserialize)]
struct Word {
    word: String,
    meaning: String,
}

#[allow(clippy::expect_used, reason = "the list is part of this repository")]
pub(crate) fn page() -> String {
    let words: Vec<Word> = serde_yaml_ng::from_str(include_str!("../glossary.yaml")).expect("the list is YAML");
    let rows = words.into_iter().map(|Word { word, meaning }| format!("- **{word}**: {meaning}\n"));
    rows.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::Word;

    #[test]
    fn each_word_stands_once_in_the_order_of_the_alphabet() {
        let words: Vec<Word> = serde_yaml_ng::from_str(include_str!("../glossary.yaml")).unwrap();
        let names: Vec<String> = words.into_iter().map(|word| word.word.to_lowercase()).collect();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(names, sorted);
    }
}
