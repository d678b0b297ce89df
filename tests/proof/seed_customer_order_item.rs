//! Every example of the seed `customer-order-item.txt`: Alice Smith, her order and its items. Once in the document's
//! own layout, by composite sort keys in the customer's partition; once as a tree in a table that says `pk`, `sk` and
//! `METADATA`, where an order and an item are entities of their own and the document's last question has an answer.

use sapwood_core::model::{AttributeValue, Item, text};

fn decimal(digits: &str) -> AttributeValue {
    AttributeValue::N(digits.to_owned())
}

fn customer() -> [(&'static str, AttributeValue); 3] {
    [("customer_id", text("12345")), ("name", text("Alice Smith")), ("email", text("alice.smith@example.com"))]
}

fn order() -> [(&'static str, AttributeValue); 3] {
    let date = ("order_date", text("2023-10-27T10:00:00Z"));
    [("order_id", text("98765")), date, ("total_amount", decimal("150.75"))]
}

fn item(id: &str, product: &str, price: &str) -> [(&'static str, AttributeValue); 4] {
    let [id, product] = [id, product].map(text);
    [("order_item_id", id), ("product_name", product), ("quantity", decimal("1")), ("price", decimal(price))]
}

fn mouse() -> [(&'static str, AttributeValue); 4] {
    item("ABC", "Wireless Mouse", "25.00")
}

fn keyboard() -> [(&'static str, AttributeValue); 4] {
    item("DEF", "Mechanical Keyboard", "125.75")
}

/// Whether an item carries these attributes. Numbers are written as the document prints them (25.00) and come back as
/// DynamoDB keeps them (25).
fn assert_carries(item: &Item, attributes: &[(&str, AttributeValue)]) {
    let value = |value: &AttributeValue| match value {
        AttributeValue::N(digits) => Ok(digits.parse::<f64>().unwrap()),
        other => Err(other.clone()),
    };
    for (name, written) in attributes {
        assert_eq!(item.get(*name).map(value), Some(value(written)), "{name}");
    }
}

/// The document's layout: everything of a customer in one partition, under sort keys of the owner's own.
mod in_one_partition {
    use sapwood_keys::composite_key;
    use sapwood_keys::{CompositeKey, Format};
    use sapwood_simulation::fixture::Fixture;

    use super::*;

    composite_key! {
        /// `ORDER#<order>`.
        struct OrderKey { "ORDER", order: String }
    }

    composite_key! {
        /// `ORDER#<order>#ITEM#<item>`.
        struct ItemKey { "ORDER", order: String, "ITEM", item: String }
    }

    fn order_key(order: &str) -> String {
        OrderKey { order: order.into() }.build().unwrap()
    }

    fn item_key(order: &str, item: &str) -> String {
        ItemKey { order: order.into(), item: item.into() }.build().unwrap()
    }

    fn customer_key() -> String {
        Format::PARTITION_KEY.entity("CUSTOMER", "12345").unwrap()
    }

    fn ecommerce() -> Fixture {
        let mut fixture = Fixture::default();
        let pk = customer_key();
        fixture.put(&pk, "METADATA", &customer());
        fixture.put(&pk, &order_key("98765"), &order());
        fixture.put(&pk, &item_key("98765", "ABC"), &mouse());
        fixture.put(&pk, &item_key("98765", "DEF"), &keyboard());
        // Another order, whose number begins with the first's.
        fixture.put(&pk, &order_key("987650"), &[]);
        fixture.put(&pk, &item_key("987650", "GHI"), &item("GHI", "Wrist Rest", "9.50"));
        fixture.settle();
        fixture
    }

    #[test]
    fn customer_order_item_keys_are_spelt_as_printed() {
        assert_eq!(customer_key(), "CUSTOMER#12345");
        assert_eq!(order_key("98765"), "ORDER#98765");
        assert_eq!(item_key("98765", "ABC"), "ORDER#98765#ITEM#ABC");
        assert_eq!(item_key("98765", "DEF"), "ORDER#98765#ITEM#DEF");
        let read = ItemKey::parse("ORDER#98765#ITEM#ABC").unwrap();
        assert_eq!((read.order.as_str(), read.item.as_str()), ("98765", "ABC"));
    }

    #[test]
    fn customer_order_item_the_printed_items_are_stored_and_no_row_is_derived_from_them() {
        let fixture = ecommerce();
        assert_eq!((fixture.len(), fixture.delivered), (6, 0), "a METADATA is somebody else's where nodes are NODE");
        assert_carries(&fixture.get("CUSTOMER#12345", "METADATA").unwrap(), &customer());
        assert_carries(&fixture.get("CUSTOMER#12345", "ORDER#98765").unwrap(), &order());
        assert_carries(&fixture.get("CUSTOMER#12345", "ORDER#98765#ITEM#ABC").unwrap(), &mouse());
        assert_carries(&fixture.get("CUSTOMER#12345", "ORDER#98765#ITEM#DEF").unwrap(), &keyboard());
    }

    #[test]
    fn customer_order_item_one_query_returns_the_customer_and_all_orders() {
        let fixture = ecommerce();
        let all = fixture.sort_keys(&fixture.query("CUSTOMER#12345"));
        assert_eq!(
            all,
            [
                "METADATA",
                "ORDER#98765",
                "ORDER#98765#ITEM#ABC",
                "ORDER#98765#ITEM#DEF",
                "ORDER#987650",
                "ORDER#987650#ITEM#GHI"
            ]
        );
    }

    #[test]
    fn customer_order_item_all_orders_come_by_key_condition_where_the_document_filters() {
        // The document has begins_with(SK, 'ORDER#') as a filter, which DynamoDB refuses on a key attribute. As a key
        // condition it holds; the items of the orders come along.
        let fixture = ecommerce();
        let prefix = OrderKey::prefix(()).unwrap();
        assert_eq!(prefix, "ORDER#");
        let found = fixture.sort_keys(&fixture.query_begins_with("CUSTOMER#12345", &prefix));
        let orders: Vec<&String> = found.iter().filter(|sk| OrderKey::parse(sk).is_ok()).collect();
        assert_eq!(orders, ["ORDER#98765", "ORDER#987650"]);
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn customer_order_item_all_items_of_an_order_by_prefix_and_none_of_the_next_order() {
        let fixture = ecommerce();
        let prefix = ItemKey::prefix(("98765",)).unwrap();
        assert_eq!(prefix, "ORDER#98765#ITEM#", "the document's :sk_prefix");
        let found = fixture.query_begins_with("CUSTOMER#12345", &prefix);
        assert_eq!(fixture.sort_keys(&found), ["ORDER#98765#ITEM#ABC", "ORDER#98765#ITEM#DEF"]);
        assert_carries(&found[0], &mouse());
        assert_carries(&found[1], &keyboard());
    }
}

/// As a tree: the ids are the document's keys, an entity's attributes are under `METADATA` of its own partition.
mod as_a_tree {
    use sapwood_simulation::fixture::{Fixture, text_at};

    use super::*;

    const ALICE: &str = "CUSTOMER#12345";
    const ORDER: &str = "ORDER#98765";

    /// The product that two customers have ordered. It is no node.
    const MOUSE: &str = "PRODUCT#Wireless Mouse";

    /// An item that names its product.
    fn of_product(item: [(&'static str, AttributeValue); 4], product: &str) -> Vec<(&'static str, AttributeValue)> {
        item.into_iter().chain([("product", text(product))]).collect()
    }

    /// Alice's order of two items, a second order of hers, and Bob's with a mouse too. Items link to their products.
    fn ecommerce() -> Fixture {
        let mut fixture = Fixture::of_metadata_with_links(&["product"]);
        fixture.put_node(ALICE, None, &customer());
        fixture.put_node(ORDER, Some(ALICE), &order());
        fixture.put_node("ITEM#ABC", Some(ORDER), &of_product(mouse(), MOUSE));
        fixture.put_node("ITEM#DEF", Some(ORDER), &of_product(keyboard(), "PRODUCT#Mechanical Keyboard"));
        fixture.put_node("ORDER#98766", Some(ALICE), &[("order_id", text("98766"))]);
        fixture.put_node("ITEM#GHI", Some("ORDER#98766"), &item("GHI", "Wrist Rest", "9.50"));
        // Something of a customer that is no order.
        fixture.put_node("ADDRESS#home", Some(ALICE), &[("city", text("Omaha"))]);
        fixture.put_node("CUSTOMER#67890", None, &[("name", text("Bob Jones"))]);
        fixture.put_node("ORDER#55555", Some("CUSTOMER#67890"), &[]);
        fixture.put_node("ITEM#XYZ", Some("ORDER#55555"), &of_product(item("XYZ", "Wireless Mouse", "25.00"), MOUSE));
        fixture.settle();
        fixture
    }

    #[test]
    fn customer_order_item_in_a_tree_metadata_holds_the_attributes_of_each_entity() {
        let fixture = ecommerce();
        assert_carries(&fixture.get(ALICE, "METADATA").unwrap(), &customer());
        assert_carries(&fixture.get(ORDER, "METADATA").unwrap(), &order());
        assert_carries(&fixture.get("ITEM#ABC", "METADATA").unwrap(), &mouse());
        assert_carries(&fixture.get("ITEM#DEF", "METADATA").unwrap(), &keyboard());
    }

    #[test]
    fn customer_order_item_in_a_tree_one_query_returns_the_customer_and_all_orders() {
        let fixture = ecommerce();
        let found = fixture.query_between(ALICE, "METADATA", "METADATA#0001$");
        assert_eq!(fixture.ids(&found), [ALICE, "ADDRESS#home", ORDER, "ORDER#98766"]);
        assert_carries(&found[0], &customer());
        assert_carries(&found[2], &order());
    }

    #[test]
    fn customer_order_item_in_a_tree_a_prefix_finds_the_orders_alone() {
        let fixture = ecommerce();
        let orders = fixture.query_begins_with(ALICE, "METADATA#0001#ORDER#");
        assert_eq!(fixture.ids(&orders), [ORDER, "ORDER#98766"], "no items, no address, no filter");
    }

    #[test]
    fn customer_order_item_in_a_tree_all_items_of_an_order() {
        let fixture = ecommerce();
        let items = fixture.query_begins_with(ORDER, "METADATA#0001#ITEM#");
        assert_eq!(fixture.ids(&items), ["ITEM#ABC", "ITEM#DEF"]);
        assert_carries(&items[0], &mouse());
        assert_carries(&items[1], &keyboard());
    }

    #[test]
    fn customer_order_item_in_a_tree_all_items_of_a_customer_whatever_the_order() {
        let fixture = ecommerce();
        let items = fixture.query_begins_with(ALICE, "METADATA#0002#ITEM#");
        assert_eq!(fixture.ids(&items), ["ITEM#ABC", "ITEM#DEF", "ITEM#GHI"]);
        assert_carries(&items[0], &mouse());
        let orders: Vec<&str> = items.iter().map(|item| text_at(item, "_parent")).collect();
        assert_eq!(orders, [ORDER, ORDER, "ORDER#98766"], "each says which order it is of");
    }

    #[test]
    fn customer_order_item_in_a_tree_a_branch_is_also_a_range_of_paths() {
        let fixture = ecommerce();
        // The ids hold a `#`: inside a path it is encoded, so that it doesn't separate.
        let found = fixture.query_between(ALICE, "PATH#ORDER%2398765", "PATH#ORDER%2398765$");
        assert_eq!(fixture.ids(&found), [ORDER, "ITEM#ABC", "ITEM#DEF"]);
        assert_eq!(fixture.sort_keys(&found)[1], "PATH#ORDER%2398765#ITEM%23ABC");
    }

    /// A list of texts in an item.
    fn list(item: &Item, name: &str) -> Vec<String> {
        let AttributeValue::L(list) = &item[name] else { panic!("{item:?}") };
        let text = |value: &AttributeValue| match value {
            AttributeValue::S(id) => id.clone(),
            other => panic!("{other:?}"),
        };
        list.iter().map(text).collect()
    }

    /// The ancestors of a node, nearest first, as its lineage says.
    fn ancestors(fixture: &Fixture, id: &str) -> Vec<String> {
        list(&fixture.get(id, "LINEAGE").unwrap(), "ancestors")
    }

    #[test]
    fn customer_order_item_in_a_tree_going_up_from_an_item_takes_one_read() {
        let fixture = ecommerce();
        assert_eq!(ancestors(&fixture, "ITEM#ABC"), [ORDER, ALICE]);
        assert_eq!(ancestors(&fixture, ORDER), [ALICE]);
        assert_eq!(ancestors(&fixture, ALICE), [""; 0]);
    }

    #[test]
    fn customer_order_item_in_a_tree_all_customers_who_ordered_a_product() {
        // The document's "next hurdle": one Query of the product's links, each with the way to the customer.
        let fixture = ecommerce();
        let ordered = fixture.query_begins_with(MOUSE, "LINK#product#ITEM#");
        assert_eq!(fixture.ids(&ordered), ["ITEM#ABC", "ITEM#XYZ"]);
        assert_carries(&ordered[0], &mouse());
        let customers: Vec<String> = ordered.iter().map(|row| list(row, "_ancestors").pop().unwrap()).collect();
        assert_eq!(customers, [ALICE, "CUSTOMER#67890"]);
        let names: Vec<String> =
            customers.iter().map(|id| text_at(&fixture.get(id, "METADATA").unwrap(), "name").to_owned()).collect();
        assert_eq!(names, ["Alice Smith", "Bob Jones"]);
    }

    #[test]
    fn customer_order_item_in_a_tree_an_order_given_to_another_customer_takes_its_items_along() {
        let mut fixture = ecommerce();
        fixture.update(ORDER, "METADATA", "parent", Some(text("CUSTOMER#67890")));
        fixture.settle();
        assert_eq!(fixture.ids(&fixture.query_begins_with(ALICE, "METADATA#0002#ITEM#")), ["ITEM#GHI"]);
        let bobs = fixture.query_begins_with("CUSTOMER#67890", "METADATA#0002#ITEM#");
        assert_eq!(fixture.ids(&bobs), ["ITEM#ABC", "ITEM#DEF", "ITEM#XYZ"]);
        assert_eq!(ancestors(&fixture, "ITEM#ABC"), [ORDER, "CUSTOMER#67890"]);
        let ordered = fixture.query_begins_with(MOUSE, "LINK#product#");
        let customers: Vec<String> = ordered.iter().map(|row| list(row, "_ancestors").pop().unwrap()).collect();
        assert_eq!(customers, ["CUSTOMER#67890", "CUSTOMER#67890"], "and their links");
    }

    #[test]
    fn customer_order_item_in_a_tree_an_items_price_is_changed_in_one_place() {
        let mut fixture = ecommerce();
        fixture.update("ITEM#ABC", "METADATA", "price", Some(decimal("19.99")));
        fixture.settle();
        for (pk, sk) in [(ORDER, "METADATA#0001#ITEM#ABC"), (ALICE, "METADATA#0002#ITEM#ABC")] {
            assert_eq!(fixture.get(pk, sk).unwrap()["price"], decimal("19.99"), "{pk}");
        }
        fixture.delete_node("ITEM#ABC");
        fixture.settle();
        assert_eq!(fixture.ids(&fixture.query_begins_with(ORDER, "METADATA#0001#ITEM#")), ["ITEM#DEF"]);
        assert_eq!(fixture.problems, []);
    }
}
