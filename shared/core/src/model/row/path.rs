//! Path rows: a node by its path, in the collection of its farthest ancestor. The setting is `path_rows`. A node in the
//! trash has none.

use super::contents::Contents;
use super::kind::{Kind, Named, PlacementInput, Rows};
use crate::keys::{DEPTH_MAX, SortKey, check_segment};
use crate::model::item::{Item, texts, texts_of};
use crate::model::{Placement, Shortfall};
use crate::rules::Rule;

pub(super) const PATH: &str = "path";

pub(super) struct Path;

impl Kind for Path {
    fn place(&self, wanted: &PlacementInput<'_>, placement: &mut Placement) {
        let is_below = wanted.base.parent.is_some();
        if !is_below || !wanted.settings.path_rows || placement.trash.is_in() {
            return;
        }
        let above = wanted.parent.map_or(&[][..], |parent| &parent.path);
        let whole: Vec<&str> = above.iter().map(String::as_str).chain([wanted.base.name(wanted.node)]).collect();
        let kept = if wanted.rules.keeps(Rule::CutPath) { placement.ancestors.len() } else { whole.len() };
        placement.path = whole[whole.len().saturating_sub(kept)..].iter().map(|&segment| segment.to_owned()).collect();
    }

    fn add_rows(&self, placement: &Placement, rows: &mut Rows<'_>) {
        if let (Some(farthest), Some(path)) = (placement.ancestors.last(), placement.path_key(rows.node)) {
            rows.add(farthest, &path, Contents::by_path(placement.ancestors.len()));
        }
    }

    fn write(&self, placement: &Placement, lineage: &mut Item) {
        lineage.insert(PATH.into(), texts(&placement.path));
    }

    fn read(&self, lineage: &Item, placement: &mut Placement) -> Option<()> {
        let segment = |segment: &str| check_segment(segment).is_ok().then(|| segment.to_owned());
        placement.path = texts_of(lineage, PATH, segment)?;
        (placement.path.len() <= DEPTH_MAX).then_some(())
    }

    fn can_have(&self, named: &Named<'_>) -> bool {
        let SortKey::Path { segments, id } = named.sort_key else { return false };
        let shown = id.as_ref().map_or_else(|| segments.last().map(String::as_str), |id| Some(id.as_str()));
        shown == Some(named.node.id.as_str())
    }

    fn shortfalls(&self, wanted: &PlacementInput<'_>, placement: &Placement) -> Vec<Shortfall> {
        let path = placement.path_key(wanted.node);
        path.and_then(|path| wanted.settings.schema.sort_key(&path).err()).map(Shortfall::Path).into_iter().collect()
    }
}
