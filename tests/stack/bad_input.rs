//! Whatever a foreign client writes: never a crash, a blocked shard or a lost neighbour; each thing is reported with
//! its reason, and mended by the next good write.

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_tests::client::{delete_all, item, node, put, s};
use sapwood_tests::oracle::Oracle;
use sapwood_tests::running::{Running, TABLE};

/// Two good nodes, written after whatever was bad: they must be placed for all of it.
async fn neighbours_are_placed(running: &Running, oracle: &Oracle) {
    put(&running.client, TABLE, node("root", None, "root")).await;
    put(&running.client, TABLE, node("leaf", Some("root"), "leaf")).await;
    running.settle().await;
    running.assert_right(oracle).await;
    let contents = running.contents().await;
    assert!(contents.contains_key(&("root".to_owned(), "NODE#0001#leaf".to_owned())));
}

fn reasons(running: &Running) -> Vec<String> {
    let (_, reports) = running.take();
    assert!(reports.iter().all(|report| report.failed.is_empty()), "a bad record was failed, which blocks its shard");
    reports.into_iter().flat_map(|report| report.problems).map(|p| format!("{}: {}", p.key.sk, p.reason)).collect()
}

/// A node "bad" with this parent is reported with this reason, and a good write mends it.
async fn bad_parent(parent: AttributeValue, reason: &str) {
    let running = Running::start(&[]).await;
    let oracle = Oracle::default();
    let mut bad = node("bad", None, "bad");
    bad.insert("parent".to_owned(), parent);
    put(&running.client, TABLE, bad).await;
    neighbours_are_placed(&running, &oracle).await;
    let found = reasons(&running);
    assert!(found.iter().any(|found| found.contains(reason)), "no `{reason}` in {found:?}");
    put(&running.client, TABLE, node("bad", Some("leaf"), "good")).await;
    running.settle().await;
    running.assert_right(&oracle).await;
    assert_eq!(reasons(&running), Vec::<String>::new());
    let contents = running.contents().await;
    assert!(contents.contains_key(&("root".to_owned(), "NODE#0002#bad".to_owned())));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_is_a_number_counts_as_no_node() {
    bad_parent(AttributeValue::N("1".to_owned()), "the parent attribute is no string").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_is_a_list_counts_as_no_node() {
    bad_parent(AttributeValue::L(vec![s("x")]), "the parent attribute is no string").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_parent_counts_as_no_node() {
    bad_parent(s(""), "the id is empty").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_too_long_to_be_a_node_counts_as_no_node() {
    bad_parent(s("p".repeat(1_015)), "over its limit of 1014").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_its_own_parent_has_no_ancestors() {
    bad_parent(s("bad"), "its own parent").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_never_comes_leaves_an_orphan() {
    let running = Running::start(&[]).await;
    put(&running.client, TABLE, node("bad", Some("never"), "bad")).await;
    neighbours_are_placed(&running, &Oracle::default()).await;
    assert_eq!(reasons(&running), Vec::<String>::new());
    let orphans = running.contents().await.into_keys().filter(|(_, sk)| sk == "ORPHAN#bad").count();
    assert_eq!(orphans, 1);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_in_another_tenant_is_never_reached() {
    let running = Running::start(&[("TenantClaim", "tenant")]).await;
    let oracle = Oracle { tenants: true, ..Oracle::default() };
    let in_tenant = |tenant: &str, id: &str, parent: Option<&str>| {
        let mut item = node(id, parent, id);
        item.insert("PK".to_owned(), s(format!("TENANT#{tenant}#{id}")));
        item
    };
    put(&running.client, TABLE, in_tenant("acme", "root", None)).await;
    put(&running.client, TABLE, in_tenant("evil", "spy", Some("root"))).await;
    put(&running.client, TABLE, in_tenant("evil", "spy2", Some("TENANT#acme#root"))).await;
    put(&running.client, TABLE, node("without a tenant", Some("root"), "x")).await;
    put(&running.client, TABLE, in_tenant("acme", "leaf", Some("root"))).await;
    running.settle().await;
    running.assert_right(&oracle).await;
    let contents = running.contents().await;
    let rows: Vec<_> = contents.keys().filter(|(pk, sk)| pk == "TENANT#acme#root" && sk.starts_with("NODE#")).collect();
    assert_eq!(rows, [&("TENANT#acme#root".to_owned(), "NODE#0001#leaf".to_owned())]);
    let found = reasons(&running);
    assert!(found.iter().any(|found| found.contains("needs a tenant")), "{found:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_any_characters_are_nodes() {
    let running = Running::start(&[]).await;
    let ids = [
        "ORDER#98765",
        "a\u{1}b\u{7f}\n",
        "100%",
        "%23",
        "🌳🌲",
        "a/b?c=d&e",
        "..",
        " ",
        "NODE",
        "ROOTS",
        "v001_x",
        "!",
    ];
    put(&running.client, TABLE, node("top", None, "top")).await;
    for pair in ids.windows(2) {
        put(&running.client, TABLE, node(pair[0], Some("top"), "x")).await;
        let mut below = node(&format!("{}-below", pair[0]), Some(pair[0]), "y");
        below.insert("segment".to_owned(), s(pair[1]));
        put(&running.client, TABLE, below).await;
    }
    neighbours_are_placed(&running, &Oracle::default()).await;
    assert_eq!(reasons(&running), Vec::<String>::new());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_too_long_for_its_rows_is_reported_and_one_that_just_fits_is_placed() {
    let running = Running::start(&[]).await;
    put(&running.client, TABLE, node("top", None, "top")).await;
    put(&running.client, TABLE, node(&"f".repeat(1_014), Some("top"), "fits")).await;
    put(&running.client, TABLE, node(&"l".repeat(1_015), Some("top"), "too long")).await;
    put(&running.client, TABLE, node("below", Some(&"l".repeat(1_015)), "below it")).await;
    neighbours_are_placed(&running, &Oracle::default()).await;
    let found = reasons(&running);
    assert_eq!(
        found.iter().filter(|found| found.contains("1015 bytes, over its limit of 1014")).count(),
        2,
        "{found:?}"
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_past_1_024_bytes_is_left_out_and_said_and_the_other_rows_stand() {
    let running = Running::start(&[]).await;
    let long = |c: &str| c.repeat(600);
    put(&running.client, TABLE, node("top", None, "top")).await;
    put(&running.client, TABLE, node(&long("a"), Some("top"), "a")).await;
    put(&running.client, TABLE, node(&long("b"), Some(&long("a")), "b")).await;
    neighbours_are_placed(&running, &Oracle::default()).await;
    let found = reasons(&running);
    assert!(found.iter().any(|found| found.contains("no path row")), "{found:?}");
    let contents = running.contents().await;
    assert!(contents.contains_key(&("top".to_owned(), format!("NODE#0002#{}", long("b")))));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_past_400_kb_is_written_without_its_copies() {
    let running = Running::start(&[]).await;
    put(&running.client, TABLE, node("top", None, "top")).await;
    // A node of this size has no room for `_touched`, so it must not need its parent's cascade.
    running.settle().await;
    let mut large = node("large", Some("top"), "x");
    // With the keys and the other attributes right below 400 KB; its rows have longer keys and attributes of their own.
    large.insert("blob".to_owned(), s("x".repeat(400 * 1024 - 50)));
    put(&running.client, TABLE, large).await;
    put(&running.client, TABLE, node("below", Some("large"), "below")).await;
    let mut revision = item([("PK", s("large")), ("SK", s("v001_t"))]);
    revision.insert("blob".to_owned(), s("x".repeat(400 * 1024 - 24)));
    put(&running.client, TABLE, revision).await;
    running.settle().await;
    let contents = running.contents().await;
    for (pk, sk) in [("top", "NODE#0001#large"), ("top", "PATH#large"), ("large", "v0_t")] {
        let row = &contents[&(pk.to_owned(), sk.to_owned())];
        assert_eq!(row.get("_truncated"), Some(&serde_dynamo::AttributeValue::Bool(true)), "{sk}");
        assert_eq!(row.get("blob"), None);
    }
    let reasons = reasons(&running);
    assert!(matches!(&reasons[..], [reason] if reason.contains("no room for a touch")), "{reasons:?}");
    put(&running.client, TABLE, node("large", Some("top"), "small again")).await;
    put(&running.client, TABLE, item([("PK", s("large")), ("SK", s("v002_t"))])).await;
    neighbours_are_placed(&running, &Oracle::default()).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sort_keys_outside_the_grammar_are_left_alone() {
    let running = Running::start(&[]).await;
    for sk in
        ["vacation", "v1000_x", "v0001_x", "v000_x", "v00_x", "va999_x", "NODE!", "METADATA", "vc1000000_x", "v001"]
    {
        put(&running.client, TABLE, item([("PK", s("thing")), ("SK", s(sk)), ("text", s("mine"))])).await;
    }
    neighbours_are_placed(&running, &Oracle::default()).await;
    assert_eq!(reasons(&running), Vec::<String>::new());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lineage_or_a_row_written_by_hand_is_mended_by_the_next_good_write() {
    let running = Running::start(&[]).await;
    let oracle = Oracle::default();
    put(&running.client, TABLE, node("top", None, "top")).await;
    put(&running.client, TABLE, node("mid", Some("top"), "mid")).await;
    put(&running.client, TABLE, node("low", Some("mid"), "low")).await;
    running.settle().await;
    running.take();
    put(&running.client, TABLE, item([("PK", s("mid")), ("SK", s("LINEAGE")), ("ancestors", s("nonsense"))])).await;
    put(
        &running.client,
        TABLE,
        item([("PK", s("low")), ("SK", s("CASCADE")), ("sequence", AttributeValue::Bool(true))]),
    )
    .await;
    put(&running.client, TABLE, item([("PK", s("top")), ("SK", s("NODE#0001#mid")), ("name", s("forged"))])).await;
    delete_all(&running.client, TABLE, vec![("top".to_owned(), "NODE#0002#low".to_owned())]).await;
    running.settle().await;
    let found = reasons(&running);
    assert!(found.iter().any(|found| found.contains("LINEAGE: this lineage is not the handler's")), "{found:?}");
    assert!(found.iter().any(|found| found.contains("CASCADE: this cursor is not the handler's")), "{found:?}");
    delete_all(&running.client, TABLE, vec![("low".to_owned(), "CASCADE".to_owned())]).await;
    put(&running.client, TABLE, node("mid", Some("top"), "mid, written again")).await;
    put(&running.client, TABLE, node("low", Some("mid"), "low, written again")).await;
    neighbours_are_placed(&running, &oracle).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_named_like_ours_stay_the_users_own() {
    let running = Running::start(&[]).await;
    let mut named = node("named", Some("root"), "x");
    for name in ["_id", "_depth", "_parent", "_truncated", "_version", "_rev", "_touched"] {
        named.insert(name.to_owned(), s("mine"));
    }
    for name in ["id", "depth", "version", "ancestors", "stale_rows"] {
        named.insert(name.to_owned(), s("mine too"));
    }
    put(&running.client, TABLE, named).await;
    neighbours_are_placed(&running, &Oracle::default()).await;
    let contents = running.contents().await;
    let row = &contents[&("root".to_owned(), "NODE#0001#named".to_owned())];
    assert_eq!(row["_id"], serde_dynamo::AttributeValue::S("named".to_owned()));
    assert_eq!(row["version"], serde_dynamo::AttributeValue::S("mine too".to_owned()));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cycle_and_a_tree_deeper_than_98_end_as_the_rules_say() {
    let running = Running::start(&[]).await;
    for (id, parent) in [("a", "c"), ("b", "a"), ("c", "b"), ("hanging", "b")] {
        put(&running.client, TABLE, node(id, Some(parent), id)).await;
    }
    for n in 0..105 {
        let parent = (n > 0).then(|| format!("n{}", n - 1));
        put(&running.client, TABLE, node(&format!("n{n}"), parent.as_deref(), "deep")).await;
    }
    neighbours_are_placed(&running, &Oracle::default()).await;
    let found = reasons(&running);
    assert!(found.iter().any(|found| found.contains("below itself")), "{found:?}");
    assert!(found.iter().any(|found| found.contains("deeper than 98 levels")), "{found:?}");
    running.stop().await;
}
