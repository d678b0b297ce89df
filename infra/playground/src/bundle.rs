//! One page of many files: the explorer's, the playground's and the module.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sapwood_explorer::assets;
use sha2::{Digest, Sha256};

/// The names of the page's scripts that the playground adds. The first is what the others stand on.
const BOOT: &str = include_str!("page/boot.js");
const PLAYGROUND: &str = include_str!("page/playground.js");

/// Compresses bytes.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(|error| error.to_string())
}

/// Makes the page.
pub(crate) fn page(module: &[u8]) -> Result<String, String> {
    let text = |name: &str| assets::text(name).ok_or_else(|| format!("the explorer has no {name}"));
    let (page, style) = (text("index.html")?, text("style.css")?);
    let script = script()?;
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; script-src {} 'wasm-unsafe-eval'; style-src {}; img-src data:; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(&script),
        hash(&style),
    );
    let module = STANDARD.encode(gzip(module)?);
    let mut lines = Vec::new();
    for line in page.lines() {
        match line {
            "<meta charset=\"utf-8\">" => {
                lines.push(line.to_owned());
                lines.push(format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">"));
                lines.push("<meta name=\"referrer\" content=\"no-referrer\">".to_owned());
            }
            line if line.starts_with("<link rel=\"stylesheet\"") => lines.push(format!("<style>{style}</style>")),
            line if line.starts_with("<script type=\"module\"") => {}
            "</body>" => {
                lines.push(format!("<script type=\"application/octet-stream\" id=\"module\">{module}</script>"));
                lines.push(format!("<script type=\"module\">{script}</script>"));
                lines.push(line.to_owned());
            }
            line => {
                lines.push(line.replace("Sapwood explorer", "Sapwood playground").replace(">explorer<", ">playground<"))
            }
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// Joins the scripts. Each is a function that runs once, when another imports it.
fn script() -> Result<String, String> {
    let mut script = String::from(BOOT);
    script += "const once = (make) => { let made; return () => (made ??= make()); };\n";
    script += "const load = async (path) => modules[path.slice(2, -3)]();\nconst modules = {\n";
    let of_the_explorer = assets::scripts().map(|(name, text)| (name.to_owned(), text));
    for (name, text) in of_the_explorer.chain([("playground.js".to_owned(), PLAYGROUND.to_owned())]) {
        let name = name.trim_end_matches(".js");
        script += &format!("{name}: once(() => {{\n{}}}),\n", joined(&text)?);
    }
    script += "};\nmodules.app();\n";
    match script.contains("</script") || script.contains("<!--") {
        true => Err("a script has the end of one in it".to_owned()),
        false => Ok(script),
    }
}

/// The body of a script as a function: it asks for what it imports, and returns what it exports.
fn joined(text: &str) -> Result<String, String> {
    let (mut body, mut exported) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some(import) = line.strip_prefix("import ") {
            let parts = import.strip_suffix("';").and_then(|import| import.split_once(" from './"));
            let (names, from) = parts.ok_or_else(|| format!("this import isn't of one line: {line}"))?;
            let names = names.replace(" as ", ": ");
            body += &format!("const {names} = modules.{}();\n", from.trim_end_matches(".js"));
            continue;
        }
        let own = line.strip_prefix("export ");
        if let Some(declared) = own {
            let is_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
            let mut words = declared.split(|letter| !is_name(letter)).filter(|word| !word.is_empty());
            let name = words.find(|word| !["const", "async", "function", "class"].contains(word));
            exported.push(name.filter(|name| *name != "let").ok_or_else(|| format!("what is exported? {line}"))?);
        }
        body += &own.unwrap_or(line).replace("import('./", "load('./").replace("import(`./", "load(`./");
        body.push('\n');
    }
    Ok(format!("{body}return {{ {} }};\n", exported.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_no_other_file_and_its_policy_names_what_it_runs() {
        let page = page(b"no module").unwrap_or_default();
        assert_eq!(page.matches("'sha256-").count(), 2);
        assert!(!page.contains(" src=\"") && !page.contains("href=\"/"), "{page}");
        assert!(page.contains("Content-Security-Policy") && page.contains("modules.app();"));
    }

    #[test]
    fn a_script_becomes_a_function_that_asks_for_what_it_imports() {
        let text = "import { a, b as c } from './base.js';\nexport const one = 1;\nexport async function two() { await import('./late.js'); }\n";
        let wanted = "const { a, b: c } = modules.base();\nconst one = 1;\nasync function two() { await load('./late.js'); }\nreturn { one, two };\n";
        assert_eq!(joined(text).as_deref(), Ok(wanted));
        assert!(joined("export let last = null;").is_err());
        assert!(joined("import * as all from './base.js'\n").is_err());
    }
}
