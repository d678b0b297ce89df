//! Every example of the seed `sort-keys-version-control.txt`: locations at any level of aggregation, and the audits of
//! Equipment_1 with a `v0_` copy of the newest.
//!
//! The document has "the application layer" write the copy. Here it writes revisions alone, and the stream copies.

use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_core::model::{AttributeValue, number, text};
use sapwood_keys::CompositeKey;
use sapwood_keys::composite_key;
use sapwood_simulation::fixture::{Fixture, text_at};

composite_key! {
    /// `[country]#[region]#[state]#[county]#[city]#[neighborhood]`.
    struct Place {
        country: String, region: String, state: String, county: String, city: String, neighborhood: String,
    }
}

const PLACES: [&str; 7] = [
    "CANADA#WEST#BC#METRO#VANCOUVER#KITSILANO",
    "USA#MIDWEST#NE#DOUGLAS#OMAHA#BENSON",
    "USA#WEST#CA#ALAMEDA#OAKLAND#ROCKRIDGE",
    "USA#WEST#WA#KING#BELLEVUE#DOWNTOWN",
    "USA#WEST#WA#KING#SEATTLE#BALLARD",
    "USA#WEST#WA#KING#SEATTLE#FREMONT",
    "USA#WEST#WA#PIERCE#TACOMA#DOWNTOWN",
];

#[test]
fn sort_keys_locations_are_listed_at_every_level_from_country_down_to_neighborhood() {
    let mut fixture = Fixture::default();
    for place in PLACES {
        let key = Place::parse(place).unwrap();
        assert_eq!(key.build().unwrap(), place);
        fixture.put("LOCATIONS", place, &[]);
    }
    fixture.settle();
    let below = |prefix: &str| fixture.sort_keys(&fixture.query_begins_with("LOCATIONS", prefix));
    for (prefix, found) in [
        (Place::prefix(("USA",)), &PLACES[1..]),
        (Place::prefix(("USA", "WEST")), &PLACES[2..]),
        (Place::prefix(("USA", "WEST", "WA")), &PLACES[3..]),
        (Place::prefix(("USA", "WEST", "WA", "KING")), &PLACES[3..6]),
        (Place::prefix(("USA", "WEST", "WA", "KING", "SEATTLE")), &PLACES[4..6]),
    ] {
        let prefix = prefix.unwrap();
        assert!(prefix.ends_with('#'));
        assert_eq!(below(&prefix), found, "{prefix}");
    }
    assert_eq!(below(PLACES[4]), [PLACES[4]], "a neighborhood is a whole key");
}

#[test]
fn sort_keys_locations_in_between_two_places_are_one_range() {
    let mut fixture = Fixture::default();
    PLACES.iter().for_each(|place| fixture.put("LOCATIONS", place, &[]));
    // ">", "<" and "between" of the document: from California to the end of Seattle.
    let found = fixture.query_between("LOCATIONS", "USA#WEST#CA#", "USA#WEST#WA#KING#SEATTLE$");
    assert_eq!(fixture.sort_keys(&found), PLACES[2..6]);
}

const EQUIPMENT: &str = "Equipment_1";

/// An audit's attributes: who, and with what result.
fn audit(auditor: &str, result: &str) -> [(&'static str, AttributeValue); 2] {
    [("Auditor", text(auditor)), ("Result", text(result))]
}

/// Three audits of Equipment_1, settled after each.
fn audited() -> Fixture {
    let mut fixture = Fixture::default();
    for (version, auditor, result) in
        [("v001_Audit", "Rob", "failed"), ("v002_Audit", "Jane", "pending"), ("v003_Audit", "Rob", "passed")]
    {
        fixture.put(EQUIPMENT, version, &audit(auditor, result));
        fixture.settle();
    }
    fixture
}

/// The number of the revision that a `v0_` copy was made of, and its result.
fn newest(fixture: &Fixture, topic: &str) -> Option<(AttributeValue, String)> {
    let copy = fixture.get(EQUIPMENT, &format!("v0_{topic}"))?;
    Some((copy["_version"].clone(), text_at(&copy, "Result").to_owned()))
}

/// All revisions without the copies: `v0_` lies between `v099_` and `v100_`, so it is left out by two ranges and needs
/// no filter.
fn history(fixture: &Fixture) -> Vec<String> {
    let before = fixture.query_between(EQUIPMENT, "v00", "v0:");
    let after = fixture.query_between(EQUIPMENT, "v1", "vd");
    fixture.sort_keys(&[before, after].concat())
}

#[test]
fn version_control_a_new_item_has_two_copies_v001_and_v0() {
    let mut fixture = Fixture::default();
    fixture.put(EQUIPMENT, "v001_Audit", &audit("Rob", "failed"));
    fixture.settle();
    let [copy, first] = ["v0_Audit", "v001_Audit"].map(|sk| fixture.get(EQUIPMENT, sk).unwrap());
    for name in ["Auditor", "Result"] {
        assert_eq!(copy[name], first[name], "{name}");
    }
    assert_eq!(copy["_version"], number(1));
    assert_eq!(fixture.len(), 2, "and nothing else");
}

#[test]
fn version_control_v0_audit_equals_the_newest_audit_after_each() {
    let mut fixture = Fixture::default();
    for (count, result) in ["failed", "pending", "failed", "passed"].into_iter().enumerate() {
        fixture.put(EQUIPMENT, &format!("v{:03}_Audit", count + 1), &audit("Rob", result));
        fixture.settle();
        assert_eq!(newest(&fixture, "Audit"), Some((number(count + 1), result.to_owned())));
    }
    assert_eq!(history(&fixture).len(), 4, "earlier audits stay as they were");
    assert_eq!(text_at(&fixture.get(EQUIPMENT, "v001_Audit").unwrap(), "Result"), "failed");
}

#[test]
fn version_control_an_attribute_that_the_newest_audit_lacks_isnt_left_over_in_the_copy() {
    let mut fixture = audited();
    fixture.put(EQUIPMENT, "v004_Audit", &[("Result", text("skipped"))]);
    fixture.settle();
    assert_eq!(fixture.get(EQUIPMENT, "v0_Audit").unwrap().get("Auditor"), None);
}

#[test]
fn version_control_the_most_recent_audit_is_found_by_the_prefix_v0() {
    let fixture = audited();
    let found = fixture.query_begins_with(EQUIPMENT, "v0_");
    assert_eq!(fixture.sort_keys(&found), ["v0_Audit"]);
    assert_eq!(text_at(&found[0], "Result"), "passed");
}

#[test]
fn version_control_the_whole_history_leaves_the_copy_out_by_range_not_by_filter() {
    let mut fixture = audited();
    assert_eq!(history(&fixture), ["v001_Audit", "v002_Audit", "v003_Audit"]);
    // The document's way: all items under the partition key, without the v0_ item.
    let mut all = fixture.sort_keys(&fixture.query(EQUIPMENT));
    all.retain(|sk| !sk.starts_with("v0_"));
    assert_eq!(all, history(&fixture));
    // On both sides of where `v0_` sorts.
    for version in [99, 100, 101] {
        fixture.put(EQUIPMENT, &format!("v{version:03}_Audit"), &audit("Jane", "passed"));
    }
    fixture.settle();
    let all = fixture.sort_keys(&fixture.query(EQUIPMENT));
    let place = all.iter().position(|sk| sk == "v0_Audit").unwrap();
    assert_eq!((all[place - 1].as_str(), all[place + 1].as_str()), ("v099_Audit", "v100_Audit"));
    let expected = ["v001_Audit", "v002_Audit", "v003_Audit", "v099_Audit", "v100_Audit", "v101_Audit"];
    assert_eq!(history(&fixture), expected);
}

#[test]
fn version_control_audits_across_parts_have_the_part_after_the_prefix() {
    let mut fixture = Fixture::default();
    for (sk, result) in [
        ("v001_Audit#wheel", "failed"),
        ("v002_Audit#wheel", "passed"),
        ("v001_Audit#wheel-2", "pending"),
        ("v001_Audit#engine", "passed"),
        ("v001_Audit", "passed as a whole"),
        ("v001_Auditorium", "of something else"),
    ] {
        fixture.put(EQUIPMENT, sk, &audit("Rob", result));
    }
    fixture.settle();
    // The newest audit of every part, in one Query.
    let parts = fixture.query_begins_with(EQUIPMENT, "v0_Audit#");
    assert_eq!(fixture.sort_keys(&parts), ["v0_Audit#engine", "v0_Audit#wheel", "v0_Audit#wheel-2"]);
    assert_eq!(newest(&fixture, "Audit#wheel"), Some((number(2), "passed".to_owned())));
    assert_eq!(newest(&fixture, "Audit#wheel-2"), Some((number(1), "pending".to_owned())));
    assert_eq!(newest(&fixture, "Audit"), Some((number(1), "passed as a whole".to_owned())));
}

#[test]
fn version_control_versions_go_on_in_order_beyond_v999() {
    let mut fixture = Fixture::default();
    let versions = ["v001", "v998", "v999", "va1000", "va1001", "va9999", "vb10000", "vc100000", "vc999999"];
    for version in versions {
        fixture.put(EQUIPMENT, &format!("{version}_Audit"), &audit("Rob", version));
        fixture.settle();
        assert_eq!(newest(&fixture, "Audit").unwrap().1, version);
    }
    let expected: Vec<String> = versions.iter().map(|version| format!("{version}_Audit")).collect();
    assert_eq!(history(&fixture), expected, "the order of bytes is that of numbers");
    // Back over each border where the newest is taken away.
    for left in (1..versions.len()).rev() {
        fixture.delete(EQUIPMENT, &format!("{}_Audit", versions[left]));
        fixture.settle();
        assert_eq!(newest(&fixture, "Audit").unwrap().1, versions[left - 1]);
    }
}

#[test]
fn version_control_what_only_looks_like_a_version_makes_no_copy() {
    let mut fixture = Fixture::default();
    for sk in ["v1_Audit", "v0001_Audit", "v1000_Audit", "va0999_Audit", "v000_Audit", "vacation", "v001"] {
        fixture.put(EQUIPMENT, sk, &audit("Rob", "none"));
    }
    fixture.settle();
    assert_eq!(fixture.query_begins_with(EQUIPMENT, "v0_"), []);
    assert_eq!(fixture.problems, []);
}

#[test]
fn version_control_without_the_newest_audit_the_one_before_is_copied_and_without_any_none() {
    let mut fixture = audited();
    for (gone, left) in [
        ("v003_Audit", Some((number(2), "pending"))),
        ("v001_Audit", Some((number(2), "pending"))),
        ("v002_Audit", None),
    ] {
        fixture.delete(EQUIPMENT, gone);
        fixture.settle();
        assert_eq!(
            newest(&fixture, "Audit"),
            left.map(|(version, result)| (version, result.to_owned())),
            "{gone} gone"
        );
    }
    assert!(fixture.is_empty());
}

#[test]
fn version_control_the_newest_audit_amended_is_copied_again_and_an_older_one_isnt() {
    let mut fixture = audited();
    fixture.put(EQUIPMENT, "v003_Audit", &audit("Rob", "passed, signed"));
    fixture.settle();
    assert_eq!(newest(&fixture, "Audit"), Some((number(3), "passed, signed".to_owned())));
    fixture.put(EQUIPMENT, "v002_Audit", &audit("Jane", "withdrawn"));
    fixture.settle();
    assert_eq!(newest(&fixture, "Audit"), Some((number(3), "passed, signed".to_owned())));
}

#[test]
fn version_control_audits_written_out_of_order_leave_the_highest_copied() {
    let mut fixture = Fixture::default();
    for (version, highest) in [(2, 2), (5, 5), (1, 5), (4, 5), (1000, 1000), (999, 1000)] {
        let sk = if version < 1000 { format!("v{version:03}_Audit") } else { format!("va{version}_Audit") };
        fixture.put(EQUIPMENT, &sk, &audit("Rob", &version.to_string()));
        fixture.settle();
        assert_eq!(newest(&fixture, "Audit"), Some((number(highest), highest.to_string())));
    }
}

#[test]
fn version_control_records_delivered_again_in_the_wrong_order_change_nothing() {
    let mut fixture = audited();
    let records: Vec<StreamRecord> = fixture.records.iter().filter(|r| !r.key.sk.starts_with("v0_")).cloned().collect();
    for record in records.into_iter().rev() {
        fixture.deliver(&[record]);
    }
    fixture.settle();
    assert_eq!(newest(&fixture, "Audit"), Some((number(3), "passed".to_owned())));
    // A deletion that comes late, of a revision which is there again.
    let key = sapwood_core::keys::ItemKey::new(EQUIPMENT, "v003_Audit");
    let late = StreamRecord { key, sequence: "1".to_owned(), event: Event::Remove, old: None, new: None };
    fixture.deliver(&[late]);
    fixture.settle();
    assert_eq!(newest(&fixture, "Audit"), Some((number(3), "passed".to_owned())));
}

#[test]
fn version_control_a_node_and_its_revisions_share_an_item_collection_in_peace() {
    let mut fixture = audited();
    fixture.put_node("Plant_7", None, &[]);
    fixture.put_node(EQUIPMENT, Some("Plant_7"), &[("Name", text("Press"))]);
    fixture.settle();
    assert_eq!(history(&fixture), ["v001_Audit", "v002_Audit", "v003_Audit"]);
    assert_eq!(fixture.ids(&fixture.query_begins_with("Plant_7", "NODE#0001#")), [EQUIPMENT]);
    fixture.delete_node(EQUIPMENT);
    fixture.settle();
    assert_eq!(newest(&fixture, "Audit"), Some((number(3), "passed".to_owned())), "revisions need no node");
}
