//! `sapwood-playground build [FILE]`: compiles the playground, and makes one HTML file of it and the explorer's page.

mod bundle;
mod compile;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The file that is made, from the root of the workspace.
const FILE: &str = "target/playground/index.html";

#[allow(clippy::disallowed_methods, reason = "the command line is read here")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["build"] => root.join(FILE),
        ["build", file] => PathBuf::from(file),
        _ => {
            eprintln!("Usage: cargo run -p sapwood-playground -- build [FILE]");
            return ExitCode::from(2);
        }
    };
    match build(&root, &file) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("sapwood-playground: {error}");
            ExitCode::FAILURE
        }
    }
}

fn build(root: &Path, file: &Path) -> Result<String, String> {
    let module = compile::module(root)?;
    let page = bundle::page(&module)?;
    let packed = bundle::gzip(page.as_bytes())?.len();
    let directory = file.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(file, &page));
    written.map_err(|error| format!("{} can't be written: {error}", file.display()))?;
    let (module, page, file) = (module.len(), page.len(), file.display());
    Ok(format!("{file}: {page} bytes, {packed} gzipped; the module has {module} bytes"))
}
