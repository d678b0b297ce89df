//! `sapwood dev --example`: the trees of the documents that the product comes from, as base records of any client.

use anyhow::Result;
use clap::ValueEnum;
use sapwood_core::keys::Tenant;
use sapwood_core::model::{number, text};
use sapwood_dynamodb::DynamoTable;
use sapwood_store::Condition;

use super::demo::{FOLDERS, Filling, PRODUCT, SHOP};

/// The parameters of the template that the examples show.
pub(super) const PARAMETERS: [(&str, &str); 4] =
    [("OrderAttribute", NAME), ("LinkAttributes", PRODUCT), ("Trash", "on"), ("Totals", "count,size,square_feet")];

/// A tree to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Example {
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
    pub(super) fn telling(self) -> (&'static str, [&'static str; 2]) {
        match self {
            Self::Folders => ("V", ["III", "D"]),
            Self::Locations => ("USA#NY", ["FRANCE", "USA"]),
            Self::Orders => ("ORDER#98765", ["CUSTOMER#67890", "CUSTOMER#12345"]),
            Self::Audits => ("Equipment_1", ["Equipment_2", "Plant_1"]),
        }
    }

    /// Writes the records that aren't there.
    pub(super) async fn fill(self, table: &DynamoTable, tenant: Option<&Tenant>) -> Result<()> {
        let filling = Filling { table, tenant, condition: Condition::Absent };
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

impl Filling<'_> {
    async fn nodes<'n>(
        &self,
        nodes: impl IntoIterator<Item = (&'n str, Option<&'n str>, &'n str, Option<&'n str>)>,
    ) -> Result<()> {
        for (id, parent, name, product) in nodes {
            self.node(id, parent, name, product.map(|product| (PRODUCT, text(product)))).await?;
        }
        Ok(())
    }

    /// Makes a node for each part of an address. Its id is the address so far, like the seed's sort keys.
    async fn locations(&self) -> Result<()> {
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

    async fn audits(&self) -> Result<()> {
        for (id, topic, version, auditor, result) in AUDITS {
            self.revision(id, topic, version, [("auditor", text(auditor)), ("result", text(result))]).await?;
        }
        Ok(())
    }
}
