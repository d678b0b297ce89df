//! The trees of the documents that the product comes from, as base records of any client.

use sapwood_core::keys::{Id, KeyError, NodeRef, Schema, SortKey, Tenant, Version};
use sapwood_core::model::{AttributeValue, number, text, with_key};
use sapwood_store::{Condition, Table, TableError};

/// The tree of the seed `hierarchy-path-and-replication`: the id, parent and name of each folder.
pub const FOLDERS: [(&str, Option<&str>, &str); 15] = [
    ("C", None, "Drive C"),
    ("I", Some("C"), "Folder I"),
    ("II", Some("C"), "Folder II"),
    ("D", None, "Drive D"),
    ("III", Some("D"), "Folder III"),
    ("a", Some("III"), "Folder a"),
    ("b", Some("III"), "Folder b"),
    ("IV", Some("D"), "Folder IV"),
    ("c", Some("IV"), "Folder c"),
    ("V", Some("D"), "Folder V"),
    ("d", Some("V"), "Folder d"),
    ("i", Some("d"), "Folder i"),
    ("ii", Some("d"), "Folder ii"),
    ("iii", Some("d"), "Folder iii"),
    ("e", Some("V"), "Folder e"),
];

/// The shop of the seed `customer-order-item`: the id, parent and name of each node, and the product of an item.
pub const SHOP: [(&str, Option<&str>, &str, Option<&str>); 8] = [
    ("CUSTOMER#12345", None, "Ada", None),
    ("ORDER#98765", Some("CUSTOMER#12345"), "Order of 27 October", None),
    ("ITEM#ABC", Some("ORDER#98765"), "Wireless Mouse", Some(MOUSE)),
    ("ITEM#DEF", Some("ORDER#98765"), "Mechanical Keyboard", Some("PRODUCT#KEYBOARD")),
    ("CUSTOMER#67890", None, "Grace", None),
    ("ORDER#98766", Some("CUSTOMER#67890"), "Order of 28 October", None),
    ("ITEM#GHI", Some("ORDER#98766"), "Wireless Mouse", Some(MOUSE)),
    ("CUSTOMER#24680", None, "Edith", None),
];
/// The product that two customers have ordered.
pub const MOUSE: &str = "PRODUCT#MOUSE";
/// The attribute of an item that names its product.
pub const PRODUCT: &str = "product";

/// The parameters of the template that the examples show.
pub const PARAMETERS: [(&str, &str); 4] =
    [("OrderAttribute", NAME), ("LinkAttributes", PRODUCT), ("Trash", "on"), ("Totals", "count,size,square_feet")];

/// A tree to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Example {
    /// Two drives with folders.
    Folders,
    /// Shops by country, state, city and zip code.
    Locations,
    /// Customers, their orders, and the products of these.
    Orders,
    /// Equipment, and its audits.
    Audits,
}

/// The sizes of the folders without folders below them, in kilobytes.
const SIZES: [(&str, usize); 9] =
    [("I", 120), ("II", 80), ("a", 40), ("b", 25), ("c", 60), ("i", 300), ("ii", 150), ("iii", 90), ("e", 35)];

/// The shops of the seed `composite-sort-key-locations`: country, state, city and zip code, address, square feet.
const SHOPS: [([&str; 4], &str, usize); 4] = [
    (["USA", "NE", "OMAHA", "68118"], "100 St Andrews Lane", 921),
    (["USA", "NY", "NEWYORKCITY", "10001"], "675 6th Ave", 1211),
    (["USA", "NY", "NEWYORKCITY", "10019"], "1500 Broadway", 1924),
    (["FRANCE", "ILE-DE-FRANCE", "PARIS", "75001"], "26 Avenue de l'Opéra", 2102),
];

/// The equipment of the seed `sort-keys-version-control`: the id, parent and name of each.
const EQUIPMENT: [(&str, Option<&str>, &str); 4] = [
    ("Plant_1", None, "Plant 1"),
    ("Equipment_1", Some("Plant_1"), "Equipment 1"),
    ("Part_1", Some("Equipment_1"), "Wheel"),
    ("Equipment_2", Some("Plant_1"), "Equipment 2"),
];

/// Its audits: of what, the topic, the version, who, and the result.
const AUDITS: [(&str, &str, u64, &str, &str); 6] = [
    ("Equipment_1", "Audit", 1, "Rick", "failed"),
    ("Equipment_1", "Audit", 2, "Padma", "passed"),
    ("Equipment_1", "Audit", 3, "Lin", "passed"),
    ("Equipment_1", "Audit_Part_1", 1, "Padma", "failed"),
    ("Equipment_1", "Audit_Part_1", 2, "Lin", "passed"),
    ("Equipment_2", "Audit", 1, "Rick", "passed"),
];

const NAME: &str = "name";

impl Example {
    /// The node that the explorer shows first, and the parents that it is moved below in turn.
    pub fn telling(self) -> (&'static str, [&'static str; 2]) {
        match self {
            Self::Folders => ("V", ["III", "D"]),
            Self::Locations => ("USA#NY", ["FRANCE", "USA"]),
            Self::Orders => ("ORDER#98765", ["CUSTOMER#67890", "CUSTOMER#12345"]),
            Self::Audits => ("Equipment_1", ["Equipment_2", "Plant_1"]),
        }
    }

    /// Writes the records that aren't there.
    ///
    /// # Errors
    /// [`FillError`] if the table can't be written.
    pub async fn fill<T: Table>(self, table: &T, schema: &Schema, tenant: Option<&Tenant>) -> Result<(), FillError> {
        let filling = Filling { table, schema, tenant, condition: Condition::Absent };
        match self {
            Self::Folders => {
                for (id, parent, name) in FOLDERS {
                    let size = SIZES.into_iter().find(|(of, _)| *of == id);
                    let own = size.map(|(_, kilobytes)| ("size", number(kilobytes)));
                    filling.node(id, parent, name, own).await?;
                }
                Ok(())
            }
            Self::Orders => filling.nodes(SHOP).await,
            Self::Locations => filling.locations().await,
            Self::Audits => {
                filling.nodes(EQUIPMENT.map(|(id, parent, name)| (id, parent, name, None))).await?;
                filling.audits().await
            }
        }
    }
}

/// An example can't be written.
#[derive(Debug, thiserror::Error)]
#[error("the example can't be written: {0}")]
pub enum FillError {
    /// A key that can't be one.
    Key(#[from] KeyError),
    /// The table's error.
    Table(#[from] TableError),
}

/// Writes base records, as any client does.
pub struct Filling<'a, T> {
    /// The table.
    pub table: &'a T,
    /// Its schema.
    pub schema: &'a Schema,
    /// The tenant of all nodes.
    pub tenant: Option<&'a Tenant>,
    /// The condition of each write.
    pub condition: Condition,
}

impl<T: Table> Filling<'_, T> {
    async fn nodes<'n>(
        &self,
        nodes: impl IntoIterator<Item = (&'n str, Option<&'n str>, &'n str, Option<&'n str>)>,
    ) -> Result<(), FillError> {
        for (id, parent, name, product) in nodes {
            self.node(id, parent, name, product.map(|product| (PRODUCT, text(product)))).await?;
        }
        Ok(())
    }

    /// Makes a node for each part of an address. Its id is the address so far, like the seed's sort keys.
    async fn locations(&self) -> Result<(), FillError> {
        for (parts, street, feet) in SHOPS {
            let mut parent: Option<String> = None;
            for (depth, part) in parts.into_iter().enumerate() {
                let id = parent.as_ref().map_or_else(|| part.to_owned(), |above| format!("{above}#{part}"));
                let is_shop = depth + 1 == parts.len();
                let own = [("street", text(street)), ("square_feet", number(feet))].into_iter().filter(|_| is_shop);
                let name = if is_shop { format!("{part}, {street}") } else { part.to_owned() };
                self.node(&id, parent.as_deref(), &name, own).await?;
                parent = Some(id);
            }
        }
        Ok(())
    }

    async fn audits(&self) -> Result<(), FillError> {
        for (id, topic, version, auditor, result) in AUDITS {
            self.revision(id, topic, version, [("auditor", text(auditor)), ("result", text(result))]).await?;
        }
        Ok(())
    }

    /// Writes a node, with its name and attributes of its own.
    ///
    /// # Errors
    /// [`FillError`] if the table can't be written.
    pub async fn node<'n>(
        &'n self,
        id: &str,
        parent: Option<&str>,
        name: &str,
        own: impl IntoIterator<Item = (&'n str, AttributeValue)>,
    ) -> Result<(), FillError> {
        let parent = parent.map(|parent| (&*self.schema.names().parent, text(parent)));
        self.put(id, &SortKey::Node, own.into_iter().chain(parent).chain([(NAME, text(name))])).await
    }

    /// Writes a revision.
    ///
    /// # Errors
    /// As [`Self::node`].
    pub async fn revision<'n>(
        &self,
        id: &str,
        topic: &str,
        version: u64,
        own: impl IntoIterator<Item = (&'n str, AttributeValue)>,
    ) -> Result<(), FillError> {
        let key = SortKey::Revision { version: Version::new(version)?, topic: topic.to_owned() };
        self.put(id, &key, own).await
    }

    async fn put<'n>(
        &self,
        id: &str,
        key: &SortKey,
        own: impl IntoIterator<Item = (&'n str, AttributeValue)>,
    ) -> Result<(), FillError> {
        let node = NodeRef { tenant: self.tenant.cloned(), id: Id::new(id)? };
        let mut item = with_key(&self.schema.item_key(&node, key)?, self.schema);
        item.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
        self.table.put(&item, &self.condition).await?;
        Ok(())
    }
}
