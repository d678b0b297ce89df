//! Ordered rows: a node among its siblings, in the order of an attribute, or of several. A node has one, in the
//! partition of its parent; a root has it beside the root rows. The setting is `order`.

use super::contents::Contents;
use super::kind::{Kind, Named, PlacementInput, Rows};
use crate::keys::{SiblingPlace, SortKey};
use crate::model::item::{Item, text, text_of};
use crate::model::{FORMAT_WITH_MORE_ROWS, FORMAT_WITH_PARTS, Placement, Shortfall};

pub(super) const PLACE: &str = "order";

pub(super) struct Ordered;

impl Kind for Ordered {
    fn format(&self, placement: &Placement) -> u64 {
        let has_parts = placement.order.as_ref().is_some_and(SiblingPlace::has_parts);
        if has_parts { FORMAT_WITH_PARTS } else { FORMAT_WITH_MORE_ROWS }
    }

    fn place(&self, wanted: &PlacementInput<'_>, placement: &mut Placement) {
        let is_root = || wanted.base.parent.is_none() && wanted.settings.root_rows && !placement.trash.is_in();
        let is_listed = !placement.ancestors.is_empty() || is_root();
        placement.order = wanted
            .settings
            .order
            .as_ref()
            .filter(|_| is_listed)
            .map(|order| order.place(&wanted.base.item, &wanted.node.id));
    }

    fn add_rows(&self, placement: &Placement, rows: &mut Rows<'_>) {
        let Some(place) = placement.order.clone() else { return };
        let id = rows.node.id.clone();
        match placement.ancestors.first() {
            Some(parent) => rows.add(parent, &SortKey::Child { place, id }, Contents::descendant(1, placement)),
            None => {
                let pk = rows.schema.roots_partition(rows.node.tenant.as_ref());
                rows.add_in(pk, &SortKey::OrderedRoot { place, id }, Contents::ordered(placement));
            }
        }
    }

    fn is_written(&self, placement: &Placement) -> bool {
        placement.order.is_some()
    }

    fn write(&self, placement: &Placement, lineage: &mut Item) {
        lineage.extend(placement.order.iter().map(|place| (PLACE.to_owned(), text(place.as_str()))));
    }

    fn read(&self, lineage: &Item, placement: &mut Placement) -> Option<()> {
        placement.order = match lineage.get(PLACE) {
            None => None,
            Some(_) => Some(SiblingPlace::parse(text_of(lineage, PLACE)?)?),
        };
        Some(())
    }

    fn can_have(&self, named: &Named<'_>) -> bool {
        match named.sort_key {
            SortKey::Child { id, .. } => *id == named.node.id,
            SortKey::OrderedRoot { id, .. } => *id == named.node.id && named.is_among_roots(),
            _ => false,
        }
    }

    fn shortfalls(&self, wanted: &PlacementInput<'_>, placement: &Placement) -> Vec<Shortfall> {
        let has_none = placement.order.as_ref().is_some_and(SiblingPlace::is_without_values);
        let attribute = wanted.settings.order.as_ref().filter(|_| has_none).map(ToString::to_string);
        attribute.map(|attribute| Shortfall::Order { attribute }).into_iter().collect()
    }
}
