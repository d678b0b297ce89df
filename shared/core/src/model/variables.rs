//! Settings from variables, of the environment or of a template.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::{Copied, Settings, SiblingOrder, TOTALS_ATTRIBUTES_MAX, Totals, UniqueNames, is_reserved};
use crate::keys::{KeyError, Names, Schema};

/// A variable that is missing or wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum VariableError {
    /// The variable isn't set and has no default.
    #[error("{name} isn't set; set it to {expected}")]
    Missing { name: &'static str, expected: &'static str },
    /// The variable has a value that it can't have.
    #[error("{name} is `{value}`; set it to {expected}")]
    Wrong { name: &'static str, value: String, expected: &'static str },
    /// The names of keys and attributes don't make a schema.
    #[error("{0}")]
    Names(#[from] KeyError),
}

impl Settings {
    /// Returns the variables that [`Settings::read`] reads these settings from: all of them, with their values.
    #[must_use]
    pub fn variables(&self) -> BTreeMap<&'static str, String> {
        let switch = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
        let list = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        let names = self.schema.names();
        BTreeMap::from([
            ("PATH_ROWS", switch(self.path_rows)),
            ("ROOT_ROWS", switch(self.root_rows)),
            ("TENANTS", switch(self.schema.has_tenants())),
            (
                "COPIED_ATTRIBUTES",
                match &self.copied {
                    Copied::All => "all".to_owned(),
                    Copied::None => "none".to_owned(),
                    // The comma tells a list of one name from the words above.
                    Copied::Only(names) => format!("{},", list(names)),
                },
            ),
            ("NEVER_COPIED", list(&self.never_copied)),
            ("ORDER_ATTRIBUTE", self.order.as_ref().map(ToString::to_string).unwrap_or_default()),
            ("ORDER_BY_HAND", switch(self.order.as_ref().is_some_and(|order| order.by_hand))),
            ("LINK_ATTRIBUTES", list(&self.links)),
            ("UNIQUE_NAMES", self.names.as_str().to_owned()),
            ("TOTALS", self.totals.as_ref().map(ToString::to_string).unwrap_or_default()),
            ("CHANGES", switch(self.changes)),
            ("TTL_ATTRIBUTE", self.ttl.clone().unwrap_or_default()),
            ("PARTITION_KEY", names.partition_key.clone()),
            ("SORT_KEY", names.sort_key.clone()),
            ("PARENT_ATTRIBUTE", names.parent.clone()),
            ("SEGMENT_ATTRIBUTE", names.segment.clone()),
            ("NODE_SORT_KEY", names.node.clone()),
        ])
    }

    /// Reads the settings from the variables that `lookup` returns. An empty variable counts as not set.
    ///
    /// | variable | values | default |
    /// |---|---|---|
    /// | `PATH_ROWS`, `ROOT_ROWS` | `on`, `off` | `on` |
    /// | `TENANTS` | `on`, `off` | `off` |
    /// | `COPIED_ATTRIBUTES` | `all`, `none`, or names with commas between | `all` |
    /// | `NEVER_COPIED` | names with commas between | |
    /// | `TTL_ATTRIBUTE` | a name | |
    /// | `ORDER_ATTRIBUTE` | 1 to 4 names with commas between, each perhaps with `:caseless` behind it | |
    /// | `ORDER_BY_HAND` | `on`, `off` | `off` |
    /// | `LINK_ATTRIBUTES` | names of attributes that name other nodes, with commas between | |
    /// | `UNIQUE_NAMES` | `off`, `exact`, `caseless` | `off` |
    /// | `TOTALS` | `count`, or `count` and names of attributes with commas between | |
    /// | `CHANGES` | `on`, `off` | `off` |
    /// | `PARTITION_KEY`, `SORT_KEY` | names of the key attributes | `PK`, `SK` |
    /// | `PARENT_ATTRIBUTE`, `SEGMENT_ATTRIBUTE` | names | `parent`, `segment` |
    /// | `NODE_SORT_KEY` | the sort key of a node's base record | `NODE` |
    ///
    /// # Errors
    /// [`VariableError`] for the first variable that is wrong.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, VariableError> {
        let lookup = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let switch = |name: &'static str, default: bool| match lookup(name).as_deref().map(str::trim) {
            None => Ok(default),
            Some("on") => Ok(true),
            Some("off") => Ok(false),
            Some(value) => Err(VariableError::Wrong { name, value: value.to_owned(), expected: "`on` or `off`" }),
        };
        let list =
            |value: String| value.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned).collect();
        let defaults = Names::default();
        let name = |variable: &str, default: String| lookup(variable).map_or(default, |value| value.trim().to_owned());
        let names = Names {
            partition_key: name("PARTITION_KEY", defaults.partition_key),
            sort_key: name("SORT_KEY", defaults.sort_key),
            parent: name("PARENT_ATTRIBUTE", defaults.parent),
            segment: name("SEGMENT_ATTRIBUTE", defaults.segment),
            node: name("NODE_SORT_KEY", defaults.node),
        };
        let schema = Schema::new(names, switch("TENANTS", false)?)?;
        let by_hand = switch("ORDER_BY_HAND", false)?;
        Ok(Self {
            order: match lookup("ORDER_ATTRIBUTE") {
                Some(attribute) => Some(order(attribute.trim(), by_hand, &schema)?),
                None if by_hand => {
                    let expected = "an attribute's name, because ORDER_BY_HAND is `on`";
                    return Err(VariableError::Missing { name: "ORDER_ATTRIBUTE", expected });
                }
                None => None,
            },
            links: match lookup("LINK_ATTRIBUTES") {
                Some(names) => links(names.clone(), list(names), &schema)?,
                None => BTreeSet::new(),
            },
            names: match lookup("UNIQUE_NAMES") {
                Some(value) => UniqueNames::parse(value.trim()).ok_or_else(|| VariableError::Wrong {
                    name: "UNIQUE_NAMES",
                    value: value.clone(),
                    expected: "`off`, `exact` or `caseless`",
                })?,
                None => UniqueNames::Off,
            },
            totals: lookup("TOTALS").map(|value| totals(value.trim(), &schema)).transpose()?,
            changes: switch("CHANGES", false)?,
            schema,
            path_rows: switch("PATH_ROWS", true)?,
            root_rows: switch("ROOT_ROWS", true)?,
            copied: match lookup("COPIED_ATTRIBUTES").as_deref().map(str::trim) {
                None | Some("all") => Copied::All,
                Some("none") => Copied::None,
                Some(names) => Copied::Only(list(names.to_owned())),
            },
            never_copied: lookup("NEVER_COPIED").map(list).unwrap_or_default(),
            ttl: lookup("TTL_ATTRIBUTE").map(|value| value.trim().to_owned()),
        })
    }
}

fn order(attribute: &str, by_hand: bool, schema: &Schema) -> Result<SiblingOrder, VariableError> {
    let wrong = |expected| {
        let value = attribute.to_owned();
        Err(VariableError::Wrong { name: "ORDER_ATTRIBUTE", value, expected })
    };
    let order = match SiblingOrder::read(attribute, schema) {
        Err(expected) => return wrong(expected),
        Ok(order) => order,
    };
    if !by_hand {
        return Ok(order);
    }
    if order.attribute() == schema.names().segment {
        return wrong("another attribute than the segment, because ORDER_BY_HAND has the API write it");
    }
    let expected = "one attribute, and without `:caseless`, because ORDER_BY_HAND has the API write it";
    order.written_by_hand().map_or_else(|| wrong(expected), Ok)
}

fn links(value: String, attributes: BTreeSet<String>, schema: &Schema) -> Result<BTreeSet<String>, VariableError> {
    let is_one = |name: &String| is_free(name, schema) && !name.contains('#');
    if attributes.iter().all(is_one) {
        return Ok(attributes);
    }
    let expected =
        "attributes of base records that aren't Sapwood's own, nor keys, nor the parent, and whose names have no `#`";
    Err(VariableError::Wrong { name: "LINK_ATTRIBUTES", value, expected })
}

/// Reads the totals: `count`, and after it the attributes that are added up, one of which may be called `count`.
fn totals(value: &str, schema: &Schema) -> Result<Totals, VariableError> {
    let wrong = |expected| Err(VariableError::Wrong { name: "TOTALS", value: value.to_owned(), expected });
    let mut names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
    if names.next() != Some("count") {
        return wrong("`count`, and after it attributes with commas between");
    }
    let attributes: BTreeSet<String> = names.map(str::to_owned).collect();
    if attributes.len() > TOTALS_ATTRIBUTES_MAX {
        return wrong("at most 8 attributes after `count`");
    }
    let is_one = |name: &String| is_free(name, schema) && *name != schema.names().segment;
    if !attributes.iter().all(is_one) {
        return wrong("attributes of base records that aren't Sapwood's own, nor keys, nor the parent or the segment");
    }
    Ok(Totals::of(attributes))
}

/// True for an attribute that is the user's, and doesn't place the node.
pub(super) fn is_free(attribute: &str, schema: &Schema) -> bool {
    !is_reserved(attribute, schema) && attribute != schema.names().parent && attribute.len() <= 255
}
