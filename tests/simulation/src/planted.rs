//! Nodes that a test puts into the table as the API leaves them.

use sapwood_core::keys::Id;
use sapwood_core::model::{AttributeValue, BORN, REVISION, UNDER, Under, number, text};

/// Returns the attributes by which a node's life, and the parent that the API put it under, are known, after the API's
/// first write. The first life of a node is named after its id.
#[must_use]
pub fn as_the_api(id: &str, parent: Option<&str>) -> Vec<(String, AttributeValue)> {
    let life = |id: &str| format!("first life of {id}");
    let under = |parent: &str| Under { parent: Id::new(parent).expect("an id"), born: Some(life(parent)) }.value();
    let own = [(BORN.to_owned(), text(life(id))), (REVISION.to_owned(), number(1))];
    own.into_iter().chain(parent.map(|parent| (UNDER.to_owned(), under(parent)))).collect()
}
