//! What the compiler and clippy can't hold of the layout (CONTRIBUTING.md), read off the files: manifests, and where a
//! key may be spelt. The walls between crates are their manifests; `clippy.toml` lists what only the edges may call.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

mod circles;

/// The crates from the bottom up. A crate depends on those of the rows above its own, and on none beside it.
const LAYERS: [&[&str]; 9] = [
    &["libsqlite3-sys", "sapwood-https", "sapwood-keys", "sapwood-plain-http", "sapwood-telemetry"],
    &["sapwood-core"],
    &["sapwood-json", "sapwood-store"],
    &["sapwood-dynamodb", "sapwood-engine", "sapwood-local"],
    &["sapwood-api"],
    &["sapwood-handlers", "sapwood-http"],
    &["api-reader", "api-writer", "auditor", "stream-handler", "sapwood-explorer", "sapwood-import"],
    &["sapwood-tests"],
    &["sapwood-cli", "sapwood-playground"],
];

/// All that the pure crates depend on. A runtime, an SDK or a source of randomness would have to be added here.
const PURE: [(&str, &[&str]); 3] = [
    ("sapwood-keys", &["jiff", "thiserror"]),
    (
        "sapwood-core",
        &["base64", "icu_normalizer", "sapwood-keys", "serde", "serde_dynamo", "sha2", "thiserror", "unicase"],
    ),
    ("sapwood-json", &["base64", "sapwood-core", "sapwood-keys", "serde", "serde_json", "thiserror"]),
];

/// Sort keys and partition keys as a whole, and how others begin or contain them. `AUDIT` is left out: a variable of
/// the auditor has that name.
const WHOLE_KEYS: [&str; 12] = [
    "NODE",
    "LINEAGE",
    "CASCADE",
    "METADATA",
    "ROOTS",
    "ORPHANS",
    "OPERATIONS",
    "DELETED",
    "COUNTED",
    "EPOCH",
    "SETTINGS",
    "SAPWOOD",
];
const PARTS_OF_KEYS: [&str; 18] = [
    "NODE#",
    "PATH#",
    "ROOT#",
    "ORPHAN#",
    "ORPHANS#",
    "OPERATION#",
    "IDEMPOTENCY#",
    "TENANT#",
    "METADATA#",
    "CHILD#",
    "ORDERED#",
    "LINK#",
    "TRASH#",
    "NAME#",
    "ROOTNAME#",
    "TOTALS#",
    "TRAIL#",
    "v0_",
];

/// The crate whose functions a page finds by their names, for which Rust has an attribute that it calls unsafe.
const EXPORTS: &str = "infra/playground";

/// The only home of keys.
const KEYS: &str = "shared/core/src/keys/";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The directories of the workspace's crates.
fn members() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let members = manifest.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
    members.split(',').map(|member| member.trim().trim_matches('"').to_owned()).filter(|m| !m.is_empty()).collect()
}

/// Every Rust file below a directory, by its path from the workspace, with its text.
fn sources(directory: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut left = vec![root().join(directory)];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(!found.is_empty(), "{directory} has no Rust files");
    found.sort();
    found
}

/// The files that are shipped, up to their unit tests.
fn product() -> Vec<(String, String)> {
    let crates = members().into_iter().filter(|directory| !directory.starts_with("tests"));
    let files = crates.flat_map(|directory| sources(&format!("{directory}/src")));
    let shipped = files.filter(|(path, _)| !path.contains("/tests/") && !path.ends_with("/tests.rs"));
    shipped.map(|(path, text)| (path, text.split("\nmod tests {").next().unwrap().to_owned())).collect()
}

fn none(broken: Vec<String>) {
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// The lines of a section of a manifest.
fn section<'a>(manifest: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let lines = manifest.lines().skip_while(move |line| *line != format!("[{name}]"));
    lines.skip(1).take_while(|line| !line.starts_with('['))
}

/// What a crate depends on, tests aside. Manifests here have one section of them, a line each.
fn dependencies(manifest: &str) -> BTreeSet<&str> {
    section(manifest, "dependencies")
        .filter_map(|line| line.split(['.', ' ']).next().filter(|n| !n.is_empty()))
        .collect()
}

fn name(manifest: &str) -> &str {
    section(manifest, "package").find_map(|line| line.strip_prefix("name = ")).unwrap().trim_matches('"')
}

/// Dependencies on crates of ours that aren't below.
fn wrong_directions(manifest: &str) -> Vec<String> {
    let layer_of: BTreeMap<&str, usize> =
        LAYERS.iter().enumerate().flat_map(|(layer, names)| names.iter().map(move |name| (*name, layer))).collect();
    let own = name(manifest);
    let Some(layer) = layer_of.get(own) else { return vec![format!("{own}: say in LAYERS where it belongs")] };
    let above = |dependency: &&str| layer_of.get(dependency).is_some_and(|other| other >= layer);
    dependencies(manifest).into_iter().filter(above).map(|other| format!("{own} depends on {other}")).collect()
}

#[test]
fn crates_depend_on_those_below_them_and_functions_not_on_one_another() {
    let bad = "[package]\nname = \"api-reader\"\n\n[dependencies]\napi-writer.workspace = true\nserde = \"1\"\n";
    assert_eq!(wrong_directions(bad), ["api-reader depends on api-writer"]);
    let manifests = members().into_iter().filter(|directory| !directory.starts_with("tests/"));
    none(manifests.flat_map(|directory| wrong_directions(&read(format!("{directory}/Cargo.toml")))).collect());
}

#[test]
fn the_pure_crates_have_no_runtime_sdk_clock_or_randomness_and_await_steps_alone() {
    for (crate_name, allowed) in PURE {
        let directory = crate_name.replacen("sapwood-", "shared/", 1);
        assert_eq!(dependencies(&read(format!("{directory}/Cargo.toml"))), allowed.iter().copied().collect());
        // Clippy holds the clock and the environment of the standard library, unless it is told not to.
        let impure = ["std::thread", "Instant", "SystemTime", "std::env", "allow(clippy::disallowed_methods"];
        // Protocols are async functions. They await nothing but the answers to their steps, which one module makes
        // futures of.
        let of_futures = ["std::future", "std::task", "impl Future", "dyn Future", ".poll("];
        let code = |text: &str| -> String {
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
        };
        let shipped = sources(&format!("{directory}/src")).into_iter().filter(|(path, _)| !path.contains("/src/tests"));
        let named = shipped.flat_map(|(path, text)| {
            let code = code(&text);
            let is_allowed = path.ends_with("plan/protocol.rs");
            let asynchronous = ["async ", ".await"].into_iter().filter(|_| crate_name != "sapwood-core");
            let words =
                impure.into_iter().chain(of_futures.into_iter().filter(move |_| !is_allowed)).chain(asynchronous);
            let named = words.filter(move |word| code.contains(word));
            named.map(move |word| format!("{path} names {word}"))
        });
        none(named.collect());
    }
}

/// The lines of manifests that say what a crate is built with, and what those of ours are built with that it names.
fn built_with(directory: &str, sections: &[&str], lines: &mut BTreeSet<String>) {
    let (workspace, manifest) = (read("Cargo.toml"), read(format!("{directory}/Cargo.toml")));
    for line in sections.iter().flat_map(|name| section(&manifest, name)).filter(|line| !line.is_empty()) {
        let path = format!("\n{} = {{ path = \"", line.split(['.', ' ']).next().unwrap());
        let home = workspace.split_once(&path).and_then(|(_, rest)| rest.split('"').next());
        if lines.insert(line.to_owned()) {
            home.into_iter().for_each(|home| built_with(home, &["dependencies"], lines));
        }
    }
}

#[test]
fn the_proof_is_built_without_an_sdk_an_embedded_engine_or_a_web_server() {
    let heavy = |directory: &str| -> Vec<String> {
        let words = ["aws", "axum", "dynoxide", "hyper", "lambda", "rusqlite", "rustls", "sapwood-local", "tower"];
        let mut lines = BTreeSet::new();
        built_with(directory, &["dependencies", "dev-dependencies"], &mut lines);
        assert!(lines.contains("sapwood-store.workspace = true") && lines.contains("sapwood-keys.workspace = true"));
        lines.into_iter().filter(|line| words.iter().any(|word| line.contains(word))).collect()
    };
    assert!(heavy("functions/api-writer").iter().any(|line| line.starts_with("aws-sdk-dynamodb.")));
    none(heavy("tests/proof"));
}

#[test]
fn every_rule_is_broken_by_some_test() {
    let rules = read("shared/core/src/rules.rs");
    let variants = rules.split_once("pub enum Rule {").unwrap().1.split_once('}').unwrap().0;
    let variants = variants.lines().map(str::trim).filter(|line| line.starts_with(|first: char| first.is_uppercase()));
    // A test names a rule only to break it.
    let is_test = |path: &str| path.contains("tests");
    let files = ["tests", "shared", "infra"].into_iter().flat_map(sources).filter(|(path, _)| is_test(path));
    let code = files.flat_map(|(_, text)| {
        text.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect::<Vec<_>>()
    });
    let named: BTreeSet<String> = code
        .flat_map(|line| {
            let names = line.split("Rule::").skip(1);
            let ends = |rest: &str| rest.find(|next: char| !next.is_alphanumeric()).unwrap_or(rest.len());
            names.map(|rest| rest[..ends(rest)].to_owned()).collect::<Vec<_>>()
        })
        .collect();
    assert!(named.len() > 100, "{named:?}");
    none(variants.map(|line| line.trim_end_matches(',').to_owned()).filter(|rule| !named.contains(rule)).collect());
}

#[test]
fn every_crate_is_a_member_and_inherits_the_workspaces_lints() {
    let members = members();
    for kind in ["shared", "functions", "infra", "tests"] {
        for entry in fs::read_dir(root().join(kind)).unwrap().map(|entry| entry.unwrap().path()) {
            let directory = format!("{kind}/{}", entry.file_name().unwrap().to_str().unwrap());
            assert!(!entry.join("Cargo.toml").is_file() || members.contains(&directory), "{directory} is no member");
        }
    }
    for member in members.into_iter().filter(|member| member != EXPORTS) {
        let manifest = read(format!("{member}/Cargo.toml"));
        assert_eq!(section(&manifest, "lints").next(), Some("workspace = true"), "{member}");
    }
}

#[test]
fn a_module_for_a_page_has_the_workspaces_lints_and_nothing_unsafe_but_names() {
    let (workspace, own) = (read("Cargo.toml"), read(format!("{EXPORTS}/Cargo.toml")));
    let lines = |manifest: &str, name: &str| -> Vec<String> {
        section(manifest, name).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    for tool in ["rust", "clippy"] {
        let wanted = lines(&workspace, &format!("workspace.lints.{tool}")).into_iter();
        let wanted: Vec<String> =
            wanted.map(|line| line.replace("unsafe_code = \"forbid\"", "unsafe_code = \"deny\"")).collect();
        assert_eq!(lines(&own, &format!("lints.{tool}")), wanted);
    }
    let is_name = |line: &str| line == "#[unsafe(no_mangle)]" || line.starts_with("#[allow(unsafe_code, ");
    let named = sources(&format!("{EXPORTS}/src")).into_iter().flat_map(|(path, text)| {
        let lines: Vec<String> =
            text.lines().map(str::trim).filter(|line| line.contains("unsafe")).map(str::to_owned).collect();
        lines.into_iter().map(move |line| (path.clone(), line))
    });
    let code = named.filter(|(_, line)| !line.starts_with("//"));
    let others = code.filter(|(_, line)| !is_name(line) && !line.contains("wasm-unsafe-eval"));
    none(others.map(|(path, line)| format!("{path}: {line}")).collect());
}

#[test]
fn a_library_whose_tests_are_switched_off_has_none() {
    for member in members() {
        let manifest = read(format!("{member}/Cargo.toml"));
        if section(&manifest, "lib").any(|line| line == "test = false") {
            for (path, text) in sources(&format!("{member}/src")) {
                assert!(!text.contains("#[test]") && !text.contains("#[tokio::test"), "{path} has a test");
            }
        }
    }
}

#[test]
fn the_sdk_is_named_in_one_crate_of_the_product_and_in_those_that_run_an_engine() {
    let names_it = product().into_iter().filter(|(_, text)| text.contains("aws_sdk_dynamodb")).map(|(path, _)| path);
    let (of_the_table, files): (Vec<String>, Vec<String>) =
        names_it.partition(|path| path.starts_with("shared/dynamodb/src/"));
    assert!(!of_the_table.is_empty());
    // The local mapping makes events of what the SDK has read. The doctor asks how the table is set up; a redrive and
    // `watch` read the stream: none of them asks for items of the table.
    let others =
        ["endpoint.rs", "record.rs", "sdk_error.rs", "stream.rs"].map(|file| format!("infra/local/src/{file}"));
    let of_commands =
        ["doctor/look.rs", "redrive/table_stream.rs", "sdk_errors.rs", "stream.rs", "watch/follow.rs", "watch/mod.rs"]
            .map(|file| format!("infra/cli/src/{file}"));
    assert_eq!(files, [others.to_vec(), of_commands.to_vec()].concat());
}

/// Whatever a text names of `sapwood_core`: `keys::Schema`, say.
fn named_of_core(text: &str) -> Vec<String> {
    let text = text.split_whitespace().collect::<String>();
    text.split("sapwood_core::")
        .skip(1)
        .flat_map(|after| {
            let is_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
            let path = after.split(|letter| !is_name(letter)).next().unwrap_or_default();
            let Some(names) = after[path.len()..].strip_prefix('{').filter(|_| path.ends_with(':')) else {
                return vec![path.to_owned()];
            };
            let names = names.split('}').next().unwrap_or_default().split(',').filter(|name| !name.is_empty());
            names.map(|name| format!("{path}{name}")).collect()
        })
        .collect()
}

#[test]
fn what_a_table_knows_is_values_and_what_a_plan_asks_to_have_done() {
    let may_know = |name: &str| {
        ["keys::", "model::", "request::"].iter().any(|module| name.starts_with(module))
            || ["plan::Task", "plan::TaskOutcome", "plan::Writes", "plan::WritesKind"]
                .iter()
                .any(|known| name.strip_prefix(known).is_some_and(|of| of.is_empty() || of.starts_with("::")))
    };
    assert_eq!(named_of_core("use sapwood_core::plan::{\n    Task,\n    Limits,\n};"), ["plan::Task", "plan::Limits"]);
    assert!(!may_know("plan::Limits") && !may_know("fanout::Limits"));
    let is_of_the_table = |path: &str| ["shared/store/", "shared/dynamodb/"].iter().any(|home| path.starts_with(home));
    let table: Vec<_> = product().into_iter().filter(|(path, _)| is_of_the_table(path)).collect();
    let named: Vec<_> =
        table.iter().flat_map(|(path, text)| named_of_core(text).into_iter().map(move |name| (path, name))).collect();
    assert!(named.len() > 20, "{named:?}");
    none(named.into_iter().filter(|(_, name)| !may_know(name)).map(|(path, name)| format!("{path}: {name}")).collect());
}

/// Literals of one line that spell a key, or a part of one. What is between backticks is text for a reader.
fn spelt_keys(text: &str) -> Vec<&str> {
    let is_key = |literal: &str| {
        let quoted_for_readers = literal.split('`').skip(1).step_by(2).map(str::len).sum::<usize>() > 0;
        let whole = literal.split(['"', '\\']).any(|word| WHOLE_KEYS.contains(&word));
        !quoted_for_readers && (whole || PARTS_OF_KEYS.iter().any(|part| literal.contains(part)))
    };
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.filter(|line| {
        let line = line.split(" // ").next().unwrap().replace("\\\"", "\\").replace("'\"'", "");
        line.split('"').skip(1).step_by(2).any(is_key)
    })
    .collect()
}

#[test]
fn no_key_is_spelt_outside_of_keys() {
    for bad in [
        "let sk = \"NODE\";",
        "format!(\"PATH#{segment}\")",
        "let copy = r#\"v0_Audit\"#;",
        "let bytes = b\"LINEAGE\";",
        "let pk = format!(\"TENANT#{tenant}#ROOTS\");",
        "\"aws … {\\\"S\\\": \\\"NODE\\\"}\"",
    ] {
        assert_eq!(spelt_keys(bad), [bad]);
    }
    assert_eq!(
        spelt_keys("say(\"`v0_` is the newest\")\n// \"NODE\"\nlet a = (\"NODE_SORT_KEY\", '\"', \"the node\");"),
        [""; 0]
    );
    let spelt = product().into_iter().filter(|(path, _)| !path.starts_with(KEYS)).flat_map(|(path, text)| {
        let lines: Vec<String> = spelt_keys(&text).into_iter().map(|line| format!("{path}: {}", line.trim())).collect();
        lines
    });
    none(spelt.collect());
}

/// Every file of these directories, and every document of the root, by its path from the workspace, with its text.
fn texts(directories: &[&str]) -> Vec<(String, String)> {
    let mut left: Vec<PathBuf> = directories.iter().map(|directory| root().join(directory)).collect();
    let documents = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    left.extend(documents.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    let mut found = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if let Ok(text) = fs::read_to_string(&path) {
            found.push((path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned(), text));
        }
    }
    found
}

/// The commands of a text that have pip install something, without those whose list has the hash of each file.
fn unhashed(text: &str) -> Vec<&str> {
    let is_install = |line: &&str| {
        line.contains("pip install") || line.contains("pip\" install") || line.contains("pip\", \"install")
    };
    // What is ours has no list: it is what is installed, from a registry or from files alone.
    let is_ours = |line: &&str| {
        let mut installs = line.split("pip install ").skip(1);
        installs.all(|rest| rest.starts_with("--no-index ") || rest == "sapwood" || rest.starts_with("sapwood`"))
    };
    text.lines()
        .filter(is_install)
        .filter(|line| !(line.contains("--require-hashes") && line.contains("--no-deps")))
        .filter(|line| !(line.contains("pip install ") && is_ours(line)))
        .collect()
}

#[test]
fn whatever_pip_installs_has_the_hashes_of_a_list() {
    for bad in [
        "pip install cargo-lambda",
        "pip install sapwood-tools",
        "`pip install sapwood`, then `pip install cargo-lambda`",
        "  - run: pip install -r a.txt",
        "\"$bin/pip\" install --no-deps a",
        "[\"pip\", \"install\", \"a\"]",
    ] {
        assert_eq!(unhashed(bad), [bad]);
    }
    let texts = texts(&[".ci", "docs", "infra", "tests/rehearsal"]);
    let installs = texts.iter().filter(|(_, text)| text.contains("--require-hashes")).count();
    assert!(installs >= 5, "{installs} files");
    none(
        texts
            .iter()
            .flat_map(|(path, text)| unhashed(text).into_iter().map(move |line| format!("{path}: {}", line.trim())))
            .collect(),
    );
    // Each line of a list names one version, and its hashes come below it.
    let mut lists = 0;
    for (path, text) in texts.iter().filter(|(path, _)| path.starts_with(".ci/requirements/") && path.ends_with(".txt"))
    {
        lists += 1;
        let lines: Vec<&str> = text.lines().collect();
        for (line, next) in lines.iter().zip(lines.iter().skip(1).chain([&""])) {
            let is_named = !line.is_empty() && !line.starts_with([' ', '#']);
            assert!(!is_named || line.contains("==") && next.trim().starts_with("--hash=sha256:"), "{path}: {line}");
        }
    }
    assert!(lists >= 5, "{lists} lists");
}

#[test]
fn no_comment_is_wider_than_code_may_be() {
    let settings = read("rustfmt.toml");
    let width = settings.lines().find_map(|line| line.strip_prefix("max_width = ")).unwrap().parse::<usize>().unwrap();
    let is_too_wide = |line: &str| {
        let comment = line.trim_start().trim_start_matches(['/', '!']).trim_start();
        let is_prose = line.trim_start().starts_with("//") && !comment.starts_with(['|', '[', '{', '"', '#']);
        is_prose && line.chars().count() > width
    };
    assert!(is_too_wide(&format!("    /// {}", "word ".repeat(width / 5))));
    assert!(!is_too_wide(&format!("    /// | {} |", "cell | ".repeat(width / 5))));
    let wide = members().into_iter().flat_map(|directory| sources(&directory)).flat_map(|(path, text)| {
        let lines: Vec<usize> =
            (1..).zip(text.lines()).filter(|(_, line)| is_too_wide(line)).map(|(at, _)| at).collect();
        lines.into_iter().map(move |at| format!("{path}:{at}"))
    });
    none(wide.collect());
}
