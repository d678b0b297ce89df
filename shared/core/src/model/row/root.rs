//! Root rows: a node without a parent that isn't in the trash, in the list of all trees. The setting is `root_rows`.

use super::contents::Contents;
use super::kind::{Kind, Named, PlacementInput, Rows};
use crate::keys::SortKey;
use crate::model::Placement;
use crate::model::item::{AttributeValue, Item, flag_of};

pub(super) const ROOT: &str = "root";

pub(super) struct Root;

impl Kind for Root {
    fn place(&self, wanted: &PlacementInput<'_>, placement: &mut Placement) {
        placement.root = wanted.base.parent.is_none() && wanted.settings.root_rows && !placement.trash.is_in();
    }

    fn add_rows(&self, placement: &Placement, rows: &mut Rows<'_>) {
        if placement.root {
            let pk = rows.schema.roots_partition(rows.node.tenant.as_ref());
            rows.add_in(pk, &SortKey::Root(rows.node.id.clone()), Contents::copies());
        }
    }

    fn write(&self, placement: &Placement, lineage: &mut Item) {
        lineage.insert(ROOT.into(), AttributeValue::Bool(placement.root));
    }

    fn read(&self, lineage: &Item, placement: &mut Placement) -> Option<()> {
        placement.root = flag_of(lineage, ROOT)?;
        Some(())
    }

    fn can_have(&self, named: &Named<'_>) -> bool {
        matches!(named.sort_key, SortKey::Root(id) if *id == named.node.id) && named.is_among_roots()
    }
}
