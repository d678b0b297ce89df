//! Ancestor rows: a node as the collection of each of its ancestors shows it. The ancestors are the frame of every
//! placement, so they have no setting.

use super::contents::Contents;
use super::kind::{Kind, Named, PlacementInput, Rows};
use crate::keys::{DEPTH_MAX, Id, SortKey};
use crate::model::Placement;
use crate::model::item::{Item, texts, texts_of};

pub(super) const ANCESTORS: &str = "ancestors";

pub(super) struct Ancestor;

impl Kind for Ancestor {
    fn place(&self, _: &PlacementInput<'_>, _: &mut Placement) {}

    fn add_rows(&self, placement: &Placement, rows: &mut Rows<'_>) {
        for (position, ancestor) in placement.ancestors.iter().enumerate() {
            let depth = position + 1;
            let sort_key = SortKey::Ancestor { depth, id: rows.node.id.clone() };
            rows.add(ancestor, &sort_key, Contents::descendant(depth, placement));
        }
    }

    fn write(&self, placement: &Placement, lineage: &mut Item) {
        lineage.insert(ANCESTORS.into(), texts(placement.ancestors.iter().map(Id::as_str)));
    }

    fn read(&self, lineage: &Item, placement: &mut Placement) -> Option<()> {
        placement.ancestors = texts_of(lineage, ANCESTORS, |id| Id::new(id).ok())?;
        (placement.ancestors.len() <= DEPTH_MAX).then_some(())
    }

    fn can_have(&self, named: &Named<'_>) -> bool {
        matches!(named.sort_key, SortKey::Ancestor { id, .. } if *id == named.node.id)
    }
}
