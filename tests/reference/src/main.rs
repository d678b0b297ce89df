//! Writes the generated parts of the documents.

use std::fs;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (path, text) in sapwood_reference::differing()? {
        fs::write(&path, text)?;
        println!("{}", path.display());
    }
    Ok(())
}
