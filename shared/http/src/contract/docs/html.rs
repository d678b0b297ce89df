//! HTML: whatever is text is escaped.

/// HTML that is being written.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup as it stands: never text from elsewhere.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, in an element or in an attribute between double quotes.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                character => self.0.push(character),
            }
        }
        self
    }

    pub(super) fn open(&mut self, name: &'static str) -> &mut Self {
        self.raw("<").raw(name).raw(">\n")
    }

    pub(super) fn close(&mut self, name: &'static str) -> &mut Self {
        self.raw("</").raw(name).raw(">\n")
    }

    /// An element that holds this text.
    pub(super) fn element(&mut self, name: &'static str, text: &str) -> &mut Self {
        self.raw("<").raw(name).raw(">").text(text).raw("</").raw(name).raw(">\n")
    }

    /// A block of code.
    pub(super) fn code_block(&mut self, code: &str) -> &mut Self {
        self.raw("<pre><code>").text(code).raw("</code></pre>\n")
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Paragraphs with a blank line between them.
pub(super) fn prose(html: &mut Html, text: &str) {
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        html.raw("<p>");
        line(html, paragraph);
        html.raw("</p>\n");
    }
}

/// Text in which code stands between backticks.
pub(super) fn line(html: &mut Html, text: &str) {
    for (position, part) in text.split('`').enumerate() {
        match position % 2 {
            0 => html.text(part),
            _ => html.raw("<code>").text(part).raw("</code>"),
        };
    }
}
