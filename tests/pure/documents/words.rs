//! The documents' language: the field's words, short sentences, and a budget of words.
//!
//! Blocks of code, code within a line, and generated parts don't count as language. The budget counts them.

use std::path::Path;

use super::{ROOT, documents};

/// Most words of all documents: of docs/ and of the pages beside it. Each bar of a table is a word.
const WORDS_MAX: usize = 60_000;

/// Most words of a page outside docs/reference.
const PAGE_WORDS_MAX: usize = 2_500;

/// Most words of a sentence.
const SENTENCE_WORDS_MAX: usize = 30;

/// Most words of a cell of a table.
const CELL_WORDS_MAX: usize = 40;

/// Words that the documents avoid, with what they write instead.
const AVOIDED: [(&str, &[&str]); 22] = [
    ("the actor: you, the client, the API, the handler", &["whoever", "whom", "who has", "nobody", "somebody"]),
    ("anyone, everyone", &["anybody", "everybody"]),
    ("continuously", &["for ever"]),
    ("again, or a verb with re-", &["anew"]),
    ("is created, becomes", &["comes to be", "come to be"]),
    ("your own", &["of one's own"]),
    ("is notified", &["hears of", "hear of", "is told", "are told"]),
    ("repair", &["mend", "mends", "mended", "mending", "heal", "heals", "healed"]),
    ("late-arriving child", &["straggler", "stragglers", "late child", "late children"]),
    ("confirmation window", &["settling time"]),
    ("propagation status", &["fan-out status"]),
    ("still changing", &["restless"]),
    ("propagate", &["handing down", "handed down", "hands down", "hand down", "cascade", "cascades"]),
    ("replace, instead of", &["in the place of", "take the place of", "takes the place of", "take its place"]),
    ("CI", &["the gate"]),
    ("requeue", &["touch", "touches", "touched"]),
    ("adopting parent", &["heir", "heirs"]),
    ("invalid", &["can't be understood", "unreadable"]),
    ("the effect, what happens", &["becomes of", "comes of"]),
    ("must, or the imperative", &["shall"]),
    ("unconfirmed difference; counter shard; chunk", &["suspect", "suspects", "lane", "lanes", "slice", "slices"]),
    ("reject", &["refuse", "refuses", "refused"]),
];

/// A text of a document that stands by itself.
enum Passage {
    /// A paragraph or an item of a list.
    Prose(String),
    /// A cell of a table.
    Cell(String),
}

impl Passage {
    fn text(&self) -> &str {
        match self {
            Self::Prose(text) | Self::Cell(text) => text,
        }
    }
}

/// True where a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ") || line.starts_with("* ") || (number.len() < line.len() && number.starts_with(". "))
}

/// The passages of a document outside of code and of the parts between the marks of a generator.
fn passages(text: &str) -> Vec<Passage> {
    let (mut passages, mut paragraph) = (Vec::new(), String::new());
    let (mut is_code, mut is_generated) = (false, false);
    for line in text.lines().map(str::trim).chain([""]) {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        if line.starts_with("<!-- ") {
            is_generated = !line.starts_with("<!-- end");
        }
        let is_prose = !(is_code || is_fence || is_generated || line.is_empty() || line.starts_with(['#', '|', '<']));
        let is_target = line.starts_with('[') && line.contains("]: ");
        if !is_prose || is_target || is_item(line) {
            passages.push(Passage::Prose(plain(&std::mem::take(&mut paragraph))));
        }
        if is_prose && !is_target {
            paragraph.push_str(line);
            paragraph.push(' ');
        } else if line.starts_with('|') && !is_code && !is_generated {
            passages.extend(line.split(" | ").map(|cell| Passage::Cell(plain(cell))));
        }
    }
    passages
}

/// A text without what isn't language: code, the targets of links, tags, and marks of Markdown.
fn plain(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let text: String = parts.map(|(index, part)| if index % 2 == 0 { part } else { "code" }).collect();
    let text = without(&without(&without(&text, "](", ")"), "][", "]"), "<", ">");
    text.replace(['[', ']', '*', '|'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text without what is between two marks.
fn without(text: &str, from: &str, to: &str) -> String {
    let mut parts = text.split(from);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push(' ');
        kept.push_str(part.split_once(to).map_or(part, |(_, rest)| rest));
    }
    kept
}

/// The sentences of a text, each with the number of its words.
fn sentences(text: &str) -> Vec<(usize, String)> {
    let mut sentences = vec![(0, String::new())];
    for word in text.split(' ') {
        let (words, sentence) = sentences.last_mut().unwrap();
        *words += usize::from(word.chars().any(char::is_alphanumeric));
        sentence.push_str(word);
        sentence.push(' ');
        if word.trim_end_matches([')', '"']).ends_with(['.', '!', '?']) {
            sentences.push((0, String::new()));
        }
    }
    sentences
}

/// The path of a document within the project.
fn name(path: &Path) -> String {
    path.strip_prefix(ROOT).unwrap().display().to_string().trim_start_matches("./").to_owned()
}

#[test]
fn sentences_and_cells_are_short() {
    let mut long = Vec::new();
    for (path, text) in documents() {
        for passage in passages(&text) {
            let words = passage.text().split(' ').count();
            if matches!(passage, Passage::Cell(_)) && words > CELL_WORDS_MAX {
                long.push(format!("{}: a cell of {words} words: {}", name(&path), passage.text()));
            }
            let sentences = sentences(passage.text());
            let found = sentences.iter().filter(|(words, _)| *words > SENTENCE_WORDS_MAX);
            long.extend(found.map(|(words, sentence)| format!("{}: {words} words: {sentence}", name(&path))));
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn the_documents_use_the_words_of_the_field() {
    let mut found = Vec::new();
    for (path, text) in documents() {
        for passage in passages(&text) {
            let kept = |c: char| if c.is_alphanumeric() || "'-".contains(c) { c } else { ' ' };
            let text: String = passage.text().to_lowercase().chars().map(kept).collect();
            let text = format!(" {} ", text.split_whitespace().collect::<Vec<_>>().join(" "));
            for (instead, words) in AVOIDED {
                let avoided = words.iter().filter(|word| text.contains(&format!(" {word} ")));
                found.extend(avoided.map(|word| format!("{}: {word} ({instead}): {text}", name(&path))));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_documents_are_within_their_budget_of_words() {
    let pages = documents().into_iter().map(|(path, text)| (name(&path), text.split_whitespace().count()));
    let pages: Vec<_> = pages.filter(|(page, _)| page.starts_with("docs/") || !page.contains('/')).collect();
    let is_long = |(page, words): &&(String, usize)| *words > PAGE_WORDS_MAX && !page.starts_with("docs/reference/");
    assert_eq!(pages.iter().filter(is_long).collect::<Vec<_>>(), Vec::<&(String, usize)>::new());
    let all: usize = pages.iter().map(|(_, words)| words).sum();
    assert!(all <= WORDS_MAX, "{all} words");
}
