//! Link rows: a node in the partition of each node that it names in an attribute. The setting is `links`. A node in the
//! trash has none: whoever asks which nodes link to one asks for live ones.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::Contents;
use super::kind::{Kind, Named, PlacementInput, Rows};
use crate::keys::{Id, NodeRef, SortKey};
use crate::model::item::{AttributeValue, Item, texts, texts_of};
use crate::model::{FORMAT_WITH_MORE_ROWS, Placement, Settings, Shortfall};

pub(super) const LINKS: &str = "links";

/// Most links of a node, over all attributes.
pub const LINKS_MAX: usize = 100;

/// Most bytes of a node's targets together: a lineage names all of them, and placing a child reads it.
pub const TARGETS_BYTES_MAX: usize = 16 * 1_024;

/// Most bytes of an attribute's name in a lineage. A longer one is in no key.
const ATTRIBUTE_BYTES_MAX: usize = 1_024;

pub(super) struct Link;

impl Kind for Link {
    fn format(&self, _: &Placement) -> u64 {
        FORMAT_WITH_MORE_ROWS
    }

    fn place(&self, wanted: &PlacementInput<'_>, placement: &mut Placement) {
        if placement.trash.is_in() {
            return;
        }
        let (asked, _) = asked(&wanted.base.item, wanted.settings);
        let mut bytes = 0;
        let kept = asked.into_iter().take(LINKS_MAX).take_while(|(_, target)| {
            bytes += target.as_str().len();
            bytes <= TARGETS_BYTES_MAX
        });
        placement.links = BTreeMap::new();
        for (attribute, target) in kept {
            placement.links.entry(attribute.to_owned()).or_default().push(target);
        }
    }

    fn add_rows(&self, placement: &Placement, rows: &mut Rows<'_>) {
        if placement.links.is_empty() {
            return;
        }
        let contents = Contents::linking(placement);
        for (attribute, targets) in &placement.links {
            for target in targets {
                let sort_key = SortKey::Link { attribute: attribute.clone(), id: rows.node.id.clone() };
                rows.add(target, &sort_key, contents.clone());
            }
        }
    }

    fn is_written(&self, placement: &Placement) -> bool {
        !placement.links.is_empty()
    }

    fn write(&self, placement: &Placement, lineage: &mut Item) {
        if self.is_written(placement) {
            let targets = |targets: &Vec<Id>| texts(targets.iter().map(Id::as_str));
            let links = placement.links.iter().map(|(attribute, of_one)| (attribute.clone(), targets(of_one)));
            lineage.insert(LINKS.to_owned(), AttributeValue::M(links.collect()));
        }
    }

    fn read(&self, lineage: &Item, placement: &mut Placement) -> Option<()> {
        let links = match lineage.get(LINKS) {
            None => return Some(()),
            Some(AttributeValue::M(links)) if links.len() <= LINKS_MAX => links.clone().into_iter().collect::<Item>(),
            Some(_) => return None,
        };
        // A key with such an attribute would be another node's, or too long for any.
        let is_attribute =
            |attribute: &&String| (1..=ATTRIBUTE_BYTES_MAX).contains(&attribute.len()) && !attribute.contains('#');
        let targets =
            |attribute: &String| texts_of(&links, Some(attribute).filter(is_attribute)?, |target| Id::new(target).ok());
        placement.links =
            links.keys().map(|attribute| Some((attribute.clone(), targets(attribute)?))).collect::<Option<_>>()?;
        let all = || placement.links.values().flatten();
        let bytes: usize = all().map(|target| target.as_str().len()).sum();
        (all().count() <= LINKS_MAX && bytes <= TARGETS_BYTES_MAX).then_some(())
    }

    fn can_have(&self, named: &Named<'_>) -> bool {
        matches!(named.sort_key, SortKey::Link { id, .. } if *id == named.node.id)
    }

    fn shortfalls(&self, wanted: &PlacementInput<'_>, placement: &Placement) -> Vec<Shortfall> {
        if placement.trash.is_in() {
            return Vec::new();
        }
        let (asked, mut unusable) = asked(&wanted.base.item, wanted.settings);
        let kept: usize = placement.links.values().map(Vec::len).sum();
        let mut found = Vec::new();
        if kept < asked.len() {
            found.push(Shortfall::Links { left_out: asked.len() - kept });
        }
        let schema = &wanted.settings.schema;
        let has_no_key = |attribute: &&String| {
            let key = SortKey::Link { attribute: (*attribute).clone(), id: wanted.node.id.clone() };
            schema.sort_key(&key).is_err()
        };
        unusable.extend(placement.links.keys().filter(has_no_key).map(String::as_str));
        found.extend(unusable.into_iter().map(|attribute| Shortfall::Link { attribute: attribute.to_owned() }));
        found
    }
}

/// Why a record can't have the links that it asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum LinkFault {
    /// The attribute holds something else than ids.
    #[error(
        "`{0}` holds something that can't be a link: write an id, which has 1 to 1,014 bytes, or a set or a list of ids"
    )]
    NotAnId(String),
    /// No key has room for the attribute's name and the node's id.
    #[error("no key has room for `{0}` and an id as long as the node's; give the node a shorter id")]
    NoKey(String),
    /// There are too many links.
    #[error(
        "with `{attribute}` the node has {links} links, whose targets have {bytes} bytes together; the limits are {LINKS_MAX} links and \
         {TARGETS_BYTES_MAX} bytes"
    )]
    TooMany { attribute: String, links: usize, bytes: usize },
}

/// Checks the links of a record that replaces another, or none. Fails with the first attribute that this write changes
/// and that can't be kept as it is: an earlier fault is none of this write's.
pub fn check_links(node: &NodeRef, before: Option<&Item>, after: &Item, settings: &Settings) -> Result<(), LinkFault> {
    let changes = |attribute: &&String| before.and_then(|item| item.get(*attribute)) != after.get(*attribute);
    let changed: Vec<&String> =
        settings.links.iter().filter(|name| after.contains_key(*name)).filter(changes).collect();
    let (asked, unusable) = asked(after, settings);
    let bytes: usize = asked.iter().map(|(_, target)| target.as_str().len()).sum();
    let links = asked.len();
    for attribute in changed {
        let key = SortKey::Link { attribute: attribute.clone(), id: node.id.clone() };
        if unusable.contains(attribute.as_str()) {
            return Err(LinkFault::NotAnId(attribute.clone()));
        }
        if settings.schema.sort_key(&key).is_err() && asked.iter().any(|(of, _)| *of == attribute.as_str()) {
            return Err(LinkFault::NoKey(attribute.clone()));
        }
        if links > LINKS_MAX || bytes > TARGETS_BYTES_MAX {
            return Err(LinkFault::TooMany { attribute: attribute.clone(), links, bytes });
        }
    }
    Ok(())
}

/// Returns a record's links, ordered by attribute and target, and the attributes that hold something else.
fn asked<'a>(base: &Item, settings: &'a Settings) -> (BTreeSet<(&'a str, Id)>, BTreeSet<&'a str>) {
    let (mut asked, mut unusable) = (BTreeSet::new(), BTreeSet::new());
    for attribute in &settings.links {
        let Some(value) = base.get(attribute) else { continue };
        let mut add = |target: Option<&str>| match target.and_then(|target| Id::new(target).ok()) {
            Some(id) => _ = asked.insert((attribute.as_str(), id)),
            None => _ = unusable.insert(attribute.as_str()),
        };
        match value {
            AttributeValue::S(target) => add(Some(target)),
            AttributeValue::Ss(targets) => targets.iter().for_each(|target| add(Some(target))),
            AttributeValue::L(targets) => targets.iter().for_each(|target| match target {
                AttributeValue::S(target) => add(Some(target)),
                _ => add(None),
            }),
            // A null names no node, and ends the inheritance of links.
            AttributeValue::Null(_) => {}
            _ => add(None),
        }
    }
    (asked, unusable)
}
