//! Keeping `v0_` copies equal to the newest revision.

use std::collections::{BTreeMap, BTreeSet};

use super::Fanout;
use super::store::{Failure, Read, Store};
use sapwood_core::keys::{ItemKey, Schema, SortKey, Version};
use sapwood_core::model::{Item, Latest, VERSION, key_of, number};
use sapwood_core::plan::Rule;
use sapwood_table::{Condition, Query, ReadOptions, RetryPolicy, Table};

/// Copies the newest revision of each of these topics. Returns the revisions whose records have to be delivered again.
pub(super) async fn run<T: Table, P: RetryPolicy>(
    store: &Store<'_, T, P>,
    fanout: &Fanout,
    latests: BTreeMap<Latest, BTreeSet<Version>>,
) -> Vec<ItemKey> {
    let copying = Copying { store, fanout };
    let revisions: Vec<Vec<ItemKey>> = latests
        .iter()
        .map(|(latest, versions)| {
            versions.iter().filter_map(|version| latest.revision_key(*version, &fanout.settings).ok()).collect()
        })
        .collect();
    let read = store.get_many(revisions.iter().flatten().cloned().collect(), &fanout.settings.schema).await;
    let first = latests.iter().map(|(latest, versions)| copying.copy_highest(latest, versions, &read)).collect();
    let first = store.all_in_order(first).await;

    // A second look at what was copied: all of them in one request, and the whole way for those that changed.
    let copied: BTreeSet<ItemKey> = first.iter().filter_map(|copied| copied.as_ref().ok()?.copied.clone()).collect();
    let second = if fanout.rules.keeps(Rule::LatestSecondLook) {
        store.get_many(copied, &fanout.settings.schema).await
    } else {
        Read::default()
    };
    let rest = latests.keys().zip(&first).map(|(latest, copied)| copying.settle(latest, copied, &read, &second));
    let rest = store.all_in_order(rest.collect()).await;
    let failed = revisions.into_iter().zip(rest).filter(|(_, result)| result.is_err());
    failed.flat_map(|(keys, _)| keys).collect()
}

struct Copying<'a, 's, T, P> {
    store: &'a Store<'s, T, P>,
    fanout: &'a Fanout,
}

/// What the first step came to.
struct Copied {
    /// The revision that was copied, if one was.
    copied: Option<ItemKey>,
    /// Whether one of the revisions is gone, so that the newest has to be looked for.
    gone: bool,
}

impl<T: Table, P: RetryPolicy> Copying<'_, '_, T, P> {
    fn schema(&self) -> &Schema {
        &self.fanout.settings.schema
    }

    /// Puts the highest of these revisions that exists, unless a newer one stands. The lower ones can't be newer.
    async fn copy_highest(
        &self,
        latest: &Latest,
        versions: &BTreeSet<Version>,
        read: &Read,
    ) -> Result<Copied, Failure> {
        let settings = &self.fanout.settings;
        let (Ok(key), mut gone, mut highest) = (latest.key(settings), false, None) else {
            return Ok(Copied { copied: None, gone: false });
        };
        for &version in versions {
            let Ok(revision_key) = latest.revision_key(version, settings) else { continue };
            match read.item(&revision_key)? {
                None => gone = true,
                Some(revision) => highest = Some((version, revision_key, revision)),
            }
        }
        let Some((version, revision_key, revision)) = highest else { return Ok(Copied { copied: None, gone }) };
        let condition = if self.fanout.rules.keeps(Rule::LatestCondition) {
            Condition::AtMost { name: VERSION.into(), value: number(version.number() as usize) }
        } else {
            Condition::Always
        };
        let copy = Latest::copy(&key, version, revision, settings);
        match self.store.put(&key, &copy, &condition).await {
            Ok(true) => {
                self.store.count(|counts| counts.copies += 1);
                Ok(Copied { copied: Some(revision_key), gone })
            }
            Ok(false) | Err(Failure::Refused) => Ok(Copied { copied: None, gone }),
            Err(Failure::Again) => Err(Failure::Again),
        }
    }

    async fn settle(
        &self,
        latest: &Latest,
        copied: &Result<Copied, Failure>,
        first: &Read,
        second: &Read,
    ) -> Result<(), Failure> {
        let copied = copied.as_ref().map_err(|failure| *failure)?;
        let looks_twice = self.fanout.rules.keeps(Rule::LatestSecondLook);
        let changed = match &copied.copied {
            Some(key) if looks_twice => first.item(key)? != second.item(key)?,
            _ => false,
        };
        if copied.gone || changed { self.copy_newest(latest).await } else { Ok(()) }
    }

    /// Makes the copy that of the newest revision there is. It ends only on a look that finds the two equal.
    async fn copy_newest(&self, latest: &Latest) -> Result<(), Failure> {
        let settings = &self.fanout.settings;
        let Ok(key) = latest.key(settings) else { return Ok(()) };
        for _ in 0..self.fanout.limits.rounds_max {
            let read = self.store.get_many(BTreeSet::from([key.clone()]), self.schema()).await;
            let standing = read.item(&key)?;
            let newest = self.newest(latest).await?;
            let wanted = newest.map(|(version, revision)| Latest::copy(&key, version, &revision, settings));
            if wanted.as_ref() == standing {
                return Ok(());
            }
            let unchanged = if self.fanout.rules.keeps(Rule::LatestCondition) {
                Condition::Is { name: VERSION.into(), value: standing.and_then(Latest::version_of).cloned() }
            } else {
                Condition::Always
            };
            let written = match &wanted {
                Some(copy) => self.store.put(&key, copy, &unchanged).await,
                None => self.store.delete(&key, &unchanged).await,
            };
            match written {
                Ok(held) => self.store.count(|counts| counts.copies += u64::from(held)),
                Err(Failure::Refused) => return Ok(()),
                Err(Failure::Again) => return Err(Failure::Again),
            }
            if !self.fanout.rules.keeps(Rule::LatestSecondLook) {
                return Ok(());
            }
        }
        Err(Failure::Again)
    }

    /// The newest revision of a topic, from the high end of the node's collection.
    async fn newest(&self, latest: &Latest) -> Result<Option<(Version, Item)>, Failure> {
        let mut query = Query {
            pk: self.schema().partition(&latest.node),
            range: self.schema().revision_range(),
            after: None,
            limit: self.fanout.limits.revision_page_items_max,
            descending: true,
            reading: ReadOptions::default(),
        };
        loop {
            let page = self.store.query(&query).await?;
            for item in page.items {
                let sort_key = key_of(&item, self.schema()).and_then(|key| self.schema().parse_sort_key(&key.sk));
                if let Some(SortKey::Revision { version, topic }) = sort_key
                    && topic == latest.topic
                {
                    return Ok(Some((version, item)));
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(None),
            }
        }
    }
}
