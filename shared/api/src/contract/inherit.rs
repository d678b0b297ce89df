//! The bodies of what a node has from the nodes above it.

use std::collections::BTreeMap;

use sapwood_core::keys::NodeRef;
use sapwood_core::model::AttributeValue;
use sapwood_engine::query::{Above, ChainEnd, Grant, Granted, Inherited, InheritedValue, Mode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::fields::answers;

/// The most principals that a question about a grant names.
pub const PRINCIPALS_MAX: usize = 100;

answers! {
/// The values that a node has, and from where.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
InheritedBody {
    /// The node's id.
    #[schema(min_length = 1, max_length = 1014)]
    id: String,
    /// With `mode=nearest`: of each attribute the value of the nearest node that has it. A null was stored: what is
    /// above it isn't inherited. An attribute that no node has is left out.
    nearest?: BTreeMap<String, InheritedValueBody>,
    /// With `mode=all`: of each attribute all values, from the root down. An attribute that no node has is left out.
    all?: BTreeMap<String, Vec<InheritedValueBody>>,
    /// Where they come from.
    above: AboveBody,
}
}

/// A value, and the node that has it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct InheritedValueBody {
    /// The value, written as in `attributes`.
    #[serde(serialize_with = "sapwood_json::write_value")]
    #[schema(value_type = serde_json::Value)]
    pub value: AttributeValue,
    /// The id of the node whose record has it.
    #[schema(min_length = 1, max_length = 1014)]
    pub from: String,
    /// How many levels that node is above; 0 is the node itself.
    #[schema(minimum = 0, maximum = 98)]
    pub levels_up: usize,
}

/// Whether something is granted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GrantedBody {
    /// The node's id.
    #[schema(min_length = 1, max_length = 1014)]
    pub id: String,
    /// True if the node, or one above it, names one of the principals.
    pub allowed: bool,
    /// The nodes that do, nearest first. Empty if it isn't allowed.
    pub by: Vec<GrantBody>,
    /// Where they were looked for.
    pub above: AboveBody,
}

/// A node whose record names principals that were asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrantBody {
    /// The node's id.
    #[schema(min_length = 1, max_length = 1014)]
    pub id: String,
    /// How many levels it is above; 0 is the node that was asked about.
    #[schema(minimum = 0, maximum = 98)]
    pub levels_up: usize,
    /// Those of the principals that its record names.
    pub principals: Vec<String>,
}

/// The nodes above one, as their base records say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AboveBody {
    /// How many there are.
    #[schema(minimum = 0, maximum = 98)]
    pub levels: usize,
    /// The id of the farthest of them; that of the node itself if there are none.
    #[schema(min_length = 1, max_length = 1014)]
    pub top: String,
    /// Why the chain ends there. A node that is missing grants nothing and hands down nothing.
    pub ends: AboveEnds,
    /// True if the node is in the trash. Its former parent isn't above it then.
    pub in_trash: bool,
    /// True if the node, or one above it, is being deleted.
    pub deleting: bool,
}

/// What is above the farthest ancestor: nothing (`root`), a node that isn't there (`absent`), one whose record can't be
/// understood (`unreadable`), one that was passed already (`cycle`, which only other clients can make), or more levels
/// than a tree can have (`too-deep`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the type says what each is")]
pub enum AboveEnds {
    Root,
    Absent,
    Unreadable,
    Cycle,
    TooDeep,
}

impl InheritedBody {
    /// Makes the body of the values that a node inherits.
    #[must_use]
    pub fn of(node: &NodeRef, mode: Mode, found: Inherited) -> Self {
        let value = |InheritedValue { value, from, levels_up }: InheritedValue| InheritedValueBody {
            value,
            from: from.to_string(),
            levels_up,
        };
        let values = found.values.into_iter();
        let all = values.map(|(name, values)| (name, values.into_iter().map(value).collect::<Vec<_>>()));
        let (nearest, all) = match mode {
            Mode::All => (None, Some(all.collect())),
            Mode::Nearest => {
                (Some(all.filter_map(|(name, values)| Some((name, values.into_iter().next()?))).collect()), None)
            }
        };
        Self { id: node.id.to_string(), nearest, all, above: found.above.into() }
    }
}

impl GrantedBody {
    /// Makes the body of whether something is granted.
    #[must_use]
    pub fn of(node: &NodeRef, found: Granted) -> Self {
        let allowed = found.is_allowed();
        let grant =
            |Grant { node, levels_up, principals }: Grant| GrantBody { id: node.to_string(), levels_up, principals };
        let by = found.by.into_iter().map(grant).collect();
        Self { id: node.id.to_string(), allowed, by, above: found.above.into() }
    }
}

impl From<Above> for AboveBody {
    fn from(found: Above) -> Self {
        let ends = match found.end {
            ChainEnd::Root => AboveEnds::Root,
            ChainEnd::Absent => AboveEnds::Absent,
            ChainEnd::Unreadable(_) => AboveEnds::Unreadable,
            ChainEnd::Cycle => AboveEnds::Cycle,
            ChainEnd::TooDeep => AboveEnds::TooDeep,
        };
        let (in_trash, deleting) = (found.is_in_trash, found.is_deleting);
        Self { levels: found.levels, top: found.top.to_string(), ends, in_trash, deleting }
    }
}
