//! What nodes have of their own in the simulation: a value that orders siblings, and links to other nodes.

use std::collections::BTreeSet;

use sapwood_core::model::{AttributeValue, Item, OrderAttribute, Settings, SiblingOrder, text};

use crate::oracle::Oracle;

/// The attribute that orders siblings.
pub const ORDER: &str = "name";
/// The attributes that link.
const LINKS: [&str; 2] = ["tags", "seen"];

/// The settings of a table with all kinds of rows.
///
/// # Panics
/// Never.
#[must_use]
pub fn settings() -> Settings {
    let order = SiblingOrder::by(ORDER).written_by_hand().unwrap();
    Settings { order: Some(order), links: BTreeSet::from(LINKS.map(str::to_owned)), ..Settings::default() }
}

/// The order of siblings by several attributes, which the API doesn't write.
///
/// # Panics
/// Never.
#[must_use]
pub fn order_by_several() -> SiblingOrder {
    let attributes = [LINKS[1].to_owned(), format!("{ORDER}:caseless")];
    SiblingOrder::by_several(attributes.iter().map(|attribute| OrderAttribute::read(attribute)).collect()).unwrap()
}

/// The oracle of such a table.
#[must_use]
pub fn oracle() -> Oracle {
    Oracle { order: Some(ORDER.to_owned()), links: LINKS.map(str::to_owned).to_vec(), ..Oracle::default() }
}

/// The attributes that the write of this number gives a node. They are all that differs between two writes, so that a
/// row of the wrong write is told from the right one.
#[must_use]
pub fn attributes(number: u32) -> Item {
    let name = if number % 5 == 4 { text(format!("É #{number}")) } else { AttributeValue::N(number.to_string()) };
    let set = |ids: &[&str]| AttributeValue::Ss(ids.iter().map(|id| (*id).to_owned()).collect());
    let tags = match number % 8 {
        0 | 1 => None,
        2 => Some(text("a")),
        3 => Some(set(&["a", "b"])),
        4 => Some(AttributeValue::L(vec![text("c"), text("never"), text("c"), AttributeValue::Bool(true)])),
        5 => Some(set(&["b", "made1"])),
        6 => Some(text("")),
        _ => Some(AttributeValue::N("1".to_owned())),
    };
    let seen = number.is_multiple_of(3).then(|| text("a"));
    let all = [(ORDER, Some(name)), (LINKS[0], tags), (LINKS[1], seen)];
    all.into_iter().filter_map(|(attribute, value)| Some((attribute.to_owned(), value?))).collect()
}

/// The same with a text that orders the node among its siblings, equal to others' or not, or with none.
#[must_use]
pub fn texts(number: u32) -> Item {
    let mut item = attributes(number);
    match number % 4 {
        0 => item.remove(ORDER),
        1 => item.insert(ORDER.to_owned(), text("V")),
        _ => item.insert(ORDER.to_owned(), text(format!("V{number}"))),
    };
    item
}

/// Gives a node the attributes of another write.
pub fn rewrite(item: &mut Item, number: u32) {
    for name in [ORDER].into_iter().chain(LINKS) {
        item.remove(name);
    }
    item.extend(attributes(number));
}
