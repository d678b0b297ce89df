//! Every example of the seed `hierarchy-path-and-replication.txt`, in its order: its drives C and D, the path pattern,
//! the replication pattern, and what its section "Streams" asks for.
//!
//! The document keeps each pattern in a table and an index of its own. Here both come out of one base record per
//! folder: path rows are the first pattern, ancestor rows the second, and neither needs an index.

use std::collections::BTreeSet;

use sapwood_core::fanout::Event;
use sapwood_core::model::text;
use sapwood_simulation::fixture::{Fixture, events_of, text_at};

/// "Example data", as it is drawn.
const TREE: &str = "
  Drive C
    Folder I
    Folder II
  Drive D
    Folder III
      Folder a
      Folder b
    Folder IV
      Folder c
    Folder V
      Folder d
        Folder i
        Folder ii
        Folder iii
      Folder e
";

/// "Data with hierarchy data field", as it is printed.
const PATHS: &str = "
| C | | | Drive C
| I | C | / | Folder I
| II | C | / | Folder II
| D | | | Drive D
| III | D | / | Folder III
| a | D | /III/ | Folder a
| b | D | /III/ | Folder b
| IV | D | / | Folder IV
| c | D | /IV/ | Folder c
| V | D | / | Folder V
| d | D | /V/ | Folder d
| i | D | /V/d/ | Folder i
| ii | D | /V/d/ | Folder ii
| iii | D | /V/d/ | Folder iii
| e | D | /V/ | Folder e
";

/// "Example data for replicated data", as it is printed, its one misprint included (see [`MISPRINTED`]).
const REPLICATED: &str = "
| C | I | 0 | Drive C
| I | I | 0 | Folder I
| I | C | 1 | Folder I
| II | II | 0 | Folder II
| II | C | 1 | Folder II
| D | D | 0 | Drive D
| III | III | 0 | Folder III
| III | D | 1 | Folder III
| a | a | 0 | Folder a
| a | III | 1 | Folder a
| a | D | 2 | Folder a
| b | b | 0 | Folder b
| b | III | 1 | Folder b
| b | D | 2 | Folder b
| IV | IV | 0 | Folder IV
| IV | D | 1 | Folder IV
| c | c | 0 | Folder c
| c | IV | 1 | Folder c
| c | D | 2 | Folder c
| V | V | 0 | Folder V
| V | D | 1 | Folder V
| d | d | 0 | Folder d
| d | V | 1 | Folder d
| d | D | 2 | Folder d
| i | i | 0 | Folder i
| i | d | 1 | Folder i
| i | V | 2 | Folder i
| i | D | 3 | Folder i
| ii | ii | 0 | Folder ii
| ii | d | 1 | Folder ii
| ii | V | 2 | Folder ii
| ii | D | 3 | Folder ii
| iii | iii | 0 | Folder iii
| iii | d | 1 | Folder iii
| iii | V | 2 | Folder iii
| iii | D | 3 | Folder iii
| e | e | 0 | Folder e
| e | V | 1 | Folder e
| e | D | 2 | Folder e
";

/// The row that the document prints wrong, and what it must be: Drive C is a root, so at depth 0 it is its own
/// "ancestor", as every other row of depth 0 has it (`D | D | 0`). It can't hang below Folder I, which hangs below it.
const MISPRINTED: ((&str, &str, usize), (&str, &str, usize)) = (("C", "I", 0), ("C", "C", 0));

/// The attribute that the document calls so.
const NAME: &str = "Folder Name";

/// The cells of a printed table.
fn cells<const N: usize>(table: &'static str) -> Vec<[&'static str; N]> {
    let rows = table.lines().filter_map(|line| line.strip_prefix("| "));
    rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>().try_into().unwrap()).collect()
}

/// The drawn tree: each folder's id, its name, and its ancestors, nearest first.
fn drawn() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let mut way_down: Vec<&str> = Vec::new();
    let lines = TREE.lines().filter(|line| !line.is_empty());
    let folders = lines.map(|line| {
        let name = line.trim_start();
        let (_, id) = name.split_once(' ').unwrap();
        way_down.truncate((line.len() - name.len()) / 2 - 1);
        let ancestors = way_down.iter().rev().copied().collect();
        way_down.push(id);
        (id, name, ancestors)
    });
    folders.collect()
}

/// The document's two drives, settled.
fn drives() -> Fixture {
    let mut fixture = Fixture::default();
    for (id, name, ancestors) in drawn() {
        fixture.put_node(id, ancestors.first().copied(), &[(NAME, text(name))]);
    }
    fixture.settle();
    fixture
}

/// The folders that a Query between these sort keys finds.
fn ids(fixture: &Fixture, pk: &str, from: &str, to: &str) -> Vec<String> {
    fixture.ids(&fixture.query_between(pk, from, to))
}

#[test]
fn hierarchy_the_printed_paths_agree_with_the_drawn_tree() {
    let printed: Vec<[&str; 4]> = cells(PATHS);
    let from_tree: Vec<[String; 4]> = drawn()
        .into_iter()
        .map(|(id, name, ancestors)| match ancestors.split_last() {
            None => [id.to_owned(), String::new(), String::new(), name.to_owned()],
            Some((root, between)) => {
                let path: String = between.iter().rev().map(|folder| format!("/{folder}")).collect();
                [id.to_owned(), (*root).to_owned(), format!("{path}/"), name.to_owned()]
            }
        })
        .collect();
    assert_eq!(printed, from_tree);
}

#[test]
fn hierarchy_one_printed_row_of_the_replicated_data_disagrees_with_the_drawn_tree() {
    let printed: BTreeSet<(&str, &str, usize)> =
        cells(REPLICATED).into_iter().map(|[id, ancestor, depth, _]| (id, ancestor, depth.parse().unwrap())).collect();
    let from_tree: BTreeSet<(&str, &str, usize)> = drawn()
        .into_iter()
        .flat_map(|(id, _, ancestors)| {
            let itself_and_above = std::iter::once(id).chain(ancestors).enumerate();
            itself_and_above.map(move |(depth, ancestor)| (id, ancestor, depth)).collect::<Vec<_>>()
        })
        .collect();
    let (printed_wrong, right) = MISPRINTED;
    assert_eq!(printed.difference(&from_tree).collect::<Vec<_>>(), [&printed_wrong]);
    assert_eq!(from_tree.difference(&printed).collect::<Vec<_>>(), [&right]);
}

#[test]
fn hierarchy_path_pattern_the_whole_printed_table_is_in_the_path_rows() {
    let fixture = drives();
    let rows: Vec<[&str; 4]> = cells(PATHS);
    for [id, root, path, name] in &rows {
        assert_eq!(text_at(&fixture.get(id, "NODE").unwrap(), NAME), *name);
        if root.is_empty() {
            // A drive has neither root nor path in the document; here it is in the list of all trees.
            assert_eq!(text_at(&fixture.get("ROOTS", &format!("ROOT#{id}")).unwrap(), NAME), *name);
            continue;
        }
        // `/V/d/` and the folder's own id.
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).chain([*id]).collect();
        let row = fixture.get(root, &format!("PATH#{}", segments.join("#"))).expect("a path row");
        assert_eq!((text_at(&row, "_id"), text_at(&row, NAME)), (*id, *name));
    }
    let path_rows = ["C", "D"].map(|root| fixture.query_between(root, "PATH#", "PATH$").len());
    assert_eq!(path_rows.iter().sum::<usize>() + 2, rows.len(), "no path row but these, and the two drives");
}

#[test]
fn hierarchy_path_pattern_folder_d_is_got_by_its_id() {
    let folder = drives().get("d", "NODE").unwrap();
    assert_eq!((text_at(&folder, NAME), text_at(&folder, "parent")), ("Folder d", "V"));
}

#[test]
fn hierarchy_path_pattern_directly_below_v_are_d_and_e() {
    let fixture = drives();
    // The document's condition is `Path = '/V/'`: a path that stops at the parent. A path row's key goes on to the
    // folder itself, so that one range is a subtree in order; who is directly below is the parent it names.
    let below: Vec<_> = fixture.query_begins_with("D", "PATH#V#");
    let direct: Vec<_> = below.into_iter().filter(|row| text_at(row, "_parent") == "V").collect();
    assert_eq!(fixture.ids(&direct), ["d", "e"]);
    // Without reading what is further below: the ancestor rows of depth 1.
    assert_eq!(ids(&fixture, "V", "NODE#0001#", "NODE#0001$"), ["d", "e"]);
}

#[test]
fn hierarchy_path_pattern_everything_below_v_is_one_range_of_paths() {
    let fixture = drives();
    // The document's begins_with(Path, '/V/'). (Its code names `#pk` and `#sk` in the condition, but gives the names
    // of `#root` and `#path`; what is meant is clear.)
    let below = fixture.ids(&fixture.query_begins_with("D", "PATH#V#"));
    assert_eq!(below, ["d", "i", "ii", "iii", "e"], "in the order of the drawn tree");
    // Beginning with V itself, and without the sibling a `PATH#V2` would be.
    assert_eq!(ids(&fixture, "D", "PATH#V", "PATH#V$"), ["V", "d", "i", "ii", "iii", "e"]);
    let range = fixture.schema().path_range(&["V".to_owned()]).unwrap();
    assert_eq!((range.from.as_str(), range.to.as_str()), ("PATH#V", "PATH#V$"));
    // What is below a drive is what is under its partition.
    assert_eq!(ids(&fixture, "C", "PATH#", "PATH$"), ["I", "II"]);
}

#[test]
fn hierarchy_replication_pattern_the_whole_printed_table_is_in_the_ancestor_rows() {
    let fixture = drives();
    let mut ancestor_rows = 0;
    for [id, ancestor, depth, name] in cells(REPLICATED) {
        // Depth 0 is the base record: the document copies it, here it is what is copied.
        let item = match depth.parse::<usize>().unwrap() {
            0 => fixture.get(id, "NODE"),
            depth => {
                ancestor_rows += 1;
                let row = fixture.get(ancestor, &format!("NODE#{depth:04}#{id}")).expect("an ancestor row");
                assert_eq!((text_at(&row, "_id"), &row["_depth"]), (id, &sapwood_core::model::number(depth)));
                Some(row)
            }
        };
        assert_eq!(text_at(&item.unwrap(), NAME), name);
    }
    let in_table = drawn().iter().map(|(id, ..)| ids(&fixture, id, "NODE#0001#", "NODE#0098$").len()).sum::<usize>();
    assert_eq!(in_table, ancestor_rows, "no ancestor row but these");
}

#[test]
fn hierarchy_replication_pattern_folder_d_is_got_at_depth_0() {
    let fixture = drives();
    assert_eq!(ids(&fixture, "d", "NODE", "NODE"), ["d"]);
    assert_eq!(text_at(&fixture.get("d", "NODE").unwrap(), NAME), "Folder d");
}

#[test]
fn hierarchy_replication_pattern_directly_below_v_are_d_and_e() {
    assert_eq!(ids(&drives(), "V", "NODE#0001#", "NODE#0001$"), ["d", "e"]);
}

#[test]
fn hierarchy_replication_pattern_everything_below_v_leaves_v_out() {
    let fixture = drives();
    let below = ids(&fixture, "V", "NODE#0001#", "NODE#0098$");
    assert_eq!(below, ["d", "e", "i", "ii", "iii"], "by depth, then by id");
    assert_eq!(fixture.ids(&fixture.query_begins_with("V", "NODE#")), below);
}

#[test]
fn hierarchy_replication_pattern_two_levels_below_drive_d() {
    let two = ids(&drives(), "D", "NODE#0001#", "NODE#0002$");
    assert_eq!(two, ["III", "IV", "V", "a", "b", "c", "d", "e"]);
    for beyond in ["i", "ii", "iii"] {
        assert!(!two.contains(&beyond.to_owned()), "{beyond} is at depth 3");
    }
}

#[test]
fn hierarchy_replication_pattern_three_and_four_levels_change_the_bounds_only() {
    let fixture = drives();
    let three = ids(&fixture, "D", "NODE#0001#", "NODE#0003$");
    assert_eq!(three, ["III", "IV", "V", "a", "b", "c", "d", "e", "i", "ii", "iii"]);
    assert_eq!(ids(&fixture, "D", "NODE#0001#", "NODE#0004$"), three, "there is no fourth level");
}

#[test]
fn hierarchy_replication_pattern_depth_0_includes_the_folder_itself() {
    let fixture = drives();
    assert_eq!(ids(&fixture, "V", "NODE", "NODE#0001$"), ["V", "d", "e"]);
    assert_eq!(ids(&fixture, "V", "NODE", "NODE#0098$"), ["V", "d", "e", "i", "ii", "iii"]);
}

#[test]
fn hierarchy_replication_pattern_starting_at_depth_2_skips_a_level() {
    let fixture = drives();
    assert_eq!(ids(&fixture, "D", "NODE#0002#", "NODE#0098$"), ["a", "b", "c", "d", "e", "i", "ii", "iii"]);
    assert_eq!(ids(&fixture, "D", "NODE#0003#", "NODE#0003$"), ["i", "ii", "iii"], "two levels skipped");
}

#[test]
fn hierarchy_replication_pattern_the_ranges_spelt_here_are_those_the_schema_makes() {
    let schema = sapwood_core::keys::Schema::default();
    for (from, to, spelt) in
        [(0, 1, ("NODE", "NODE#0001$")), (1, 2, ("NODE#0001#", "NODE#0002$")), (2, 98, ("NODE#0002#", "NODE#0098$"))]
    {
        let range = schema.depth_range(from, to);
        assert_eq!((range.from.as_str(), range.to.as_str()), spelt);
    }
}

#[test]
fn hierarchy_tradeoffs_a_folder_renamed_in_one_place_is_renamed_in_every_row() {
    let mut fixture = drives();
    fixture.update("d", "NODE", NAME, Some(text("Folder delta")));
    fixture.settle();
    for (pk, sk) in [("d", "NODE"), ("V", "NODE#0001#d"), ("D", "NODE#0002#d"), ("D", "PATH#V#d")] {
        assert_eq!(text_at(&fixture.get(pk, sk).unwrap(), NAME), "Folder delta", "{pk} {sk}");
    }
    // Only what is about d: nobody else carries its name.
    assert_eq!(text_at(&fixture.get("D", "NODE#0003#i").unwrap(), NAME), "Folder i");
}

#[test]
fn hierarchy_tradeoffs_folder_v_is_moved_under_iii_with_all_that_is_below() {
    let mut fixture = drives();
    fixture.update("V", "NODE", "parent", Some(text("III")));
    fixture.settle();
    assert_eq!(ids(&fixture, "III", "NODE#0001#", "NODE#0001$"), ["V", "a", "b"]);
    assert_eq!(ids(&fixture, "III", "NODE#0002#", "NODE#0098$"), ["d", "e", "i", "ii", "iii"]);
    assert_eq!(ids(&fixture, "D", "NODE#0001#", "NODE#0001$"), ["III", "IV"]);
    assert_eq!(ids(&fixture, "D", "NODE#0004#", "NODE#0004$"), ["i", "ii", "iii"], "a level deeper than before");
    // Below V nothing has changed.
    assert_eq!(ids(&fixture, "V", "NODE#0001#", "NODE#0098$"), ["d", "e", "i", "ii", "iii"]);
    // The former paths are gone.
    assert_eq!(fixture.query_begins_with("D", "PATH#V"), []);
    let below = fixture.ids(&fixture.query_begins_with("D", "PATH#III#"));
    assert_eq!(below, ["V", "d", "i", "ii", "iii", "e", "a", "b"]);
}

#[test]
fn hierarchy_tradeoffs_folder_v_is_moved_to_the_other_drive_and_back() {
    let mut fixture = drives();
    let before = fixture.len();
    fixture.update("V", "NODE", "parent", Some(text("C")));
    fixture.settle();
    assert_eq!(ids(&fixture, "C", "PATH#", "PATH$"), ["I", "II", "V", "d", "i", "ii", "iii", "e"]);
    assert_eq!(ids(&fixture, "D", "NODE#0001#", "NODE#0098$"), ["III", "IV", "a", "b", "c"]);
    fixture.update("V", "NODE", "parent", Some(text("D")));
    fixture.settle();
    assert_eq!(fixture.len(), before);
    assert_eq!(ids(&fixture, "C", "PATH#", "PATH$"), ["I", "II"]);
}

#[test]
fn hierarchy_streams_an_insert_replicates_the_folder_to_each_of_its_ancestors() {
    let mut fixture = drives();
    fixture.put_node("iv", Some("d"), &[(NAME, text("Folder iv"))]);
    fixture.settle();
    assert_eq!(events_of(&fixture.records, "iv", "NODE"), [Event::Insert]);
    for (ancestor, depth) in [("d", 1), ("V", 2), ("D", 3)] {
        let row = fixture.get(ancestor, &format!("NODE#{depth:04}#iv")).unwrap();
        assert_eq!((text_at(&row, NAME), text_at(&row, "_parent")), ("Folder iv", "d"));
    }
    assert!(fixture.get("D", "PATH#V#d#iv").is_some());
}

#[test]
fn hierarchy_streams_a_modify_moves_and_renames_in_one() {
    let mut fixture = drives();
    let others = [(NAME, text("Folder epsilon")), ("note", text("also new"))];
    fixture.put_node("e", Some("IV"), &others);
    fixture.settle();
    assert_eq!(events_of(&fixture.records, "e", "NODE"), [Event::Insert, Event::Modify]);
    assert_eq!(ids(&fixture, "V", "NODE#0001#", "NODE#0001$"), ["d"]);
    assert_eq!(ids(&fixture, "IV", "NODE#0001#", "NODE#0001$"), ["c", "e"]);
    let row = fixture.get("IV", "NODE#0001#e").unwrap();
    assert_eq!((text_at(&row, NAME), text_at(&row, "note")), ("Folder epsilon", "also new"));
}

#[test]
fn hierarchy_streams_a_remove_takes_the_folder_away_from_its_ancestors() {
    let mut fixture = drives();
    fixture.delete_node("e");
    fixture.settle();
    assert_eq!(events_of(&fixture.records, "e", "NODE"), [Event::Insert, Event::Remove]);
    assert_eq!(ids(&fixture, "V", "NODE#0001#", "NODE#0098$"), ["d", "i", "ii", "iii"]);
    assert_eq!(fixture.query_begins_with("D", "PATH#V#e"), []);
    assert_eq!(fixture.query("e"), [], "nothing is left of it");
}

#[test]
fn hierarchy_streams_folders_below_a_removed_one_hang_on_it_and_return_with_it() {
    let mut fixture = drives();
    let before = fixture.query("D");
    fixture.delete_node("d");
    fixture.settle();
    assert_eq!(ids(&fixture, "V", "NODE#0001#", "NODE#0098$"), ["e"], "what was below d is in no tree");
    assert_eq!(ids(&fixture, "d", "NODE#0001#", "NODE#0098$"), ["i", "ii", "iii"], "but still below d");
    fixture.put_node("d", Some("V"), &[(NAME, text("Folder d"))]);
    fixture.settle();
    assert_eq!(fixture.query("D"), before);
}

#[test]
fn hierarchy_streams_the_order_in_which_folders_are_written_makes_no_difference() {
    let in_order = drives();
    let mut backwards = Fixture::default();
    for (id, name, ancestors) in drawn().into_iter().rev() {
        backwards.put_node(id, ancestors.first().copied(), &[(NAME, text(name))]);
        backwards.settle();
    }
    for (id, ..) in drawn() {
        let derived = |fixture: &Fixture| fixture.query_begins_with(id, "NODE#");
        assert_eq!(derived(&backwards), derived(&in_order), "below {id}");
    }
    assert_eq!(backwards.len(), in_order.len());
}
