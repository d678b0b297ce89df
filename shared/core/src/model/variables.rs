//! Settings from variables, of the environment or of a template.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::{Copied, Settings};
use crate::keys::{KeyError, Names, Schema};

/// A variable that is missing or wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VariableError {
    /// The variable isn't set and has no default.
    #[error("{name} isn't set; set it to {expected}")]
    Missing {
        /// The variable's name.
        name: &'static str,
        /// The values that it can have.
        expected: &'static str,
    },
    /// The variable has a value that it can't have.
    #[error("{name} is `{value}`; set it to {expected}")]
    Wrong {
        /// The variable's name.
        name: &'static str,
        /// The variable's value.
        value: String,
        /// The values that it can have.
        expected: &'static str,
    },
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
        Ok(Self {
            schema: Schema::new(names, switch("TENANTS", false)?)?,
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
