//! What the stream handler leaves in the table about itself, for those who compare and repair.

use std::collections::BTreeMap;

use super::format::{self, NewerFormat};
use super::item::{AttributeValue, Item, text, text_of, with_key};
use super::{Settings, VariableError};
use crate::keys::Schema;

/// The settings and the release of the stream handler of a table, the item `SETTINGS`. With other settings than the
/// handler's everything in the table looks wrong, so a repair compares first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The handler's release, such as `0.1.0`.
    pub release: String,
    /// The handler's settings, as the variables that [`Settings::read`] reads.
    pub variables: BTreeMap<String, String>,
}

impl Announcement {
    const RELEASE: &str = "release";
    const SETTINGS: &str = "settings";

    /// The announcement of a handler with these settings.
    #[must_use]
    pub fn of(settings: &Settings, release: &str) -> Self {
        let variables = settings.variables().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { release: release.to_owned(), variables }
    }

    /// The item.
    #[must_use]
    pub fn item(&self, schema: &Schema) -> Item {
        let mut item = with_key(&schema.settings_key(), schema);
        format::mark(&mut item);
        let variables = self.variables.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        item.extend([
            (Self::RELEASE.to_owned(), text(&self.release)),
            (Self::SETTINGS.to_owned(), AttributeValue::M(variables)),
        ]);
        item
    }

    /// Reads the item. `None` for an item that no handler has written. Fails if a newer version has written it.
    pub fn read(item: &Item) -> Result<Option<Self>, NewerFormat> {
        if !format::is_known(item)? {
            return Ok(None);
        }
        let Some(AttributeValue::M(variables)) = item.get(Self::SETTINGS) else { return Ok(None) };
        let variable = |(name, value): (&String, &AttributeValue)| match value {
            AttributeValue::S(value) => Some((name.clone(), value.clone())),
            _ => None,
        };
        let variables: Option<_> = variables.iter().map(variable).collect();
        let Some(variables) = variables else { return Ok(None) };
        let release = text_of(item, Self::RELEASE).unwrap_or_default().to_owned();
        Ok(Some(Self { release, variables }))
    }

    /// The names of the variables in which other settings differ from the handler's.
    #[must_use]
    pub fn differs_in(&self, settings: &Settings) -> Vec<&'static str> {
        // A handler of an earlier release doesn't know the latest variables. It does what their defaults say.
        let defaults = Settings::default().variables();
        let differs = |(name, value): &(&str, String)| self.variables.get(*name).or(defaults.get(name)) != Some(value);
        settings.variables().into_iter().filter(differs).map(|(name, _)| name).collect()
    }

    /// The handler's settings. Fails for a value that this release doesn't know.
    pub fn settings(&self) -> Result<Settings, VariableError> {
        Settings::read(|name| self.variables.get(name).cloned())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::keys::Names;
    use crate::model::{Copied, OrderAttribute, SiblingOrder, Totals, UniqueNames};

    #[test]
    #[allow(clippy::unwrap_used)]
    fn the_settings_of_an_announcement_are_the_handlers() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        let schema = Schema::new(Names { node: "METADATA".to_owned(), ..Names::default() }, true).unwrap();
        let order = |by_hand: bool| {
            let order = SiblingOrder::by("rank");
            if by_hand { order.written_by_hand().unwrap() } else { order }
        };
        let several = || {
            let attributes = ["rank", "dc:title:caseless", "name"].map(OrderAttribute::read);
            SiblingOrder::by_several(attributes.into()).unwrap()
        };
        let all = [
            Settings::default(),
            Settings { schema, path_rows: false, root_rows: false, ..Settings::default() },
            Settings { copied: Copied::None, ttl: Some("ttl".to_owned()), ..Settings::default() },
            Settings {
                copied: Copied::Only(names(&["a b", "c"])),
                never_copied: names(&["x", "y"]),
                ..Settings::default()
            },
            Settings { order: Some(order(false)), ..Settings::default() },
            Settings { order: Some(several()), ..Settings::default() },
            Settings { order: Some(order(true)), links: names(&["product", "tags"]), ..Settings::default() },
            Settings { names: UniqueNames::Exact, ..Settings::default() },
            Settings { names: UniqueNames::Caseless, ..Settings::default() },
            Settings { totals: Some(Totals::default()), ..Settings::default() },
            Settings { totals: Some(Totals::of(names(&["count", "size"]))), ..Settings::default() },
            // Names that would be read as something else if they stood alone.
            Settings { copied: Copied::Only(names(&["all"])), ..Settings::default() },
            Settings { copied: Copied::Only(names(&[])), ..Settings::default() },
        ];
        for settings in all {
            let written = Announcement::of(&settings, "0.1.0");
            let item = written.item(&settings.schema);
            let read = Announcement::read(&item).unwrap().unwrap();
            assert_eq!(read, written);
            assert_eq!(read.settings().unwrap(), settings);
            assert!(read.differs_in(&settings).is_empty());
        }
        assert_eq!(Announcement::read(&Item::new()), Ok(None));
        let others = Settings { path_rows: false, ttl: Some("ttl".to_owned()), ..Settings::default() };
        let announcement = Announcement::of(&Settings::default(), "0.1.0");
        assert_eq!(announcement.differs_in(&others), ["PATH_ROWS", "TTL_ATTRIBUTE"]);
        let mut earlier = Announcement::of(&Settings::default(), "0.0.9");
        earlier.variables.remove("ORDER_ATTRIBUTE");
        assert!(earlier.differs_in(&Settings::default()).is_empty());
        assert_eq!(
            earlier.differs_in(&Settings { order: Some(order(false)), ..Settings::default() }),
            ["ORDER_ATTRIBUTE"]
        );
    }
}
