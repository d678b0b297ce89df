//! Rust source, read just closely enough: comments apart, string literals apart, and words.

/// A file.
pub(super) struct Source {
    /// Its path from the workspace.
    pub(super) path: String,
    /// Its text without comments and without what is in literals; lines stay lines.
    pub(super) code: String,
    /// Its string literals as they are written, each with its line.
    pub(super) literals: Vec<(usize, String)>,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let mut source = Self { path: path.to_owned(), code: String::new(), literals: Vec::new() };
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let taken = source.take(rest).unwrap_or_else(|| {
                source.code.push(c);
                c.len_utf8()
            });
            rest = &rest[taken..];
        }
        source
    }

    /// How long the comment or literal is that stands at the beginning; none where that is code.
    fn take(&mut self, rest: &str) -> Option<usize> {
        if rest.starts_with("//") {
            return Some(rest.find('\n').unwrap_or(rest.len()));
        }
        if rest.starts_with("/*") {
            return Some(self.leave_out(rest, block_comment(rest)));
        }
        if let Some(inner) = rest.strip_prefix('"') {
            let end = 1 + closing_quote(inner, '"');
            self.literals.push((self.line(), rest[1..end].to_owned()));
            return Some(self.leave_out(rest, end + 1));
        }
        if let Some(opening) = raw_opening(rest).filter(|_| !self.code.ends_with(is_word)) {
            let closing = format!("\"{}", "#".repeat(opening.matches('#').count()));
            let end = opening.len() + rest[opening.len()..].find(&closing).unwrap_or(0);
            self.literals.push((self.line(), rest[opening.len()..end].to_owned()));
            return Some(self.leave_out(rest, end + closing.len()));
        }
        char_literal(rest)
    }

    /// What is left out still ends the lines that it ends.
    fn leave_out(&mut self, rest: &str, length: usize) -> usize {
        let length = length.min(rest.len());
        self.code.extend(rest[..length].chars().filter(|c| *c == '\n'));
        self.code.push(' ');
        length
    }

    fn line(&self) -> usize {
        line_at(&self.code, self.code.len())
    }

    /// Whether the file holds tests alone, by its name.
    pub(super) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    /// The words of its code, each with its line.
    pub(super) fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        words(&self.code).map(|(at, word)| (line_at(&self.code, at), word))
    }

    /// The modules from the crate's root to this file's.
    pub(super) fn modules(&self, root: &str) -> Vec<String> {
        let Some(inside) = self.path.strip_prefix(root).and_then(|path| path.strip_suffix(".rs")) else {
            return Vec::new();
        };
        inside.split('/').filter(|name| !name.is_empty() && *name != "mod").map(str::to_owned).collect()
    }

    /// The names right below the crate's root that its code uses, with their lines: after `crate::`, in the groups
    /// after it, or after as many `super::` as lead there or further (from a module inside the file).
    pub(super) fn uses_of_the_crate(&self, depth: usize) -> Vec<(usize, String)> {
        let tokens = self.tokens();
        let mut found = Vec::new();
        for (position, (line, token)) in tokens.iter().enumerate() {
            let after = |at: usize| tokens.get(at).map_or("", |(_, token)| *token);
            let starts = position == 0 || after(position - 1) != "::";
            let mut next = match *token {
                "crate" if after(position + 1) == "::" => position + 2,
                "super" if starts && after(position + 1) == "::" => {
                    let mut at = position;
                    while after(at) == "super" && after(at + 1) == "::" {
                        at += 2;
                    }
                    if (at - position) / 2 < depth {
                        continue;
                    }
                    at
                }
                _ => continue,
            };
            if after(next) != "{" {
                found.push((*line, after(next).to_owned()));
                continue;
            }
            // The first word of each part of the group.
            let mut nested = 0;
            while next < tokens.len() {
                match after(next) {
                    "{" => nested += 1,
                    "}" => nested -= 1,
                    _ => {}
                }
                if nested == 0 {
                    break;
                }
                if nested == 1 && matches!(after(next), "{" | ",") {
                    found.push((tokens[next].0, after(next + 1).to_owned()));
                }
                next += 1;
            }
        }
        found
    }

    /// The lines that name `std::env`, or use `env::` of whatever import.
    pub(super) fn std_env(&self) -> Vec<usize> {
        let tokens = self.tokens();
        let token = |at: usize| tokens.get(at).map_or("", |(_, token)| *token);
        let mut found = Vec::new();
        for (position, (line, _)) in tokens.iter().enumerate().filter(|(_, (_, token))| *token == "env") {
            let from_std = position >= 2 && token(position - 1) == "::" && token(position - 2) == "std";
            let in_a_group = position >= 1
                && matches!(token(position - 1), "{" | ",")
                && matches!(token(position + 1), "," | "}" | "::" | "as")
                && self.code.contains("std::{");
            let used = token(position + 1) == "::";
            if from_std || in_a_group || used {
                found.push(*line);
            }
        }
        found
    }

    /// Words, `::`, and other characters one by one, with their lines.
    fn tokens(&self) -> Vec<(usize, &str)> {
        let mut tokens = Vec::new();
        let mut line = 1;
        let mut rest = self.code.as_str();
        while let Some(c) = rest.chars().next() {
            let length = match c {
                _ if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                _ => c.len_utf8(),
            };
            if !c.is_whitespace() {
                tokens.push((line, &rest[..length]));
            }
            line += usize::from(c == '\n');
            rest = &rest[length..];
        }
        tokens
    }
}

/// The words of a text, each with where it begins.
pub(super) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let words = code.split(|c| !is_word(c)).filter(|word| !word.is_empty());
    words.map(move |word| (word.as_ptr() as usize - code.as_ptr() as usize, word))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_at(code: &str, at: usize) -> usize {
    1 + code[..at].matches('\n').count()
}

/// The length of a block comment, with those inside it.
fn block_comment(rest: &str) -> usize {
    let mut nested = 0;
    let mut at = 0;
    while at < rest.len() {
        let length = match &rest[at..] {
            inner if inner.starts_with("/*") => {
                nested += 1;
                2
            }
            inner if inner.starts_with("*/") => {
                nested -= 1;
                2
            }
            inner => inner.chars().next().map_or(1, char::len_utf8),
        };
        at += length;
        if nested == 0 {
            break;
        }
    }
    at
}

/// Where the quote is that closes a literal, past what is escaped.
fn closing_quote(inner: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at,
            _ => {}
        }
    }
    inner.len()
}

/// `r"`, `br#"` and the like.
fn raw_opening(rest: &str) -> Option<&str> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix("cr")).or_else(|| rest.strip_prefix('r'))?;
    let quote = after.trim_start_matches('#').strip_prefix('"')?;
    Some(&rest[..rest.len() - quote.len()])
}

/// The length of a character literal; none for a lifetime. The `b` of a byte stays, a word of its own.
fn char_literal(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'').or_else(|| rest.strip_prefix("b'"))?;
    let start = rest.len() - inner.len();
    let c = inner.chars().next()?;
    if c == '\\' {
        return Some(start + closing_quote(inner, '\'') + 1);
    }
    inner[c.len_utf8()..].starts_with('\'').then(|| start + c.len_utf8() + 1)
}
