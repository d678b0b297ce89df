//! Every example of the seed `composite-sort-key-locations.txt`: Starbucks stores at four levels, by country, state,
//! city and zip code. Once by a composite sort key alone, as the document has it, once as a tree with path rows.

use std::ops::RangeInclusive;

use sapwood_core::model::{AttributeValue, text};
use sapwood_keys::composite_key;
use sapwood_keys::{CompositeKey, Error, Format};
use sapwood_simulation::fixture::{Fixture, text_at};

/// The document's four stores: country, state, city, zip code, street address, square feet.
const PRINTED: [[&str; 6]; 4] = [
    ["USA", "NE", "OMAHA", "68118", "#100 St Andrews lane", "921"],
    ["USA", "NY", "NEWYORKCITY", "10001", "#675 6th Ave", "1211"],
    ["USA", "NY", "NEWYORKCITY", "10019", "1500 Broadway", "1924"],
    ["FRANCE", "ILE-DE-FRANCE", "PARIS", "75001", "26 Avenue de I'Opera", "2102"],
];

/// Stores that the document doesn't have, each there for a reason.
const MORE: [[&str; 6]; 4] = [
    // The only one of Nebraska outside Omaha, of a city whose name begins with the other's.
    ["USA", "NE", "OMAHA2", "68118", "1 Sibling St", "700"],
    // Other zip codes of Omaha, below and above the range that is asked for.
    ["USA", "NE", "OMAHA", "68022", "2 Elkhorn Rd", "800"],
    ["USA", "NE", "OMAHA", "68199", "3 Last Ave", "810"],
    // A state whose name begins with another's.
    ["USA", "NEVADA", "RENO", "89501", "4 Casino Ctr", "1500"],
];

/// A second store in one zip code: the document's key, which ends with it, has room for one.
const SAME_ZIP: [&str; 6] = ["USA", "NY", "NEWYORKCITY", "10001", "450 W 33rd St", "1650"];

fn all_stores() -> Vec<[&'static str; 6]> {
    PRINTED.into_iter().chain(MORE).chain([SAME_ZIP]).collect()
}

fn attributes(street: &str, feet: &str) -> [(&'static str, AttributeValue); 2] {
    [("StreetAddress", text(street)), ("SquareFeet", AttributeValue::N(feet.to_owned()))]
}

/// By composite keys alone: the country is the partition.
mod by_composite_keys {
    use super::*;

    composite_key! {
        /// `STATE#CITY#ZIP`, the document's sort key.
        struct ZipKey { state: String, city: String, zip: String }
    }

    composite_key! {
        /// The same with the store's number after it, in a format whose ranges are exact.
        struct StoreKey(Format::SORT_KEY.escaping()) { state: String, city: String, zip: String, store: String }
    }

    /// The document's table, one store to a zip code.
    fn printed() -> Fixture {
        let mut fixture = Fixture::default();
        for [country, state, city, zip, street, feet] in PRINTED {
            let key = ZipKey { state: state.into(), city: city.into(), zip: zip.into() };
            fixture.put(country, &key.build().unwrap(), &attributes(street, feet));
        }
        fixture.settle();
        fixture
    }

    /// All stores, each with a number.
    fn numbered() -> Fixture {
        let mut fixture = Fixture::default();
        for (number, [country, state, city, zip, street, feet]) in all_stores().into_iter().enumerate() {
            let (state, city, zip) = (state.into(), city.into(), zip.into());
            let key = StoreKey { state, city, zip, store: number.to_string() };
            fixture.put(country, &key.build().unwrap(), &attributes(street, feet));
        }
        fixture.settle();
        fixture
    }

    fn below(fixture: &Fixture, prefix: &str) -> Vec<String> {
        fixture.sort_keys(&fixture.query_begins_with("USA", prefix))
    }

    fn between(fixture: &Fixture, range: RangeInclusive<String>) -> Vec<String> {
        fixture.sort_keys(&fixture.query_between("USA", range.start(), range.end()))
    }

    #[test]
    fn locations_the_printed_table_is_stored_and_no_row_is_derived_from_it() {
        let fixture = printed();
        assert_eq!(fixture.len(), PRINTED.len(), "sort keys outside the grammar are none of Sapwood's business");
        assert_eq!(fixture.delivered, 0, "and never invoke the function");
        let omaha = fixture.get("USA", "NE#OMAHA#68118").unwrap();
        assert_eq!(text_at(&omaha, "StreetAddress"), "#100 St Andrews lane");
        assert_eq!(omaha["SquareFeet"], AttributeValue::N("921".to_owned()));
        assert!(fixture.get("FRANCE", "ILE-DE-FRANCE#PARIS#75001").is_some());
    }

    #[test]
    fn locations_pattern_1_all_of_a_country() {
        let fixture = printed();
        let usa = ["NE#OMAHA#68118", "NY#NEWYORKCITY#10001", "NY#NEWYORKCITY#10019"];
        assert_eq!(fixture.sort_keys(&fixture.query("USA")), usa);
        assert_eq!(fixture.sort_keys(&fixture.query("FRANCE")), ["ILE-DE-FRANCE#PARIS#75001"]);
    }

    #[test]
    fn locations_pattern_2_all_of_a_state() {
        let prefix = ZipKey::prefix(("NY",)).unwrap();
        assert_eq!(prefix, "NY#", "the document's begins_with(SK, '<State>#')");
        assert_eq!(below(&printed(), &prefix), ["NY#NEWYORKCITY#10001", "NY#NEWYORKCITY#10019"]);
        let nebraska = below(&numbered(), &ZipKey::prefix(("NE",)).unwrap());
        assert!(nebraska.iter().all(|sk| sk.starts_with("NE#")), "Nevada isn't in Nebraska");
        assert_eq!(nebraska.len(), 4);
    }

    #[test]
    fn locations_pattern_3_all_of_a_city() {
        let prefix = ZipKey::prefix(("NY", "NEWYORKCITY")).unwrap();
        assert_eq!(below(&printed(), &prefix), ["NY#NEWYORKCITY#10001", "NY#NEWYORKCITY#10019"]);
    }

    #[test]
    fn locations_pattern_3_as_printed_also_finds_a_city_whose_name_begins_alike_and_ours_doesnt() {
        let fixture = numbered();
        // begins_with(SK, '<State>#<City>') has no separator at its end.
        let printed = below(&fixture, "NE#OMAHA");
        assert!(printed.contains(&"NE#OMAHA2#68118#4".to_owned()), "{printed:?}");
        let omaha = ["NE#OMAHA#68022#5", "NE#OMAHA#68118#0", "NE#OMAHA#68199#6"];
        assert_eq!(below(&fixture, &StoreKey::prefix(("NE", "OMAHA")).unwrap()), omaha);
        assert_eq!(between(&fixture, StoreKey::between(("NE",), "OMAHA", "OMAHA").unwrap()), omaha);
    }

    #[test]
    fn locations_pattern_4_all_of_a_zip_code() {
        let key = ZipKey::parse("NY#NEWYORKCITY#10019").unwrap().build().unwrap();
        assert_eq!(below(&printed(), &key), ["NY#NEWYORKCITY#10019"]);
    }

    #[test]
    fn locations_two_stores_in_one_zip_code_need_a_part_more_than_the_printed_key_has() {
        let mut fixture = printed();
        let [country, _, _, _, street, feet] = SAME_ZIP;
        fixture.put(country, "NY#NEWYORKCITY#10001", &attributes(street, feet));
        fixture.settle();
        assert_eq!(fixture.len(), PRINTED.len(), "the second has overwritten the first");
        let both = below(&numbered(), &StoreKey::prefix(("NY", "NEWYORKCITY", "10001")).unwrap());
        assert_eq!(both, ["NY#NEWYORKCITY#10001#1", "NY#NEWYORKCITY#10001#8"]);
    }

    #[test]
    fn locations_a_range_of_zip_codes_is_one_query() {
        let fixture = numbered();
        let zips = StoreKey::between(("NE", "OMAHA"), "68100", "68199").unwrap();
        assert_eq!(zips, "NE#OMAHA#68100".to_owned()..="NE#OMAHA#68199$".to_owned());
        assert_eq!(between(&fixture, zips), ["NE#OMAHA#68118#0", "NE#OMAHA#68199#6"], "both ends included");
    }

    #[test]
    fn locations_names_with_spaces_and_separators_come_back_as_they_were() {
        let key = StoreKey { state: "NY".into(), city: "NEW YORK #1".into(), zip: "10001".into(), store: "8".into() };
        let sort_key = key.build().unwrap();
        assert_eq!(sort_key, "NY#NEW%20YORK%20%231#10001#8");
        assert_eq!(StoreKey::parse(&sort_key).unwrap().city, "NEW YORK #1");
        let refused = ZipKey { state: "NY".into(), city: "NEW#YORK".into(), zip: "10001".into() }.build();
        assert!(matches!(refused, Err(Error::Separator { .. })), "the printed key has no way to hold it");
    }
}

/// As a tree: a node for each place, whose name is the segment of its path, and one for each store.
mod as_a_tree {
    use super::*;

    /// Places have ids of their own, so that two cities may have one name; a segment is the name in the path.
    fn tree() -> Fixture {
        let mut fixture = Fixture::default();
        for (number, [country, state, city, zip, street, feet]) in all_stores().into_iter().enumerate() {
            let state_id = format!("{country}/{state}");
            let city_id = format!("{state_id}/{city}");
            let zip_id = format!("{city_id}/{zip}");
            fixture.put_node(country, None, &[]);
            fixture.put_node(&state_id, Some(country), &[("segment", text(state))]);
            fixture.put_node(&city_id, Some(&state_id), &[("segment", text(city))]);
            fixture.put_node(&zip_id, Some(&city_id), &[("segment", text(zip))]);
            fixture.put_node(&format!("store-{number}"), Some(&zip_id), &attributes(street, feet));
        }
        fixture.settle();
        fixture
    }

    /// The stores among what a range of paths under a country holds, in order.
    fn stores(fixture: &Fixture, country: &str, from: &str, to: &str) -> Vec<String> {
        let mut found = fixture.ids(&fixture.query_between(country, from, to));
        found.retain(|id| id.starts_with("store-"));
        found
    }

    #[test]
    fn locations_in_a_tree_pattern_1_all_of_a_country() {
        let fixture = tree();
        assert_eq!(stores(&fixture, "FRANCE", "PATH#", "PATH$"), ["store-3"]);
        // The same from the ancestor rows: a store is at depth 4.
        let usa = fixture.ids(&fixture.query_begins_with("USA", "NODE#0004#store-"));
        assert_eq!(usa.len(), 8);
        assert_eq!(stores(&fixture, "USA", "PATH#", "PATH$").len(), 8);
    }

    #[test]
    fn locations_in_a_tree_pattern_2_all_of_a_state() {
        let fixture = tree();
        assert_eq!(stores(&fixture, "USA", "PATH#NY", "PATH#NY$"), ["store-1", "store-8", "store-2"]);
        let nebraska = stores(&fixture, "USA", "PATH#NE", "PATH#NE$");
        assert_eq!(nebraska, ["store-5", "store-0", "store-6", "store-4"], "and nothing of Nevada");
    }

    #[test]
    fn locations_in_a_tree_pattern_3_all_of_a_city_and_none_of_its_namesake() {
        let fixture = tree();
        let omaha = ["store-5", "store-0", "store-6"];
        assert_eq!(stores(&fixture, "USA", "PATH#NE#OMAHA", "PATH#NE#OMAHA$"), omaha);
        let range = fixture.schema().path_range(&["NE".to_owned(), "OMAHA".to_owned()]).unwrap();
        assert_eq!((range.from.as_str(), range.to.as_str()), ("PATH#NE#OMAHA", "PATH#NE#OMAHA$"));
        // As the document would have it, OMAHA2 is among them.
        let begins_with = fixture.ids(&fixture.query_begins_with("USA", "PATH#NE#OMAHA"));
        assert!(begins_with.contains(&"store-4".to_owned()), "{begins_with:?}");
    }

    #[test]
    fn locations_in_a_tree_pattern_4_all_of_a_zip_code_even_two_of_them() {
        let fixture = tree();
        let (from, to) = ("PATH#NY#NEWYORKCITY#10001", "PATH#NY#NEWYORKCITY#10001$");
        assert_eq!(stores(&fixture, "USA", from, to), ["store-1", "store-8"]);
        let row = fixture.get("USA", "PATH#NY#NEWYORKCITY#10001#store-8").unwrap();
        assert_eq!(text_at(&row, "StreetAddress"), "450 W 33rd St");
        assert_eq!(row["SquareFeet"], AttributeValue::N("1650".to_owned()));
    }

    #[test]
    fn locations_in_a_tree_a_range_of_zip_codes_is_one_query() {
        let fixture = tree();
        let found = stores(&fixture, "USA", "PATH#NE#OMAHA#68100", "PATH#NE#OMAHA#68199$");
        assert_eq!(found, ["store-0", "store-6"], "both ends included, 68022 not");
    }

    #[test]
    fn locations_in_a_tree_all_subitems_of_a_level_or_the_items_of_that_level_alone() {
        let fixture = tree();
        // "When searching at a particular level you want all subitems in that level rather than just the items":
        let under_new_york = fixture.ids(&fixture.query_between("USA", "PATH#NY", "PATH#NY$"));
        assert_eq!(under_new_york.len(), 7, "the state, a city, two zip codes, three stores");
        // here it needn't be: the cities of a state are its children.
        let cities = fixture.ids(&fixture.query_between("USA/NE", "NODE#0001#", "NODE#0001$"));
        assert_eq!(cities, ["USA/NE/OMAHA", "USA/NE/OMAHA2"]);
    }

    #[test]
    fn locations_in_a_tree_two_cities_of_one_name_in_one_state_keep_their_own_rows() {
        let mut fixture = tree();
        fixture.put_node("the-other-omaha", Some("USA/NE"), &[("segment", text("OMAHA"))]);
        fixture.put_node("store-9", Some("the-other-omaha"), &[]);
        fixture.settle();
        let cities = fixture.sort_keys(&fixture.query_between("USA", "PATH#NE#OMAHA", "PATH#NE#OMAHA\""));
        assert_eq!(cities, ["PATH#NE#OMAHA!USA/NE/OMAHA", "PATH#NE#OMAHA!the-other-omaha"]);
        // What is below them shares a prefix.
        assert!(stores(&fixture, "USA", "PATH#NE#OMAHA", "PATH#NE#OMAHA$").contains(&"store-9".to_owned()));
    }

    #[test]
    fn locations_in_a_tree_a_city_renamed_in_one_place_takes_its_stores_along() {
        let mut fixture = tree();
        fixture.update("USA/NY/NEWYORKCITY", "NODE", "segment", Some(text("NEW YORK")));
        fixture.settle();
        let (from, to) = ("PATH#NY#NEW%20YORK", "PATH#NY#NEW%20YORK$");
        assert_eq!(stores(&fixture, "USA", from, to), ["store-1", "store-8", "store-2"]);
        assert_eq!(fixture.query_begins_with("USA", "PATH#NY#NEWYORKCITY"), []);
    }
}
