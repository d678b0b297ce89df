//! Runs the model, and writes the tables of docs/decide/large-tables.md:
//!
//! ```sh
//! cargo run -p sapwood-scaling                # some minutes
//! cargo run -p sapwood-scaling -- imports     # only this table
//! ```
#![allow(clippy::unwrap_used, reason = "a model that can't go on should say so")]

use sapwood_scaling::document::{TABLES, has_part, with_part};

/// The page.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/decide/large-tables.md");

#[allow(clippy::disallowed_methods, reason = "the edge, where the command line is read")]
fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for (name, table) in TABLES.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| w == name)) {
        let text = table();
        println!("{name}\n{text}");
        let document = std::fs::read_to_string(PAGE).unwrap();
        if has_part(&document, name) {
            std::fs::write(PAGE, with_part(&document, name, &text)).unwrap();
        }
    }
}
