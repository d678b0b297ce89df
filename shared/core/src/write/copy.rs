//! A node copied with all that is below it: the API creates the top, with a mark, and the stream handler copies the
//! rest (`fanout/copying/`).

use super::attempts::{Attempts, Stop};
use super::command::{Content, OnConflict, Spot, is_of_nodes};
use super::moves::{deepest_row, height};
use super::operation::{are_copies_at_their_limit, copy_item};
use super::reorder::making_room::MakingRoom;
use super::save::save;
use super::wanted::{CopyTop, Wanted};
use super::{Outcome, Refusal};
use crate::keys::{Id, NodeRef};
use crate::model::{BaseNode, CopyMark, Item, PUT_BACK, Stored, has_mark, life_of};
use crate::plan::{Failure, Io, Need};
use crate::request::{Action, Condition};

/// A copy. The top takes 1 round trip more than a create, in a transaction with the operation's record.
pub(super) struct CopyNode<'a> {
    pub(super) source: &'a NodeRef,
    pub(super) node: &'a NodeRef,
    pub(super) is_made_id: bool,
    pub(super) parent: Option<Option<&'a Id>>,
    pub(super) segment: Option<&'a str>,
    pub(super) spot: Option<&'a Spot>,
    pub(super) on_conflict: OnConflict,
    pub(super) operation: &'a str,
}

impl CopyNode<'_> {
    pub(super) async fn carry_out(
        self,
        io: &Io,
        attempts: &mut Attempts<'_>,
        siblings: &mut MakingRoom,
    ) -> Result<Outcome, Stop> {
        let (settings, stamp) = (attempts.context.settings, &attempts.request.stamp);
        let schema = &settings.schema;
        let (key, lineage) = (schema.node_key(self.source), schema.lineage_key(self.source));
        let query = Some(deepest_row(self.source, schema));
        let read = io.read(Need { query, ..Need::keys([key.clone(), lineage.clone()]) }).await?;
        let source = read.shared(&key)?.filter(|item| !item.contains_key(PUT_BACK)).ok_or(Refusal::NotFound)?;
        attempts.request.preconditions.check_item(Some(source), schema)?;
        if has_mark(Some(source)) {
            return Err(Refusal::being_deleted(&self.source.id, source).into());
        }
        let (tenant, most) = (self.node.tenant.as_ref(), attempts.context.limits.copies_at_once_max);
        if are_copies_at_their_limit(io, schema, tenant, self.operation, most).await? {
            return Err(Refusal::TooManyCopies(most).into());
        }
        let base = BaseNode::read(source.clone(), self.source, schema).map_err(Refusal::Unreadable)?;
        let stored = Stored::read(read.item(&lineage)?, schema);
        let mark = CopyMark {
            operation: self.operation.to_owned(),
            source: self.source.id.clone(),
            born: life_of(source).or(stored.born_now()).map(str::to_owned),
            ids: (!self.is_made_id).then(|| self.node.id.as_str().to_owned()),
            after: None,
            is_over: false,
        };
        // All generated ids have one length, so one check is enough.
        mark.id_of(&self.source.id)?;
        let key = schema.operation_key(self.node.tenant.as_ref(), self.operation);
        let item = copy_item(&key, self.operation, &self.node.id, &self.source.id, stamp, settings);
        let top = CopyTop {
            mark,
            height: height(read.page.as_ref().ok_or(Failure::Again)?, schema),
            operation: Action::Put { key, item, condition: Condition::Absent },
            outcome: Outcome::Copying {
                operation: self.operation.to_owned(),
                node: self.node.id.clone(),
                source: self.source.id.clone(),
                created_at: stamp.at.clone(),
            },
        };
        let content = self.content(&base, attempts);
        let wanted = Wanted::create(&content, self.is_made_id, Some(&top));
        save(io, attempts, self.node, wanted, siblings).await
    }

    /// The content of the top: that of the source, elsewhere.
    fn content(&self, base: &BaseNode, attempts: &Attempts<'_>) -> Content {
        let settings = attempts.context.settings;
        let own = base.item.iter().filter(|(name, _)| !is_of_nodes(name, &settings.schema));
        let mut attributes: Item = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        if let (Some(order), Some(_)) = (&settings.order, self.spot) {
            // The requested spot determines the order attribute.
            attributes.remove(order.attribute());
        }
        Content {
            parent: self.parent.map_or_else(|| base.parent.clone(), |parent| parent.cloned()),
            takes_parent: self.parent.is_none(),
            segment: self.segment.map(str::to_owned).or_else(|| base.written_segment(self.source, &settings.schema)),
            attributes,
            spot: self.spot.cloned(),
            revision: None,
            on_conflict: self.on_conflict,
        }
    }
}
