//! One page of many files: the explorer's, the playground's and the module.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sapwood_explorer::assets;
use sha2::{Digest, Sha256};

use crate::Result;

/// The script that runs first. It serves the others from the page.
const BOOT: &str = include_str!("page/boot.js");

/// Makes the page.
pub(crate) fn page(module: &[u8]) -> Result<String> {
    let style = assets::text("style.css").unwrap_or_default();
    let mut scripts: BTreeMap<&str, String> = assets::scripts().collect();
    scripts.insert("playground.js", include_str!("page/playground.js").to_owned());
    // No text ends the element that has it.
    let scripts = serde_json::to_string(&scripts)?.replace('<', "\\u003c");
    let mut packed = Vec::new();
    zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, module, &mut packed)?;
    let module = STANDARD.encode(packed);
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    // Only this page can make a `blob:` of its own.
    let policy = format!(
        "default-src 'none'; script-src {} blob: 'wasm-unsafe-eval'; style-src {}; img-src data:; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(BOOT),
        hash(&style),
    );
    let page = assets::text("index.html").unwrap_or_default();
    let lines = page.lines().map(|line| match line {
        "<meta charset=\"utf-8\">" => format!(
            "{line}\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<meta name=\"referrer\" content=\"no-referrer\">"
        ),
        line if line.starts_with("<link rel=\"stylesheet\"") => format!("<style>{style}</style>"),
        line if line.starts_with("<script type=\"module\"") => String::new(),
        "</body>" => format!(
            "<script type=\"application/json\" id=\"scripts\">{scripts}</script>\n\
             <script type=\"application/octet-stream\" id=\"module\">{module}</script>\n\
             <script type=\"module\">{BOOT}</script>\n{line}"
        ),
        line => line.replace("Sapwood explorer", "Sapwood playground").replace(">explorer<", ">playground<"),
    });
    Ok(lines.map(|line| line + "\n").collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_names_no_other_file_and_its_policy_names_what_it_runs() {
        let page = super::page(b"no module").unwrap_or_default();
        assert_eq!(page.matches("'sha256-").count(), 2);
        assert!(!page.contains(" src=\"") && !page.contains("href=\"/"), "{page}");
        assert_eq!(page.matches("</script>").count(), 3);
    }
}
