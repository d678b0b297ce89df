//! Trash rows: a node that was put into the trash, in the list of all of these. What is below it has none. Nobody else
//! knows when a node was put there, so the list has no setting.

use super::contents::Contents;
use super::kind::{Kind, Named, PlacementInput, Rows};
use crate::keys::{SortKey, TrashTime};
use crate::model::item::{AttributeValue, Item, text};
use crate::model::{FORMAT_WITH_TRASH, InTrash, Placement, Shortfall, Trashed};

pub(super) const TRASH: &str = "trash";

pub(super) struct Trash;

impl Kind for Trash {
    fn format(&self, _: &Placement) -> u64 {
        FORMAT_WITH_TRASH
    }

    /// Whether a node is in the trash is part of the frame of its placement, as its ancestors are.
    fn place(&self, _: &PlacementInput<'_>, _: &mut Placement) {}

    fn add_rows(&self, placement: &Placement, rows: &mut Rows<'_>) {
        if let InTrash::Top(at) = &placement.trash {
            let pk = rows.schema.trash_partition(rows.node.tenant.as_ref());
            let sort_key = SortKey::Trash { at: at.clone(), id: rows.node.id.clone() };
            rows.add_in(pk, &sort_key, Contents::trashed());
        }
    }

    fn is_written(&self, placement: &Placement) -> bool {
        placement.trash.is_in()
    }

    fn write(&self, placement: &Placement, lineage: &mut Item) {
        let value = match &placement.trash {
            InTrash::No => return,
            InTrash::Top(at) => text(at.as_str()),
            InTrash::Below => AttributeValue::Bool(true),
        };
        lineage.insert(TRASH.to_owned(), value);
    }

    fn read(&self, lineage: &Item, placement: &mut Placement) -> Option<()> {
        placement.trash = match lineage.get(TRASH) {
            None => InTrash::No,
            Some(AttributeValue::Bool(true)) => InTrash::Below,
            Some(AttributeValue::S(at)) => InTrash::Top(TrashTime::parse_any(at)?),
            Some(_) => return None,
        };
        Some(())
    }

    fn can_have(&self, named: &Named<'_>) -> bool {
        let is_own = matches!(named.sort_key, SortKey::Trash { id, .. } if *id == named.node.id);
        is_own && named.key.pk == named.schema.trash_partition(named.owner.tenant.as_ref())
    }

    fn shortfalls(&self, wanted: &PlacementInput<'_>, placement: &Placement) -> Vec<Shortfall> {
        let InTrash::Top(at) = &placement.trash else { return Vec::new() };
        let key = SortKey::Trash { at: at.clone(), id: wanted.node.id.clone() };
        let unlisted = wanted.settings.schema.sort_key(&key).err().map(Shortfall::Unlisted);
        let malformed = Trashed::is_malformed(&wanted.base.item).then_some(Shortfall::Trashed);
        unlisted.into_iter().chain(malformed).collect()
    }
}
