//! Orphan rows: the register of nodes whose parents have no lineage. The protocol needs them, so they have no setting.

use super::contents::Contents;
use super::kind::{Kind, Named, PlacementInput, Rows};
use crate::keys::SortKey;
use crate::model::item::{AttributeValue, Item, flag_of};
use crate::model::{Placement, Shortfall};
use crate::rules::Rule;

pub(super) const ORPHAN: &str = "orphan";

pub(super) struct Orphan;

impl Kind for Orphan {
    fn place(&self, wanted: &PlacementInput<'_>, placement: &mut Placement) {
        placement.orphan =
            wanted.rules.keeps(Rule::OrphanRow) && wanted.parent.is_none() && !placement.ancestors.is_empty();
    }

    fn add_rows(&self, placement: &Placement, rows: &mut Rows<'_>) {
        if let (true, Some(parent)) = (placement.orphan, placement.ancestors.first()) {
            let pk = rows.schema.orphans_partition(&rows.node.sibling(parent.clone()));
            rows.add_in(pk, &SortKey::Orphan(rows.node.id.clone()), Contents::parent_alone());
        }
    }

    fn is_written(&self, placement: &Placement) -> bool {
        placement.orphan
    }

    fn write(&self, placement: &Placement, lineage: &mut Item) {
        if placement.orphan {
            lineage.insert(ORPHAN.into(), AttributeValue::Bool(true));
        }
    }

    fn read(&self, lineage: &Item, placement: &mut Placement) -> Option<()> {
        placement.orphan = flag_of(lineage, ORPHAN)?;
        Some(())
    }

    fn can_have(&self, named: &Named<'_>) -> bool {
        let is_own = matches!(named.sort_key, SortKey::Orphan(id) if *id == named.node.id);
        is_own && named.schema.is_of_orphans(&named.key.pk, named.owner.tenant.as_ref())
    }

    fn shortfalls(&self, _: &PlacementInput<'_>, placement: &Placement) -> Vec<Shortfall> {
        placement.orphan.then_some(Shortfall::Orphan).into_iter().collect()
    }
}
