//! What a node has from the nodes above it.

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_engine::query::{Granting, Mode};
use sapwood_store::Table;

use super::call::{Asked, At, ReaderState};
use crate::call::Call;
use crate::contract::{GrantedBody, InheritedBody};
use crate::problem::{Kind, Problem};

/// `GET /nodes/{id}/inherited`
pub(super) struct Inherited {
    node: NodeRef,
    attributes: Vec<String>,
    mode: Mode,
}

impl Call<ReaderState> for Inherited {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (node, attributes) = (asked.node("id")?, asked.parameters.list("attributes")?.unwrap_or_default());
        let mode = asked.parameters.choice("mode", &[("nearest", Mode::Nearest), ("all", Mode::All)])?;
        Ok(Self { node, attributes, mode: mode.unwrap_or_default() })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self { node, attributes, mode } = self;
        let found = at.reader().inherited(&node, attributes, mode).await?;
        at.json(&InheritedBody::of(&node, mode, found))
    }
}

/// `GET /nodes/{id}/granted`
pub(super) struct Granted {
    node: NodeRef,
    granting: Granting,
}

impl Call<ReaderState> for Granted {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (node, attribute) = (asked.node("id")?, asked.parameters.text("attribute"));
        let missing = || Problem::new(Kind::BadParameter, "name the attribute that grants").at("attribute");
        let (attribute, principals) = (attribute.ok_or_else(missing)?, asked.parameters.texts("principal"));
        let in_trash = asked.parameters.flag("in_trash")?.unwrap_or_default();
        let granting = Granting::new(attribute, principals, in_trash, &asked.shared.settings.schema);
        Ok(Self { node, granting: granting? })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let found = at.reader().granted(&self.node, &self.granting).await?;
        at.json(&GrantedBody::of(&self.node, found))
    }
}
