//! Every example of the seed `composite-keys-pattern.txt`, in its order.
//!
//! An item collection is a sorted set of sort keys here, and `begins_with` what DynamoDB
//! makes of it: a comparison of bytes.

use std::collections::BTreeSet;

use sapwood_keys::composite_key;
use sapwood_keys::{CompositeKey, Error, Format, Part, Utc};

const PK: Format = Format::PARTITION_KEY;
const SK: Format = Format::SORT_KEY;

/// The sort keys of one item collection, in the order DynamoDB keeps them in.
struct Collection(BTreeSet<String>);

impl Collection {
    fn of<const N: usize>(keys: [&[&str]; N]) -> Self {
        Self(keys.iter().map(|parts| SK.build(parts).unwrap()).collect())
    }

    fn begins_with(&self, prefix: &str) -> Vec<&str> {
        let from_there = self.0.range(prefix.to_owned()..);
        from_there.take_while(|key| key.starts_with(prefix)).map(String::as_str).collect()
    }
}

composite_key! {
    /// `USER#<user>#ORDER#<time>#<order>` ("use type-safe builders").
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct UserOrderKey { "USER", user: String, "ORDER", at: Utc<0>, order: String }
}

composite_key! {
    /// `ORDER#<time>#<order>` ("document key structure"). Ranges want a format that escapes.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct OrderKey(SK.escaping()) { "ORDER", at: Utc<0>, order: String }
}

composite_key! {
    /// `VERSION#<time>#<version>` ("use case 4: versioned documents").
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct VersionKey { "VERSION", at: Utc<0>, version: String }
}

fn at(time: &str) -> Utc<0> {
    Utc::decode(time).unwrap()
}

#[test]
fn composite_keys_pattern_what_is_it_three_formats_are_built() {
    assert_eq!(SK.build(&["USER", "123", "ORDER", "456"]).unwrap(), "USER#123#ORDER#456");
    assert_eq!(SK.build(&["2024", "12", "SALES"]).unwrap(), "2024#12#SALES");
    assert_eq!(SK.build(&["TENANT", "acme", "USER", "alice"]).unwrap(), "TENANT#acme#USER#alice");
}

#[test]
fn composite_keys_pattern_query_flexibility_prefixes_select_orders_of_a_user_and_sales_of_a_month() {
    assert_eq!(SK.prefix(&["USER", "123", "ORDER"]).unwrap(), "USER#123#ORDER#");
    assert_eq!(SK.prefix(&["2024", "12"]).unwrap(), "2024#12#");
}

#[test]
fn composite_keys_pattern_hierarchical_query_finds_all_four_items_of_the_user_and_no_other_user() {
    let items = Collection::of([
        &["USER", "123", "ORDER", "456"],
        &["USER", "123", "ORDER", "789"],
        &["USER", "123", "PROFILE"],
        &["USER", "123", "SETTINGS"],
        &["USER", "1234", "PROFILE"],
        &["USER", "12", "PROFILE"],
    ]);
    assert_eq!(
        items.begins_with(&SK.prefix(&["USER", "123"]).unwrap()),
        ["USER#123#ORDER#456", "USER#123#ORDER#789", "USER#123#PROFILE", "USER#123#SETTINGS"]
    );
}

#[test]
fn composite_keys_pattern_creating_keys_simple_by_time_by_tenant_and_with_a_custom_separator() {
    assert_eq!(SK.build(&["USER", "123", "ORDER", "456"]).unwrap(), "USER#123#ORDER#456");
    assert_eq!(SK.build(&["2024", "12", "SALES", "region-west"]).unwrap(), "2024#12#SALES#region-west");
    assert_eq!(SK.build(&["TENANT", "acme", "USER", "alice"]).unwrap(), "TENANT#acme#USER#alice");
    assert_eq!(SK.separated_by("|").build(&["A", "B", "C"]).unwrap(), "A|B|C");
}

#[test]
fn composite_keys_pattern_parsing_keys_gives_the_parts_back_with_either_separator() {
    assert_eq!(SK.parse("USER#123#ORDER#456").unwrap(), ["USER", "123", "ORDER", "456"]);
    let [_entity_type, user_id, _order_type, order_id] = SK.parse_exactly("USER#123#ORDER#456").unwrap();
    assert_eq!((&*user_id, &*order_id), ("123", "456"));
    assert_eq!(SK.separated_by("|").parse("A|B|C").unwrap(), ["A", "B", "C"]);
}

#[test]
fn composite_keys_pattern_table_client_orders_of_a_user_all_and_of_one_date() {
    assert_eq!(PK.entity("USER", "123").unwrap(), "USER#123");
    let items = Collection::of([
        &["ORDER", "2024-12-01", "456"],
        &["ORDER", "2024-12-01", "457"],
        &["ORDER", "2024-12-02", "458"],
        &["ORDERING", "x"],
        &["PROFILE"],
    ]);
    let all = items.begins_with(&SK.prefix(&["ORDER"]).unwrap());
    assert_eq!(all, ["ORDER#2024-12-01#456", "ORDER#2024-12-01#457", "ORDER#2024-12-02#458"]);
    assert_eq!(SK.prefix(&["ORDER", "2024-12-01"]).unwrap(), "ORDER#2024-12-01#");
    assert_eq!(items.begins_with("ORDER#2024-12-01#"), ["ORDER#2024-12-01#456", "ORDER#2024-12-01#457"]);
}

#[test]
fn composite_keys_pattern_use_case_1_time_series_by_day_and_category_and_by_month() {
    let metrics = Collection::of([
        &["2024", "12", "01", "CPU", "server-1"],
        &["2024", "12", "01", "CPU", "server-2"],
        &["2024", "12", "01", "MEMORY", "server-1"],
        &["2024", "12", "02", "CPU", "server-1"],
        &["2024", "11", "30", "CPU", "server-1"],
    ]);
    let cpu_of_the_day = SK.prefix(&["2024", "12", "01", "CPU"]).unwrap();
    assert_eq!(cpu_of_the_day, "2024#12#01#CPU#");
    assert_eq!(metrics.begins_with(&cpu_of_the_day), ["2024#12#01#CPU#server-1", "2024#12#01#CPU#server-2"]);
    let december = SK.prefix(&["2024", "12"]).unwrap();
    assert_eq!(december, "2024#12#");
    assert_eq!(metrics.begins_with(&december).len(), 4);
}

#[test]
fn composite_keys_pattern_use_case_2_multi_tenancy_users_of_a_tenant_and_one_user() {
    assert_eq!(PK.build(&["TENANT", "acme"]).unwrap(), "TENANT#acme");
    let acme =
        Collection::of([&["USER", "alice", "PROFILE"], &["USER", "bob", "PROFILE"], &["USER", "alice2", "PROFILE"]]);
    assert_eq!(
        acme.begins_with(&SK.prefix(&["USER"]).unwrap()),
        ["USER#alice#PROFILE", "USER#alice2#PROFILE", "USER#bob#PROFILE"]
    );
    let alice = SK.prefix(&["USER", "alice"]).unwrap();
    assert_eq!(alice, "USER#alice#");
    assert_eq!(acme.begins_with(&alice), ["USER#alice#PROFILE"]);
}

#[test]
fn composite_keys_pattern_use_case_2_no_tenant_reaches_another_through_its_name() {
    // With a `#` in it, a tenant's name would make the key of another tenant's user.
    let refused = PK.build(&["TENANT", "acme#USER#alice"]);
    assert!(matches!(refused, Err(Error::Separator { .. })));
    let escaped = PK.escaping().build(&["TENANT", "acme#USER#alice"]).unwrap();
    assert_ne!(escaped, PK.escaping().build(&["TENANT", "acme", "USER", "alice"]).unwrap());
}

#[test]
fn composite_keys_pattern_use_case_3_categories_are_found_at_every_level() {
    let catalog = Collection::of([
        &["ELECTRONICS", "COMPUTERS", "LAPTOPS", "product-123"],
        &["ELECTRONICS", "COMPUTERS", "DESKTOPS", "product-124"],
        &["ELECTRONICS", "COMPUTERS2", "LAPTOPS", "product-125"],
        &["ELECTRONICS", "PHONES", "product-126"],
        &["GARDEN", "product-127"],
    ]);
    for (parts, prefix, found) in [
        (&["ELECTRONICS", "COMPUTERS", "LAPTOPS"][..], "ELECTRONICS#COMPUTERS#LAPTOPS#", 1),
        (&["ELECTRONICS", "COMPUTERS"], "ELECTRONICS#COMPUTERS#", 2),
        (&["ELECTRONICS"], "ELECTRONICS#", 4),
    ] {
        assert_eq!(SK.prefix(parts).unwrap(), prefix);
        assert_eq!(catalog.begins_with(prefix).len(), found, "{prefix}");
    }
}

#[test]
fn composite_keys_pattern_use_case_4_versions_of_a_document_come_in_the_order_of_time() {
    assert_eq!(PK.entity("DOCUMENT", "doc-123").unwrap(), "DOCUMENT#doc-123");
    let second = VersionKey { at: at("2024-12-01T14:20:00Z"), version: "v2".into() };
    let first = VersionKey { at: at("2024-12-01T10:30:00Z"), version: "v1".into() };
    assert_eq!(first.build().unwrap(), "VERSION#2024-12-01T10:30:00Z#v1");
    let versions = Collection([&second, &first].map(|key| key.build().unwrap()).into());
    assert_eq!(
        versions.begins_with(&VersionKey::prefix(()).unwrap()),
        ["VERSION#2024-12-01T10:30:00Z#v1", "VERSION#2024-12-01T14:20:00Z#v2"]
    );
}

/// The seed asks for `VERSION#2024-12-01#`, which matches nothing: in its own keys the
/// day is followed by `T`, since the time is one part.
#[test]
fn composite_keys_pattern_use_case_4_versions_of_a_date_need_a_prefix_within_the_time() {
    let versions = Collection::of([
        &["VERSION", "2024-12-01T10:30:00Z", "v1"],
        &["VERSION", "2024-12-01T14:20:00Z", "v2"],
        &["VERSION", "2024-12-02T08:00:00Z", "v3"],
    ]);
    let as_in_the_seed = SK.prefix(&["VERSION", "2024-12-01"]).unwrap();
    assert_eq!(as_in_the_seed, "VERSION#2024-12-01#");
    assert_eq!(versions.begins_with(&as_in_the_seed), [""; 0]);

    let of_the_day = ["VERSION#2024-12-01T10:30:00Z#v1", "VERSION#2024-12-01T14:20:00Z#v2"];
    let within = SK.prefix_within(&["VERSION", "2024-12-01"]).unwrap();
    assert_eq!(versions.begins_with(&within), of_the_day);
    assert_eq!(VersionKey::prefix_within((), "2024-12-01").unwrap(), within);
}

#[test]
fn composite_keys_pattern_considerations_separator_conflicts_are_refused_or_escaped() {
    assert!(matches!(SK.build(&["USER", "a#b"]), Err(Error::Separator { .. })));
    let escaping = SK.escaping();
    assert_eq!(escaping.build(&["USER", "a#b"]).unwrap(), "USER#a%23b");
    assert_eq!(escaping.parse("USER#a%23b").unwrap(), ["USER", "a#b"]);
}

#[test]
fn composite_keys_pattern_best_practice_1_the_most_selective_part_comes_first() {
    let (user_first, order_first) = (
        Collection::of([&["USER", "1", "ORDER", "7"], &["USER", "2", "ORDER", "8"], &["USER", "1", "ORDER", "9"]]),
        Collection::of([&["ORDER", "7", "USER", "1"], &["ORDER", "8", "USER", "2"], &["ORDER", "9", "USER", "1"]]),
    );
    assert_eq!(
        user_first.begins_with(&SK.prefix(&["USER", "1", "ORDER"]).unwrap()),
        ["USER#1#ORDER#7", "USER#1#ORDER#9"]
    );
    // The other way round, the least prefix that covers user 1 covers everybody.
    assert_eq!(order_first.begins_with(&SK.prefix(&["ORDER"]).unwrap()).len(), 3);
}

#[test]
fn composite_keys_pattern_best_practice_2_a_separator_is_said_once_and_others_do_not_mix() {
    const KEYS: Format = SK.separated_by("|");
    assert_eq!(KEYS.build(&["A", "B", "C"]).unwrap(), "A|B|C");
    // A key of one format is no key of three parts in another.
    assert_eq!(SK.parse_exactly::<3>("A|B|C"), Err(Error::Count { found: 1, expected: 3 }));
}

#[test]
fn composite_keys_pattern_best_practice_3_components_are_validated_and_the_one_at_fault_is_named() {
    let create_order_key = |user: &str, order: &str| SK.build(&["USER", user, "ORDER", order]);
    assert_eq!(create_order_key("123", "456").unwrap(), "USER#123#ORDER#456");
    for (user, order, index) in [("1#23", "456", 1), ("123", "4#56", 3)] {
        let error = create_order_key(user, order).unwrap_err();
        assert_eq!(error.place().unwrap().index, index);
        assert!(error.to_string().contains(&format!("part {index} ")), "{error}");
    }
}

#[test]
fn composite_keys_pattern_best_practice_4_the_documented_structure_enables_its_three_queries() {
    let key = |time, order: &str| OrderKey { at: at(time), order: order.into() }.build().unwrap();
    let keys = Collection(
        [key("2024-12-01T10:30:00Z", "456"), key("2024-12-01T23:59:59Z", "457"), key("2024-12-02T00:00:00Z", "458")]
            .into(),
    );
    let all = OrderKey::prefix(()).unwrap();
    assert_eq!((all.as_str(), keys.begins_with(&all).len()), ("ORDER#", 3));
    assert_eq!(keys.begins_with(&OrderKey::prefix_within((), "2024-12-01").unwrap()).len(), 2);
    assert!(keys.0.contains("ORDER#2024-12-01T10:30:00Z#456"));
    // Besides, any span of time is one range.
    let span = OrderKey::between((), at("2024-12-01T12:00:00Z"), at("2024-12-02T00:00:00Z")).unwrap();
    assert_eq!(keys.0.range(span).count(), 2);
    // Where the day is a part by itself, the seed's keys are right as they are.
    assert_eq!(SK.build(&["ORDER", "2024-12-01", "456"]).unwrap(), "ORDER#2024-12-01#456");
    assert_eq!(SK.prefix(&["ORDER", "2024-12-01"]).unwrap(), "ORDER#2024-12-01#");
}

#[test]
fn composite_keys_pattern_best_practice_5_a_type_safe_builder_goes_both_ways() {
    let order = UserOrderKey { user: "123".into(), at: at("2024-12-01T10:30:00Z"), order: "456".into() };
    let key = order.build().unwrap();
    assert_eq!(key, "USER#123#ORDER#2024-12-01T10:30:00Z#456");
    assert_eq!(UserOrderKey::parse(&key).unwrap(), order);
    assert_eq!(UserOrderKey::prefix(("123",)).unwrap(), "USER#123#ORDER#");
    let refused = UserOrderKey::parse("USER#123#ORDER#last week#456").unwrap_err();
    assert_eq!(refused.place().unwrap().field, Some("at"));
}

/// The seed's prefix for a month is `ORDER#2024-12#`; its keys have the day in the same
/// part, so it matches nothing either.
#[test]
fn composite_keys_pattern_query_efficiency_a_month_is_a_key_condition_and_no_filter() {
    let items = Collection::of([
        &["ORDER", "2024-12-01", "456"],
        &["ORDER", "2024-12-31", "457"],
        &["ORDER", "2025-01-01", "458"],
    ]);
    assert_eq!(items.begins_with("ORDER#2024-12#"), [""; 0]);
    let december = SK.prefix_within(&["ORDER", "2024-12"]).unwrap();
    assert_eq!(items.begins_with(&december), ["ORDER#2024-12-01#456", "ORDER#2024-12-31#457"]);
}

/// The seed says 2 KB for all keys; that is the partition key's limit, a sort key has half.
#[test]
fn composite_keys_pattern_key_size_limits_a_reasonable_key_fits_and_a_long_one_is_refused_whole() {
    assert_eq!(SK.build(&["USER", "123", "ORDER", "456"]).unwrap().len(), 18);
    let (very_long_id, another_long_id) = ("x".repeat(600), "y".repeat(700));
    let parts = ["VERY_LONG_PREFIX", &very_long_id, "ANOTHER_LONG_PREFIX", &another_long_id];
    assert_eq!(PK.build(&parts).unwrap().len(), 1338);
    let error = SK.build(&parts).unwrap_err();
    assert!(matches!(error, Error::TooLong { bytes: 1338, bytes_max: 1024, longest_bytes: 700, .. }));
    assert_eq!(error.place().unwrap().index, 3);
    let longer = PK.build(&["VERY_LONG_PREFIX", &"x".repeat(2048)]).unwrap_err();
    assert!(matches!(longer, Error::TooLong { bytes: 2065, bytes_max: 2048, .. }));
}
