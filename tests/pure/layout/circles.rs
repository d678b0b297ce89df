//! No files of a crate name one another in a circle by the paths of their `use` declarations. Names that a parent
//! module re-exports aren't followed.

use std::collections::{BTreeMap, BTreeSet};

use super::{members, none, product};

/// The modules that a file of this module names in its `use` declarations, as paths from the root of the crate.
fn named_modules(module: &[String], text: &str) -> BTreeSet<Vec<String>> {
    /// Adds every path of a tree such as `a::{b, c::d}`.
    fn expand(prefix: &[String], tree: &str, paths: &mut BTreeSet<Vec<String>>) {
        let tree = tree.trim();
        let Some((before, braced)) = tree.split_once('{') else {
            let rest = tree.split("::").map(|part| part.split(" as ").next().unwrap().trim().to_owned());
            _ = paths.insert(prefix.iter().cloned().chain(rest).collect());
            return;
        };
        let parts = before.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned);
        let prefix: Vec<String> = prefix.iter().cloned().chain(parts).collect();
        let (mut depth, mut from) = (0, 0);
        let inside = braced.trim_end().trim_end_matches('}');
        for (at, letter) in inside.char_indices().chain([(inside.len(), ',')]) {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !inside[from..at].trim().is_empty() {
                        expand(&prefix, &inside[from..at], paths);
                    }
                    from = at + 1;
                }
                _ => {}
            }
        }
    }
    let mut paths = BTreeSet::new();
    for declared in text.split("\nuse ").skip(1) {
        expand(&[], declared.split(';').next().unwrap(), &mut paths);
    }
    let absolute = |path: Vec<String>| {
        let mut at = module.to_vec();
        let mut rest = path.into_iter().peekable();
        match rest.peek().map(String::as_str) {
            Some("crate") => {
                at.clear();
                rest.next();
            }
            Some("super") => {
                while rest.next_if(|part| part == "super").is_some() {
                    at.pop();
                }
            }
            // A module of its own, or another crate, of which there is no file.
            _ => {}
        }
        at.into_iter().chain(rest).collect()
    };
    paths.into_iter().map(absolute).collect()
}

/// The circles of files that name one another: each file that leads back to itself. A module may name what the modules
/// inside of it have.
fn circles(files: &[(String, String)]) -> Vec<String> {
    let module = |path: &str| -> Vec<String> {
        let inside = path.split_once("src/").unwrap().1.trim_end_matches(".rs");
        let parts = inside.split('/').filter(|part| !["mod", "lib", "main"].contains(part));
        parts.map(str::to_owned).collect()
    };
    let texts: BTreeMap<Vec<String>, &str> = files.iter().map(|(path, text)| (module(path), text.as_str())).collect();
    let names = |of: &Vec<String>| -> BTreeSet<Vec<String>> {
        let file_of = |path: Vec<String>| {
            (1..=path.len()).rev().map(|most| path[..most].to_vec()).find(|module| texts.contains_key(module))
        };
        let named = named_modules(of, texts[of]).into_iter().filter_map(file_of);
        named.filter(|other| other != of && !of.starts_with(other)).collect()
    };
    let mut found = Vec::new();
    for start in texts.keys() {
        let (mut reached, mut left) = (BTreeSet::new(), vec![start.clone()]);
        while let Some(at) = left.pop() {
            left.extend(names(&at).into_iter().filter(|next| reached.insert(next.clone())));
        }
        if reached.contains(start) {
            found.push(format!("{} is in a circle of files that name one another", start.join("::")));
        }
    }
    found
}

#[test]
fn no_files_of_a_crate_name_one_another_in_a_circle() {
    let file = |path: &str, text: &str| (path.to_owned(), format!("//! A file.\n{text}"));
    let mut files = vec![
        file("x/src/lib.rs", "\nuse a::A;"),
        file("x/src/a.rs", "\nuse crate::b::{self, B};"),
        file("x/src/b/mod.rs", "\nuse std::fmt;\nuse c::C;"),
        file("x/src/b/c.rs", "\nuse super::{B, d::D};"),
        file("x/src/b/d.rs", "\nuse crate::z;"),
    ];
    assert_eq!(circles(&files), [""; 0]);
    files.push(file("x/src/z.rs", "\nuse std::{fmt, io::{self, Read}};\nuse super::{\n    y,\n    a::A as Other,\n};"));
    let of = |name: &str| format!("{name} is in a circle of files that name one another");
    assert_eq!(circles(&files), ["a", "b", "b::c", "b::d", "z"].map(of));
    let products = members().into_iter().filter(|directory| !directory.starts_with("tests"));
    let shipped = product();
    none(
        products
            .flat_map(|directory| {
                let of_crate =
                    shipped.iter().filter(|(path, _)| path.starts_with(&format!("{directory}/src/"))).cloned();
                circles(&of_crate.collect::<Vec<_>>()).into_iter().map(move |circle| format!("{directory}: {circle}"))
            })
            .collect(),
    );
}
