//! What a node has from the nodes above it.

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_engine::query::{Above, ChainEnd, Granted as Found, Granting, Inherited as Values, InheritedValue, Mode};
use sapwood_http::call::Call;
use sapwood_http::contract::{AboveBody, AboveEnds, GrantBody, GrantedBody, InheritedBody, InheritedValueBody};
use sapwood_http::problem::{Kind, Problem};
use sapwood_store::Table;

use crate::call::{Asked, At, reader};
use crate::problem::refused;
use crate::state::Shared;

/// `GET /nodes/{id}/inherited`
pub(crate) struct Inherited {
    node: NodeRef,
    attributes: Vec<String>,
    mode: Mode,
}

impl Call<Shared> for Inherited {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (node, attributes) = (asked.node("id")?, asked.parameters.list("attributes")?.unwrap_or_default());
        let mode = asked.parameters.choice("mode", &[("nearest", Mode::Nearest), ("all", Mode::All)])?;
        Ok(Self { node, attributes, mode: mode.unwrap_or_default() })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self { node, attributes, mode } = self;
        let found = reader(at).inherited(&node, attributes, mode).await.map_err(refused)?;
        at.json(&inherited(&node, mode, found))
    }
}

/// `GET /nodes/{id}/granted`
pub(crate) struct Granted {
    node: NodeRef,
    granting: Granting,
}

impl Call<Shared> for Granted {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (node, attribute) = (asked.node("id")?, asked.parameters.text("attribute"));
        let missing = || Problem::new(Kind::BadParameter, "name the attribute that grants").at("attribute");
        let (attribute, principals) = (attribute.ok_or_else(missing)?, asked.parameters.texts("principal"));
        let in_trash = asked.parameters.flag("in_trash")?.unwrap_or_default();
        let granting = Granting::new(attribute, principals, in_trash, &asked.shared.settings.schema);
        Ok(Self { node, granting: granting.map_err(refused)? })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let found = reader(at).granted(&self.node, &self.granting).await.map_err(refused)?;
        at.json(&granted(&self.node, found))
    }
}

/// The body of the values that a node inherits.
#[must_use]
pub fn inherited(node: &NodeRef, mode: Mode, found: Values) -> InheritedBody {
    let value = |found: InheritedValue| InheritedValueBody {
        value: found.value,
        from: found.from.to_string(),
        levels_up: found.levels_up,
    };
    let values = found.values.into_iter();
    let all = values.map(|(name, values)| (name, values.into_iter().map(value).collect::<Vec<_>>()));
    let (nearest, all) = match mode {
        Mode::All => (None, Some(all.collect())),
        Mode::Nearest => {
            (Some(all.filter_map(|(name, values)| Some((name, values.into_iter().next()?))).collect()), None)
        }
    };
    InheritedBody { id: node.id.to_string(), nearest, all, above: above(&found.above) }
}

/// The body of whether something is granted.
#[must_use]
pub fn granted(node: &NodeRef, found: Found) -> GrantedBody {
    let (allowed, above) = (found.is_allowed(), above(&found.above));
    let by = found.by.into_iter();
    let by = by.map(|grant| GrantBody {
        id: grant.node.to_string(),
        levels_up: grant.levels_up,
        principals: grant.principals,
    });
    GrantedBody { id: node.id.to_string(), allowed, by: by.collect(), above }
}

fn above(found: &Above) -> AboveBody {
    AboveBody {
        levels: found.levels,
        top: found.top.to_string(),
        ends: match found.end {
            ChainEnd::Root => AboveEnds::Root,
            ChainEnd::Absent => AboveEnds::Absent,
            ChainEnd::Unreadable(_) => AboveEnds::Unreadable,
            ChainEnd::Cycle => AboveEnds::Cycle,
            ChainEnd::TooDeep => AboveEnds::TooDeep,
        },
        in_trash: found.is_in_trash,
        deleting: found.is_deleting,
    }
}
