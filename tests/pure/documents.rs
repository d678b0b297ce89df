//! The documents agree with the code: their links and files exist, their examples are what the codecs write, their list
//! of rules is complete, their policies are of a form that IAM can read, their figures are those of the code and the
//! template (`figures.rs`), and their language is plain (`words.rs`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sapwood_core::audit::{AuditorState, Trail};
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema, SortKey, Version};
use sapwood_core::model::{
    Amounts, Announcement, BaseNode, Counted, Cursor, DELETING, DeletionMark, Entry, Epoch, FeedName, Item, Latest,
    NameClaim, Settings, Stored, WRITE, key_of, row_parent, rows, text_of, with_key,
};
use serde_json::Value;

mod figures;
mod words;

/// Most lines of ARCHITECTURE.md: it is a map, and details have pages of their own.
const ARCHITECTURE_LINES_MAX: usize = 130;

/// Most lines and words of README.md: the definition, the problem, a try, the comparison.
const README_LINES_MAX: usize = 90;
const README_WORDS_MAX: usize = 700;

/// Most lines of docs/operate/deploy.md: a newcomer reads all of it, and the rest has pages of its own.
const DEPLOYING_LINES_MAX: usize = 125;

/// Most characters of a managed policy. AWS doesn't count white space.
const POLICY_CHARACTERS_MAX: usize = 6_144;

/// The words that a reader of docs/operate/iam.md replaces in the policies, each with the length of the longest value
/// that AWS allows. A region's name has as many characters as the longest of today.
const PLACEHOLDERS: [(&str, usize); 8] = [
    ("REGION", "ap-southeast-1".len()),
    ("ACCOUNT", 12),
    ("API_ID", 10),
    ("TABLE", 255),
    ("KEY_ID", 36),
    ("DOMAIN", 64),
    ("BUCKET", 63),
    ("BOUNDARY", 128),
];

/// The methods of HTTP, which the resources of `execute-api:Invoke` name.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// The project's directory.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The time of the examples in docs/reference/table.md and items.md, 2026-11-21T09:05:00Z, in seconds since 1970.
const EXAMPLE_SECONDS: u64 = 1_795_251_900;

/// The directories whose files the documents name.
const DIRECTORIES: [&str; 6] = ["shared/", "functions/", "infra/", "tests/", "docs/", ".ci/"];

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// Every Markdown file of the project with its text.
fn documents() -> Vec<(PathBuf, String)> {
    let entries = |directory: &Path| fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (mut paths, mut left): (Vec<PathBuf>, _) = (entries(Path::new(ROOT)).collect(), vec![PathBuf::from("docs")]);
    while let Some(directory) = left.pop() {
        let (below, files) = entries(&Path::new(ROOT).join(directory)).partition::<Vec<_>, _>(|path| path.is_dir());
        left.extend(below);
        paths.extend(files);
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.extend(entries(&Path::new(ROOT).join("examples")).map(|example| example.join("README.md")));
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The lines of a document outside of its blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The blocks of code of one language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect()
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let slug = |heading: &str| {
        let kept =
            heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
        kept.replace(' ', "-")
    };
    headings.map(slug).collect()
}

/// What stands between two marks, wherever they occur in a text.
fn between<'a>(text: &'a str, from: &'a str, to: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(from).skip(1).filter_map(move |rest| Some(rest.split_once(to)?.0))
}

/// The part of a text between two headings.
fn section<'a>(text: &'a str, heading: &str, next: &str) -> &'a str {
    text.split_once(heading).unwrap().1.split_once(next).unwrap().0
}

/// The paths that a document's links name, without those of the web.
fn targets(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = prose(text).collect();
    lines.iter().flat_map(|line| between(line, "](", ")")).filter(|target| !target.contains("://")).collect()
}

#[test]
fn every_page_is_found_from_the_index() {
    let mut found = BTreeSet::new();
    let mut left = vec![Path::new(ROOT).join("docs/start/index.md").canonicalize().unwrap()];
    while let Some(page) = left.pop() {
        if !found.insert(page.clone()) {
            continue;
        }
        let text = fs::read_to_string(&page).unwrap();
        let files = targets(&text).into_iter().map(|target| target.split('#').next().unwrap());
        let files = files.filter(|file| file.ends_with(".md"));
        left.extend(files.map(|file| page.parent().unwrap().join(file).canonicalize().unwrap()));
    }
    let pages = documents().into_iter().map(|(path, _)| path.canonicalize().unwrap());
    assert_eq!(pages.filter(|page| !found.contains(page)).collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

/// Most lines before a guide's first block.
const LINES_BEFORE_A_BLOCK_MAX: usize = 10;

#[test]
fn every_guide_begins_with_its_goal_and_a_block_that_runs() {
    for (path, text) in documents().into_iter().filter(|(path, _)| path.parent().unwrap().ends_with("docs/guides")) {
        let block = text.lines().position(|line| line.starts_with("```"));
        assert!(block.is_some_and(|line| line < LINES_BEFORE_A_BLOCK_MAX), "{}", path.display());
        let goal = text.lines().nth(2).unwrap();
        assert!(goal.starts_with(|c: char| c.is_uppercase() || c == '`'), "{}: {goal}", path.display());
    }
}

#[test]
fn every_link_of_a_document_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for (path, text) in documents() {
        for target in targets(&text) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let has_anchor = || anchor.is_empty() || anchors(&fs::read_to_string(&file).unwrap()).contains(anchor);
            if !file.exists() || !has_anchor() {
                broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_file_that_a_document_names_exists() {
    let mut missing = Vec::new();
    // The changelog may name what is gone.
    for (path, text) in documents().into_iter().filter(|(path, _)| !path.ends_with("CHANGELOG.md")) {
        for line in prose(&text) {
            for name in line.split('`').skip(1).step_by(2).filter_map(|code| code.split_whitespace().next()) {
                let is_path =
                    DIRECTORIES.iter().any(|directory| name.starts_with(directory)) && !name.contains(['*', '{', '<']);
                if is_path && !Path::new(ROOT).join(name).exists() {
                    missing.push(format!("{}: {name}", path.display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_readme_stays_a_first_look() {
    let readme = read("README.md");
    let words = readme.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    assert!(readme.lines().count() <= README_LINES_MAX && words <= README_WORDS_MAX, "{words} words");
}

#[test]
fn the_architecture_stays_a_map() {
    assert!(read("ARCHITECTURE.md").lines().count() <= ARCHITECTURE_LINES_MAX);
}

#[test]
fn the_first_deployment_stays_one_page() {
    assert!(read("docs/operate/deploy.md").lines().count() <= DEPLOYING_LINES_MAX);
}

/// The texts of a value that is a text or a list of texts.
fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .map_or_else(|| vec![value.as_str().unwrap()], |all| all.iter().map(|one| one.as_str().unwrap()).collect())
}

/// Panics unless a statement allows actions on resources, each in the form that IAM knows, with no placeholder but
/// those of the page.
fn check_statement(statement: &Value) {
    let known = ["Sid", "Effect", "Principal", "Action", "Resource", "Condition"];
    assert!(statement.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{statement}");
    assert!(statement["Effect"] == "Allow" || statement["Effect"] == "Deny", "{statement}");
    for action in texts(&statement["Action"]) {
        let (service, call) = action.split_once(':').unwrap();
        assert!(!call.is_empty() && !service.is_empty() && !service.contains('*'), "{action}");
    }
    // The trust policy of a role names a principal instead of resources.
    let named = match &statement["Principal"] {
        Value::Null => texts(&statement["Resource"]),
        principal => texts(&principal["Federated"]),
    };
    for resource in named.into_iter().filter(|resource| *resource != "*") {
        assert!(resource.starts_with("arn:aws:") && resource.splitn(6, ':').count() == 6, "{resource}");
        for word in resource.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let is_capital = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            let is_placeholder = PLACEHOLDERS.iter().any(|(placeholder, _)| *placeholder == word);
            assert!(!is_capital || is_placeholder || METHODS.contains(&word), "{resource}");
        }
    }
}

/// A policy with the longest values in the place of the placeholders.
fn filled(policy: &str) -> String {
    let ends_a_word = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let fill = |word: &str| {
        let name = word.trim_end_matches(ends_a_word);
        let longest = PLACEHOLDERS.iter().find(|(placeholder, _)| *placeholder == name);
        longest.map_or_else(|| word.to_owned(), |(_, length)| "x".repeat(*length) + &word[name.len()..])
    };
    policy.split_inclusive(ends_a_word).map(fill).collect()
}

#[test]
fn every_policy_is_one_that_iam_can_read_and_the_page_of_permissions_links_it() {
    let page = read("docs/operate/iam.md");
    let unexplained = PLACEHOLDERS.into_iter().filter(|(word, _)| !page.contains(&format!("`{word}`")));
    assert_eq!(unexplained.collect::<Vec<_>>(), []);
    let linked: BTreeSet<String> = between(&page, "](../policies/", ")").map(str::to_owned).collect();
    let mut files = BTreeSet::new();
    for path in fs::read_dir(Path::new(ROOT).join("docs/policies")).unwrap().map(|entry| entry.unwrap().path()) {
        let policy: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let filled = filled(&policy.to_string());
        assert!(filled.len() <= POLICY_CHARACTERS_MAX, "{}: {}", path.display(), filled.len());
        assert_eq!(policy["Version"], "2012-10-17", "{}", path.display());
        let statements = policy["Statement"].as_array().unwrap();
        statements.iter().for_each(check_statement);
        let sids: BTreeSet<&str> = statements.iter().map(|statement| statement["Sid"].as_str().unwrap()).collect();
        assert!(!statements.is_empty() && sids.len() == statements.len(), "{}: {sids:?}", path.display());
        files.insert(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    assert_eq!(files, linked);
}

/// The environment of the reading function has the secret that signs cursors.
#[test]
fn only_who_deploys_may_read_the_configuration_of_other_functions_than_the_handler() {
    for path in fs::read_dir(Path::new(ROOT).join("docs/policies")).unwrap().map(|entry| entry.unwrap().path()) {
        let policy: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for statement in policy["Statement"].as_array().unwrap() {
            let (actions, resource) = (statement["Action"].to_string(), statement["Resource"].to_string());
            let deploys = path.file_name().unwrap().to_string_lossy().starts_with("deployer");
            if !deploys && (actions.contains("lambda:GetFunction") || actions.contains("lambda:*")) {
                assert!(resource.ends_with("*StreamHandler*\""), "{}: {resource}", path.display());
            }
        }
    }
}

#[test]
fn every_rule_stands_beside_its_step_in_the_protocol() {
    let rules = read("shared/core/src/rules.rs");
    let variants =
        section(&rules, "pub enum Rule {", "\n}").lines().map(str::trim).filter_map(|line| line.strip_suffix(','));
    let variants: BTreeSet<String> = variants.filter(|line| !line.starts_with("//")).map(str::to_owned).collect();
    let pages = documents().into_iter().filter(|(path, _)| path.parent().is_some_and(|of| of.ends_with("protocol")));
    let protocol: String = pages.map(|(_, text)| text).collect();
    let named: BTreeSet<String> = between(&protocol, "`Rule::", "`").map(str::to_owned).collect();
    assert_eq!(named, variants);
}

#[test]
fn the_examples_of_items_are_what_the_codecs_read_and_write() {
    let (settings, schema) = (Settings::default(), Schema::default());
    let pages = ["table", "items"].map(|page| blocks(&read(&format!("docs/reference/{page}.md")), "json"));
    let examples: Vec<Item> = pages.concat().iter().map(|block| serde_json::from_str(block).unwrap()).collect();
    let node = |id: &str| NodeRef::from(Id::new(id).unwrap());
    let find = |pk: &str, sk: &str| {
        examples.iter().find(|item| key_of(item, &schema).is_some_and(|key| key.pk == pk && key.sk == sk)).unwrap()
    };
    let mut written = Vec::new();
    for item in &examples {
        let key = key_of(item, &schema).unwrap();
        if key == schema.settings_key() {
            let announcement = Announcement::read(item).unwrap().unwrap();
            assert_eq!(announcement.item(&schema), *item);
            announcement.settings().unwrap();
            continue;
        }
        if key == schema.audit_key() {
            // It was saved half an hour after the examples' time.
            let kept = AuditorState::read(item, None, EXAMPLE_SECONDS + 1_800).unwrap();
            assert!(kept.impossible.is_empty(), "{:?}", kept.impossible);
            let state = kept.state;
            assert_eq!(state.item(&schema), *item);
            continue;
        }
        if schema.trail_range().contains(&key.sk) {
            let mut trail = Trail::new(7);
            for key in [ItemKey::new("V", "NODE"), ItemKey::new("d", "v002_Audit")] {
                trail.note(&key, &schema);
            }
            assert_eq!(trail.take(EXAMPLE_SECONDS, &settings), Some((key, item.clone())));
            continue;
        }
        if key == schema.feed_key() {
            assert_eq!(FeedName::read(item).unwrap().item(&schema), *item);
            continue;
        }
        if key == schema.epoch_key() {
            assert_eq!(Epoch::read(Some(item)).unwrap().item(&schema), *item);
            continue;
        }
        let node = schema.parse_partition(&key.pk).unwrap();
        match schema.parse_sort_key(&key.sk).unwrap_or_else(|| panic!("{key:?} is no key of the table")) {
            SortKey::Node => {
                BaseNode::read(item.clone(), &node, &schema).unwrap();
                assert_eq!(DeletionMark::read(item).map(|mark| mark.value()).as_ref(), item.get(DELETING), "{key:?}");
            }
            SortKey::Lineage => match Stored::read(Some(item), &schema) {
                Stored::Lineage(lineage) => assert_eq!(lineage.item(&node, &schema), *item),
                Stored::Tombstone(tombstone) => assert_eq!(tombstone.item(&node, &settings), *item),
                other => panic!("{key:?}: {other:?}"),
            },
            SortKey::Cascade => assert_eq!(Cursor::read(item).unwrap().item(&node, &schema), *item),
            SortKey::Latest { topic } => {
                let version = Version::new(2).unwrap();
                let latest = Latest { node, topic };
                let revision = find(&key.pk, &latest.revision_key(version, &settings).unwrap().sk);
                assert_eq!(Latest::copy(&key, version, revision, &settings), *item);
            }
            SortKey::Name(_) => {
                let claim = NameClaim {
                    node: NameClaim::node_in(item).unwrap(),
                    write: text_of(item, WRITE).unwrap().to_owned(),
                };
                assert_eq!(claim.item(&key, &schema), *item);
            }
            SortKey::Counted => {
                let counted = Counted::read(item).unwrap().unwrap();
                assert_eq!(counted.item(&node, &settings, EXAMPLE_SECONDS), *item);
            }
            SortKey::Totals { epoch, lane } => {
                assert_eq!(schema.totals_key(&node, epoch, lane), key);
                assert_eq!(Amounts::in_lane(item).added().of(with_key(&key, &schema)), *item);
            }
            SortKey::Change { stamp, id } => {
                let tree = NodeRef::from(Id::new("D").unwrap());
                assert_eq!(schema.change_key(&tree, stamp, &id).unwrap(), key);
                assert_eq!(Entry::of(&node.sibling(id), tree.id, &settings).unwrap().item(stamp, &schema), *item);
            }
            SortKey::Operation(_) | SortKey::Deleted | SortKey::Idempotency { .. } | SortKey::Revision { .. } => {}
            _ => written.push(item),
        }
    }
    // The rows in the examples are those that the lineages of `d` and `m` name, and those of a root and of an orphan.
    let of = |id: &str| {
        let lineage = Stored::read(Some(find(id, "LINEAGE")), &schema).lineage().unwrap().clone();
        let record = find(id, "NODE").clone();
        let base = BaseNode::read(record, &node(id), &schema).unwrap();
        let of_one = rows(&lineage.placement, &node(id), &schema);
        of_one.iter().map(|row| row.item(&node(id), &base, &settings)).collect::<Vec<Item>>()
    };
    let of_both = [of("d"), of("m")].concat();
    let (shown, others): (Vec<&Item>, Vec<&Item>) =
        written.into_iter().partition(|item| row_parent(item).is_some_and(|parent| parent.as_str() == "V"));
    assert!(shown.len() == 4 && shown.iter().all(|item| of_both.contains(item)), "{of_both:#?}");
    let missing = NodeRef::from(Id::new("missing").unwrap());
    let kinds: Vec<String> = others.iter().map(|item| key_of(item, &schema).unwrap().pk).collect();
    assert_eq!(kinds, [schema.roots_partition(None), schema.orphans_partition(&missing), schema.trash_partition(None)]);
}

/// Whoever can't open `/docs` of a closed API can read the document here. `SAPWOOD_WRITE=1` writes it anew.
#[test]
fn the_published_document_is_the_apis() {
    let document: Value = serde_json::from_str(&sapwood_api::contract::openapi()).unwrap();
    let wanted = serde_json::to_string_pretty(&document).unwrap() + "\n";
    let path = Path::new(ROOT).join("docs/openapi.json");
    if std::env::var_os("SAPWOOD_WRITE").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == wanted,
        "SAPWOOD_WRITE=1 cargo test -p sapwood-tests --test pure published_document writes docs/openapi.json"
    );
}
