//! The links to a node.

use axum::response::Response;
use sapwood_core::keys::{ID_BYTES_MAX, Id, KeyError, NodeRef};
use sapwood_engine::query::Linking;
use sapwood_store::Table;

use super::call::{Asked, At, ReaderState};
use super::list::{List, Takes};
use crate::call::Call;
use crate::contract::LinkBody;
use crate::cursor::Scope;
use crate::problem::{Kind, Problem};

/// `GET /nodes/{id}/links/{attribute}`
pub(super) struct Links {
    target: NodeRef,
    attribute: String,
    linking: Linking,
    shows_ancestors: bool,
    list: List,
}

impl Call<ReaderState> for Links {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (target, attribute) = (asked.node("id")?, asked.path.text("attribute")?);
        let ancestors = asked.parameters.flag("ancestors")?;
        let no_id = |error: KeyError| Problem::new(Kind::BadParameter, error.to_string()).at("below");
        let around = asked.parameters.text("below").map(Id::new).transpose().map_err(no_id)?;
        let linking = Linking {
            id_prefix: asked.prefix("id_prefix", ID_BYTES_MAX)?.unwrap_or_default(),
            ancestor_prefix: asked.prefix("ancestor_prefix", ID_BYTES_MAX)?,
            distinct: asked.parameters.choice("distinct", &[("ancestor", true)])?.unwrap_or_default(),
            around,
        };
        let shows_ancestors = ancestors.unwrap_or(linking.distinct || linking.ancestor_prefix.is_some());
        let scope = Scope::new("links", target.tenant.as_ref())
            .text(target.id.as_str())
            .text(&attribute)
            .text(&linking.id_prefix)
            .optional(linking.ancestor_prefix.as_deref())
            .number(linking.distinct.into())
            .number(shows_ancestors.into());
        // Without it, the cursors of the release before go on.
        let scope = match &linking.around {
            None => scope,
            Some(around) => scope.text("below").text(around.as_str()),
        };
        Ok(Self { list: List::read(asked, scope, Takes::Conditions)?, target, attribute, linking, shows_ancestors })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self { target, attribute, linking, shows_ancestors, list } = self;
        let page = at.reader().links(&target, &attribute, &linking, &list.options).await?;
        let body = |found| {
            let body = LinkBody::from(found);
            LinkBody { ancestors: body.ancestors.filter(|_| shows_ancestors), ..body }
        };
        list.answer_nodes(at, list.page(at.shared, page, body)).await
    }
}
