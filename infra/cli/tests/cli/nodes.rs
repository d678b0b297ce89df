//! `sapwood get`, `put`, `move`, `rm`, `history`, `latest`, `links`, `inherited` and `granted`, on the table of a
//! running `sapwood dev`.

use aws_sdk_dynamodb::types::AttributeValue as Written;
use sapwood_core::model::AttributeValue;
use sapwood_tests::client::{contents, node, put};
use serde_json::Value;

use crate::running::{Sapwood, TABLE, printed, records, sapwood, words};

/// The objects that were printed, one a line.
fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The attribute of a node's record.
async fn attribute(running: &Sapwood, id: &str, name: &str) -> Option<AttributeValue> {
    let all = contents(&running.client, TABLE, ["PK", "SK"]).await;
    all.get(&(id.to_owned(), "NODE".to_owned())).and_then(|item| item.get(name).cloned())
}

fn text(value: &str) -> Option<AttributeValue> {
    Some(AttributeValue::S(value.to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn put_creates_a_node_and_changes_only_what_is_named() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    let digits = "12345678901234567890.123456789012345678";
    assert!(printed(url, &["put", "D", "--set", "name=Drive D"], 0).starts_with("D is created, with the tag \""));
    let json = format!("{{\"size\": {digits}, \"tags\": {{\"$set\": [\"new\"]}}, \"at\": {{\"x\": 1, \"y\": 2}}}}");
    let created = printed(url, &["put", "V", "--parent", "D", "--json-attributes", &json, "--by", "ada", "--json"], 0);
    assert!(created.contains(digits) && created.contains("\"created_by\":\"ada\""), "{created}");
    assert_eq!(attribute(&running, "V", "size").await, Some(AttributeValue::N(digits.to_owned())));

    // A change leaves the parent and all else as they are. Null deletes, and a map is merged into.
    printed(url, &["put", "V", "--set", "name=Volume=V", "--json-attributes", r#"{"tags": null, "at": {"y": 3}}"#], 0);
    let got = lines(&printed(url, &["get", "V", "--json"], 0)).remove(0);
    assert_eq!((&got["parent"], &got["attributes"]["name"]), (&"D".into(), &"Volume=V".into()));
    assert_eq!(got["attributes"]["at"], serde_json::json!({"x": 1, "y": 3}));
    assert!(got["attributes"].get("tags").is_none() && got["attributes"].get("size").is_some(), "{got}");
    printed(url, &["put", "V", "--unset", "size", "--segment", "volume"], 0);
    assert_eq!(attribute(&running, "V", "size").await, None);
    assert_eq!(attribute(&running, "V", "segment").await, text("volume"));
    printed(url, &["put", "V", "--segment", ""], 0);
    assert_eq!(attribute(&running, "V", "segment").await, None);

    // A replacement has nothing but what is named, and it names the parent.
    let refused = sapwood(url, &["put", "V", "--replace", "--set", "name=new"]);
    assert!(refused.status.code() == Some(2) && words(&refused).contains("--root"), "{}", words(&refused));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("volume.json");
    std::fs::write(&file, r#"{"nothing": null}"#).unwrap();
    let file = format!("@{}", file.display());
    printed(url, &["put", "V", "--replace", "--parent", "D", "--json-attributes", &file], 0);
    let replaced = records(&running).await.remove(&("V".to_owned(), "NODE".to_owned())).unwrap();
    let names: Vec<&str> = replaced.keys().map(String::as_str).collect();
    assert_eq!(names, ["PK", "SK", "nothing", "parent"]);
    assert_eq!(attribute(&running, "V", "_created_by").await, text("ada"));
    running.becomes_right().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn put_writes_only_what_it_is_sure_of() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    printed(url, &["put", "D", "--if-none-match", "*", "--set", "name=first"], 0);
    printed(url, &["put", "D", "--if-none-match", "*", "--set", "name=second"], 1);
    printed(url, &["put", "V", "--if-match", "*"], 1);
    assert!(!records(&running).await.contains_key(&("V".to_owned(), "NODE".to_owned())));
    let tag = lines(&printed(url, &["get", "D", "--json"], 0))[0]["etag"].as_str().unwrap().to_owned();
    printed(url, &["put", "D", "--if-match", "AAAAAAAAAAAAAAAAAAAAAA", "--set", "name=third"], 1);
    printed(url, &["put", "D", "--if-match", "-AAAAAAAAAAAAAAAAAAAAA", "--set", "name=third"], 1);
    // A shell has taken the quotes off, or it hasn't.
    printed(url, &["put", "D", "--if-match", tag.trim_matches('"'), "--set", "name=fourth"], 0);
    printed(url, &["put", "D", "--if-match", &tag, "--set", "name=fifth"], 1);
    assert_eq!(attribute(&running, "D", "name").await, text("fourth"));

    for (arguments, code, said) in [
        (&["put", "x", "--parent", "nobody"][..], 1, "`nobody` doesn't exist"),
        (&["put", "D", "--parent", "D"], 1, "itself or its descendant"),
        (&["put", "D", "--set", "_name=x"], 1, "reserved"),
        (&["put", "D", "--json-attributes", "{"], 2, "--json-attributes"),
        (&["put", "D", "--json-attributes", "{\"a\": {\"$set\": []}}"], 2, "--json-attributes"),
        (&["put", "D", "--json-attributes", "@/nowhere"], 4, "/nowhere"),
        (&["put", ""], 2, "empty"),
        (&["put", "D", "--topic", "t", "--parent", "V"], 2, "--topic"),
        (&["get", "nobody"], 1, "there is no node `nobody`"),
        (&["get", "D", "--tenant", "acme"], 2, "tenant"),
    ] {
        let output = sapwood(url, arguments);
        let right = output.status.code() == Some(code) && words(&output).contains(said);
        assert!(right, "{arguments:?}: {:?} {}", output.status, words(&output));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_keeps_to_the_rules_of_the_api() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    for (id, parent) in [("D", None), ("V", Some("D")), ("d", Some("V"))] {
        put(&running.client, TABLE, node(id, parent, id)).await;
    }
    running.becomes_right().await;
    let cycle = sapwood(url, &["move", "D", "--to", "d"]);
    assert!(cycle.status.code() == Some(1) && words(&cycle).contains("itself or its descendant"), "{}", words(&cycle));
    printed(url, &["move", "nobody", "--root"], 1);
    printed(url, &["move", "d"], 2);
    printed(url, &["move", "V", "--root", "--wait"], 0);
    assert_eq!(attribute(&running, "V", "parent").await, None);
    // It has waited for the node's own rows.
    let listed = contents(&running.client, TABLE, ["PK", "SK"]).await;
    assert!(listed.contains_key(&("ROOTS".to_owned(), "ROOT#V".to_owned())));
    printed(url, &["move", "D", "--to", "d", "--wait=30"], 0);
    running.becomes_right().await;
    let drawn = printed(url, &["tree", "V", "--json", "--rows"], 0);
    let drawn = lines(&drawn);
    let ids: Vec<&str> = drawn.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["V", "d", "D"]);
    assert_eq!((&drawn[2]["depth"], &drawn[2]["parent"]), (&2.into(), &"d".into()));
    assert_eq!(drawn[2]["items"]["lineage"]["pk"], "D");
    assert!(drawn[2]["items"]["rows"].as_array().unwrap().iter().all(|row| row["missing"] == false), "{drawn:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_says_what_becomes_of_the_children_and_waits_for_it() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    let tree = [("D", None), ("V", Some("D")), ("d", Some("V")), ("e", Some("d")), ("f", Some("e"))];
    for (id, parent) in tree {
        put(&running.client, TABLE, node(id, parent, id)).await;
    }
    for id in ["e", "f"] {
        printed(url, &["put", id, "--topic", "Audit", "--set", "what=x"], 0);
    }
    running.becomes_right().await;
    let unasked = sapwood(url, &["rm", "V", "--children", "delete"]);
    assert!(unasked.status.code() == Some(4) && words(&unasked).contains("--yes"), "{}", words(&unasked));
    for how in [&[][..], &["--children", "restrict"], &["--children", "refuse"]] {
        let refused = sapwood(url, &[&["rm", "V", "--yes"][..], how].concat());
        assert!(refused.status.code() == Some(1) && words(&refused).contains("children"), "{}", words(&refused));
    }
    assert_eq!(records(&running).await.len(), tree.len() + 2);

    let adopted = printed(url, &["rm", "V", "--children", "adopt", "--yes", "--wait"], 0);
    assert!(adopted.contains("is being deleted by operation ") && adopted.ends_with("V is deleted\n"), "{adopted}");
    assert_eq!(attribute(&running, "d", "parent").await, text("D"));
    let deleted = printed(url, &["rm", "d", "--children", "delete", "--revisions", "--yes", "--wait", "--json"], 0);
    let deleted = lines(&deleted);
    assert_eq!((deleted.len(), &deleted[0]["status"], &deleted[0]["mode"]), (1, &"done".into(), &"delete".into()));
    // A leaf is deleted at once.
    let leaf = lines(&printed(url, &["rm", "D", "--yes", "--json"], 0));
    assert_eq!(leaf, [serde_json::json!({"node": "D", "status": "done"})]);
    printed(url, &["rm", "D", "--yes"], 1);
    running.becomes_right().await;
    // The API remembers its operations, and that it has deleted D.
    let left = records(&running).await;
    let left: Vec<_> = left.keys().filter(|(_, sk)| sk == "NODE" || sk.starts_with('v')).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trash_is_filled_listed_restored_and_emptied() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    let tree = [("D", None), ("V", Some("D")), ("d", Some("V")), ("W", Some("D")), ("X", Some("D")), ("x", Some("X"))];
    for (id, parent) in tree {
        put(&running.client, TABLE, node(id, parent, id)).await;
    }
    running.becomes_right().await;
    // It doesn't ask, whatever the parameter says.
    let said = printed(url, &["rm", "V", "--trash", "--by", "ada", "--wait"], 0);
    assert!(said.starts_with("V is in the trash, with the tag \""), "{said}");
    printed(url, &["rm", "W", "--trash", "--wait"], 0);
    let listed = lines(&printed(url, &["trash", "--json", "list"], 0));
    let of = |line: &Value| (line["id"].clone(), line["trashed"]["parent"].clone());
    assert_eq!(listed.iter().map(of).collect::<Vec<_>>(), [("W".into(), "D".into()), ("V".into(), "D".into())]);
    let people = printed(url, &["trash", "list"], 0);
    assert!(people.lines().nth(1).unwrap().ends_with("  V  by ada  from D"), "{people}");
    assert_eq!(printed(url, &["trash", "list", "--older-than", "1h"], 0), "");
    printed(url, &["trash", "list", "--older-than", "soon"], 2);

    // An export keeps it there, with what is below it, unless it is to be a root.
    let exported = lines(&printed(url, &["export", "--under", "V"], 0));
    assert_eq!((&exported[0]["trashed"], &exported[1]["parent"]), (&listed[1]["trashed"], &"V".into()));
    let as_root = lines(&printed(url, &["export", "--under", "V", "--as-root"], 0));
    assert!(as_root[0].get("trashed").is_none() && as_root[0]["id"] == "V", "{as_root:?}");

    // Out again: where it was, elsewhere, as a root.
    for (arguments, code, said) in [
        (&["trash", "restore", "nobody"][..], 1, "doesn't exist"),
        (&["trash", "restore", "X"], 1, "trash"),
        (&["trash", "restore", "V", "--to", "W"], 1, "trash"),
        (&["trash", "restore", "V", "--to", "nobody"], 1, "doesn't exist"),
        (&["trash", "restore", "V", "--to", "D", "--root"], 2, "--root"),
        (&["move", "x", "--to", "d"], 1, "trash"),
        (&["move", "V", "--root"], 1, "trash"),
        (&["rm", "V", "--trash", "--children", "delete"], 2, "--children"),
    ] {
        let output = sapwood(url, arguments);
        let is_right = output.status.code() == Some(code) && words(&output).contains(said);
        assert!(is_right, "{arguments:?}: {:?} {}", output.status, words(&output));
    }
    printed(url, &["trash", "restore", "V", "--wait"], 0);
    assert_eq!(attribute(&running, "V", "parent").await, text("D"));
    printed(url, &["trash", "restore", "W", "--to", "V", "--wait"], 0);
    assert_eq!(attribute(&running, "W", "parent").await, text("V"));
    assert_eq!(printed(url, &["trash", "list"], 0), "");
    printed(url, &["rm", "W", "--trash"], 0);
    let back = lines(&printed(url, &["trash", "restore", "W", "--root", "--json"], 0));
    assert!(back[0].get("parent").is_none() && back[0].get("trashed").is_none(), "{back:?}");
    running.becomes_right().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_known_to_be_old_is_deleted_for_good_by_its_age() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    for (id, parent) in [("D", None), ("new", Some("D")), ("below", Some("new"))] {
        put(&running.client, TABLE, node(id, parent, id)).await;
    }
    // Other clients have put these there: long ago, and nobody knows when.
    let said = Written::M([("at".to_owned(), Written::S("2001-02-03T04:05:06.789Z".to_owned()))].into());
    for (id, said) in [("old", said), ("unknown", Written::Bool(true))] {
        let mut item = node(id, None, id);
        item.insert("_trashed".to_owned(), said);
        put(&running.client, TABLE, item).await;
        put(&running.client, TABLE, node(&format!("below {id}"), Some(id), id)).await;
    }
    running.becomes_right().await;
    printed(url, &["rm", "new", "--trash", "--wait"], 0);
    let listed = |older: &[&str]| -> Vec<String> {
        let found = lines(&printed(url, &[&["trash", "list", "--json"][..], older].concat(), 0));
        found.iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((listed(&[]), listed(&["--older-than", "30d"])), (strings(["new", "old", "unknown"]), strings(["old"])));
    let unasked = sapwood(url, &["trash", "empty"]);
    assert!(unasked.status.code() == Some(4) && words(&unasked).contains("--yes"), "{}", words(&unasked));
    let emptied = printed(url, &["trash", "empty", "--older-than", "30d", "--yes", "--wait"], 0);
    assert!(emptied.contains("old is being deleted by operation "), "{emptied}");
    assert_eq!(listed(&[]), strings(["new", "unknown"]));
    assert_eq!(printed(url, &["trash", "empty", "--older-than", "30d", "--yes"], 0), "");
    let left = records(&running).await;
    assert!(left.contains_key(&("below unknown".to_owned(), "NODE".to_owned())), "{left:?}");
    let emptied = lines(&printed(url, &["trash", "empty", "--yes", "--wait", "--json"], 0));
    assert_eq!(emptied.iter().map(|line| line["node"].clone()).collect::<Vec<_>>(), ["unknown", "new"]);
    assert_eq!(listed(&[]), strings([]));
    running.becomes_right().await;
    let left: Vec<_> = records(&running).await.into_keys().filter(|(_, sk)| sk == "NODE").map(|(pk, _)| pk).collect();
    assert_eq!(left, ["D"]);
}

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_has_all_that_is_below_and_says_when_it_is_made() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    for (id, parent) in [("D", None), ("V", Some("D")), ("d", Some("V")), ("e", Some("d"))] {
        put(&running.client, TABLE, node(id, parent, id)).await;
    }
    running.becomes_right().await;
    let made = printed(url, &["copy", "V", "--to", "d", "--ids", "acme", "--wait"], 0);
    assert!(made.contains("V is being copied to acme by operation ") && made.ends_with("V is copied\n"), "{made}");
    assert_eq!(
        (attribute(&running, "acme", "parent").await, attribute(&running, "acme", "name").await),
        (text("d"), text("V"))
    );
    printed(url, &["copy", "V", "--ids", "acme"], 1);
    printed(url, &["copy", "nobody"], 1);
    let other = lines(&printed(url, &["copy", "acme", "--root", "--wait", "--json"], 0));
    let said = (&other[0]["status"], &other[0]["mode"], &other[0]["source"], &other[0]["copied"]);
    assert_eq!(said, (&"done".into(), &"copy".into(), &"acme".into(), &3.into()));
    running.becomes_right().await;
    let nodes = records(&running).await.into_keys().filter(|(_, sk)| sk == "NODE").count();
    assert_eq!(nodes, 4 + 3 + 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_handler_carries_out_is_waited_for_and_not_finished() {
    let running = Sapwood::start(&["--no-handler"]);
    let url = &running.url;
    printed(url, &["put", "D"], 0);
    let waited = sapwood(url, &["put", "V", "--parent", "D", "--wait=1"]);
    assert!(waited.status.code() == Some(3) && words(&waited).contains("after 1 s"), "{}", words(&waited));
    assert_eq!(records(&running).await.len(), 2);
    let waited = sapwood(url, &["rm", "D", "--children", "delete", "--yes", "--wait=1", "--json"]);
    assert_eq!(waited.status.code(), Some(3), "{}", words(&waited));
    assert_eq!(lines(&String::from_utf8(waited.stdout).unwrap())[0]["status"], "running");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_is_read_newest_first_and_page_by_page() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    for n in 1..=5 {
        let set = format!("n={n}");
        printed(url, &["put", "eq", "--topic", "Audit", "--set", &set, "--by", "padma"], 0);
    }
    let said = printed(url, &["put", "eq", "--topic", "State\n", "--set", "n=1"], 0);
    assert_eq!(said, "revision 1 of State\\u{a} is appended to eq\n");
    running.becomes_right().await;

    let all = lines(&printed(url, &["history", "eq", "Audit", "--json"], 0));
    let versions: Vec<u64> = all.iter().map(|line| line["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, [5, 4, 3, 2, 1]);
    assert_eq!((&all[0]["attributes"]["n"], &all[0]["updated_by"]), (&"5".into(), &"padma".into()));
    for topic in [&["Audit"][..], &[]] {
        let mut found = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut arguments = [&["history", "eq"][..], topic, &["--limit", "2", "--json"]].concat();
            arguments.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
            let mut page = lines(&printed(url, &arguments, 0));
            let next = page.pop_if(|last| last.get("next").is_some());
            assert!(page.len() <= 2, "{page:?}");
            found.extend(page);
            let Some(next) = next else { break };
            after = Some(next["next"].as_str().unwrap().to_owned());
        }
        assert_eq!(found, lines(&printed(url, &[&["history", "eq"][..], topic, &["--all", "--json"]].concat(), 0)));
        assert_eq!(found.len(), if topic.is_empty() { 6 } else { 5 });
    }
    let people = printed(url, &["history", "eq", "Audit", "--limit", "1"], 0);
    assert!(people.starts_with("Audit  5  ") && people.contains("… and more: add --after "), "{people}");

    let newest = printed(url, &["latest", "eq"], 0);
    assert_eq!(newest, "Audit  5  {\"n\":\"5\"}\nState\\u{a}  1  {\"n\":\"1\"}\n");
    assert_eq!(lines(&printed(url, &["latest", "eq", "Audit", "--json"], 0))[0]["version"], 5);
    printed(url, &["latest", "eq", "nothing"], 1);
    printed(url, &["history", "nobody"], 1);
    printed(url, &["history", "eq", "--after", "nowhere"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn links_are_listed_with_their_ancestors_and_siblings_drawn_in_their_order() {
    let kinds = ["--parameter", "OrderAttribute=rank", "--parameter", "LinkAttributes=tags"];
    let running = Sapwood::start(&kinds);
    let url = &running.url;
    for arguments in [
        &["put", "D"][..],
        &["put", "ORDER#1", "--parent", "D", "--set", "rank=2"],
        &["put", "X", "--parent", "D", "--set", "rank=1"],
        &["put", "ITEM#1", "--parent", "ORDER#1", "--json-attributes", r#"{"tags": {"$set": ["mouse", "b"]}}"#],
        &["put", "free", "--set", "tags=mouse"],
    ] {
        printed(url, &[arguments, &kinds, &["--wait"]].concat(), 0);
    }
    // Their handler has left its settings.
    assert_eq!(printed(url, &["links", "mouse", "tags"], 0), "ITEM#1  ORDER#1  D\nfree\n");
    assert_eq!(printed(url, &["links", "mouse", "tags", "--ancestors", "ORDER#"], 0), "ITEM#1  ORDER#1\n");
    assert_eq!(printed(url, &["links", "nothing", "tags"], 0), "");
    let line = lines(&printed(url, &["links", "b", "tags", "--json"], 0)).remove(0);
    let attributes = serde_json::json!({"tags": {"$set": ["b", "mouse"]}});
    let wanted = serde_json::json!({"id": "ITEM#1", "parent": "ORDER#1", "ancestors": ["ORDER#1", "D"], "attributes": attributes});
    assert_eq!(line, wanted);
    assert_eq!(printed(url, &["links", "mouse", "tags", "--below", "ORDER#1"], 0), "ITEM#1  ORDER#1  D\n");
    assert_eq!(printed(url, &["links", "mouse", "tags", "--below", "X"], 0), "");
    let refused = sapwood(url, &["links", "b", "rank"]);
    assert!(refused.status.code() == Some(2) && words(&refused).contains("LinkAttributes"), "{}", words(&refused));

    let drawn = printed(url, &["tree", "D", "--rows"], 0);
    let [first, second] = ["── X\n", "── ORDER#1\n"].map(|branch| drawn.find(branch).unwrap());
    assert!(first < second, "{drawn}");
    for row in ["ROOTS | ORDERED#~#D", "D | CHILD#s2#ORDER#1", "mouse | LINK#tags#ITEM#1", "b | LINK#tags#ITEM#1"] {
        assert!(drawn.contains(&format!("{row}\n")), "{row}: {drawn}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_inherits_and_what_is_granted_is_right_without_any_handler() {
    let running = Sapwood::start(&["--no-handler"]);
    let url = &running.url;
    for arguments in [
        &["put", "D", "--set", "owner=ada", "--json-attributes", r#"{"quota": 20}"#][..],
        &[
            "put",
            "V",
            "--parent",
            "D",
            "--set",
            "owner=bob",
            "--json-attributes",
            r#"{"viewers": ["eve", "GROUP#ops"]}"#,
        ],
        &["put", "d", "--parent", "V"],
        &["put", "elsewhere"],
    ] {
        printed(url, arguments, 0);
    }
    assert_eq!(
        printed(url, &["inherited", "d", "owner", "quota", "none"], 0),
        "V  1  {\"owner\":\"bob\"}\nD  2  {\"quota\":20}\n"
    );
    assert_eq!(
        printed(url, &["inherited", "d", "owner", "--all"], 0),
        "D  2  {\"owner\":\"ada\"}\nV  1  {\"owner\":\"bob\"}\n"
    );
    let body = lines(&printed(url, &["inherited", "d", "quota", "--json"], 0)).remove(0);
    assert_eq!(body["nearest"], serde_json::json!({"quota": {"value": 20, "from": "D", "levels_up": 2}}));
    printed(url, &["inherited", "nobody", "owner"], 1);
    printed(url, &["inherited", "d", "_rev"], 2);

    assert_eq!(printed(url, &["granted", "d", "viewers", "ada", "GROUP#ops"], 0), "V  1  GROUP#ops\n");
    assert_eq!(printed(url, &["granted", "d", "viewers", "ada"], 1), "");
    printed(url, &["move", "d", "--to", "elsewhere"], 0);
    let body = lines(&printed(url, &["granted", "d", "viewers", "GROUP#ops", "--json"], 1)).remove(0);
    assert_eq!((&body["allowed"], &body["above"]["top"]), (&false.into(), &"elsewhere".into()));
    printed(url, &["granted", "d", "parent", "ada"], 2);
}

/// What steers a terminal, breaks a line, or shows a text other than it is.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}31m\n\r\u{7f}\u{202e}gpj\u{2066}\u{200b}b";

fn assert_tame(output: &std::process::Output) {
    let said = words(output);
    let is_hostile = |c: char| HOSTILE.contains(c) && !c.is_ascii_graphic() && c != '\n';
    assert!(!said.contains(is_hostile), "{said:?}");
    // Of the text itself nothing begins a line.
    assert!(!said.lines().any(|line| line.starts_with("\u{7f}") || line.starts_with("gpj")), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_the_table_steers_a_terminal() {
    let running = Sapwood::start(&["--parameter", "LinkAttributes=tag"]);
    let url = &running.url;
    let mut top = node(HOSTILE, None, HOSTILE);
    top.insert("tag".to_owned(), aws_sdk_dynamodb::types::AttributeValue::S(HOSTILE.to_owned()));
    put(&running.client, TABLE, top).await;
    put(&running.client, TABLE, node("below", Some(HOSTILE), HOSTILE)).await;
    for version in 1..=2 {
        let mut revision = node(HOSTILE, None, HOSTILE);
        let key = format!("v00{version}_{HOSTILE}");
        revision.insert("SK".to_owned(), aws_sdk_dynamodb::types::AttributeValue::S(key));
        put(&running.client, TABLE, revision).await;
    }
    let key = (HOSTILE.to_owned(), format!("v0_{HOSTILE}"));
    let link = (HOSTILE.to_owned(), format!("LINK#tag#{HOSTILE}"));
    let row = (HOSTILE.to_owned(), "NODE#0001#below".to_owned());
    let begun = std::time::Instant::now();
    loop {
        let all = contents(&running.client, TABLE, ["PK", "SK"]).await;
        if [&key, &link, &row].into_iter().all(|key| all.contains_key(key)) {
            break;
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "the rows don't come");
    }
    for arguments in [
        &["get", HOSTILE][..],
        &["get", "below"],
        &["tree", HOSTILE, "--show", "name", "--rows"],
        &["history", HOSTILE, "--limit", "1"],
        &["latest", HOSTILE],
        &["links", HOSTILE, "tag"],
        &["inherited", HOSTILE, "name"],
        &["export", "--format", "mermaid", "--show", "name"],
        &["put", HOSTILE, "--set", "n=1", "--parameter", "LinkAttributes=tag"],
        &["move", "below", "--to", HOSTILE, "--parameter", "LinkAttributes=tag"],
        &["rm", HOSTILE, "--yes", "--parameter", "LinkAttributes=tag"],
        &["get", &format!("{HOSTILE}-absent")],
    ] {
        let output = sapwood(url, arguments);
        assert!(!words(&output).is_empty(), "{arguments:?}");
        assert_tame(&output);
        if !["export", "put", "move", "rm"].contains(&arguments[0]) && arguments.len() < 3 {
            let json = sapwood(url, &[arguments, &["--json"]].concat());
            assert_tame(&json);
            for line in String::from_utf8(json.stdout).unwrap().lines() {
                let value: Value = serde_json::from_str(line).unwrap();
                assert!(value.to_string().contains("gpj"), "{line}");
            }
        }
    }
    // The position of a history is a word of a shell.
    let more = printed(url, &["history", HOSTILE, "--limit", "1"], 0);
    let after = more.lines().last().unwrap().strip_prefix("\u{2026} and more: add --after ").unwrap().to_owned();
    let mut bash = std::process::Command::new("bash");
    let read = bash.env("LC_ALL", "C.UTF-8").args(["-c", &format!("printf %s {after}")]).output().unwrap();
    assert_eq!(String::from_utf8(read.stdout).unwrap(), format!("v002_{HOSTILE}"));
}

#[test]
fn what_sapwood_dev_prints_of_a_batch_steers_no_terminal() {
    use std::io::{BufRead, BufReader};
    for mode in [&[][..], &["--json"]] {
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_sapwood"))
            .args([&["dev", "--dynamodb", "127.0.0.1:0"], mode].concat())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let place = lines.find_map(|line| {
            let from = line.find("http://")?;
            Some(line[from..].split(['"', ' ']).next().unwrap().to_owned())
        });
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let mut bad = node(HOSTILE, None, HOSTILE);
            bad.insert("parent".to_owned(), aws_sdk_dynamodb::types::AttributeValue::Bool(true));
            put(&sapwood_tests::client::client(&place.unwrap()), TABLE, bad).await;
        });
        let said = lines.by_ref().find(|line| line.contains("gpj")).unwrap();
        let is_hostile = |c: char| HOSTILE.contains(c) && !c.is_ascii_graphic();
        assert!(!said.contains(is_hostile) && said.contains("[2J"), "{said:?}");
        process.kill().unwrap();
        process.wait().unwrap();
    }
}
