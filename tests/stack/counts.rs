//! What the fan-out costs, counted: requests and write units as the engine reports them, on the real handler.

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{Id, ItemKey, Schema};
use sapwood_core::model::{COPYING, CopyMark, DELETING, DeletionMark, DeletionMode, TRASHED};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::fanout::{Counts, Fanout, Run};
use sapwood_store::{Condition, Deadline, Table, Update};
use sapwood_tests::client::{self, item, node, put, put_all, s};
use sapwood_tests::oracle::Oracle;
use sapwood_tests::round_trips::RoundTrips;
use sapwood_tests::running::{Running, TABLE, total};
use sapwood_tests::seeds::number;
use sapwood_tests::sim::wrong_totals;

/// A chain of so many nodes, settled.
async fn chain(running: &Running, length: usize) {
    let nodes =
        (0..length).map(|n| node(&format!("n{n}"), n.checked_sub(1).map(|p| format!("n{p}")).as_deref(), "a name"));
    put_all(&running.client, TABLE, nodes.collect()).await;
    running.settle().await;
    running.take();
}

async fn counted(running: &Running) -> Counts {
    running.settle().await;
    running.assert_right(&running.oracle()).await;
    total(&running.take().1)
}

async fn counts_of_a_create(depth: usize, path_rows: &str) -> Counts {
    let running = Running::start(&[("PathRows", path_rows)]).await;
    chain(&running, depth).await;
    put(&running.client, TABLE, node("new", Some(&format!("n{}", depth - 1)), "a name")).await;
    let counts = counted(&running).await;
    running.stop().await;
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_costs_a_lineage_and_a_row_for_each_ancestor() {
    for depth in [1, 4, 9] {
        let counts = counts_of_a_create(depth, "off").await;
        println!("create at depth {depth}, no path rows: {counts:?}");
        assert_eq!(counts.usage.write_units, (1 + depth) as f64);
        let counts = counts_of_a_create(depth, "on").await;
        println!("create at depth {depth}: {counts:?}");
        assert_eq!(counts.usage.write_units, (1 + depth + 1) as f64);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rename_costs_a_row_for_each_ancestor_and_leaves_descendants_alone() {
    let running = Running::start(&[]).await;
    chain(&running, 12).await;
    put(&running.client, TABLE, node("n5", Some("n4"), "another name")).await;
    let counts = counted(&running).await;
    println!("rename at depth 5: {counts:?}");
    assert_eq!(counts.usage.write_units, 5.0 + 1.0);
    assert_eq!((counts.tally.rows_put, counts.tally.rows_deleted, counts.tally.touches), (6, 0, 0));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_segment_costs_five_units_for_each_node_of_the_subtree() {
    for (path_rows, below) in [("on", 5), ("off", 0)] {
        let running = Running::start(&[("PathRows", path_rows)]).await;
        let mut nodes = vec![node("root", None, "root"), node("top", Some("root"), "top")];
        for n in 0..210 {
            let parent = if n < 10 { "top".to_owned() } else { format!("s{}", n % 10) };
            nodes.push(node(&format!("s{n}"), Some(&parent), "s"));
        }
        put_all(&running.client, TABLE, nodes).await;
        running.settle().await;
        running.take();
        let mut renamed = node("top", Some("root"), "top");
        renamed.insert("segment".to_owned(), client::s("another"));
        put(&running.client, TABLE, renamed).await;
        let counts = counted(&running).await;
        // The ancestor row of the node itself shows the attribute.
        let top = if below > 0 { 1 + 2 + 2 } else { 1 };
        let units = 1 + top + 210 * below;
        println!("segment of 211 nodes changed, PathRows={path_rows}, with the record: {units}, {counts:?}");
        assert_eq!(counts.usage.write_units, (units - 1) as f64);
        let says = format!("{},{:03} units for 211 nodes", units / 1_000, units % 1_000);
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/costs.md")).unwrap();
        assert!(below == 0 || page.contains(&says), "{says}");
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_cost_two_units_for_the_node_and_two_for_each_ancestor_where_it_is_alone() {
    let running = Running::start(&[("Totals", "count,size")]).await;
    chain(&running, 4).await;
    let sized = |size: &str, name: &str| {
        let mut item = node("new", Some("n3"), name);
        item.insert("size".to_owned(), AttributeValue::N(size.to_owned()));
        item
    };
    let plain = 1.0 + 4.0 + 1.0;
    // A create at depth 4: what the node is counted as, and a lane of each of four ancestors, in a transaction.
    put(&running.client, TABLE, sized("10", "a name")).await;
    let created = counted(&running).await;
    assert_eq!(created.usage.write_units, plain + 2.0 + 2.0 * 4.0);
    // Another name changes no total, another size those of all ancestors.
    put(&running.client, TABLE, sized("10", "another name")).await;
    assert_eq!(counted(&running).await.usage.write_units, 5.0);
    put(&running.client, TABLE, sized("20", "another name")).await;
    assert_eq!(counted(&running).await.usage.write_units, 5.0 + 2.0 + 2.0 * 4.0);
    // A move to the parent's parent concerns the parent of before and the one of now. Others keep the node as it is.
    let mut moved = sized("20", "another name");
    moved.insert("parent".to_owned(), client::s("n2"));
    put(&running.client, TABLE, moved).await;
    let counts = counted(&running).await;
    let rows = (counts.tally.rows_put + counts.tally.rows_deleted) as f64;
    assert_eq!(counts.usage.write_units, rows + 2.0 + 2.0 + 2.0 * 2.0);
    client::delete_all(&running.client, TABLE, vec![("new".to_owned(), "NODE".to_owned())]).await;
    let deleted = counted(&running).await;
    assert_eq!(deleted.usage.write_units, 1.0 + 3.0 + 1.0 + 2.0 + 2.0 * 3.0);
    println!("with totals: create {created:?}, delete {deleted:?}");
    running.stop().await;
}

/// The write units of the handler for each of these: a create, a change, moves of a chain of two, a deletion, the
/// trash and the way back.
async fn units_with_feeds(changes: &str) -> Vec<f64> {
    let running = Running::start(&[("Changes", changes)]).await;
    chain(&running, 4).await;
    put_all(&running.client, TABLE, vec![node("k", Some("n0"), "k"), node("m", None, "m")]).await;
    running.settle().await;
    running.take();
    let puts = [
        node("new", Some("n3"), "a name"),
        node("new", Some("n3"), "another name"),
        // With a node below it: to another parent of the same depth, up, and into another tree.
        node("n3", Some("k"), "a name"),
        node("n3", Some("n0"), "a name"),
        node("n3", Some("m"), "a name"),
    ];
    let mut units = Vec::new();
    for (at, item) in puts.into_iter().enumerate() {
        if at == 2 {
            put(&running.client, TABLE, node("n3", Some("n1"), "a name")).await;
            counted(&running).await;
        }
        put(&running.client, TABLE, item).await;
        units.push(counted(&running).await.usage.write_units);
    }
    client::delete_all(&running.client, TABLE, vec![("new".to_owned(), "NODE".to_owned())]).await;
    units.push(counted(&running).await.usage.write_units);
    // A root with a node below it, into the trash and back.
    for trashed in [true, false] {
        let mut root = node("m", None, "m");
        root.extend(trashed.then(|| (TRASHED.to_owned(), trash("n0"))));
        put(&running.client, TABLE, root).await;
        units.push(counted(&running).await.usage.write_units);
    }
    let entries = running.contents().await.keys().filter(|(pk, _)| pk.starts_with("CHANGES#")).count();
    assert_eq!(entries > 0, changes == "on");
    running.stop().await;
    units
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_costs_a_unit_for_each_change_and_one_more_for_a_node_that_leaves_or_goes() {
    let (off, on) = (units_with_feeds("off").await, units_with_feeds("on").await);
    println!("without feeds {off:?}, with them {on:?}");
    let more: Vec<f64> = on.iter().zip(&off).map(|(on, off)| on - off).collect();
    assert_eq!(more, [1.0, 1.0, 1.0, 1.0 + 1.0, 2.0 + 2.0, 2.0, 1.0 + 1.0, 1.0 + 1.0]);
}

/// What an import of 1,110 nodes in three levels below a root costs for each, beside their records.
async fn import(totals: &str, is_shuffled: bool) -> Counts {
    let mut nodes: Vec<_> = (0..1_110)
        .map(|n: usize| {
            let parent = if n < 10 { "root".to_owned() } else { format!("m{:04}", n / 10 - 1) };
            let mut item = node(&format!("m{n:04}"), Some(&parent), "a name");
            item.insert("size".to_owned(), AttributeValue::N("2.5".to_owned()));
            item
        })
        .collect();
    if is_shuffled {
        // Within the lowest level, as an export by id would be.
        nodes[110..].sort_by_key(|item| format!("{:?}", item["PK"]).bytes().rev().collect::<Vec<u8>>());
    }
    let all = [vec![node("root", None, "root")], nodes].concat();
    let running = Running::start_after(&[("Totals", totals)], &[("ParallelizationFactor", "1")], all).await;
    running.settle().await;
    let counts = total(&running.take().1);
    let contents = running.contents().await;
    if totals.is_empty() {
        assert!(!contents.keys().any(|(_, sk)| sk == "COUNTED" || sk.starts_with("TOTALS#")));
    } else {
        assert_eq!(wrong_totals(&contents), Vec::<String>::new());
    }
    running.stop().await;
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_a_full_batch_share_the_totals_of_their_ancestors() {
    let plain = import("", false).await;
    let mut more = Vec::new();
    for is_shuffled in [false, true] {
        let counts = import("count,size", is_shuffled).await;
        let units = (counts.usage.write_units - plain.usage.write_units) / 1_111.0;
        println!("totals of an import, shuffled: {is_shuffled}: {units:.2} units a node more, {counts:?}");
        more.push(format!("{units:.1}"));
    }
    let says =
        format!("costs {} units more for each node if it is sorted by parents, and {} if it isn't", more[0], more[1]);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/costs.md")).unwrap();
    assert!(page.contains(&says), "{says}");
}

/// What it costs to move 41 nodes away from below two of four ancestors, and to delete them then.
async fn moved_and_deleted(totals: &str) -> [Counts; 2] {
    let running = Running::start(&[("Totals", totals)]).await;
    bush(&running).await;
    put(&running.client, TABLE, node("top", Some("n1"), "top")).await;
    let moved = counted(&running).await;
    mark(&running, "top", DeletionMode::Delete).await;
    let deleted = counted(&running).await;
    if !totals.is_empty() {
        assert_eq!(wrong_totals(&running.contents().await), Vec::<String>::new());
    }
    running.stop().await;
    [moved, deleted]
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_a_subtree_that_moves_or_goes_share_totals() {
    let [plain, counting] = [moved_and_deleted("").await, moved_and_deleted("count,size").await];
    let more = |n: usize| (counting[n].usage.write_units - plain[n].usage.write_units) / 41.0;
    println!("totals of 41 nodes that move: {:.2} units a node more, that are deleted: {:.2}", more(0), more(1));
    // Alone, each takes two for itself, and two for each ancestor that it leaves, or that is left of it.
    assert!((2.0..2.0 + 2.0 * 2.0).contains(&more(0)), "{}", more(0));
    assert!((2.0..2.0 + 2.0 * 4.0).contains(&more(1)), "{}", more(1));
}

/// A node with a value that orders it, and links to these nodes.
fn linking(id: &str, parent: &str, name: &str, links: &[&str]) -> std::collections::HashMap<String, AttributeValue> {
    let mut item = node(id, Some(parent), name);
    if !links.is_empty() {
        let links = links.iter().map(|link| (*link).to_owned()).collect();
        item.insert("tags".to_owned(), AttributeValue::Ss(links));
    }
    item
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_costs_a_row_and_a_link_costs_a_row() {
    let running = Running::start(&[("OrderAttribute", "name"), ("LinkAttributes", "tags")]).await;
    chain(&running, 5).await;
    let units = async |item| {
        put(&running.client, TABLE, item).await;
        let counts = counted(&running).await;
        assert_eq!(counts.tally.touches, 0, "{counts:?}");
        (counts.usage.write_units, counts.tally.rows_put, counts.tally.rows_deleted)
    };
    // A create at depth 5: the lineage, 5 ancestor rows, a path row; a row for the order, and one for each link.
    let plain = 1.0 + 5.0 + 1.0;
    assert_eq!(units(linking("new", "n4", "m", &[])).await, (plain + 1.0, 7, 0));
    assert_eq!(units(linking("other", "n4", "m", &["t", "u", "n1"])).await, (plain + 1.0 + 3.0, 10, 0));
    // A change of another attribute: the rows. A change of the value: a row deleted, and the lineage twice.
    let mut changed = linking("new", "n4", "m", &[]);
    changed.insert("color".to_owned(), client::s("red"));
    assert_eq!(units(changed).await, (7.0, 7, 0));
    assert_eq!(units(linking("new", "n4", "z", &[])).await, (7.0 + 1.0 + 2.0, 7, 1));
    // Another link: all rows, because an attribute changed, one deleted, and the lineage twice.
    assert_eq!(units(linking("other", "n4", "m", &["t", "u", "n2"])).await, (10.0 + 1.0 + 2.0, 10, 1));
    // To another parent in the same tree: the row under each of the two parents, and the link rows show the new
    // ancestors.
    put(&running.client, TABLE, linking("other", "n3", "m", &["t", "u", "n2"])).await;
    let counts = counted(&running).await;
    println!("move of a node with an order and three links: {counts:?}");
    // 4 ancestor rows, a path row, an ordered row and 3 link rows put; the others deleted.
    assert_eq!((counts.tally.rows_put, counts.tally.rows_deleted), (9, 7));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_takes_the_links_below_it_along_for_a_unit_each() {
    let running = Running::start(&[("OrderAttribute", "name"), ("LinkAttributes", "tags")]).await;
    chain(&running, 4).await;
    let mut nodes = vec![node("x", None, "x"), linking("top", "n3", "top", &[])];
    nodes.extend((0..30).map(|n| linking(&format!("s{n}"), "top", "s", &["t", "u"][..n % 3])));
    put_all(&running.client, TABLE, nodes).await;
    running.settle().await;
    running.take();
    put(&running.client, TABLE, linking("top", "x", "top", &[])).await;
    let counts = counted(&running).await;
    println!("move of 31 nodes with 30 links: {counts:?}");
    let links = 30;
    // `top`: rows at depth 1, a path row and an ordered row; those below it: rows at depth 2, one at depth 1 that
    // stands, and a path row. Their ordered rows stand.
    assert_eq!(counts.tally.rows_put, 3 + 30 * 2 + links);
    let written = counts.tally.rows_put + counts.tally.rows_deleted;
    assert!(counts.usage.write_units <= (written + 3 * 31) as f64, "{counts:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_costs_its_rows_and_three_units_a_node() {
    let running = Running::start(&[]).await;
    chain(&running, 4).await;
    let mut nodes = vec![node("x", None, "x"), node("y", Some("x"), "y"), node("top", Some("n3"), "top")];
    for n in 0..40 {
        let parent = if n < 8 { "top".to_owned() } else { format!("s{}", n % 8) };
        nodes.push(node(&format!("s{n}"), Some(&parent), "s"));
    }
    put_all(&running.client, TABLE, nodes).await;
    running.settle().await;
    running.take();
    put(&running.client, TABLE, node("top", Some("y"), "top")).await;
    let counts = counted(&running).await;
    println!("move of 41 nodes: {counts:?}");
    assert_eq!(counts.tally.touches, 40);
    assert!(
        counts.usage.write_units <= (counts.tally.rows_put + counts.tally.rows_deleted + 3 * 41) as f64,
        "{counts:?}"
    );
    running.stop().await;
}

/// Marks a node as the API does.
async fn mark(running: &Running, id: &str, mode: DeletionMode) {
    let deleting = DeletionMark { mode, operation: "op".to_owned(), revisions: false, mark: None };
    let key = ItemKey::new(id, "NODE");
    let table = DynamoTable::local(&running.url(), TABLE, Schema::default());
    let marked = table.update(&key, &Update::set(DELETING, deleting.value()), &Condition::Exists).await.unwrap();
    assert!(marked.value);
}

/// A root with 8 nodes below it, each with 4 below that: 41 nodes under `top`, which is under `n3`.
async fn bush(running: &Running) -> Vec<String> {
    chain(running, 4).await;
    let mut nodes = vec![node("top", Some("n3"), "top")];
    for n in 0..40 {
        let parent = if n < 8 { "top".to_owned() } else { format!("s{}", n % 8) };
        nodes.push(node(&format!("s{n}"), Some(&parent), "s"));
    }
    put_all(&running.client, TABLE, nodes).await;
    running.settle().await;
    running.take();
    (0..40).map(|n| format!("s{n}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subtree_deleted_costs_its_rows_and_four_units_a_node() {
    let running = Running::start(&[]).await;
    let below = bush(&running).await;
    mark(&running, "top", DeletionMode::Delete).await;
    let counts = counted(&running).await;
    println!("41 nodes deleted: {counts:?}");
    assert_eq!(
        (counts.tally.child_actions, counts.tally.nodes_deleted, counts.tally.rows_put, counts.tally.touches),
        (40, 41, 0, 0)
    );
    // The mark (the first one is the API's), the lineage that says so, the node, and its tombstone.
    assert_eq!(counts.usage.write_units, counts.tally.rows_deleted as f64 + 40.0 + 3.0 * 41.0);
    let contents = running.contents().await;
    for id in below.iter().chain([&"top".to_owned()]) {
        let left: Vec<_> = contents.keys().filter(|(pk, _)| pk == id).map(|(_, sk)| sk.as_str()).collect();
        assert_eq!(left, ["LINEAGE"], "{id}");
    }
    running.stop().await;
}

/// Writes `top`'s record as one in the trash, or below a parent.
/// What a node in the trash says, which was below this parent.
fn trash(parent: &str) -> AttributeValue {
    let said = [("at", "2026-02-03T04:05:06.789Z"), ("parent", parent)];
    AttributeValue::M(said.map(|(name, value)| (name.to_owned(), client::s(value))).into())
}

async fn write_top(running: &Running, parent: Option<&str>) {
    let mut top = node("top", parent, "top");
    if parent.is_none() {
        top.insert(TRASHED.to_owned(), trash("n3"));
    }
    put(&running.client, TABLE, top).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trash_costs_a_move_there_and_a_move_back_and_a_deletion_what_is_left_of_the_rows() {
    let running = Running::start(&[]).await;
    bush(&running).await;
    // Each of the 41 nodes loses its four rows above `top` and its path row. `top` gets a trash row.
    let lost = 41 * (4 + 1);
    write_top(&running, None).await;
    let there = counted(&running).await;
    println!("41 nodes put into the trash: {there:?}");
    assert_eq!((there.tally.rows_put, there.tally.rows_deleted, there.tally.touches), (1, lost, 40));
    // Three units a node, as for a move: the touch (the first node's is the write), and the lineage twice.
    assert_eq!(there.usage.write_units, 1.0 + lost as f64 + 40.0 + 2.0 * 41.0);
    write_top(&running, Some("n3")).await;
    let back = counted(&running).await;
    println!("41 nodes taken out of the trash: {back:?}");
    assert_eq!((back.tally.rows_put, back.tally.rows_deleted, back.tally.touches), (lost, 1, 40));
    assert_eq!(back.usage.write_units, there.usage.write_units);

    write_top(&running, None).await;
    counted(&running).await;
    mark(&running, "top", DeletionMode::Delete).await;
    let purged = counted(&running).await;
    println!("41 nodes deleted for good: {purged:?}");
    // The trash row, and the rows below `top`: 8 nodes have one, 32 have two.
    assert_eq!((purged.tally.nodes_deleted, purged.tally.rows_deleted), (41, 1 + 8 + 32 * 2));
    assert_eq!(purged.usage.write_units, purged.tally.rows_deleted as f64 + 40.0 + 3.0 * 41.0);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subtree_copied_costs_a_create_and_one_unit_more_for_each_node() {
    let running = Running::start(&[]).await;
    bush(&running).await;
    put(&running.client, TABLE, node("copy", Some("n3"), "top")).await;
    let operation = Schema::default().operation_key(None, "op");
    put(&running.client, TABLE, item([("PK", s(&operation.pk)), ("SK", s(&operation.sk))])).await;
    running.settle().await;
    running.take();
    let source = Id::new("top").unwrap();
    let mark = CopyMark { operation: "op".to_owned(), source, born: None, ids: None, after: None, is_over: false };
    let table = DynamoTable::local(&running.url(), TABLE, Schema::default());
    let key = ItemKey::new("copy", "NODE");
    assert!(table.update(&key, &Update::set(COPYING, mark.value()), &Condition::Exists).await.unwrap().value);
    let counts = counted(&running).await;
    println!("40 nodes copied: {counts:?}");
    assert_eq!((counts.tally.nodes_copied, counts.tally.rows_deleted, counts.tally.touches), (40, 0, 0));
    // The record, in a transaction, its lineage and its rows; and the mark, and the operation's count, whose record has
    // over 1 KB while it names 40 copies. Then the mark is removed, and each batch takes off the copies that it places.
    let more = counts.usage.write_units - (counts.tally.rows_put as f64 + 3.0 * 40.0 + 2.0 + 2.0);
    assert!((2.0..=12.0).contains(&more), "{more}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adopted_children_cost_a_transaction_and_then_a_move() {
    let running = Running::start(&[]).await;
    bush(&running).await;
    mark(&running, "top", DeletionMode::Adopt).await;
    let counts = counted(&running).await;
    println!("8 children of one adopted, 32 nodes below them: {counts:?}");
    assert_eq!((counts.tally.child_actions, counts.tally.nodes_deleted, counts.tally.touches), (8, 1, 32));
    // A transaction costs twice: 8 children, and a look at their parent and at the heir. The others are touched. Then
    // each of the 40 has its rows put and deleted, and its lineage written twice; the node itself goes with lineage and
    // tombstone.
    let rows = (counts.tally.rows_put + counts.tally.rows_deleted) as f64;
    assert!(counts.usage.write_units <= rows + 2.0 * 10.0 + 32.0 + 2.0 * 40.0 + 3.0, "{counts:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tombstone_that_expires_costs_a_record_and_no_request() {
    let running = Running::start(&[]).await;
    bush(&running).await;
    mark(&running, "top", DeletionMode::Delete).await;
    running.settle().await;
    running.take();
    let expired = ["top", "s0", "s39"].map(|id| (id.to_owned(), "LINEAGE".to_owned()));
    client::delete_all(&running.client, TABLE, expired.to_vec()).await;
    let counts = counted(&running).await;
    assert_eq!((counts.usage.requests, counts.usage.write_units), (0, 0.0), "{counts:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redelivery_of_all_that_was_handled_changes_nothing() {
    let running = Running::start(&[]).await;
    chain(&running, 6).await;
    put_all(&running.client, TABLE, (0..30).map(|n| node(&format!("leaf{n}"), Some("n5"), "leaf")).collect()).await;
    put(&running.client, TABLE, client::item([("PK", client::s("n1")), ("SK", client::s("v001_Audit"))])).await;
    put(&running.client, TABLE, node("n3", Some("n0"), "moved")).await;
    running.settle().await;
    let (events, _) = running.take();
    let before = running.contents().await;
    for event in &events {
        let report = running.handler.run(event, "again", std::time::Duration::from_secs(30)).await.unwrap();
        assert_eq!(report.failed, Vec::<String>::new());
    }
    running.settle().await;
    let (late, _) = running.take();
    assert_eq!(late, Vec::<String>::new(), "a record of a redelivery reached the handler");
    assert_eq!(running.contents().await, before);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_costs_next_to_nothing_but_its_rows() {
    let count = number("IMPORT_NODES").unwrap_or(1_000) as usize;
    let nodes: Vec<_> = (0..count)
        .map(|n| node(&format!("n{n:05}"), n.checked_sub(1).map(|n| format!("n{:05}", n / 6)).as_deref(), "a name"))
        .collect();
    let running = Running::start_after(&[], &[("ParallelizationFactor", "1")], nodes).await;
    running.settle().await;
    let counts = total(&running.take().1);
    let contents = running.contents().await;
    let rows = contents.len() - 2 * count;
    let ideal = contents.len() as f64;
    let (units, requests) = (count as f64 + counts.usage.write_units, counts.usage.requests as f64 / count as f64);
    println!(
        "import: {rows} rows, {:.4} of the ideal write units, {requests:.3} requests a node, {counts:?}",
        units / ideal
    );
    assert!(units <= 1.02 * ideal, "{units} write units for {ideal} items");
    assert!(requests <= 0.6, "{requests} requests a node");
    assert!(counts.tally.touches < count as u64 / 100, "{} touches", counts.tally.touches);
    running.assert_right(&Oracle::default()).await;
    running.stop().await;
}

fn records(event: &str) -> Vec<StreamRecord> {
    let event: serde_json::Value = serde_json::from_str(event).unwrap();
    let records = event["Records"].as_array().unwrap().iter();
    records
        .map(|record| sapwood_handlers::stream::decode(&record.to_string(), &Schema::default()).unwrap().record)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_takes_four_round_trips_at_any_depth() {
    for depth in [1, 30, 98] {
        let running = Running::start(&[]).await;
        chain(&running, depth).await;
        put(&running.client, TABLE, node("new", Some(&format!("n{}", depth - 1)), "a name")).await;
        running.settle().await;
        let (events, _) = running.take();
        // The node's own record is handled once more, as if nothing had been.
        let lineage = ("new".to_owned(), "LINEAGE".to_owned());
        client::delete_all(&running.client, TABLE, vec![lineage]).await;
        let key = ItemKey::new("new", "NODE");
        let change = events.iter().flat_map(|event| records(event)).find(|change| change.key == key).unwrap();
        let table = DynamoTable::local(&running.url(), TABLE, Schema::default());
        let table = RoundTrips::of(table);
        let deadline = Deadline::at(tokio::time::Instant::now() + std::time::Duration::from_secs(30));
        let report = Fanout::default().run(&table, &deadline, Run { name: "test", now: 0 }, &[change]).await;
        let round_trips = table.observer.take().round_trips;
        println!("create at depth {depth}: {round_trips} round trips, {:?}", report.counts);
        assert_eq!(report.counts.tally.rows_put as usize, depth + 1);
        assert!(round_trips <= 4);
        running.stop().await;
    }
}
