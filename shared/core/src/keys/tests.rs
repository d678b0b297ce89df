//! The guarantees of the table's keys, for any text in any part.
#![allow(clippy::unwrap_used)]

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{
    DEPTH_MAX, EPOCH_MAX, ID_BYTES_MAX, Id, ItemKey, KeyError, LANES, Names, NodeRef, ORDER_ATTRIBUTES_MAX, OrderValue,
    OrderedList, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX, Schema, SiblingPlace, SortKey, SortRange, Tenant,
    TrashTime, Version,
};

/// The place of a node by a number; `None` for a text that is no number, and where the key has no room.
fn place_of_number(digits: &str, id: &Id) -> Option<SiblingPlace> {
    Some(SiblingPlace::of_values([OrderValue::Number(digits)], id)).filter(|place| *place != SiblingPlace::none())
}

/// A text that isn't empty: an ordinary one, one made of the keys' own words and separators, or any other.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[ -&A-Ca-c0-2_~é]{1,6}",
        2 => select(vec![
            "NODE", "NODE#0001#", "LINEAGE", "CASCADE", "OPERATION", "DELETED", "PATH#", "ROOT#", "ROOTS", "ORPHAN#", "ORPHANS#1", "CHILD#", "ORDERED#s", "TENANT#a#",
            "NAME#", "ROOTNAME#a", "v0_", "v001_", "v000_", "va1000_", "vacation", "OMAHA", "OMAHA2", "#", "$", "!", "%", "%23", "\0", "\u{10FFFF}",
        ]).prop_map(str::to_owned),
        1 => any::<String>().prop_filter("not empty", |text| !text.is_empty()),
    ]
}

fn id() -> impl Strategy<Value = Id> {
    text().prop_map(|text| Id::new(text).unwrap())
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![1..=Version::MAX, select(vec![1, 99, 100, 999, 1_000, 9_999, 10_000, 99_999, 100_000, 999_999])]
        .prop_map(|version| Version::new(version.into()).unwrap())
}

fn topic() -> impl Strategy<Value = String> {
    prop_oneof![4 => text(), 1 => Just(String::new())]
}

fn segments() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 1..4)
}

/// Places of texts, of numbers, and of neither.
fn place() -> impl Strategy<Value = SiblingPlace> {
    prop_oneof![
        3 => topic().prop_map(|text| SiblingPlace::of_text(&text, &Id::new("i").unwrap())),
        2 => (any::<i32>(), -20..20_i8).prop_map(|(digits, power)| {
            place_of_number(&format!("{digits}e{power}"), &Id::new("i").unwrap()).unwrap()
        }),
        1 => Just(SiblingPlace::none()),
    ]
}

fn ancestor() -> impl Strategy<Value = SortKey> {
    (1..=DEPTH_MAX, id()).prop_map(|(depth, id)| SortKey::Ancestor { depth, id })
}

fn path() -> impl Strategy<Value = SortKey> {
    (segments(), option::of(id())).prop_map(|(segments, id)| SortKey::Path { segments, id })
}

fn revision() -> impl Strategy<Value = SortKey> {
    (version(), topic()).prop_map(|(version, topic)| SortKey::Revision { version, topic })
}

fn trash_time() -> impl Strategy<Value = TrashTime> {
    let known = "[12][0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z";
    prop_oneof![
        4 => known.prop_map(|text| TrashTime::parse(&text).unwrap()),
        1 => Just(TrashTime::unknown()),
    ]
}

/// A key of any kind.
fn sort_key() -> impl Strategy<Value = SortKey> {
    prop_oneof![
        Just(SortKey::Node),
        Just(SortKey::Lineage),
        Just(SortKey::Cascade),
        text().prop_map(|id| SortKey::Operation(id.to_owned())),
        Just(SortKey::Deleted),
        (0..10_000_usize).prop_map(|part| SortKey::Idempotency { part }),
        (0..1_000_000_000_000_000_u64, id()).prop_map(|(stamp, id)| SortKey::Change { stamp, id }),
        Just(SortKey::Counted),
        (0..=EPOCH_MAX, 0..LANES).prop_map(|(epoch, lane)| SortKey::Totals { epoch, lane }),
        ancestor(),
        path(),
        id().prop_map(SortKey::Root),
        id().prop_map(SortKey::Orphan),
        (place(), id()).prop_map(|(place, id)| SortKey::Child { place, id }),
        (place(), id()).prop_map(|(place, id)| SortKey::OrderedRoot { place, id }),
        ("[^#]{1,9}", id()).prop_map(|(attribute, id)| SortKey::Link { attribute, id }),
        (trash_time(), id()).prop_map(|(at, id)| SortKey::Trash { at, id }),
        text().prop_map(SortKey::Name),
        text().prop_map(SortKey::RootName),
        revision(),
        topic().prop_map(|topic| SortKey::Latest { topic }),
    ]
}

/// An item, by its kind and by whose it is.
#[derive(Clone, Debug, PartialEq)]
enum Owned {
    InPartitionOf(Id, SortKey),
    OfAllTrees(SortKey),
    InTrash(SortKey),
    InRegister { parent: Id, orphan: Id },
    Operation(String),
    Answer { hash: String, part: usize },
    InFeed { tree: Id, stamp: u64, id: Id },
}

fn owned() -> impl Strategy<Value = Owned> {
    // Few texts, so that the parts of two items meet.
    let text = || {
        select(vec![
            "a",
            "#",
            "OPERATION",
            "DELETED",
            "COUNTED",
            "TOTALS#0000#00",
            "a#a",
            "ORPHANS#1",
            "ROOTS",
            "TRASH",
            "TRASH#-",
            "OPERATIONS",
            "OPERATION#a",
            "IDEMPOTENCY#a",
            "CHANGES#a",
            "TENANT#a#a",
        ])
    };
    let id = move || text().prop_map(|text| Id::new(text).unwrap());
    let of_node = prop_oneof![
        select(vec![SortKey::Node, SortKey::Lineage, SortKey::Cascade, SortKey::Deleted, SortKey::Counted]),
        (0..2_u32, 0..2_u32).prop_map(|(epoch, lane)| SortKey::Totals { epoch, lane }),
        (1..3_usize, id()).prop_map(|(depth, id)| SortKey::Ancestor { depth, id }),
        id().prop_map(|id| SortKey::Child { place: SiblingPlace::of_text("a", &id), id }),
        (text(), id()).prop_map(|(attribute, id)| SortKey::Link { attribute: attribute.replace('#', "!"), id }),
        (vec(text().prop_map(str::to_owned), 1..3), option::of(id()))
            .prop_map(|(segments, id)| SortKey::Path { segments, id }),
        text().prop_map(|name| SortKey::Name(name.to_owned())),
        text().prop_map(|topic| SortKey::Latest { topic: topic.to_owned() }),
        text().prop_map(|topic| SortKey::Revision { version: Version::new(1).unwrap(), topic: topic.to_owned() }),
    ];
    prop_oneof![
        4 => (id(), of_node).prop_map(|(id, key)| Owned::InPartitionOf(id, key)),
        1 => id().prop_map(|id| Owned::OfAllTrees(SortKey::Root(id))),
        1 => text().prop_map(|name| Owned::OfAllTrees(SortKey::RootName(name.to_owned()))),
        1 => id().prop_map(|id| Owned::OfAllTrees(SortKey::OrderedRoot { place: SiblingPlace::of_text("a", &id), id })),
        1 => id().prop_map(|id| Owned::InTrash(SortKey::Trash { at: TrashTime::unknown(), id })),
        1 => (id(), id()).prop_map(|(parent, orphan)| Owned::InRegister { parent, orphan }),
        1 => text().prop_map(|operation| Owned::Operation(operation.to_owned())),
        1 => (text(), 0..2_usize).prop_map(|(hash, part)| Owned::Answer { hash: hash.to_owned(), part }),
        1 => (id(), 0..2_u64, id()).prop_map(|(tree, stamp, id)| Owned::InFeed { tree, stamp, id }),
    ]
}

impl Owned {
    fn key(&self, schema: &Schema, tenant: Option<&Tenant>) -> ItemKey {
        let node = |id: &Id| NodeRef { tenant: tenant.cloned(), id: id.clone() };
        match self {
            Self::InPartitionOf(id, key) => schema.item_key(&node(id), key).unwrap(),
            Self::OfAllTrees(key) => ItemKey::new(schema.roots_partition(tenant), schema.sort_key(key).unwrap()),
            Self::InTrash(key) => ItemKey::new(schema.trash_partition(tenant), schema.sort_key(key).unwrap()),
            Self::InRegister { parent, orphan } => {
                let sk = schema.sort_key(&SortKey::Orphan(orphan.clone())).unwrap();
                ItemKey::new(schema.orphans_partition(&node(parent)), sk)
            }
            Self::Operation(operation) => schema.operation_key(tenant, operation),
            Self::Answer { hash, part } => schema.idempotency_key(tenant, hash, *part),
            Self::InFeed { tree, stamp, id } => schema.change_key(&node(tree), *stamp, id).unwrap(),
        }
    }

    /// True if two items may share a key: a node has one parent at a time, so it is an orphan of one.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::InRegister { orphan, .. }, Self::InRegister { orphan: other, .. }) => orphan == other,
            _ => self == other,
        }
    }
}

fn schema_of(node: &str) -> Result<Schema, KeyError> {
    Schema::new(Names { node: node.to_owned(), ..Names::default() }, false)
}

/// The schema of an existing table that has other names.
fn other_names() -> Schema {
    let [partition_key, sort_key, parent, segment, node] = ["pk", "sk", "up", "name", "METADATA"].map(str::to_owned);
    Schema::new(Names { partition_key, sort_key, parent, segment, node }, false).unwrap()
}

/// Any schema that is accepted, with any name of nodes.
fn schema() -> impl Strategy<Value = Schema> {
    let like_another_kind = select(vec![
        "v",
        "v0",
        "va",
        "vacation",
        "vd1",
        "N",
        "NA",
        "ROOTNAMES",
        "P",
        "PA",
        "PATHS",
        "T",
        "TRASHES",
        "R",
        "ROO",
        "ROOTS",
        "O",
        "ORPHANS",
        "L",
        "LINEAGES",
        "C",
        "CASCADE!",
        "DELETE",
        "D",
        "_",
        "0",
        "é",
    ]);
    let any_name = prop_oneof![like_another_kind.prop_map(str::to_owned), text(), "[A-Zv][A-Za-c0]{0,5}",];
    prop_oneof![
        Just(Schema::default()),
        Just(other_names()),
        any_name.prop_filter_map("not accepted", |name| schema_of(&name).ok()),
    ]
}

fn contains(range: &SortRange, sk: &str) -> bool {
    range.from.as_str() <= sk && sk <= range.to.as_str()
}

/// Returns true if the event source filter passes a sort key to the handler.
fn passes(schema: &Schema, sk: &str) -> bool {
    let passes = schema.filter_exact().iter().any(|exact| exact == sk)
        || schema.filter_prefixes().iter().any(|prefix| sk.starts_with(prefix.as_str()));
    assert_eq!(schema.passes_filter(sk), passes, "{sk}");
    passes
}

fn reaches_the_handler(key: &SortKey) -> bool {
    matches!(key, SortKey::Node | SortKey::Lineage | SortKey::Cascade | SortKey::Revision { .. })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_two_items_share_a_key_whatever_their_ids_are(
        tenants in any::<bool>(),
        one in (select(vec!["a", "OPERATION"]), owned()),
        other in (select(vec!["a", "OPERATION"]), owned()),
    ) {
        let schema = Schema::new(Names::default(), tenants).unwrap();
        let [(of_one, one), (of_other, other)] = [one, other].map(|(tenant, item)| {
            (tenants.then(|| Tenant::new(tenant).unwrap()), item)
        });
        if of_one != of_other || !one.is(&other) {
            prop_assert_ne!(one.key(&schema, of_one.as_ref()), other.key(&schema, of_other.as_ref()));
        }
    }

    #[test]
    fn a_key_of_any_kind_reads_back_as_what_it_was_written_for(schema in schema(), key in sort_key()) {
        let sk = schema.sort_key(&key).unwrap();
        prop_assert_eq!(schema.parse_sort_key(&sk), Some(key), "{:?}, nodes are {:?}", sk, &schema.names().node);
    }

    #[test]
    fn two_keys_are_written_alike_only_if_they_are_the_same(schema in schema(), a in sort_key(), b in sort_key()) {
        prop_assert_eq!(schema.sort_key(&a).unwrap() == schema.sort_key(&b).unwrap(), a == b);
    }

    #[test]
    fn whatever_reads_as_a_key_is_spelt_in_the_one_way_that_is_written(
        schema in schema(),
        parts in vec(text(), 1..5),
        glue in select(vec!["", "#", "_", "!"]),
    ) {
        let sk = parts.join(glue);
        if let Some(key) = schema.parse_sort_key(&sk) {
            prop_assert_eq!(schema.sort_key(&key).unwrap(), sk);
        }
    }

    #[test]
    fn nodes_of_one_hierarchy_mean_nothing_to_another_over_the_same_ids(
        one in schema(),
        other in schema(),
        key in prop_oneof![Just(SortKey::Node), ancestor()],
    ) {
        prop_assume!(one.names().node != other.names().node);
        prop_assert_eq!(other.parse_sort_key(&one.sort_key(&key).unwrap()), None);
    }

    #[test]
    fn ancestor_rows_are_in_the_order_of_depth_then_id(schema in schema(), a in ancestor(), b in ancestor()) {
        prop_assert_eq!(schema.sort_key(&a).unwrap().cmp(&schema.sort_key(&b).unwrap()), a.cmp(&b));
    }

    #[test]
    fn siblings_are_in_the_order_of_their_places_then_of_their_ids(
        a in (place(), id()), b in (place(), id()), list in select(vec![OrderedList::Children, OrderedList::Roots]),
    ) {
        let schema = Schema::default();
        let key = |(place, id): &(SiblingPlace, Id)| match list {
            OrderedList::Children => SortKey::Child { place: place.clone(), id: id.clone() },
            OrderedList::Roots => SortKey::OrderedRoot { place: place.clone(), id: id.clone() },
        };
        let [of_a, of_b] = [&a, &b].map(|one| schema.sort_key(&key(one)).unwrap());
        prop_assert_eq!(of_a.cmp(&of_b), a.cmp(&b));
        prop_assert!(contains(&schema.ordered_range(list, None, None), &of_a));
        prop_assert_eq!(contains(&schema.ordered_range(list, Some(&b.0), None), &of_a), a.0 >= b.0);
        prop_assert_eq!(contains(&schema.ordered_range(list, None, Some(&b.0)), &of_a), a.0 <= b.0);
        let begins = a.0.as_str().starts_with(b.0.as_str());
        prop_assert_eq!(contains(&schema.ordered_prefix_range(list, &b.0).unwrap(), &of_a), begins);
    }

    #[test]
    fn places_of_texts_sort_as_the_texts(a in topic(), b in topic(), id in id()) {
        let place = |text: &str| SiblingPlace::of_text(text, &id);
        prop_assert_eq!(place(&a).cmp(&place(&b)), a.cmp(&b));
        prop_assert_eq!(SiblingPlace::parse(place(&a).as_str()), Some(place(&a)));
    }

    #[test]
    fn places_by_several_values_sort_as_these_do_one_after_another(
        a in proptest::collection::vec(order_value(), 3), b in proptest::collection::vec(order_value(), 3),
    ) {
        let id = Id::new("i").unwrap();
        let place = |values: &[Ordered]| SiblingPlace::of_values(values.iter().map(Ordered::value), &id);
        prop_assert_eq!(place(&a).cmp(&place(&b)), a.cmp(&b));
        prop_assert_eq!(SiblingPlace::parse(place(&a).as_str()), Some(place(&a)));
        prop_assert_eq!(place(&a).is_without_values(), a.iter().all(|value| *value == Ordered::Missing));
        // One value makes the place that it ever made.
        let one = |value: &Ordered| match value {
            Ordered::Number(digits) => place_of_number(&digits.to_string(), &id).unwrap(),
            Ordered::Text(text) => SiblingPlace::of_text(text, &id),
            Ordered::Missing => SiblingPlace::none(),
        };
        prop_assert_eq!(place(&a[..1]), one(&a[0]));
        // A range by the first value has the places whose first value is in it, whatever follows.
        let key = |place: SiblingPlace| {
            Schema::default().sort_key(&SortKey::Child { place, id: id.clone() }).unwrap()
        };
        let (schema, bound) = (Schema::default(), one(&b[0]));
        let of_a = key(place(&a));
        prop_assert_eq!(contains(&schema.ordered_range(OrderedList::Children, Some(&bound), None), &of_a), a[0] >= b[0]);
        prop_assert_eq!(contains(&schema.ordered_range(OrderedList::Children, None, Some(&bound)), &of_a), a[0] <= b[0]);
    }

    #[test]
    fn a_place_by_several_long_texts_compares_the_first_bytes_of_each_and_fits_the_longest_key(
        texts in proptest::collection::vec(text(), 4), bytes in 1..=ID_BYTES_MAX, count in 1_usize..=4,
    ) {
        let id = Id::new("i".repeat(bytes)).unwrap();
        let values = texts.iter().take(count).map(|text| OrderValue::Text(text.repeat(100).into()));
        let place = SiblingPlace::of_values(values, &id);
        prop_assert!(place.as_str().len() <= 257 && SiblingPlace::parse(place.as_str()).as_ref() == Some(&place));
        for key in [SortKey::Child { place: place.clone(), id: id.clone() }, SortKey::OrderedRoot { place, id }] {
            prop_assert!(Schema::default().sort_key(&key).is_ok());
        }
    }

    #[test]
    fn the_place_of_a_long_text_is_cut_at_a_character_and_fits_the_longest_key(
        a in text(), b in text(), bytes in 1..=ID_BYTES_MAX,
    ) {
        let id = Id::new("i".repeat(bytes)).unwrap();
        let [whole_a, whole_b] = [&a, &b].map(|text| text.repeat(300));
        let [cut_a, cut_b] = [&whole_a, &whole_b].map(|text| SiblingPlace::of_text(text, &id));
        prop_assert!(cut_a.as_str().len() <= 257 && SiblingPlace::parse(cut_a.as_str()).as_ref() == Some(&cut_a));
        prop_assert!(cut_a == cut_b || (cut_a < cut_b) == (whole_a < whole_b));
        let number = place_of_number("-1.2345678901234567890123456789012345678e-99", &id);
        for place in [cut_a, SiblingPlace::none()].into_iter().chain(number) {
            let child = SortKey::Child { place: place.clone(), id: id.clone() };
            for key in [child, SortKey::OrderedRoot { place, id: id.clone() }] {
                prop_assert!(Schema::default().sort_key(&key).is_ok());
            }
        }
    }

    #[test]
    fn paths_are_in_pre_order(
        above in vec(text(), 0..2),
        a in (segments(), option::of(id())),
        b in (segments(), option::of(id())),
    ) {
        // Pre-order: by the segments from the root on, a node before its descendants, nodes of the same name by their
        // ids.
        let key = |(segments, id): &(Vec<String>, Option<Id>)| {
            let segments = above.iter().chain(segments).cloned().collect();
            Schema::default().sort_key(&SortKey::Path { segments, id: id.clone() }).unwrap()
        };
        prop_assert_eq!(key(&a).cmp(&key(&b)), a.cmp(&b));
    }

    #[test]
    fn revisions_are_in_the_order_of_version_then_topic(a in revision(), b in revision()) {
        let schema = Schema::default();
        prop_assert_eq!(schema.sort_key(&a).unwrap().cmp(&schema.sort_key(&b).unwrap()), a.cmp(&b));
    }

    #[test]
    fn nothing_comes_between_a_node_and_the_rows_below_it(schema in schema(), key in sort_key()) {
        let node = schema.sort_key(&SortKey::Node).unwrap();
        let first_row = schema.depth_range(1, 1).from;
        let sk = schema.sort_key(&key).unwrap();
        prop_assert!(node < first_row);
        prop_assert!(sk <= node || sk >= first_row, "{} is between {} and {}", sk, node, first_row);
    }

    #[test]
    fn a_depth_range_has_the_rows_of_its_depths_and_nothing_else(
        schema in schema(),
        key in sort_key(),
        from in 0..=DEPTH_MAX,
        more in 0..=DEPTH_MAX,
    ) {
        let to = (from + more).min(DEPTH_MAX);
        let wanted = match &key {
            SortKey::Node => from == 0,
            SortKey::Ancestor { depth, .. } => (from..=to).contains(depth),
            _ => false,
        };
        prop_assert_eq!(contains(&schema.depth_range(from, to), &schema.sort_key(&key).unwrap()), wanted);
    }

    #[test]
    fn a_path_range_has_the_path_and_what_is_below_it_and_nothing_else(
        at in segments(),
        key in prop_oneof![sort_key(), path()],
        below in vec(text(), 0..3),
        id in option::of(id()),
        suffix in text(),
    ) {
        let schema = Schema::default();
        let range = schema.path_range(&at).unwrap();
        let is_below = |key: &SortKey| matches!(key, SortKey::Path { segments, .. } if segments.starts_with(&at));
        prop_assert_eq!(contains(&range, &schema.sort_key(&key).unwrap()), is_below(&key));

        let segments: Vec<String> = at.iter().chain(&below).cloned().collect();
        let inside = SortKey::Path { segments: segments.clone(), id: id.clone() };
        prop_assert!(contains(&range, &schema.sort_key(&inside).unwrap()));

        // A sibling whose name begins with this one's, and its descendants.
        let mut segments = segments;
        segments[at.len() - 1].push_str(&suffix);
        let outside = SortKey::Path { segments, id };
        prop_assert!(!contains(&range, &schema.sort_key(&outside).unwrap()));
    }

    #[test]
    fn the_nodes_at_a_path_are_one_range_and_what_is_below_it_between_two_names_another(
        at in segments(),
        from in option::of(text()),
        to in option::of(text()),
        key in prop_oneof![sort_key(), path()],
        below in vec(text(), 0..3),
        id in option::of(id()),
    ) {
        let schema = Schema::default();
        let (alone, between) = (schema.path_alone(&at).unwrap(), schema.path_between(&at, from.as_deref(), to.as_deref()));
        let between = between.unwrap();
        let near = SortKey::Path { segments: at.iter().chain(&below).cloned().collect(), id };
        for key in [key, near] {
            let sk = schema.sort_key(&key).unwrap();
            let SortKey::Path { segments, .. } = &key else {
                prop_assert!(!contains(&alone, &sk) && !contains(&between, &sk));
                continue;
            };
            prop_assert_eq!(contains(&alone, &sk), *segments == at);
            let next = segments.strip_prefix(at.as_slice()).and_then(<[String]>::first);
            let is_between = next.is_some_and(|next| {
                from.as_ref().is_none_or(|from| from <= next) && to.as_ref().is_none_or(|to| next <= to)
            });
            prop_assert_eq!(contains(&between, &sk), is_between);
        }
    }

    #[test]
    fn all_keys_that_begin_alike_are_one_range(
        schema in select(vec![Schema::default(), other_names()]),
        depth in 1..=DEPTH_MAX,
        prefix in "\\PC{0,3}",
        key in sort_key(),
        suffix in "\\PC{0,3}",
    ) {
        let (level, latest) = (schema.level_range(depth, &prefix).unwrap(), schema.latest_range(&prefix).unwrap());
        let near = [
            Id::new(format!("{prefix}{suffix}")).ok().map(|id| SortKey::Ancestor { depth, id }),
            Some(SortKey::Latest { topic: format!("{prefix}{suffix}") }),
            Some(key),
        ];
        for key in near.into_iter().flatten() {
            let sk = schema.sort_key(&key).unwrap();
            let at_level = matches!(&key, SortKey::Ancestor { depth: d, id } if *d == depth && id.as_str().starts_with(&prefix));
            prop_assert_eq!(contains(&level, &sk), at_level);
            let is_latest = matches!(&key, SortKey::Latest { topic } if topic.starts_with(&prefix));
            prop_assert_eq!(contains(&latest, &sk), is_latest);
            prop_assert_eq!(contains(&schema.root_range(), &sk), matches!(&key, SortKey::Root(_)));
        }
    }

    #[test]
    fn the_ranges_of_orphans_and_of_revisions_have_their_kind_and_nothing_else(
        schema in select(vec![Schema::default(), other_names()]),
        key in sort_key(),
        time in trash_time(),
    ) {
        let sk = schema.sort_key(&key).unwrap();
        prop_assert_eq!(contains(&schema.orphan_range(), &sk), matches!(&key, SortKey::Orphan(_)));
        prop_assert_eq!(contains(&schema.name_range(), &sk), matches!(&key, SortKey::Name(_)));
        prop_assert_eq!(contains(&schema.trash_range(None, None), &sk), matches!(&key, SortKey::Trash { .. }));
        let until = matches!(&key, SortKey::Trash { at, .. } if *at <= time);
        prop_assert_eq!(contains(&schema.trash_range(None, Some(&time)), &sk), until);
        let since = matches!(&key, SortKey::Trash { at, .. } if *at >= time);
        prop_assert_eq!(contains(&schema.trash_range(Some(&time), None), &sk), since);
        let versioned = matches!(&key, SortKey::Revision { .. } | SortKey::Latest { .. });
        prop_assert_eq!(contains(&schema.revision_range(), &sk), versioned);
    }

    #[test]
    fn what_the_handler_must_see_passes_the_filter_and_what_it_writes_never_does(schema in schema(), key in sort_key()) {
        let sk = schema.sort_key(&key).unwrap();
        prop_assert_eq!(passes(&schema, &sk), reaches_the_handler(&key), "{}", sk);
    }

    #[test]
    fn a_key_of_any_size_is_written_whole_or_refused(
        schema in select(vec![Schema::default(), other_names()]),
        key in sort_key(),
        bytes in 900..=ID_BYTES_MAX,
    ) {
        let long = |text: &str| text.chars().cycle().scan(0, |length, c| {
            *length += c.len_utf8();
            (*length <= bytes).then_some(c)
        }).collect::<String>();
        let long_id = |id: &Id| Id::new(long(id.as_str())).unwrap();
        let key = match key {
            SortKey::Ancestor { depth, id } => SortKey::Ancestor { depth, id: long_id(&id) },
            SortKey::Path { mut segments, id } => {
                segments[0] = long(&segments[0]);
                SortKey::Path { segments, id }
            }
            SortKey::Root(id) => SortKey::Root(long_id(&id)),
            SortKey::Orphan(id) => SortKey::Orphan(long_id(&id)),
            SortKey::Child { place, id } => SortKey::Child { place, id: long_id(&id) },
            SortKey::OrderedRoot { place, id } => SortKey::OrderedRoot { place, id: long_id(&id) },
            SortKey::Link { attribute, id } => SortKey::Link { attribute, id: long_id(&id) },
            SortKey::Trash { at, id } => SortKey::Trash { at, id: long_id(&id) },
            SortKey::Name(name) => SortKey::Name(long(&name)),
            SortKey::RootName(name) => SortKey::RootName(long(&name)),
            SortKey::Revision { version, topic } => SortKey::Revision { version, topic: long(&topic) },
            SortKey::Latest { topic } => SortKey::Latest { topic: long(&topic) },
            SortKey::Change { stamp, id } => SortKey::Change { stamp, id: long_id(&id) },
            key @ (SortKey::Node
            | SortKey::Lineage
            | SortKey::Cascade
            | SortKey::Operation(_)
            | SortKey::Deleted
            | SortKey::Counted
            | SortKey::Totals { .. }
            | SortKey::Idempotency { .. }) => key,
        };
        match schema.sort_key(&key) {
            Ok(sk) => {
                prop_assert!(sk.len() <= SORT_KEY_BYTES_MAX);
                prop_assert_eq!(schema.parse_sort_key(&sk), Some(key));
            }
            Err(error) => {
                let named = matches!(error, KeyError::TooLong { part: "the sort key", bytes, limit }
                    if bytes > limit && limit == SORT_KEY_BYTES_MAX);
                prop_assert!(named, "{:?}", error);
            }
        }
    }

    #[test]
    fn a_partition_reads_back_as_its_node_with_tenants_and_without(
        name in text().prop_filter("a tenant", |name| !name.contains('#')),
        id in id(),
    ) {
        let tenant = Tenant::new(name).unwrap();
        for (tenants, node) in [(false, id.clone().into()), (true, NodeRef { tenant: Some(tenant), id })] {
            let schema = Schema::new(Names::default(), tenants).unwrap();
            prop_assert_eq!(schema.parse_partition(&schema.partition(&node)).unwrap(), node.clone());
            prop_assert_eq!(schema.item_key(&node, &SortKey::Node).unwrap(), schema.node_key(&node));
            prop_assert_eq!(schema.item_key(&node, &SortKey::Lineage).unwrap(), schema.lineage_key(&node));
            prop_assert_eq!(schema.item_key(&node, &SortKey::Cascade).unwrap(), schema.cascade_key(&node));
            let other = Schema::new(Names::default(), !tenants).unwrap();
            prop_assert_eq!(other.item_key(&node, &SortKey::Node), Err(KeyError::Tenancy { tenants: !tenants }));
        }
    }

    #[test]
    fn no_partition_of_one_tenant_is_one_of_another(
        names in ("[^#]{1,4}", "[^#]{1,4}"),
        ids in (id(), id()),
    ) {
        prop_assume!(names.0 != names.1);
        let schema = Schema::new(Names::default(), true).unwrap();
        let partitions = |name: &str, id: &Id| {
            let node = NodeRef { tenant: Some(Tenant::new(name).unwrap()), id: id.clone() };
            let tenant = node.tenant.as_ref();
            let own = [schema.partition(&node), schema.orphans_partition(&node)];
            [own.to_vec(), [schema.roots_partition(tenant), schema.trash_partition(tenant)].into()].concat()
        };
        let others = partitions(&names.1, &ids.1);
        prop_assert!(partitions(&names.0, &ids.0).iter().all(|pk| !others.contains(pk)));
    }

    #[test]
    fn any_node_name_that_is_accepted_leaves_the_handlers_own_keys_alone(name in text()) {
        let Ok(schema) = schema_of(&name) else { return Ok(()) };
        for own in ["LINEAGE", "CASCADE"] {
            prop_assert!(schema.filter_exact().iter().filter(|exact| *exact == own).count() == 1);
        }
        prop_assert!(schema.filter_exact().contains(&name));
    }
}

#[test]
fn a_node_name_that_begins_like_another_kind_hides_nothing_of_it() {
    // "PATH#x" is still a path when nodes are called "P".
    for (name, key, sk) in [
        ("P", SortKey::Path { segments: vec!["x".into()], id: None }, "PATH#x"),
        ("ROO", SortKey::Root(Id::new("x").unwrap()), "ROOT#x"),
        ("NA", SortKey::Name("x".into()), "NAME#x"),
        ("ROOTNAM", SortKey::RootName("x".into()), "ROOTNAME#x"),
        ("O", SortKey::Orphan(Id::new("x").unwrap()), "ORPHAN#x"),
        ("v", SortKey::Revision { version: Version::new(1).unwrap(), topic: "x".into() }, "v001_x"),
        ("va", SortKey::Revision { version: Version::new(1_000).unwrap(), topic: "x".into() }, "va1000_x"),
        ("v0", SortKey::Latest { topic: "x".into() }, "v0_x"),
    ] {
        let Ok(schema) = schema_of(name) else { continue };
        assert_eq!(schema.sort_key(&key).unwrap(), sk);
        assert_eq!(schema.parse_sort_key(sk), Some(key), "nodes are called {name}");
    }
}

#[test]
fn versions_are_in_the_order_of_their_bytes_from_the_first_to_the_last() {
    let mut before = String::new();
    for version in 1..=u64::from(Version::MAX) {
        let prefix = Version::new(version).unwrap().prefix();
        assert!(before < prefix, "{before} then {prefix}");
        assert_eq!(Version::parse_prefix(&prefix).map(Version::number), u32::try_from(version).ok());
        before = prefix;
    }
    for version in [0, u64::from(Version::MAX) + 1, u64::MAX] {
        assert_eq!(Version::new(version), Err(KeyError::Version { version }));
    }
}

#[test]
fn the_newest_copy_sorts_between_the_versions_of_two_and_of_three_digits() {
    let schema = Schema::default();
    let topic = "Audit".to_owned();
    let revision = |version| {
        let key = SortKey::Revision { version: Version::new(version).unwrap(), topic: topic.clone() };
        schema.sort_key(&key).unwrap()
    };
    let latest = schema.sort_key(&SortKey::Latest { topic: topic.clone() }).unwrap();
    assert!(revision(99) < latest && latest < revision(100));
}

#[test]
fn what_only_looks_like_a_revision_is_none() {
    for sk in [
        "vacation",
        "v",
        "v_x",
        "v1_x",
        "v00_x",
        "v01_x",
        "v000_x",
        "v0001_x",
        "v1000_x",
        "v001",
        "v001x",
        "V001_x",
        "va999_x",
        "va0999_x",
        "va01000_x",
        "va10000_x",
        "vaa1000_x",
        "vab1000_x",
        "vb1000_x",
        "vb9999_x",
        "vc99999_x",
        "vc1000000_x",
        "vd1000000_x",
        "v+01_x",
        "v 01_x",
        "v-01_x",
        "v١٢٣_x",
        "va_x",
        "vc_x",
    ] {
        assert_eq!(Schema::default().parse_sort_key(sk), None, "{sk}");
    }
    for passed_by_nothing in ["vacation", "v_x", "v0_x", "v", "va0999_x", "vd1000000_x", "V001_x"] {
        assert!(!passes(&Schema::default(), passed_by_nothing), "{passed_by_nothing}");
    }
}

#[test]
fn what_only_looks_like_a_row_is_none() {
    for sk in [
        "",
        "NODES",
        "NODE#",
        "NODE#1#x",
        "NODE#0000#x",
        "NODE#0099#x",
        "NODE#00001#x",
        "NODE#+001#x",
        "NODE#0001",
        "NODE#0001#",
        "node",
        "LINEAGE#",
        "CASCADE#x",
        "PATH",
        "PATH#",
        "PATH#a#",
        "PATH##a",
        "PATH#a!",
        "PATH#!a",
        "PATH#a!b!c",
        "PATH#a!b#c",
        "PATH#a b",
        "PATH#%2",
        "PATH#%",
        "PATH#%41",
        "PATH#%2f",
        "PATH#a$",
        "ROOT",
        "ROOT#",
        "ROOTS",
        "ORPHAN#",
        "ORPHANS",
    ] {
        assert_eq!(Schema::default().parse_sort_key(sk), None, "{sk}");
    }
    let too_long = format!("ROOT#{}", "x".repeat(SORT_KEY_BYTES_MAX));
    assert_eq!(Schema::default().parse_sort_key(&too_long), None);
}

#[test]
fn a_sibling_with_a_longer_name_is_in_neither_range() {
    let schema = Schema::default();
    let path = |segments: &[&str]| segments.iter().map(|&segment| segment.to_owned()).collect::<Vec<_>>();
    let range = schema.path_range(&path(&["NE", "OMAHA"])).unwrap();
    assert_eq!((range.from.as_str(), range.to.as_str()), ("PATH#NE#OMAHA", "PATH#NE#OMAHA$"));
    for (segments, inside) in [
        (path(&["NE", "OMAHA"]), true),
        (path(&["NE", "OMAHA", "DOWNTOWN"]), true),
        (path(&["NE", "OMAHA2"]), false),
        (path(&["NE", "OMAHA2", "DOWNTOWN"]), false),
        (path(&["NE", "OMAHA#DOWNTOWN"]), false),
        (path(&["NE", "OMAHA "]), false),
        (path(&["NE"]), false),
    ] {
        let sk = schema.sort_key(&SortKey::Path { segments, id: None }).unwrap();
        assert_eq!(contains(&range, &sk), inside, "{sk}");
    }
    assert_eq!(schema.depth_range(0, 2), SortRange { from: "NODE".into(), to: "NODE#0002$".into() });
    assert_eq!(schema.depth_range(2, 3), SortRange { from: "NODE#0002#".into(), to: "NODE#0003$".into() });
    assert_eq!(schema.path_range(&[]), Err(KeyError::NoSegments));
}

#[test]
fn the_longest_id_fits_every_key_and_one_byte_more_is_no_id() {
    // `é` has two bytes: the limit is in bytes.
    for longest in ["x".repeat(ID_BYTES_MAX), "é".repeat(ID_BYTES_MAX / 2)] {
        let id = Id::new(longest.clone()).unwrap();
        let schema = Schema::default();
        for depth in 1..=DEPTH_MAX {
            let sk = schema.sort_key(&SortKey::Ancestor { depth, id: id.clone() }).unwrap();
            assert_eq!(sk.len(), SORT_KEY_BYTES_MAX);
            assert!(sk.ends_with(&longest));
        }
        let names = [SortKey::Name(longest.clone()), SortKey::RootName(longest.clone())];
        for key in [SortKey::Root(id.clone()), SortKey::Orphan(id.clone())].into_iter().chain(names) {
            assert!(schema.sort_key(&key).unwrap().ends_with(&longest));
        }
        let too_long = Id::new(longest + "x");
        let (bytes, limit) = (1_015, 1_014);
        assert_eq!(too_long, Err(KeyError::TooLong { part: "the id", bytes, limit }));
        assert_eq!(too_long.unwrap_err().to_string(), "the id has 1015 bytes, over its limit of 1014; shorten it");
    }
    assert_eq!(Id::new(""), Err(KeyError::Empty { part: "the id" }));
}

#[test]
fn a_longer_node_name_leaves_less_for_the_id_and_the_key_says_so() {
    let schema = other_names();
    let key = |bytes| SortKey::Ancestor { depth: 1, id: Id::new("x".repeat(bytes)).unwrap() };
    assert_eq!(schema.sort_key(&key(1_010)).unwrap().len(), SORT_KEY_BYTES_MAX);
    assert_eq!(
        schema.sort_key(&key(1_011)),
        Err(KeyError::TooLong { part: "the sort key", bytes: 1_025, limit: 1_024 })
    );
}

#[test]
fn the_longest_path_has_a_range_of_its_own_and_one_byte_more_has_none() {
    let schema = Schema::default();
    let path = |bytes: usize| vec!["x".repeat(1_014), "y".repeat(bytes)];
    let sk = schema.sort_key(&SortKey::Path { segments: path(4), id: None }).unwrap();
    assert_eq!(sk.len(), SORT_KEY_BYTES_MAX);
    let alone = SortRange { from: sk.clone(), to: sk.clone() };
    assert_eq!(schema.path_range(&path(4)), Ok(alone.clone()));
    assert_eq!(schema.path_alone(&path(4)), Ok(alone));
    let between = schema.path_between(&path(4)[..1], None, Some("yyyy")).unwrap();
    assert!(contains(&between, &sk));
    let too_long = KeyError::TooLong { part: "the sort key", bytes: 1_025, limit: 1_024 };
    assert_eq!(schema.path_range(&path(5)), Err(too_long.clone()));
    assert_eq!(schema.path_alone(&path(5)), Err(too_long.clone()));
    assert_eq!(schema.path_between(&path(4)[..1], None, Some("yyyyy")), Err(too_long));
}

#[test]
fn the_longest_tenant_and_id_fit_a_partition_key_and_one_byte_more_is_no_tenant() {
    let limit = PARTITION_KEY_BYTES_MAX - ID_BYTES_MAX - "TENANT##".len();
    let tenant = Tenant::new("t".repeat(limit)).unwrap();
    let node = NodeRef { tenant: Some(tenant), id: Id::new("x".repeat(ID_BYTES_MAX)).unwrap() };
    let schema = Schema::new(Names::default(), true).unwrap();
    assert_eq!(schema.node_key(&node).pk.len(), PARTITION_KEY_BYTES_MAX);
    assert_eq!(schema.parse_partition(&schema.partition(&node)), Ok(node));
    let bytes = limit + 1;
    assert_eq!(Tenant::new("t".repeat(bytes)), Err(KeyError::TooLong { part: "the tenant", bytes, limit }));
    assert_eq!(Tenant::new(""), Err(KeyError::Empty { part: "the tenant" }));
    assert_eq!(Tenant::new("a#b"), Err(KeyError::Separator { part: "the tenant", separator: '#' }));
}

#[test]
fn with_tenants_a_partition_without_one_is_refused() {
    let schema = Schema::new(Names::default(), true).unwrap();
    for pk in ["x", "TENANT#", "TENANT#a", "tenant#a#x", "ROOTS"] {
        assert_eq!(schema.parse_partition(pk), Err(KeyError::Tenancy { tenants: true }), "{pk}");
    }
    assert_eq!(schema.parse_partition("TENANT##x"), Err(KeyError::Empty { part: "the tenant" }));
    assert_eq!(schema.parse_partition("TENANT#a#"), Err(KeyError::Empty { part: "the id" }));
    // The rest is the id, even if it looks like a tenant.
    let node = schema.parse_partition("TENANT#a#TENANT#b#x").unwrap();
    assert_eq!((node.tenant.unwrap().as_str(), node.id.as_str()), ("a", "TENANT#b#x"));
}

#[test]
fn a_part_out_of_range_is_refused_by_name() {
    let schema = Schema::default();
    for depth in [0, DEPTH_MAX + 1, 10_000] {
        let id = Id::new("x").unwrap();
        assert_eq!(schema.sort_key(&SortKey::Ancestor { depth, id }), Err(KeyError::Depth { depth }));
    }
    let path = |segments: Vec<String>| schema.sort_key(&SortKey::Path { segments, id: None });
    assert_eq!(path(vec![]), Err(KeyError::NoSegments));
    assert_eq!(path(vec!["a".into(), String::new()]), Err(KeyError::Empty { part: "the segment" }));
    let (bytes, limit) = (1_015, 1_014);
    assert_eq!(path(vec!["x".repeat(bytes)]), Err(KeyError::TooLong { part: "the segment", bytes, limit }));
    // The escapes count towards the sort key's limit, not towards the segment's.
    let (bytes, limit) = (5 + 3 * 1_000, 1_024);
    assert_eq!(path(vec!["#".repeat(1_000)]), Err(KeyError::TooLong { part: "the sort key", bytes, limit }));
}

#[test]
fn a_name_that_another_kind_of_item_has_is_refused() {
    for name in [
        "",
        "LINEAGE",
        "CASCADE",
        "OPERATION",
        "DELETED",
        "PATH",
        "ROOT",
        "ORPHAN",
        "CHILD",
        "ORDERED",
        "LINK",
        "TRASH",
        "NAME",
        "ROOTNAME",
        "A#B",
        "A$",
        "v0_",
        "v0_x",
        "v001_x",
        "v1",
        "va1",
        "vc9x",
    ] {
        assert!(matches!(schema_of(name), Err(KeyError::Name { role: "node's sort key", .. })), "{name}");
    }
    for (attribute, reason) in [
        ("", "it is empty"),
        ("_rev", "names that begin with `_` are Sapwood's own"),
        ("PK", "another attribute has it"),
        (&"x".repeat(256), "it is longer than 255 bytes"),
    ] {
        let names = Names { parent: attribute.to_owned(), ..Names::default() };
        let name = attribute.to_owned();
        assert_eq!(Schema::new(names, false), Err(KeyError::Name { role: "parent attribute", name, reason }));
    }
}

#[test]
fn the_children_of_one_parent_wait_in_one_partition() {
    let schema = Schema::default();
    let parent = NodeRef::from(Id::new("a").unwrap());
    assert_eq!(schema.orphans_partition(&parent), schema.orphans_partition(&parent.clone()));
    let partitions: std::collections::BTreeSet<String> =
        (0..1_000).map(|n| schema.orphans_partition(&Id::new(n.to_string()).unwrap().into())).collect();
    assert_eq!(partitions.len(), 16);
    assert_eq!(ItemKey::new("a", "NODE"), schema.node_key(&parent));
}

#[test]
fn a_range_of_a_prefix_ends_at_the_last_text_there_is_whatever_its_last_character() {
    let schema = Schema::default();
    for prefix in ["", "a", "\u{7f}", "é", "\u{ffff}", "\u{10ffff}"] {
        let range = schema.level_range(7, prefix).unwrap();
        assert_eq!(range.to.len(), SORT_KEY_BYTES_MAX);
        let longest = format!("{prefix}{}", "\u{10ffff}".repeat((ID_BYTES_MAX - prefix.len()) / 4));
        let last = schema.sort_key(&SortKey::Ancestor { depth: 7, id: Id::new(longest).unwrap() }).unwrap();
        assert!(contains(&range, &last), "{prefix:?}");
    }
    let next = schema.sort_key(&SortKey::Ancestor { depth: 7, id: Id::new("b").unwrap() }).unwrap();
    assert!(!contains(&schema.level_range(7, "a").unwrap(), &next), "what comes right after all that begins so");
    assert!(schema.level_range(1, &"x".repeat(ID_BYTES_MAX)).is_ok());
    assert!(schema.level_range(1, &"x".repeat(ID_BYTES_MAX + 1)).is_err());
}

#[test]
fn zip_codes_are_a_range_of_the_next_segment() {
    let schema = Schema::default();
    let above = ["NE".to_owned(), "OMAHA".to_owned()];
    let range = schema.path_between(&above, Some("68100"), Some("68199")).unwrap();
    assert_eq!((range.from.as_str(), range.to.as_str()), ("PATH#NE#OMAHA#68100", "PATH#NE#OMAHA#68199$"));
    let all = schema.path_between(&[], None, None).unwrap();
    assert_eq!((all.from.as_str(), all.to.as_str()), ("PATH#", "PATH$"));
}

/// A value that orders siblings, in the order of values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ordered {
    Number(i32),
    Text(String),
    Missing,
}

impl Ordered {
    fn value(&self) -> OrderValue<'_> {
        match self {
            // Numbers outlive the test.
            Self::Number(digits) => OrderValue::Number(digits.to_string().leak()),
            Self::Text(text) => OrderValue::Text(text.into()),
            Self::Missing => OrderValue::Missing,
        }
    }
}

fn order_value() -> impl Strategy<Value = Ordered> {
    prop_oneof![
        (-20..20_i32).prop_map(Ordered::Number),
        "[ab!# $%~é]{0,3}".prop_map(Ordered::Text),
        Just(Ordered::Missing),
    ]
}

#[test]
fn of_several_long_texts_each_has_its_share() {
    let id = Id::new("i").unwrap();
    let place =
        |texts: &[&str]| SiblingPlace::of_values(texts.iter().map(|text| OrderValue::Text((*text).into())), &id);
    let long = |end: &str| format!("{}{end}", "x".repeat(127));
    assert!(place(&[&long(""), "a"]) < place(&[&long(""), "b"]));
    assert_eq!(place(&[&long("2"), "a"]), place(&[&long("1"), "a"]), "127 bytes count of two");
    assert!(place(&[&long("2"), "a"]) < place(&[&long("1"), "b"]));
    assert_eq!(place(&[&long(""), &long("")]).as_str().len(), 257);
    let number = OrderValue::Number("-1.2345678901234567890123456789012345678e-99");
    let numbers = SiblingPlace::of_values(vec![number; ORDER_ATTRIBUTES_MAX], &id);
    assert!(!numbers.as_str().contains('~') || numbers.as_str().matches("n-").count() == ORDER_ATTRIBUTES_MAX);
    for wrong in ["s!", "!s", "sa!x", "sa!!sb", "~!~!~!~!~"] {
        assert_eq!(SiblingPlace::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn numbers_come_before_texts_and_what_has_no_place_comes_last() {
    let id = Id::new("i").unwrap();
    let number = |digits| place_of_number(digits, &id).unwrap();
    let text = |text| SiblingPlace::of_text(text, &id);
    let places = [
        number("-9.99e125"),
        number("-1"),
        number("0"),
        number("1e-130"),
        number("99999999999999999999999999999999999998"),
        number("99999999999999999999999999999999999999"),
        text(""),
        text("\0"),
        text(" "),
        text("A"),
        text("a"),
        text("é"),
        text("\u{10FFFF}"),
        SiblingPlace::none(),
    ];
    assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
    assert_eq!(place_of_number("1e400", &id), None);
    for wrong in ["", "x", "na#b", "s$", "~~", "é"] {
        assert_eq!(SiblingPlace::parse(wrong), None, "{wrong}");
    }
}

/// Beside an id that leaves no room for the whole number there is no place by it, and not a wrong one.
#[test]
fn numbers_are_in_order_or_have_no_place_however_long_the_id_is() {
    let digits = ["-10", "-1.234", "-1.23", "-1", "0", "1e-9", "1", "1.23", "1.234", "10", "1234567890123456789"];
    for bytes in [1, 970, 1_000, 1_005, 1_008, 1_009, 1_010, 1_011, 1_012, 1_013, 1_014] {
        let id = Id::new("i".repeat(bytes)).unwrap();
        let places: Vec<SiblingPlace> = digits.iter().filter_map(|digits| place_of_number(digits, &id)).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{bytes}: {places:?}");
        assert!(places.len() == digits.len() || bytes > 970, "{bytes}: {places:?}");
    }
}

#[test]
fn a_path_that_no_handler_spells_so_shows_its_node_and_is_no_key_of_ours() {
    let schema = Schema::default();
    for (sk, shown) in [
        ("PATH#my%7edocs", "my~docs"),
        ("PATH#a#my%7Edocs", "my~docs"),
        ("PATH##x", "x"),
        ("PATH#50%", "50%"),
        ("PATH#a%4", "a%4"),
        ("PATH#docs!%64", "d"),
    ] {
        assert_eq!((schema.parse_sort_key(sk), schema.shown(sk).as_deref()), (None, Some(shown)), "{sk}");
    }
    for (sk, shown) in [("PATH#a#b", "b"), ("PATH#docs!d", "d"), ("NODE#0001#d", "d"), ("ROOT#d", "d")] {
        assert_eq!(schema.shown(sk).as_deref(), Some(shown), "{sk}");
    }
    for sk in ["NODE", "LINEAGE", "v001_x", "vacation", "PATHS#d", "PATH#%ff"] {
        assert_eq!(schema.shown(sk), None, "{sk}");
    }
}

#[test]
fn a_time_in_the_trash_has_one_shape() {
    for text in ["2026-02-03T04:05:06.789Z", "9999-99-99T99:99:99.999Z"] {
        assert_eq!(TrashTime::parse(text).unwrap().as_str(), text);
    }
    for text in [
        "",
        "-",
        "2026-02-03T04:05:06Z",
        "2026-02-03 04:05:06.789Z",
        "2026-02-03T04:05:06.789z",
        "é026-02-03T04:05:06.78Z",
    ] {
        assert_eq!(TrashTime::parse(text), None, "{text}");
    }
    assert_eq!(TrashTime::parse_any("-"), Some(TrashTime::unknown()));
    assert!(TrashTime::unknown() < TrashTime::parse("0000-00-00T00:00:00.000Z").unwrap());
}
