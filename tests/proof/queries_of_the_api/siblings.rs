//! Siblings in the order of an attribute: lists of children and roots, and trees.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;
use sapwood_core::model::{AttributeValue, Settings, SiblingOrder, text};
use sapwood_engine::query::{ListOptions, Order, Parent, ReadError, SiblingList, Siblings, Values};
use sapwood_simulation::fixture::Fixture;
use sapwood_simulation::oracle::Oracle;
use sapwood_simulation::own;

use super::support::*;

/// What a node has in the attribute that orders it. The derived order is the one that lists must have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Number(i32),
    Text(String),
    None,
}

impl Value {
    fn attribute(&self) -> Option<AttributeValue> {
        match self {
            Self::Number(number) => Some(AttributeValue::N(number.to_string())),
            Self::Text(of) => Some(text(of)),
            Self::None => None,
        }
    }

    /// What a parameter says for it.
    fn parameter(&self) -> Option<(Values, String)> {
        match self {
            Self::Number(number) => Some((Values::Number, number.to_string())),
            Self::Text(text) => Some((Values::Text, text.clone())),
            Self::None => None,
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    let texts = vec!["", " ", "#", "!", "%", "a", "a b", "a#b", "ab", "é", "\u{1}", "\u{10FFFF}", "~", "10", "9"];
    prop_oneof![
        select(vec![-120, -12, -1, 0, 1, 9, 10, 100, 120]).prop_map(Value::Number),
        select(texts).prop_map(|text| Value::Text(text.to_owned())),
        Just(Value::None),
    ]
}

/// Nodes below `D`, or roots, with these values. Ids begin with a character that a key escapes in other places.
fn ordered(parent: Option<&str>, values: &[Value]) -> Fixture {
    let mut fixture = Fixture::new(own::settings(), own::oracle());
    fixture.put_node("D", None, &[("name", text("zz"))]);
    for (index, value) in values.iter().enumerate() {
        let attribute = value.attribute().map(|value| ("name", value));
        fixture.put_node(&id(index), parent, attribute.as_slice());
    }
    fixture.settle();
    fixture
}

fn id(index: usize) -> String {
    format!("n#{}", index * 7 % 10 * 10 + index)
}

const BOTH: [Order; 2] = [Order::Ascending, Order::Descending];

fn all_in(order: Order) -> Siblings {
    Siblings::new(None, order, None, None, [None, None]).unwrap()
}

/// The ids of the values that are wanted, in their order.
fn sorted(values: &[Value], order: Order, is_wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    let wanted = values.iter().enumerate().filter(|(_, value)| is_wanted(value));
    let sorted: BTreeSet<(&Value, String)> = wanted.map(|(index, value)| (value, id(index))).collect();
    let ids = sorted.into_iter().map(|(_, id)| id);
    match order {
        Order::Ascending => ids.collect(),
        Order::Descending => ids.rev().collect(),
    }
}

/// All pages of the children of `D`. Each takes one request. An empty list asks for the node with another, and one of
/// all children whether rows were ever made with a third.
fn children(fixture: &Fixture, siblings: &Siblings, limit: usize) -> Vec<String> {
    let all = all_pages(limit, |options| {
        let (page, usage) = counted(fixture, async |r| {
            r.siblings(Parent::Node(&node("D")), &SiblingList::Kept(siblings.clone()), options).await
        });
        let page = page?;
        let asked = if siblings.part() == [None; 3] { 2 } else { 1 };
        assert_eq!(usage.requests, if page.items.is_empty() { 1 + asked } else { 1 });
        assert!(page.items.iter().all(|child| child.depth == 1 && child.parent.as_ref().unwrap().as_str() == "D"));
        Ok(page)
    });
    all.into_iter().map(|child| child.id.to_string()).collect()
}

fn roots(fixture: &Fixture, siblings: &Siblings, limit: usize) -> Vec<String> {
    let all = all_pages(limit, |options| {
        let (page, usage) = counted(fixture, async |r| {
            r.siblings(Parent::Roots(None), &SiblingList::Kept(siblings.clone()), options).await
        });
        assert_eq!(usage.requests, 1);
        page
    });
    all.into_iter().map(|root| root.id.to_string()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn pages_in_order_and_backwards_are_what_sorting_in_memory_gives(
        values in proptest::collection::vec(value(), 0..10),
        bounds in [value(), value()],
        prefix in select(vec!["", "a", "a ", "a#", "é", "#", "1", "z", "\u{10FFFF}"]),
        limit in 1_usize..6,
    ) {
        let (below, beside) = (ordered(Some("D"), &values), ordered(None, &values));
        for order in BOTH {
            // The root `D` is after every other text that there is, but for those that begin past ASCII.
            let mut with_d = values.clone();
            with_d.push(Value::Text("zz".to_owned()));
            let is_d = id(values.len());
            let named = |ids: Vec<String>| -> Vec<String> {
                ids.into_iter().map(|id| if id == is_d { "D".to_owned() } else { id }).collect()
            };
            let assert_lists = |siblings: &Siblings, is_wanted: &dyn Fn(&Value) -> bool| {
                prop_assert_eq!(children(&below, siblings, limit), sorted(&values, order, is_wanted));
                prop_assert_eq!(roots(&beside, siblings, limit), named(sorted(&with_d, order, is_wanted)));
                Ok(())
            };
            assert_lists(&all_in(order), &|_| true)?;
            let siblings = Siblings::new(None, order, None, Some(prefix), [None, None]).unwrap();
            assert_lists(&siblings, &|value| matches!(value, Value::Text(text) if text.starts_with(prefix)))?;
            for values in [Values::Text, Values::Number] {
                let is_kind = |value: &Value| value.parameter().is_some_and(|(kind, _)| kind == values);
                assert_lists(&Siblings::new(None, order, Some(values), None, [None, None]).unwrap(), &is_kind)?;
                let of_kind = bounds.each_ref().map(|bound| Some(bound).filter(|bound| is_kind(bound)));
                let [from, to] = of_kind.map(|bound| bound.and_then(Value::parameter).map(|(_, said)| said));
                let siblings = Siblings::new(None, order, Some(values), None, [from.as_deref(), to.as_deref()]);
                if let [Some(from), Some(to)] = of_kind && from > to {
                    let refused = matches!(siblings, Err(ReadError::Parameter { parameter: "to", .. }));
                    prop_assert!(refused, "{:?}", siblings);
                    continue;
                }
                let [from, to] = of_kind;
                let is_between = |value: &Value| {
                    is_kind(value) && from.is_none_or(|from| from <= value) && to.is_none_or(|to| to >= value)
                };
                assert_lists(&siblings.unwrap(), &is_between)?;
            }
        }
    }
}

#[test]
fn ends_without_a_kind_are_texts() {
    let [number, word] = [Value::Number(5), Value::Text("5".to_owned())];
    let fixture = ordered(Some("D"), &[number, word, Value::None]);
    let from = Siblings::new(None, Order::Ascending, None, None, [Some("1"), None]).unwrap();
    assert_eq!(children(&fixture, &from, 5), [id(1)]);
    let same = Siblings::new(None, Order::Ascending, Some(Values::Text), None, [Some("1"), None]).unwrap();
    assert_eq!(from, same);
}

#[test]
fn of_a_long_text_the_first_256_bytes_count() {
    let long = |end: &str| format!("{}{end}", "x".repeat(256));
    // The oracle knows nothing of texts that are cut.
    let mut fixture = Fixture::new(own::settings(), own::oracle());
    fixture.put_node("D", None, &[]);
    for (id, end) in [("a", "2"), ("b", "1")] {
        fixture.put_node(id, Some("D"), &[("name", text(long(end)))]);
    }
    fixture.put_node("c", Some("D"), &[("name", text("x".repeat(255)))]);
    loop {
        let records = fixture.take_records();
        if records.is_empty() {
            break;
        }
        fixture.deliver(&records);
    }
    for (siblings, wanted) in [
        (all_in(Order::Ascending), &["c", "a", "b"][..]),
        (Siblings::new(None, Order::Ascending, None, None, [Some(&long("3")), None]).unwrap(), &["a", "b"]),
        (Siblings::new(None, Order::Descending, None, None, [None, Some(&long("0"))]).unwrap(), &["b", "a", "c"]),
        (Siblings::new(None, Order::Ascending, None, Some(&long("")), [None, None]).unwrap(), &["a", "b"]),
    ] {
        assert_eq!(children(&fixture, &siblings, 5), wanted, "{siblings:?}");
    }
}

#[test]
fn what_contradicts_itself_is_refused_by_the_parameter() {
    fn new(values: Option<Values>, prefix: Option<&str>, ends: [Option<&str>; 2]) -> Result<Siblings, ReadError> {
        Siblings::new(None, Order::Ascending, values, prefix, ends)
    }
    let refused = |siblings| match siblings {
        Err(ReadError::Parameter { parameter, .. }) => parameter,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(new(None, Some("a"), [Some("a"), None])), "value_prefix");
    assert_eq!(refused(new(Some(Values::Number), Some("1"), [None, None])), "value_prefix");
    // A space takes three bytes of a key.
    let [fits, is_too_long] = [85, 86].map(|spaces| " ".repeat(spaces));
    assert!(new(None, Some(&fits), [None, None]).is_ok());
    assert_eq!(refused(new(None, Some(&is_too_long), [None, None])), "value_prefix");
    assert_eq!(refused(new(Some(Values::Number), None, [Some("a"), None])), "from");
    assert_eq!(refused(new(Some(Values::Number), None, [None, Some("")])), "to");
    assert_eq!(refused(new(None, None, [Some("b"), Some("a")])), "to");
    assert_eq!(refused(new(Some(Values::Number), None, [Some("10"), Some("9")])), "to");
    assert!(new(None, None, [Some("10"), Some("9")]).is_ok(), "as texts they are in order");
}

#[test]
fn an_order_that_is_switched_off_says_so_and_every_other_list_is_as_it_was() {
    let fixture = ordered(Some("D"), &[Value::Number(2), Value::Number(1)]);
    let off = Settings { order: None, ..fixture.settings().clone() };
    let siblings = all_in(Order::Ascending);
    let (list, usage) = read_with(&fixture, &off, async |r| {
        r.siblings(Parent::Node(&node("D")), &SiblingList::Kept(siblings.clone()), &options()).await
    });
    assert!(list.unwrap_err().to_string().contains("OrderAttribute"));
    assert_eq!(usage.requests, 0);
    let (list, _) = read_with(&fixture, &off, async |r| {
        r.siblings(Parent::Roots(None), &SiblingList::Kept(siblings.clone()), &options()).await
    });
    assert!(list.unwrap_err().to_string().contains("OrderAttribute"));
    let no_roots = Settings { root_rows: false, ..fixture.settings().clone() };
    let (list, _) = read_with(&fixture, &no_roots, async |r| {
        r.siblings(Parent::Roots(None), &SiblingList::Kept(siblings.clone()), &options()).await
    });
    assert!(list.unwrap_err().to_string().contains("RootRows=on"));
    let by_id = read(&fixture, async |r| {
        r.descendants(&node("D"), &sapwood_engine::query::Window::children(), &options()).await.unwrap()
    });
    assert_eq!(ids(&by_id.items), [id(0), id(1)]);
}

#[test]
fn children_of_an_id_without_a_node_are_its_orphans_and_else_it_is_absent() {
    let mut fixture = Fixture::new(own::settings(), own::oracle());
    for (id, name) in [("a", "2"), ("b", "1")] {
        fixture.put_node(id, Some("gone"), &[("name", text(name))]);
    }
    fixture.settle();
    let siblings = all_in(Order::Ascending);
    let page = read(&fixture, async |r| {
        r.siblings(Parent::Node(&node("gone")), &SiblingList::Kept(siblings.clone()), &options()).await.unwrap()
    });
    assert_eq!(ids(&page.items), ["b", "a"]);
    let none = read(&fixture, async |r| {
        r.siblings(Parent::Node(&node("no")), &SiblingList::Kept(siblings.clone()), &options()).await
    });
    assert!(matches!(none, Err(ReadError::Absent { .. })), "{none:?}");
    assert_eq!(
        read(&fixture, async |r| r
            .siblings(Parent::Node(&node("a")), &SiblingList::Kept(siblings.clone()), &options())
            .await
            .unwrap()
            .items),
        []
    );
}

#[test]
fn fields_leave_the_order_as_it_is() {
    let fixture = ordered(Some("D"), &[Value::Number(2), Value::Number(1)]);
    let siblings = all_in(Order::Ascending);
    let options = fields(&["size"]);
    let page = read(&fixture, async |r| {
        r.siblings(Parent::Node(&node("D")), &SiblingList::Kept(siblings.clone()), &options).await.unwrap()
    });
    assert_eq!(ids(&page.items), [id(1), id(0)]);
    assert!(page.items.iter().all(|child| child.attributes.is_empty()));
    let tree = read(&fixture, async |r| r.tree(&node("D"), None, &options).await.unwrap());
    let drawn: Vec<&str> = tree.children[0].iter().map(|&index| tree.nodes[index].id.as_str()).collect();
    assert_eq!(drawn, [id(1), id(0)]);
}

#[test]
fn siblings_of_a_tree_are_in_their_order_then_by_id_and_those_without_a_place_last() {
    let mut fixture = Fixture::new(own::settings(), own::oracle());
    let places = [("D", None, "d"), ("a", Some("D"), "2"), ("b", Some("D"), "1"), ("c", Some("D"), "1")];
    for (id, parent, name) in places.into_iter().chain([("x", Some("a"), "2"), ("y", Some("a"), "1")]) {
        fixture.put_node(id, parent, &[("name", text(name))]);
    }
    fixture.put_node("0", Some("D"), &[]);
    fixture.settle();
    let siblings_of = |fixture: &Fixture, id: &str| -> Vec<String> {
        let options = ListOptions { bounds: sapwood_engine::query::Tree::BOUNDS, ..ListOptions::default() };
        let tree = read(fixture, async |r| r.tree(&node("D"), None, &options).await.unwrap());
        let at = tree.nodes.iter().position(|node| node.id.as_str() == id).unwrap();
        tree.children[at].iter().map(|&index| tree.nodes[index].id.to_string()).collect()
    };
    assert_eq!(siblings_of(&fixture, "D"), ["b", "c", "a", "0"]);
    assert_eq!(siblings_of(&fixture, "a"), ["y", "x"]);
    // Rows of before the order was switched on have no place.
    let mut row = fixture.get("D", "NODE#0001#b").unwrap();
    row.remove("_order");
    fixture.table().0.lock().unwrap().write(&sapwood_core::keys::ItemKey::new("D", "NODE#0001#b"), Some(row));
    assert_eq!(siblings_of(&fixture, "D"), ["c", "a", "0", "b"]);
}

#[test]
fn a_tenants_roots_in_order_are_its_own() {
    let schema = sapwood_core::keys::Schema::new(sapwood_core::keys::Names::default(), true).unwrap();
    let settings = Settings { schema, ..own::settings() };
    let mut fixture = Fixture::new(settings, Oracle { tenants: true, ..own::oracle() });
    for tenant in ["s", "t"] {
        for (id, name) in [("a", "2"), ("b", "1")] {
            fixture.put_node(&format!("TENANT#{tenant}#{id}"), None, &[("name", text(name)), ("of", text(tenant))]);
        }
    }
    fixture.settle();
    let siblings = all_in(Order::Ascending);
    let tenant = node_of("t", "a").tenant;
    let page = read(&fixture, async |r| {
        r.siblings(Parent::Roots(tenant.as_ref()), &SiblingList::Kept(siblings.clone()), &options()).await.unwrap()
    });
    let found: Vec<_> = page.items.iter().map(|root| (root.id.as_str(), root.attributes["of"].clone())).collect();
    assert_eq!(found, [("b", text("t")), ("a", text("t"))]);
}

/// A table whose siblings are ordered by these attributes, with these children of `D`.
fn ordered_by(attributes: &str, children: &[(&str, &[(&str, AttributeValue)])]) -> (Fixture, SiblingOrder) {
    let read = |name: &str| (name == "ORDER_ATTRIBUTE").then(|| attributes.to_owned());
    let settings = Settings::read(read).unwrap();
    let order = settings.order.clone().unwrap();
    let oracle = Oracle { order: Some(attributes.to_owned()), ..Oracle::default() };
    let mut fixture = Fixture::new(settings, oracle);
    fixture.put_node("D", None, &[]);
    for (id, values) in children {
        fixture.put_node(id, Some("D"), values);
    }
    fixture.settle();
    (fixture, order)
}

#[test]
fn siblings_of_one_rank_are_in_the_order_of_their_names_without_case() {
    let number = |digits: &str| AttributeValue::N(digits.to_owned());
    let (fixture, order) = ordered_by(
        "rank,name:caseless",
        &[
            ("a", &[("rank", number("2")), ("name", text("b"))]),
            ("b", &[("rank", number("2")), ("name", text("A b"))]),
            ("c", &[("rank", number("1")), ("name", text("z"))]),
            ("d", &[("name", text("B"))]),
            ("e", &[("name", text("a"))]),
            ("f", &[("rank", number("2"))]),
            ("g", &[("rank", text("2"))]),
            ("h", &[("rank", number("2")), ("name", text("a!"))]),
            ("i", &[]),
        ],
    );
    let list = |direction, values, prefix, ends| {
        let siblings = Siblings::new(Some(&order), direction, values, prefix, ends).unwrap();
        children(&fixture, &siblings, 2).concat()
    };
    assert_eq!(list(Order::Ascending, None, None, [None, None]), "cbhafgedi");
    assert_eq!(list(Order::Descending, None, None, [None, None]), "idegfahbc");
    assert_eq!(list(Order::Ascending, Some(Values::Number), None, [None, None]), "cbhaf");
    assert_eq!(list(Order::Ascending, Some(Values::Number), None, [Some("2"), None]), "bhaf", "whatever the name is");
    assert_eq!(list(Order::Ascending, Some(Values::Number), None, [None, Some("1.5")]), "c");
    assert_eq!(list(Order::Descending, Some(Values::Number), None, [Some("1"), Some("2")]), "fahbc");
    assert_eq!(list(Order::Ascending, None, Some("2"), [None, None]), "g");
    let ends = [Some("2"), Some("2")];
    assert_eq!(list(Order::Ascending, Some(Values::Text), None, ends), "g");
}

#[test]
fn case_counts_neither_in_the_list_nor_in_its_ends() {
    let (fixture, order) = ordered_by(
        "name:caseless,name",
        &[
            ("a", &[("name", text("\u{c9}tude"))]),
            ("b", &[("name", text("e\u{301}tude"))]),
            ("c", &[("name", text("Etude"))]),
            ("d", &[("name", text("etude"))]),
            ("e", &[("name", text("Zoo"))]),
        ],
    );
    let list = |prefix, ends| {
        let siblings = Siblings::new(Some(&order), Order::Ascending, None, prefix, ends).unwrap();
        children(&fixture, &siblings, 5).concat()
    };
    assert_eq!(list(None, [None, None]), "cdeba", "of equal ones the text itself decides");
    assert_eq!(list(Some("ET"), [None, None]), "cd");
    assert_eq!(list(Some("\u{c9}T"), [None, None]), "ba");
    assert_eq!(list(None, [Some("ETUDE"), Some("eTUDE")]), "cd");
}

#[test]
fn what_cant_order_siblings_is_refused() {
    let read = |attributes: &str, by_hand: &str| {
        let read = |name: &str| match name {
            "ORDER_ATTRIBUTE" => Some(attributes.to_owned()),
            "ORDER_BY_HAND" => Some(by_hand.to_owned()),
            _ => None,
        };
        Settings::read(read).map(|settings| settings.order.unwrap().to_string()).map_err(|error| error.to_string())
    };
    assert_eq!(read(" rank , name:caseless ", "off"), Ok("rank,name:caseless".to_owned()));
    assert_eq!(read("rank", "on"), Ok("rank".to_owned()));
    for by_hand in ["rank,name", "rank:caseless"] {
        let refused = read(by_hand, "on").unwrap_err();
        assert!(refused.contains("ORDER_BY_HAND has the API write it"), "{refused}");
    }
    assert!(read("a,b,c,d,e", "off").unwrap_err().contains("1 to 4 attributes"));
    for wrong in ["parent", "rank,_own", "PK,rank", ":caseless", "rank,parent:caseless"] {
        assert!(read(wrong, "off").is_err(), "{wrong}");
    }
}
