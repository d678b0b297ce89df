//! The links to a node.

use axum::response::Response;
use sapwood_core::keys::{ID_BYTES_MAX, Id, KeyError, NodeRef};
use sapwood_engine::query::{Link, Linking};
use sapwood_http::call::Call;
use sapwood_http::contract::LinkBody;
use sapwood_http::cursor::Scope;
use sapwood_http::problem::{Kind, Problem};
use sapwood_json::Attributes;
use sapwood_store::Table;

use crate::call::{Asked, At, reader};
use crate::list::List;
use crate::problem::refused;
use crate::state::Shared;

/// `GET /nodes/{id}/links/{attribute}`
pub(crate) struct Links {
    target: NodeRef,
    attribute: String,
    linking: Linking,
    shows_ancestors: bool,
    list: List,
}

impl Call<Shared> for Links {
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
        Ok(Self { list: List::filtered(asked, scope)?, target, attribute, linking, shows_ancestors })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let page = reader(at).links(&self.target, &self.attribute, &self.linking, &self.list.options).await;
        let body = |found| link(found, self.shows_ancestors);
        self.list.answer_nodes(at, self.target.tenant.as_ref(), page.map_err(refused)?, body).await
    }
}

/// The body of a link, with the ancestors that were found if it shows them.
#[must_use]
pub fn link(found: Link, shows_ancestors: bool) -> LinkBody {
    let ancestors = || found.ancestors.iter().map(ToString::to_string).collect();
    LinkBody {
        id: found.id.to_string(),
        parent: found.parent.as_ref().map(ToString::to_string),
        ancestors: shows_ancestors.then(ancestors),
        segment: found.segment,
        attributes: Attributes(found.attributes),
        truncated: found.truncated,
        record: None,
    }
}
