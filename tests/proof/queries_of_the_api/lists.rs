//! One node, all trees, the way up, and what is below by depth.

use sapwood_core::model::{AttributeValue, Copied, Settings, text};
use sapwood_engine::query::{Fields, ListOptions, Parent, ReadError, SiblingList, Window};
use sapwood_simulation::fixture::Fixture;
use sapwood_simulation::oracle::Oracle;

use super::support::*;

#[test]
fn a_node_is_its_base_record_without_what_is_ours() {
    let mut fixture = Fixture::default();
    let stamp = |name: &'static str| (name, text(format!("of {name}")));
    let own = [stamp("_created_at"), stamp("_created_by"), stamp("_updated_at"), stamp("_updated_by")];
    let attributes = [("name", text("A")), ("id", number(7)), ("_rev", number(3)), ("segment", text("s"))];
    fixture.put_node("ORDER#1", Some("D"), &[&own[..], &attributes].concat());
    fixture.settle();
    for strong in [true, false] {
        let (found, usage) = counted(&fixture, async |r| r.node(&node("ORDER#1"), strong).await.unwrap());
        assert_eq!(found.parent.as_ref().unwrap().as_str(), "D");
        assert_eq!(found.segment.as_deref(), Some("s"));
        let shown = Fields::all().of_node(&found.item, fixture.schema());
        assert_eq!(shown, [("name".to_owned(), text("A")), ("id".to_owned(), number(7))].into());
        assert_eq!(usage.requests, 1);
    }
}

#[test]
fn a_node_that_is_not_there_or_cannot_be_understood_is_absent() {
    let mut fixture = small();
    fixture.put("odd", "NODE", &[("parent", number(1))]);
    fixture.settle();
    assert!(matches!(read(&fixture, async |r| r.node(&node("no"), true).await), Err(ReadError::Absent { .. })));
    assert!(matches!(read(&fixture, async |r| r.node(&node("odd"), true).await), Err(ReadError::Unreadable(_))));
    assert!(matches!(
        read(&fixture, async |r| r.ancestors(&node("no"), &options()).await.map(|(page, _)| page)),
        Err(ReadError::Absent { .. })
    ));
    assert!(matches!(
        read(&fixture, async |r| r.tree(&node("odd"), None, &options()).await),
        Err(ReadError::Unreadable(_))
    ));
}

#[test]
fn all_trees_are_listed_by_id_with_their_attributes() {
    let mut fixture = small();
    fixture.put_node("ROOTS", None, &[("name", text("a node that is called like the list"))]);
    fixture.put_node("below", Some("ROOTS"), &[]);
    fixture.put_node("A", None, &[]);
    fixture.settle();
    let (page, usage) =
        counted(&fixture, async |r| r.siblings(Parent::Roots(None), &SiblingList::ById, &options()).await.unwrap());
    assert_eq!(page.items.iter().map(|root| root.id.as_str()).collect::<Vec<_>>(), ["A", "D", "ROOTS"]);
    assert_eq!(page.items[1].attributes["name"], text("Folder D"));
    assert_eq!((page.next, usage.requests), (None, 1));
    for limit in 1..=4 {
        let paged = all_pages(limit, |options| {
            read(&fixture, async |r| r.siblings(Parent::Roots(None), &SiblingList::ById, options).await)
        });
        assert_eq!(paged, page.items);
    }
}

#[test]
fn lists_of_rows_that_are_switched_off_say_so() {
    let settings = Settings { path_rows: false, root_rows: false, ..Settings::default() };
    let fixture = Fixture::new(settings, Oracle { path_rows: false, root_rows: false, ..Oracle::default() });
    let roots =
        read(&fixture, async |r| r.siblings(Parent::Roots(None), &SiblingList::ById, &options()).await).unwrap_err();
    assert!(roots.to_string().contains("RootRows=on"), "{roots}");
    let paths = read(&fixture, async |r| r.paths(&node("D"), &Default::default(), &options()).await).unwrap_err();
    assert!(paths.to_string().contains("PathRows=on"), "{paths}");
}

#[test]
fn ancestors_are_nearest_first_and_have_attributes_where_some_are_asked_for() {
    let fixture = small();
    let (page, usage) = counted(&fixture, async |r| r.ancestors(&node("Y"), &options()).await.unwrap().0);
    let of = |page: &sapwood_engine::query::Page<sapwood_engine::query::Ancestor>| -> Vec<(String, usize)> {
        page.items.iter().map(|ancestor| (ancestor.id.to_string(), ancestor.depth)).collect()
    };
    let way = [("X".to_owned(), 1), ("V".to_owned(), 2), ("D".to_owned(), 3)];
    assert_eq!(of(&page), way);
    assert!(page.items.iter().all(|ancestor| ancestor.attributes.is_none()));
    assert_eq!((usage.requests, page.next), (1, None));
    let (page, usage) = counted(&fixture, async |r| r.ancestors(&node("Y"), &fields(&["name", "no"])).await.unwrap().0);
    assert_eq!(of(&page), way);
    assert_eq!(page.items[2].attributes, Some([("name".to_owned(), text("Folder D"))].into()));
    assert_eq!(usage.requests, 2);
    for limit in 1..=4 {
        let paged = all_pages(limit, |options| {
            read(&fixture, async |r| r.ancestors(&node("Y"), options).await.map(|(page, _)| page))
        });
        assert_eq!(paged.iter().map(|a| (a.id.to_string(), a.depth)).collect::<Vec<_>>(), way);
    }
    assert_eq!(read(&fixture, async |r| r.ancestors(&node("D"), &options()).await.unwrap().0).items, []);
}

#[test]
fn the_ancestors_of_an_orphan_end_with_the_one_that_is_not_there() {
    let mut fixture = Fixture::default();
    fixture.put_node("child", Some("orphan"), &[]);
    fixture.put_node("orphan", Some("gone"), &[("name", text("o"))]);
    fixture.settle();
    let page = read(&fixture, async |r| r.ancestors(&node("child"), &fields(&["name"])).await.unwrap().0);
    let found: Vec<_> = page.items.iter().map(|a| (a.id.as_str(), a.attributes.is_some())).collect();
    assert_eq!(found, [("orphan", true), ("gone", false)]);
}

#[test]
fn any_depth_window_is_one_query() {
    let fixture = small();
    for (min, max, wanted) in [
        (0, Some(98), "D V W X Z Y"),
        (0, Some(0), "D"),
        (1, None, "V W X Z Y"),
        (1, Some(1), "V W"),
        (2, Some(2), "X Z"),
        (2, Some(3), "X Z Y"),
        (3, Some(500), "Y"),
        (4, None, ""),
    ] {
        let window = Window::new(min, max, None).unwrap();
        let (page, usage) = counted(&fixture, async |r| r.descendants(&node("D"), &window, &options()).await.unwrap());
        assert_eq!(ids(&page.items).join(" "), wanted, "{min} to {max:?}");
        // A list that is empty asks whether the node is there.
        assert_eq!((usage.requests, page.next), (1 + u64::from(page.items.is_empty()), None));
        let (count, usage) = counted(&fixture, async |r| r.count(&node("D"), &window, &options()).await.unwrap());
        assert_eq!((count.count, count.next), (page.items.len(), None));
        assert_eq!(usage.requests, 1 + u64::from(count.count == 0));
    }
    let window = Window::new(0, None, None).unwrap();
    let page = read(&fixture, async |r| r.descendants(&node("D"), &window, &options()).await.unwrap());
    let said: Vec<_> = page.items.iter().map(|b| (b.parent.as_ref().map_or("", |p| p.as_str()), b.depth)).collect();
    assert_eq!(said, [("", 0), ("D", 1), ("D", 1), ("V", 2), ("W", 2), ("X", 3)]);
    assert!(page.items.iter().all(|b| b.attributes.keys().eq(["name", "size"])), "{page:?}");
}

#[test]
fn a_window_that_makes_no_sense_is_refused_by_the_parameter() {
    let refused = |min, max, prefix: Option<&str>| match Window::new(min, max, prefix.map(str::to_owned)) {
        Err(ReadError::Parameter { parameter, .. }) => parameter,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(2, Some(1), None), "max_depth");
    assert_eq!(refused(99, None, None), "min_depth");
    assert_eq!(refused(1, Some(2), Some("a")), "id_prefix");
    assert_eq!(refused(0, Some(0), Some("a")), "id_prefix");
    assert_eq!(refused(1, None, Some("a")), "id_prefix");
}

#[test]
fn a_type_is_a_query_by_the_beginning_of_composite_ids() {
    let mut fixture = Fixture::default();
    fixture.put_node("CUSTOMER#1", None, &[]);
    let below = ["ORDER#1", "ORDER#98765", "ORDER#\u{10ffff}", "ORDER", "ORDERS#1", "ORDER$", "ORDER\u{22}", "ITEM#1"];
    for id in below {
        fixture.put_node(id, Some("CUSTOMER#1"), &[]);
    }
    fixture.put_node("ORDER#2", Some("ORDER#1"), &[]);
    fixture.settle();
    for prefix in ["ORDER#", "ORDER", "", "ORDER#\u{10ffff}", "I", "x", "ORDER#98765", "ORDER\u{22}"] {
        let window = Window::new(1, Some(1), Some(prefix.to_owned())).unwrap();
        let (page, usage) =
            counted(&fixture, async |r| r.descendants(&node("CUSTOMER#1"), &window, &options()).await.unwrap());
        let mut wanted: Vec<&str> = below.into_iter().filter(|id| id.starts_with(prefix)).collect();
        wanted.sort_unstable();
        assert_eq!(ids(&page.items), wanted, "{prefix}");
        assert_eq!(usage.requests, 1 + u64::from(wanted.is_empty()));
        let count = read(&fixture, async |r| r.count(&node("CUSTOMER#1"), &window, &options()).await.unwrap());
        assert_eq!(count.count, wanted.len());
        let page = |options: &_| read(&fixture, async |r| r.descendants(&node("CUSTOMER#1"), &window, options).await);
        assert_eq!(ids(&all_pages(2, page)), wanted);
    }
    let window = Window::new(1, Some(1), Some("x".repeat(1_015))).unwrap();
    let refused = read(&fixture, async |r| r.descendants(&node("CUSTOMER#1"), &window, &options()).await);
    assert!(matches!(refused, Err(ReadError::Key { parameter: "id_prefix", .. })), "{refused:?}");
}

#[test]
fn orphans_are_listed_below_an_id_that_is_not_there_and_nothing_else_of_it_is() {
    let mut fixture = Fixture::default();
    fixture.put_node("orphan", Some("gone"), &[]);
    fixture.put_node("child", Some("orphan"), &[]);
    fixture.settle();
    let window = Window::new(0, None, None).unwrap();
    let strong = ListOptions { strong: true, ..options() };
    let page = read(&fixture, async |r| r.descendants(&node("gone"), &window, &options()).await.unwrap());
    assert_eq!(ids(&page.items), ["orphan", "child"]);
    assert_eq!(read(&fixture, async |r| r.count(&node("gone"), &window, &strong).await.unwrap().count), 2);
    assert!(read(&fixture, async |r| r.tree(&node("gone"), None, &options()).await).is_err());
    let none = read(&fixture, async |r| r.descendants(&node("nothing"), &Window::children(), &options()).await);
    assert!(matches!(none, Err(ReadError::Absent { .. })));
    let count = read(&fixture, async |r| r.count(&node("nothing"), &window, &strong).await);
    assert!(matches!(count, Err(ReadError::Absent { .. })));
}

#[test]
fn fields_are_those_named_and_reserved_names_are_none() {
    let mut fixture = small();
    fixture.put_node(
        "V",
        Some("D"),
        &[("name", text("v")), ("_rev", number(1)), ("segment", text("s")), ("more", number(1))],
    );
    fixture.settle();
    let names = ["name", "no", "_rev", "_parent", "_id", "PK", "SK", "parent", "segment"];
    let window = Window::new(0, Some(1), None).unwrap();
    let page = read(&fixture, async |r| r.descendants(&node("D"), &window, &fields(&names)).await.unwrap());
    assert_eq!(ids(&page.items), ["D", "V", "W"]);
    for below in &page.items {
        assert!(below.attributes.keys().eq(["name"]), "{below:?}");
    }
    assert_eq!(page.items[1].parent.as_ref().unwrap().as_str(), "D");
    let page = read(&fixture, async |r| {
        r.siblings(Parent::Roots(None), &SiblingList::ById, &fields(&["size"])).await.unwrap()
    });
    assert!(page.items[0].attributes.keys().eq(["size"]));
}

#[test]
fn rows_of_others_are_passed_over() {
    let mut fixture = small();
    fixture.table().0.lock().unwrap().write(&sapwood_core::keys::ItemKey::new("D", "NODE#0001#"), None);
    for sk in ["NODE#0001#", "NODE#0002#", "NODE#001#a", "NODE#0001", "NODE#0001#Va/x"] {
        let item = [("PK".to_owned(), text("D")), ("SK".to_owned(), text(sk)), ("x".to_owned(), number(1))].into();
        fixture.table().0.lock().unwrap().write(&sapwood_core::keys::ItemKey::new("D", sk), Some(item));
    }
    let window = Window::new(0, None, None).unwrap();
    let whole = read(&fixture, async |r| r.descendants(&node("D"), &window, &options()).await.unwrap()).items;
    // A row of the right spelling is a row, whoever has written it.
    assert_eq!(ids(&whole), ["D", "V", "Va/x", "W", "X", "Z", "Y"]);
    for limit in 1..=8 {
        let paged =
            all_pages(limit, |options| read(&fixture, async |r| r.descendants(&node("D"), &window, options).await));
        assert_eq!(paged, whole);
    }
    let before = fixture.table().0.lock().unwrap().contents().len();
    fixture.put_node("D", None, &[]);
    assert_eq!(before, fixture.table().0.lock().unwrap().contents().len());
}

#[test]
fn a_row_without_copies_says_where_its_node_is_all_the_same() {
    let settings = Settings { copied: Copied::None, ..Settings::default() };
    let mut fixture = Fixture::new(settings, Oracle { copied: Some(Vec::new()), ..Oracle::default() });
    fixture.put_node("D", None, &[("name", text("d"))]);
    fixture.put_node("V", Some("D"), &[("name", text("v"))]);
    fixture.settle();
    let page = read(&fixture, async |r| r.descendants(&node("D"), &Window::children(), &options()).await.unwrap());
    assert_eq!((ids(&page.items), page.items[0].attributes.len()), (vec!["V"], 0));
}

#[test]
fn a_row_that_had_no_room_for_the_attributes_says_so() {
    let mut fixture = Fixture::default();
    // Each just fits its base record, and no row.
    let text_of = |bytes| AttributeValue::S("x".repeat(bytes));
    fixture.put_node("D", None, &[("text", text_of(409_585))]);
    fixture.put_node("V", Some("D"), &[("text", text_of(409_570))]);
    fixture.settle();
    let window = Window::new(0, None, None).unwrap();
    let page = read(&fixture, async |r| r.descendants(&node("D"), &window, &options()).await.unwrap());
    let said: Vec<_> = page.items.iter().map(|b| (b.truncated, b.attributes.len())).collect();
    assert_eq!(said, [(false, 1), (true, 0)]);
    assert!(
        read(&fixture, async |r| r
            .siblings(Parent::Roots(None), &SiblingList::ById, &fields(&["text"]))
            .await
            .unwrap())
        .items[0]
            .truncated
    );
}

#[test]
fn names_of_another_table_are_read_as_well() {
    let mut fixture = Fixture::of_metadata();
    fixture.put_node("D", None, &[("PK", text("the user's own"))]);
    fixture.put_node("V", Some("D"), &[("NODE", number(1))]);
    fixture.settle();
    let window = Window::new(0, None, None).unwrap();
    let page = read(&fixture, async |r| r.descendants(&node("D"), &window, &options()).await.unwrap());
    assert_eq!(ids(&page.items), ["D", "V"]);
    assert_eq!(page.items[0].attributes, [("PK".to_owned(), text("the user's own"))].into());
}

#[test]
fn tenants_do_not_see_one_another() {
    let mut fixture = with_tenants();
    for tenant in ["a", "b"] {
        for (id, parent) in [("D", None), ("V", Some("D")), (tenant, Some("V"))] {
            fixture.put_node(&format!("TENANT#{tenant}#{id}"), parent, &[("of", text(tenant))]);
        }
        fixture.put(&format!("TENANT#{tenant}#D"), "v001_Audit", &[("of", text(tenant))]);
    }
    fixture.settle();
    let window = Window::new(0, None, None).unwrap();
    for tenant in ["a", "b"] {
        let own = node_of(tenant, "D");
        let page = read(&fixture, async |r| r.descendants(&own, &window, &options()).await.unwrap());
        assert_eq!(ids(&page.items), ["D", "V", tenant]);
        assert!(page.items.iter().all(|below| below.attributes["of"] == text(tenant)));
        let roots = read(&fixture, async |r| {
            r.siblings(Parent::Roots(own.tenant.as_ref()), &SiblingList::ById, &options()).await.unwrap()
        });
        assert_eq!(roots.items.len(), 1);
        assert_eq!(roots.items[0].attributes["of"], text(tenant));
        let paths = read(&fixture, async |r| r.paths(&own, &Default::default(), &options()).await.unwrap());
        assert_eq!(paths.items.len(), 2);
        let latest = read(&fixture, async |r| r.latest_of_all(&own, "", &options()).await.unwrap());
        assert_eq!(latest.items[0].attributes["of"], text(tenant));
        let other = if tenant == "a" { "b" } else { "a" };
        assert!(read(&fixture, async |r| r.node(&node_of(tenant, other), true).await).is_err());
        assert!(read(&fixture, async |r| r.node(&node_of(tenant, &format!("TENANT#{other}#D")), true).await).is_err());
        assert!(read(&fixture, async |r| r.status(&own).await.unwrap()).is_up_to_date());
    }
}
