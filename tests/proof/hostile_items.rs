//! Items of any shape under keys of ours, as any client can write them. Whatever they say: no record fails for it,
//! nothing is deleted but rows, and the rows of others are right.
//!
//! `SAPWOOD_SCHEDULES=100000` runs so many; `SAPWOOD_SEED=17` replays one.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use sapwood_core::fanout::{PlaceInput, PlacePlan, StreamRecord, place};
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{AttributeValue, FORMAT_MAX, ITEM_BYTES_MAX, Item, Stored, item_bytes, text, with_key};
use sapwood_core::plan::{Rule, Rules};
use sapwood_engine::fanout::{Fanout, Limits, Run};
use sapwood_simulation::fixture::{Fixture, NoRetries, at_once};
use sapwood_simulation::memory::MemoryTable;
use sapwood_simulation::oracle::Contents;
use sapwood_simulation::own;
use sapwood_simulation::seeds::seeds;

/// Nodes whose items anybody writes, each below the one before.
const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Nodes whose items only good clients write: a tree of their own, and a child of `a`.
const NEIGHBOURS: [(&str, Option<&str>); 6] =
    [("p", None), ("q", Some("p")), ("r", Some("q")), ("s", Some("q")), ("t", Some("q")), ("z", Some("a"))];

const LINEAGE: [&str; 14] = [
    "format",
    "ancestors",
    "path",
    "root",
    "orphan",
    "order",
    "links",
    "stale_rows",
    "born",
    "rows_pending",
    "deleting",
    "restarted",
    "deleted",
    "_expires",
];
const CURSOR: [&str; 8] = ["format", "sequence", "after", "remaining", "children", "revisions", "blocked", "_redriven"];
const RECORD: [&str; 12] = [
    "parent",
    "segment",
    "name",
    "tags",
    "_deleting",
    "_put_back",
    "_touched",
    "_redriven",
    "_born",
    "_under",
    "_copying",
    "_copy_of",
];
const ROW: [&str; 7] = ["_id", "_depth", "_parent", "_order", "_ancestors", "_version", "_truncated"];

struct World {
    rng: SmallRng,
    table: MemoryTable,
    fanout: Fanout,
    number: u32,
}

fn bool(value: bool) -> AttributeValue {
    AttributeValue::Bool(value)
}

fn number(digits: impl ToString) -> AttributeValue {
    AttributeValue::N(digits.to_string())
}

fn list(values: impl IntoIterator<Item = AttributeValue>) -> AttributeValue {
    AttributeValue::L(values.into_iter().collect())
}

fn map<'a>(values: impl IntoIterator<Item = (&'a str, AttributeValue)>) -> AttributeValue {
    AttributeValue::M(values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

impl World {
    fn new(seed: u64, rules: Rules) -> Self {
        // Two children are more than a slice.
        let limits = Limits {
            touch_slice_items_max: 2,
            action_slice_items_max: 2,
            orphan_page_items_max: 3,
            ..Limits::default()
        };
        let fanout = Fanout { settings: own::settings(), limits, rules, ..Fanout::default() };
        let table = MemoryTable(Arc::default(), Schema::default());
        Self { rng: SmallRng::seed_from_u64(seed), table, fanout, number: 0 }
    }

    fn contents(&self) -> Contents {
        self.table.0.lock().unwrap().contents()
    }

    fn write(&self, key: &ItemKey, item: Option<Item>) {
        if item.as_ref().is_none_or(|item| item_bytes(item) <= ITEM_BYTES_MAX) {
            self.table.0.lock().unwrap().write(key, item);
        }
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        *of.choose(&mut self.rng).unwrap()
    }

    fn chance(&mut self, of: u32) -> bool {
        self.rng.random_ratio(1, of)
    }

    /// Writes good records of these nodes, in any order. A good write leaves nothing of what was there.
    fn put_good(&mut self, nodes: &[(&str, Option<&str>)]) {
        let mut nodes = nodes.to_vec();
        while !nodes.is_empty() {
            let (id, parent) = nodes.swap_remove(self.rng.random_range(0..nodes.len()));
            self.number += 1;
            let mut item = own::attributes(self.number);
            item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
            item.insert("at".to_owned(), number(self.number));
            for sk in ["NODE", "v001_Audit"] {
                let key = ItemKey::new(id, sk);
                self.write(&key, Some(item.clone().into_iter().chain(with_key(&key, &Schema::default())).collect()));
            }
        }
    }

    fn good() -> Vec<(&'static str, Option<&'static str>)> {
        let above = std::iter::once(None).chain(IDS.map(Some));
        IDS.into_iter().zip(above).chain(NEIGHBOURS).collect()
    }

    fn any_id(&mut self) -> AttributeValue {
        let all = ["a", "b", "c", "d", "e", "p", "q", "z", "nobody"];
        if self.chance(12) { text("i".repeat(1_014)) } else { text(self.pick(&all)) }
    }

    fn any_ids(&mut self) -> AttributeValue {
        let count = self.pick(&[0, 1, 2, 3, 99, 120]);
        let ids: Vec<AttributeValue> = (0..count).map(|_| self.any_id()).collect();
        list(ids)
    }

    fn any_text(&mut self) -> AttributeValue {
        let plain =
            ["", "x", "zzz", "NODE", "NODE#0001#z", "NODE#0001#a", "NODE#0001$", "v001_Audit", "~", "sx", "s#x"];
        match self.rng.random_range(0..8) {
            0 => text("9".repeat(40)),
            1 => text(format!("{:0>40}", self.rng.random_range(0..2_000_000))),
            2 => text("long".repeat(self.pick(&[300, 2_000, 70_000]))),
            _ => text(self.pick(&plain)),
        }
    }

    /// The key of anything in the table, or of nothing.
    fn any_key(&mut self) -> AttributeValue {
        let keys: Vec<(String, String)> = self.contents().into_keys().collect();
        let (pk, sk) = keys.choose(&mut self.rng).cloned().unwrap();
        let (pk, sk) = if self.chance(10) { (self.pick(&["", "x"]).to_owned(), sk) } else { (pk, sk) };
        map([("PK", text(pk)), ("SK", text(sk))])
    }

    fn junk(&mut self) -> AttributeValue {
        match self.rng.random_range(0..9) {
            0 => AttributeValue::Null(true),
            1 => bool(true),
            2 => number(self.pick(&["7", "-1", "0.5", "1000000000000000000000000000000"])),
            3 => list([]),
            4 => map([]),
            5 => AttributeValue::Ss(vec!["a".to_owned(), "p".to_owned()]),
            6 => AttributeValue::B(vec![0; 3]),
            7 => list([bool(false), text("a")]),
            _ => self.any_text(),
        }
    }

    /// A value for an attribute: mostly one that could be ours.
    fn value(&mut self, name: &str) -> AttributeValue {
        if self.chance(4) {
            return self.junk();
        }
        match name {
            "format" => number(self.pick(&["1", "1", "2", "2", "3", "4", "5", "99999999999999999999"])),
            "ancestors" | "_ancestors" | "path" => self.any_ids(),
            "root" | "orphan" | "rows_pending" | "remaining" | "blocked" | "_truncated" => bool(self.chance(2)),
            "links" => {
                let targets = [self.any_ids(), self.any_ids()];
                map(["tags", self.pick(&["seen", "x#y", ""])].into_iter().zip(targets))
            }
            "stale_rows" => {
                let count = self.pick(&[1, 2, 5, 40]);
                let keys: Vec<AttributeValue> = (0..count).map(|_| self.any_key()).collect();
                list(keys)
            }
            "deleting" => {
                let mode = text(self.pick(&["delete", "adopt", "detach", "?"]));
                let named = [self.any_text(), self.any_id(), self.any_text()];
                let named = ["operation", "heir", "heir_born"].into_iter().zip(named);
                map(named.chain([("mode", mode), ("revisions", bool(self.chance(2)))]))
            }
            // Nothing that would be a mark, or say that the API has put a node somewhere.
            "_deleting" => map([("mode", text("delete"))]),
            "_under" | "_copying" | "_copy_of" => self.junk(),
            "deleted" | "_expires" | "_depth" | "_version" => number(self.pick(&["0", "1", "99", "99999999999"])),
            "_id" | "_parent" | "parent" => self.any_id(),
            _ => self.any_text(),
        }
    }

    /// Writes an item under a key of ours, and perhaps deletes it at once.
    fn put_hostile(&mut self) {
        let id = self.pick(&IDS);
        let (key, names) = match self.rng.random_range(0..12) {
            0..=4 => (ItemKey::new(id, "LINEAGE"), &LINEAGE[..]),
            5 => (ItemKey::new(id, "CASCADE"), &CURSOR[..]),
            6 => (ItemKey::new("q", "CASCADE"), &CURSOR[..]),
            7 | 8 => (ItemKey::new(id, "NODE"), &RECORD[..]),
            9 => (ItemKey::new(id, "v0_Audit"), &ROW[..]),
            10 => (
                ItemKey::new(self.pick(&["a", "p", "ROOTS", "ORPHANS#7"]), self.pick(&["ROOT#c", "ORPHAN#z"])),
                &ROW[..],
            ),
            _ => (ItemKey::new(id, self.pick(&["DELETED", "OPERATION#x", "NODE#0001#c", "PATH#x"])), &ROW[..]),
        };
        // What stands there is the beginning, or nothing.
        let there = self.table.0.lock().unwrap().get(&key).cloned();
        let mut item =
            there.filter(|_| self.rng.random_bool(0.5)).unwrap_or_else(|| with_key(&key, &Schema::default()));
        for name in names {
            match self.rng.random_range(0..4) {
                0 => _ = item.remove(*name),
                1 => _ = item.insert((*name).to_owned(), self.value(name)),
                _ => {}
            }
        }
        if self.chance(2) && key.sk == "LINEAGE" {
            item.insert("format".to_owned(), number(2));
            item.entry("ancestors".to_owned()).or_insert_with(|| list([]));
            item.entry("path".to_owned()).or_insert_with(|| list([]));
        }
        self.write(&key, Some(item));
        if self.chance(4) && key.sk != "NODE" {
            self.write(&key, None);
        }
    }

    /// What a newer handler has written is left to it, so its records fail as long as it is there. Here nobody lets it
    /// stand.
    fn delete_newer(&self) {
        for ((pk, sk), item) in self.contents() {
            let is_newer = |digits: &str| digits.parse::<u64>().is_ok_and(|format| format > FORMAT_MAX);
            if matches!(item.get("format"), Some(AttributeValue::N(digits)) if is_newer(digits)) {
                self.write(&ItemKey { pk, sk }, None);
            }
        }
    }

    fn settle(&mut self) -> Result<(), String> {
        let mut queue: Vec<StreamRecord> = Vec::new();
        for _ in 0..3_000 {
            let new = std::mem::take(&mut self.table.0.lock().unwrap().stream);
            queue.extend(new.into_iter().filter(|record| Schema::default().passes_filter(&record.key.sk)));
            if queue.is_empty() {
                return Ok(());
            }
            self.number += 1;
            let size = self.rng.random_range(1..=12).min(queue.len());
            let batch: Vec<StreamRecord> = queue.drain(..size).collect();
            let before: BTreeSet<(String, String)> = self.contents().into_keys().collect();
            let name = format!("run{}", self.number);
            let run = Run { name: &name, now: 1_000_000 + u64::from(self.number) };
            let report = at_once(self.fanout.run(&self.table, &NoRetries, run, &batch));
            if !report.failed.is_empty() {
                return Err(format!("records failed: {:?}", report.problems));
            }
            let after = self.contents();
            let is_derived = |sk: &str| {
                let prefixes = ["NODE#", "PATH#", "ROOT#", "ORPHAN#", "CHILD#", "ORDERED#", "LINK#", "TRASH#", "v0_"];
                ["LINEAGE", "CASCADE"].contains(&sk) || prefixes.iter().any(|prefix| sk.starts_with(prefix))
            };
            if let Some(gone) = before.iter().find(|key| !after.contains_key(key) && !is_derived(&key.1)) {
                return Err(format!("{gone:?} was deleted"));
            }
        }
        Err("the table doesn't come to rest".to_owned())
    }

    /// The items that are derived from these nodes' records and aren't as they should be. What else there is was
    /// somebody's.
    fn wrong(&self, is_of: impl Fn(&str) -> bool) -> Result<(), String> {
        let contents = self.contents();
        for ((pk, sk), wanted) in own::oracle().table(&contents) {
            let node = match wanted.get("_id") {
                Some(AttributeValue::S(id)) => id,
                _ => &pk,
            };
            // A lineage's life is a name that the handler has made. A copy of a version that nobody wrote stays until
            // it is repaired.
            if sk == "LINEAGE" || !is_of(node) || (sk.starts_with("v0_") && IDS.contains(&pk.as_str())) {
                continue;
            }
            let there = contents.get(&(pk.clone(), sk.clone()));
            if there != Some(&wanted) {
                return Err(format!("{pk} {sk} is wrong: wanted {wanted:?}, found {there:?}"));
            }
        }
        Ok(())
    }

    fn play(&mut self) -> Result<(), String> {
        self.put_good(&Self::good());
        for id in IDS {
            self.write(&ItemKey::new(id, "ORDER#1"), Some(with_key(&ItemKey::new(id, "ORDER#1"), &Schema::default())));
        }
        self.settle()?;
        self.wrong(|_| true)?;
        for _ in 0..3 {
            for _ in 0..self.rng.random_range(1..6) {
                self.put_hostile();
            }
            let neighbours: Vec<_> = NEIGHBOURS.into_iter().filter(|_| self.rng.random_ratio(1, 3)).collect();
            self.put_good(&neighbours);
            self.delete_newer();
            self.settle()?;
            self.wrong(|id| ["p", "q", "r", "s", "t"].contains(&id))?;
        }
        // Each good write mends what was written beside it.
        self.put_good(&Self::good());
        self.delete_newer();
        self.settle()?;
        self.wrong(|_| true)
    }
}

fn fault(seed: u64, rules: Rules) -> Option<String> {
    World::new(seed, rules).play().err()
}

#[test]
fn no_item_stops_the_stream_or_deletes_what_is_no_row_or_spoils_a_neighbour() {
    for seed in seeds(80) {
        if let Some(fault) = fault(seed, Rules::default()) {
            panic!("{fault:.2000}\nreplay it with SAPWOOD_SEED={seed}");
        }
    }
}

#[test]
fn without_the_rule_a_lineage_deletes_what_is_no_row_of_its_node() {
    let stays = |rules: Rules| {
        let mut world = World::new(0, rules);
        world.put_good(&World::good());
        world.settle().unwrap();
        // With the `_id` of a row, say of another database.
        let schema = Schema::default();
        let [revision, lineage] = ["v002_Plan", "LINEAGE"].map(|sk| ItemKey::new("q", sk));
        let with_id = [("_id".to_owned(), text("q"))];
        world.write(&revision, Some(with_key(&revision, &schema).into_iter().chain(with_id).collect()));
        let mut names_it = world.table.0.lock().unwrap().get(&lineage).cloned().unwrap();
        let named = AttributeValue::M(with_key(&revision, &schema).into_iter().collect());
        names_it.insert("stale_rows".to_owned(), AttributeValue::L(vec![named]));
        world.write(&lineage, Some(names_it));
        world.put_good(&[("q", Some("z"))]);
        let settled = world.settle();
        assert!(settled.as_ref().err().is_none_or(|error| error.contains("was deleted")), "{settled:?}");
        world.table.0.lock().unwrap().get(&revision).is_some()
    };
    assert!(stays(Rules::default()) && !stays(Rules::without(Rule::OwnRows)));
}

#[test]
fn a_cascade_does_not_give_way_to_what_nobody_moves_on() {
    let rows = |rules: Rules, obstacle: &[(&str, AttributeValue)]| {
        let mut world = World::new(0, rules);
        world.put_good(&World::good());
        world.settle().unwrap();
        let key = ItemKey::new("q", "CASCADE");
        let item = obstacle.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        world.write(&key, Some(with_key(&key, &Schema::default()).into_iter().chain(item).collect()));
        world.settle().unwrap();
        world.put_good(&[("q", Some("z"))]);
        world.settle().unwrap();
        world.wrong(|_| true)
    };
    let no_cursor = [("sequence", text("zzz"))];
    let sign = [("format", number(1)), ("sequence", text("9".repeat(40))), ("blocked", bool(true))];
    for obstacle in [&no_cursor[..], &sign] {
        assert_eq!(rows(Rules::default(), obstacle), Ok(()));
        assert!(rows(Rules::without(Rule::CursorObstacle), obstacle).is_err());
    }
}

/// An id that no key has room for more of.
fn long(name: impl ToString) -> String {
    format!("{:-<1014}", name.to_string())
}

#[test]
fn a_node_below_97_of_the_longest_ids_moves_with_all_of_its_rows() {
    let mut fixture = Fixture::new(own::settings(), own::oracle());
    let targets = AttributeValue::Ss((0..100).map(|n| format!("{n:0>160}")).collect());
    let attributes = [("tags", targets)];
    for tree in ["x", "y"] {
        for level in 0..97 {
            let parent = (level > 0).then(|| long(format!("{tree}{}", level - 1)));
            fixture.put_node(&long(format!("{tree}{level}")), parent.as_deref(), &[]);
        }
    }
    let node = long("n");
    fixture.put_node(&node, Some(&long("x96")), &attributes);
    fixture.settle();

    // The lineage that names the rows of both places would be refused.
    let intent = |rules: Rules| {
        let settings = fixture.settings();
        let node = settings.schema.parse_partition(&node).unwrap();
        let stored = |id: &str| Stored::read(fixture.get(id, "LINEAGE").as_ref(), &settings.schema);
        let (own, above) = (stored(node.id.as_str()), stored(&long("y96")));
        let mut item = fixture.get(node.id.as_str(), "NODE").unwrap();
        item.insert("parent".to_owned(), text(long("y96")));
        let base = sapwood_core::model::BaseNode::read(item, &node, &settings.schema).unwrap();
        let input = PlaceInput {
            node: &node,
            base: Some(&base),
            stored: &own,
            parent: above.lineage().map(|lineage| &lineage.placement),
            is_predicted: false,
            standing: None,
            only_touched: false,
            mark_went: None,
            now: 0,
            new_life: "",
        };
        let PlacePlan { intent, again, .. } = place(&input, settings, rules);
        (item_bytes(&intent.unwrap()) <= ITEM_BYTES_MAX, again)
    };
    assert_eq!(intent(Rules::default()), (true, true));
    assert_eq!(intent(Rules::without(Rule::RoomForIntent)), (false, false));

    // The fixture compares the whole table with the oracle's.
    fixture.put_node(&node, Some(&long("y96")), &attributes);
    fixture.settle();
    fixture.put_node(&long("x0"), Some(&long("n")), &[]);
    fixture.put_node(&node, None, &attributes);
    fixture.settle();
    // No row has a key that long, and nothing else is wrong.
    assert!(fixture.problems.iter().all(|one| one.reason.contains("path row")), "{:.2000?}", fixture.problems);
    fixture.delete_node(&node);
    fixture.settle();
}

#[test]
fn a_child_that_has_no_room_for_a_touch_is_named() {
    let mut fixture = Fixture::default();
    for id in ["p", "q"] {
        fixture.put_node(id, None, &[]);
    }
    fixture.put_node("n", Some("p"), &[]);
    fixture.put_node("c", Some("n"), &[("name", text("x".repeat(ITEM_BYTES_MAX - 20)))]);
    fixture.settle();
    let problem = "no room for a touch";
    assert!(fixture.problems.iter().any(|one| one.key.pk == "c" && one.reason.contains(problem)));
    fixture.problems.clear();
    fixture.put_node("n", Some("q"), &[]);
    for _ in 0..3 {
        let records = fixture.take_records();
        fixture.deliver(&records);
    }
    assert!(
        fixture.problems.iter().any(|one| one.key.pk == "c" && one.reason.contains(problem)),
        "{:?}",
        fixture.problems
    );
}
