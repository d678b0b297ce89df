//! The rules of the layout (CONTRIBUTING.md), read off the files: which crate and which module may use which,
//! what the core may not know, and where a key may be spelt.
//!
//! Each rule is a function from texts to what breaks it, shown on a small bad example to be able to fail, and then run
//! on the workspace.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "layout/source.rs"]
mod source;

use source::{Source, words};

/// What each module of the core may use. A module that isn't listed breaks the rule: say here where it belongs.
const MODULES: [(&str, &[&str]); 7] = [
    ("keys", &[]),
    ("model", &["keys"]),
    ("plan", &["model", "keys"]),
    ("table", &["model", "keys"]),
    ("query", &["plan", "table", "model", "keys"]),
    ("write", &["plan", "table", "model", "keys"]),
    ("fanout", &["write", "plan", "table", "model", "keys"]),
];

/// Modules that are synchronous and know no clock, randomness, environment or SDK.
const PURE: [&str; 3] = ["keys", "model", "plan"];

/// What a pure module doesn't name: words, and paths that end so.
const IMPURE: [&str; 13] = [
    "async",
    "await",
    "tokio",
    "futures",
    "aws_sdk_dynamodb",
    "aws_types",
    "aws_config",
    "rand",
    "fastrand",
    "SystemTime",
    "Instant",
    "now",
    "env",
];

/// The files of the product that may name DynamoDB's SDK: the one of the core, and those that run an engine of it.
const NAME_THE_SDK: [&str; 3] =
    ["shared/src/table/dynamodb.rs", "infra/local/src/endpoint.rs", "infra/local/src/stream.rs"];

/// The crates of DynamoDB's SDK.
const SDK: [&str; 2] = ["aws_sdk_dynamodb", "aws_sdk_dynamodbstreams"];

/// What reads the environment, apart from `std::env` itself.
const READ_THE_ENVIRONMENT: [&str; 4] = ["load_from_env", "load_defaults", "from_env", "defaults_with_env"];

/// Sort keys and partition keys as a whole, and how others begin or contain them.
const WHOLE_KEYS: [&str; 8] = ["NODE", "LINEAGE", "CASCADE", "METADATA", "ROOTS", "ORPHANS", "OPERATION", "DELETED"];
const PARTS_OF_KEYS: [&str; 10] =
    ["NODE#", "PATH#", "ROOT#", "ORPHAN#", "ORPHANS#", "OPERATION#", "IDEMPOTENCY#", "TENANT#", "METADATA#", "v0_"];

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(|dir| dir.join("shared/src/keys").is_dir()).unwrap()
}

/// A crate of the workspace.
struct Package {
    /// Its directory, such as `functions/stream-handler`.
    directory: String,
    manifest: String,
}

fn packages() -> Vec<Package> {
    let root = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let members = root.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
    let members = members.split(',').map(|member| member.trim().trim_matches('"')).filter(|member| !member.is_empty());
    let read = |directory: &str| Package {
        directory: directory.to_owned(),
        manifest: fs::read_to_string(workspace().join(directory).join("Cargo.toml")).unwrap(),
    };
    members.map(read).collect()
}

/// Every Rust file below a directory, by its path from the workspace.
fn sources(directory: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut left = vec![workspace().join(directory)];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name: PathBuf = path.strip_prefix(workspace()).unwrap().to_owned();
            found.push(Source::new(name.to_str().unwrap(), &fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "{directory} has no Rust files");
    found
}

/// What is shipped: the core, the functions, and what runs them, without tests.
fn product() -> Vec<Source> {
    let directories = packages().into_iter().map(|package| package.directory).filter(|d| d != "tests");
    directories.flat_map(|directory| sources(&format!("{directory}/src"))).filter(|source| !source.is_test()).collect()
}

fn none<T: std::fmt::Display>(broken: impl IntoIterator<Item = T>) {
    let broken: Vec<String> = broken.into_iter().map(|one| one.to_string()).collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

// Crates.

/// The names under the sections of dependencies, of whatever kind and target; whether they are for tests alone.
fn dependencies(manifest: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let (mut inside, mut for_tests) = (false, false);
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            // `[dependencies.name]` and `[target.'…'.dev-dependencies]` as well.
            let (kind, name) = match section.rsplit_once("dependencies") {
                Some((_, rest)) => (true, rest.trim_start_matches('.')),
                None => (false, ""),
            };
            inside = kind && name.is_empty();
            for_tests = section.contains("dev-dependencies");
            found.extend((kind && !name.is_empty()).then(|| (name.to_owned(), for_tests)));
        } else if inside && let Some((name, _)) = line.split_once('=') {
            let name = name.trim().trim_matches('"');
            found.push((name.split_once('.').map_or(name, |(name, _)| name).to_owned(), for_tests));
        }
    }
    found
}

fn name_of(manifest: &str) -> &str {
    let line = manifest.lines().find_map(|line| line.strip_prefix("name = ")).expect("a package has a name");
    line.trim_matches('"')
}

/// Dependencies between crates of the workspace that go the wrong way: `infra, tests -> functions -> shared`.
fn wrong_directions(packages: &[Package]) -> Vec<String> {
    let directory_of: BTreeMap<&str, &str> =
        packages.iter().map(|package| (name_of(&package.manifest), package.directory.as_str())).collect();
    let kind = |directory: &str| directory.split('/').next().unwrap().to_owned();
    let mut broken = Vec::new();
    for package in packages {
        for (dependency, for_tests) in dependencies(&package.manifest) {
            let Some(other) = directory_of.get(dependency.as_str()) else { continue };
            let allowed: &[&str] = match kind(&package.directory).as_str() {
                "shared" if package.directory == "shared" => &[],
                "shared" => &["shared"],
                // A suite that starts a binary has to be of that binary's package: cargo tells no other where it is.
                "functions" if for_tests => &["shared", "tests"],
                "functions" => &["shared"],
                "infra" if for_tests => &["shared", "functions", "infra", "tests"],
                "infra" | "tests" => &["shared", "functions", "infra"],
                _ => panic!("{} is no part of the layout", package.directory),
            };
            if !allowed.contains(&kind(other).as_str()) {
                broken.push(format!("{} depends on {other}", package.directory));
            }
        }
    }
    broken
}

fn package(directory: &str, manifest: &str) -> Package {
    Package { directory: directory.to_owned(), manifest: manifest.to_owned() }
}

#[test]
fn a_dependency_between_functions_or_upwards_is_found_however_it_is_written() {
    let packages = [
        package("shared", "[package]\nname = \"sapwood\"\n[dev-dependencies]\nwriter = { path = \"..\" }"),
        package("functions/writer", "[package]\nname = \"writer\"\n[dependencies]\nsapwood.workspace = true"),
        package(
            "functions/reader",
            "[package]\nname = \"reader\"\n[dependencies.writer]\nworkspace = true\n[dev-dependencies]\nthe-tests = \"1\"",
        ),
        package(
            "functions/third",
            "[package]\nname = \"third\"\n[target.'cfg(unix)'.build-dependencies]\nreader = \"1\"\n[lints]\nwriter = 1",
        ),
        package("tests", "[package]\nname = \"the-tests\"\n[dependencies]\nreader = \"1\"\nserde = \"1\""),
        package(
            "infra/a",
            "[package]\nname = \"a\"\n[dev-dependencies]\nthe-tests = \"1\"\n[dependencies]\nb.path = \"\"",
        ),
        package("infra/b", "[package]\nname = \"b\"\n[dependencies]\nthe-tests.workspace = true"),
        package("functions/fourth", "[package]\nname = \"fourth\"\n[dependencies]\nthe-tests.workspace = true"),
    ];
    assert_eq!(
        wrong_directions(&packages),
        [
            "shared depends on functions/writer",
            "functions/reader depends on functions/writer",
            "functions/third depends on functions/reader",
            "infra/b depends on tests",
            "functions/fourth depends on tests"
        ]
    );
}

#[test]
fn crates_depend_on_one_another_in_one_direction() {
    none(wrong_directions(&packages()));
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    lines.find(|line| !line.is_empty()) == Some("workspace = true")
}

#[test]
fn every_crate_inherits_the_workspaces_lints() {
    assert!(inherits_lints("[lints]\nworkspace = true"));
    assert!(!inherits_lints("[dependencies]\nworkspace = true"));
    assert!(!inherits_lints("[lints]\nrust.unsafe_code = \"allow\""));
    none(packages().iter().filter(|p| !inherits_lints(&p.manifest)).map(|p| &p.directory));
}

#[test]
fn every_crate_of_the_repository_is_a_member_of_the_workspace() {
    let members: Vec<String> = packages().into_iter().map(|package| package.directory).collect();
    let nested = ["functions", "infra"].into_iter().flat_map(|kind| {
        let entries = fs::read_dir(workspace().join(kind)).unwrap();
        entries.map(move |entry| format!("{kind}/{}", entry.unwrap().file_name().to_str().unwrap()))
    });
    let crates = nested.filter(|directory| workspace().join(directory).join("Cargo.toml").is_file());
    none(crates.filter(|directory| !members.contains(directory)));
}

// Modules of the core.

/// Modules of the core that a file uses and its own may not.
fn wrong_uses(source: &Source) -> Vec<String> {
    let way_down = source.modules("shared/src");
    let Some(own) = way_down.first().filter(|own| *own != "lib") else { return Vec::new() };
    let Some((_, allowed)) = MODULES.iter().find(|(module, _)| module == own) else {
        return vec![format!("{}: which modules may `{own}` use? Say so in MODULES", source.path)];
    };
    let wrong = |used: &String| {
        let is_module = MODULES.iter().any(|(module, _)| module == used);
        is_module && used != own && !allowed.contains(&used.as_str())
    };
    let used = source.uses_of_the_crate(way_down.len()).into_iter();
    used.filter(|(_, used)| wrong(used))
        .map(|(line, used)| format!("{}:{line}: {own} uses {used}", source.path))
        .collect()
}

#[test]
fn a_module_that_uses_one_above_it_is_found_however_the_path_is_written() {
    let uses = |path: &str, text: &str| wrong_uses(&Source::new(path, text));
    assert_eq!(uses("shared/src/plan/place.rs", "use crate::keys::Id;\nuse super::Rules;"), [""; 0]);
    assert_eq!(uses("shared/src/fanout/mod.rs", "use crate::{plan, table::Table};"), [""; 0]);
    assert_eq!(uses("shared/src/table/mod.rs", "// crate::plan\nconst A: &str = \"crate::plan\";"), [""; 0]);
    for (path, text, broken) in [
        ("shared/src/keys/id.rs", "\nuse crate::model::Item;", "2: keys uses model"),
        ("shared/src/keys/composite/error.rs", "use super::super::super::plan::Batch;", "1: keys uses plan"),
        ("shared/src/model/mod.rs", "use super::plan;", "1: model uses plan"),
        ("shared/src/table/mod.rs", "use crate::{keys::Id, plan::{Change, Event}};", "1: table uses plan"),
        ("shared/src/plan.rs", "fn f() -> crate :: fanout :: Limits { todo!() }", "1: plan uses fanout"),
        ("shared/src/plan/a.rs", "mod tests { use super::super::super::table::Write; }", "1: plan uses table"),
    ] {
        assert_eq!(uses(path, text), [format!("{path}:{broken}")], "{text}");
    }
    assert_eq!(uses("shared/src/extra/mod.rs", "").len(), 1, "an unknown module");
}

#[test]
fn modules_of_the_core_use_only_those_below_them() {
    none(sources("shared/src").iter().flat_map(wrong_uses));
}

/// What a pure module names and may not.
fn impurities(source: &Source) -> Vec<String> {
    let own = source.modules("shared/src").into_iter().next().unwrap_or_default();
    if !PURE.contains(&own.as_str()) {
        return Vec::new();
    }
    let named = source.words().filter(|(_, word)| IMPURE.contains(word));
    named.map(|(line, word)| format!("{}:{line}: {own} names {word}", source.path)).collect()
}

#[test]
fn a_clock_randomness_the_environment_or_async_in_the_core_is_found() {
    let named = |text: &str| impurities(&Source::new("shared/src/plan/a.rs", text));
    for text in [
        "async fn f() {}",
        "use tokio::sync::Mutex;",
        "let at = std::time::Instant::now();",
        "let at = jiff::Timestamp::now();",
        "use std::{env, fmt};",
        "let id: u64 = fastrand::u64(..);",
        "use aws_sdk_dynamodb::Client;",
    ] {
        assert!(!named(text).is_empty(), "{text}");
    }
    let clean =
        "/// Asks now, async, of the env.\nfn known_now_or_never() { let random = \"rand\"; /* tokio /* env */ */ }";
    assert_eq!(named(clean), [""; 0]);
    assert_eq!(impurities(&Source::new("shared/src/fanout/a.rs", "async fn f() {}")), [""; 0]);
}

#[test]
fn keys_model_and_plan_are_synchronous_and_know_no_clock_randomness_sdk_or_environment() {
    none(sources("shared/src").iter().flat_map(impurities));
}

// The SDK and the environment.

/// Where a file names one of these, if it isn't among those that may.
fn named_outside(source: &Source, names: &[&str], allowed: &[&str]) -> Vec<String> {
    if allowed.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let named = source.words().filter(|(_, word)| names.contains(word));
    named.map(|(line, word)| format!("{}:{line}: {word}", source.path)).collect()
}

#[test]
fn the_sdk_named_in_a_second_file_of_the_core_is_found() {
    let named = |path: &str| named_outside(&Source::new(path, "\nuse aws_sdk_dynamodb::Client;"), &SDK, &NAME_THE_SDK);
    assert_eq!(named("shared/src/table/mod.rs"), ["shared/src/table/mod.rs:2: aws_sdk_dynamodb"]);
    assert_eq!(named("shared/src/table/dynamodb.rs"), [""; 0]);
}

#[test]
fn the_sdk_is_named_in_one_file_of_the_core_and_in_those_that_run_an_engine() {
    let product = product();
    none(product.iter().flat_map(|source| named_outside(source, &SDK, &NAME_THE_SDK)));
    // A list that allows more than is needed would let the next one in unseen.
    let names_it = |source: &Source| source.words().any(|(_, word)| SDK.contains(&word));
    let listed = NAME_THE_SDK.into_iter();
    none(listed.filter(|path| !product.iter().any(|source| source.path == *path && names_it(source))));
}

/// Where a file that isn't a `main.rs` reads the environment. The macro `env!` is no such thing: it reads what the
/// compiler was told.
fn reads_of_the_environment(source: &Source) -> Vec<String> {
    if source.path.ends_with("/main.rs") {
        return Vec::new();
    }
    let env = source.std_env().into_iter().map(|line| (line, "std::env"));
    let others = source.words().filter(|(_, word)| READ_THE_ENVIRONMENT.contains(word));
    env.chain(others).map(|(line, what)| format!("{}:{line}: {what}", source.path)).collect()
}

#[test]
fn the_environment_read_outside_of_a_main_is_found() {
    let read = |path: &str, text: &str| reads_of_the_environment(&Source::new(path, text)).len();
    for text in [
        "let a = std::env::var(\"A\");",
        "use std::env;",
        "use std::{fmt, env::{self, var}};",
        "use std::env::args as given;",
        "let config = aws_config::load_from_env().await;",
    ] {
        assert_eq!(read("functions/a/src/lib.rs", text), 1, "{text}");
        assert_eq!(read("functions/a/src/main.rs", text), 0, "{text}");
    }
    assert_eq!(read("functions/a/src/lib.rs", "let a = env!(\"A\"); struct Environment { env: u8 }"), 0);
}

#[test]
fn the_environment_is_read_in_a_main_only() {
    none(product().iter().flat_map(reads_of_the_environment));
}

// Keys.

/// Literals that spell a key, or a part of one. What stands between backticks is text for a reader.
fn spelt_keys(source: &Source) -> Vec<String> {
    if source.path.starts_with("shared/src/keys/") {
        return Vec::new();
    }
    let is_key = |text: &str| {
        let not_quoted = || text.split('`').step_by(2);
        let whole = |text: &str| text.split(['"', '\\']).any(|word| WHOLE_KEYS.contains(&word));
        not_quoted().any(|text| whole(text) || PARTS_OF_KEYS.iter().any(|part| text.contains(part)))
    };
    let literals = source.literals.iter().filter(|(_, text)| is_key(text));
    literals.map(|(line, text)| format!("{}:{line}: \"{text}\"", source.path)).collect()
}

#[test]
fn a_key_spelt_outside_of_keys_is_found() {
    let spelt = |text: &str| spelt_keys(&Source::new("infra/cli/src/main.rs", text));
    for text in [
        "let sk = \"NODE\";",
        "format!(\"PATH#{segment}\")",
        "let copy = r#\"v0_Audit\"#;",
        "let bytes = b\"LINEAGE\";",
        "let pk = format!(\"TENANT#{tenant}#ROOTS\");",
    ] {
        assert_eq!(spelt(text).len(), 1, "{text}");
    }
    assert_eq!(spelt("\"aws … {\\\"S\\\": \\\"NODE\\\"}\"").len(), 1, "inside of JSON");
    assert_eq!(spelt("say(\"`v0_` is the newest\")"), [""; 0]);
    assert_eq!(spelt("// \"NODE\"\n/// `PATH#a`\nlet a = (\"NODE_SORT_KEY\", '\"', \"the node\");"), [""; 0]);
    assert_eq!(spelt_keys(&Source::new("shared/src/keys/schema.rs", "\"NODE\"")), [""; 0]);
}

#[test]
fn no_key_is_spelt_outside_of_keys() {
    none(product().iter().flat_map(spelt_keys));
}

#[test]
fn source_is_read_as_rust_reads_it() {
    let source = Source::new(
        "a.rs",
        "let c = '\"'; let l: &'static str = \"a\\\"b // no comment\"; // \"not\nlet r = r##\"x\"#y\"##; let q = b'\\'';",
    );
    assert_eq!(source.literals, [(1, "a\\\"b // no comment".to_owned()), (2, "x\"#y".to_owned())]);
    let kept: Vec<&str> = words(&source.code).map(|(_, word)| word).collect();
    assert_eq!(kept, ["let", "c", "let", "l", "static", "str", "let", "r", "let", "q"]);
}
