//! Revisions: appended, amended, removed.

use std::collections::BTreeSet;

use super::content::check_revision;
use super::record::{Draft, base, still};
use super::request::Done;
use super::{Request, WriteError, Writer, Written};
use sapwood_core::keys::{ItemKey, NodeRef, SortKey, Version};
use sapwood_core::model::{AttributeValue, Item, Latest, key_of};
use sapwood_table::{
    Action, BATCH_GET_KEYS_MAX, Condition, Query, ReadOptions, RetryPolicy, Table, TableError, Transacted,
};

impl<T: Table, P: RetryPolicy> Writer<'_, T, P> {
    /// Appends the next revision of a topic. There is no counter: the newest is looked for, and the next put where none
    /// is; on a collision once more.
    ///
    /// # Errors
    /// [`WriteError::Key`] for an impossible topic or past the last version, and those that the content can have.
    pub async fn append(
        &self,
        node: &NodeRef,
        topic: &str,
        attributes: &Item,
        request: &Request<'_>,
    ) -> Result<Written, WriteError> {
        let schema = self.client.schema();
        check_revision(attributes, schema)?;
        let latest = Latest { node: node.clone(), topic: topic.to_owned() };
        // The longest that any version makes it: an append must not fail for its number alone.
        latest.revision_key(Version::new(u64::from(Version::MAX))?, self.settings)?;
        // A revision that is appended isn't there before.
        if !request.precondition.holds(None) {
            return Err(WriteError::PreconditionFailed);
        }
        let mut attempt = 0;
        let mut tried: Option<Written> = None;
        loop {
            if let Some(written) = tried.take()
                && request.stamp.made(self.client.get(&written.key, &ReadOptions::default()).await?.as_ref())
            {
                return Ok(written);
            }
            let version = Version::new(self.newest(&latest).await? + 1)?;
            let key = latest.revision_key(version, self.settings)?;
            let item = base(&key, attributes, None, request.stamp, schema);
            let draft = Draft { key, item, update: None, condition: Condition::Absent }.check()?;
            let written =
                Written { key: draft.key.clone(), item: draft.item.clone(), created: true, version: Some(version) };
            let also = request.also(&Done::Written(written.clone()));
            let (is_done, also_failed) = self.write_revision(draft.action(), also).await?;
            if is_done {
                return Ok(written);
            }
            tried = Some(written);
            if !self.again(&mut attempt).await {
                return Err(WriteError::Contended);
            }
            if also_failed && !request.stamp.made(self.own(tried.as_ref()).await?.as_ref()) {
                return Err(WriteError::InProgress);
            }
        }
    }

    /// Puts a revision in the place of the one that is there.
    ///
    /// # Errors
    /// [`WriteError::NotFound`], and those that the content can have.
    pub async fn amend(
        &self,
        node: &NodeRef,
        topic: &str,
        version: Version,
        attributes: &Item,
        request: &Request<'_>,
    ) -> Result<Written, WriteError> {
        let schema = self.client.schema();
        check_revision(attributes, schema)?;
        let key = schema.item_key(node, &SortKey::Revision { version, topic: topic.to_owned() })?;
        let change = |before: &Item| {
            let item = base(&key, attributes, Some(before), request.stamp, schema);
            let condition = still(Some(before), request.precondition.is_strict(), schema);
            let draft = Draft { key: key.clone(), item, update: None, condition }.check()?;
            let written =
                Written { key: key.clone(), item: draft.item.clone(), created: false, version: Some(version) };
            Ok((draft.action(), Done::Written(written)))
        };
        match self.change_revision(&key, change, request).await? {
            Done::Written(written) => Ok(written),
            Done::Deleted | Done::Deleting { .. } => Err(WriteError::NotFound),
        }
    }

    /// Removes a revision.
    ///
    /// # Errors
    /// [`WriteError::NotFound`].
    pub async fn remove_revision(
        &self,
        node: &NodeRef,
        topic: &str,
        version: Version,
        request: &Request<'_>,
    ) -> Result<(), WriteError> {
        let schema = self.client.schema();
        let key = schema.item_key(node, &SortKey::Revision { version, topic: topic.to_owned() })?;
        let change = |before: &Item| {
            let condition = still(Some(before), request.precondition.is_strict(), schema);
            Ok((Action::Delete { key: key.clone(), condition }, Done::Deleted))
        };
        self.change_revision(&key, change, request).await.map(|_| ())
    }

    async fn change_revision(
        &self,
        key: &ItemKey,
        change: impl Fn(&Item) -> Result<(Action, Done), WriteError>,
        request: &Request<'_>,
    ) -> Result<Done, WriteError> {
        let mut attempt = 0;
        let mut tried: Option<Done> = None;
        let mut also_failed = false;
        loop {
            let before = self.client.get(key, &ReadOptions::default()).await?;
            match &tried {
                Some(Done::Written(_)) if request.stamp.made(before.as_ref()) => {
                    return Ok(tried.unwrap_or(Done::Deleted));
                }
                // Gone, whoever did it.
                Some(Done::Deleted) if before.is_none() => return Ok(Done::Deleted),
                _ => {}
            }
            let Some(before) = before else { return Err(WriteError::NotFound) };
            if !request.precondition.holds(Some(&before)) {
                return Err(WriteError::PreconditionFailed);
            }
            if also_failed {
                return Err(WriteError::InProgress);
            }
            let (action, done) = change(&before)?;
            let is_done;
            (is_done, also_failed) = self.write_revision(action, request.also(&done)).await?;
            if is_done {
                return Ok(done);
            }
            tried = Some(done);
            if !self.again(&mut attempt).await {
                return Err(WriteError::Contended);
            }
        }
    }

    /// Whether it is done; and whether it isn't for what was to be done besides.
    async fn write_revision(&self, action: Action, also: Vec<Action>) -> Result<(bool, bool), TableError> {
        if !also.is_empty() {
            let actions: Vec<Action> = std::iter::once(action).chain(also).collect();
            return Ok(match self.client.transact(&actions).await? {
                Transacted::Done => (true, false),
                Transacted::Failed(positions) => (false, positions.iter().any(|position| *position > 0)),
            });
        }
        let held = match &action {
            Action::Put { item, condition, .. } => self.client.put(item, condition).await?,
            Action::Delete { key, condition } => self.client.delete(key, condition).await?,
            Action::Update { .. } | Action::Check { .. } => false,
        };
        Ok((held, false))
    }

    async fn own(&self, tried: Option<&Written>) -> Result<Option<Item>, TableError> {
        match tried {
            Some(written) => self.client.get(&written.key, &ReadOptions::default()).await,
            None => Ok(None),
        }
    }

    /// The number of the topic's newest revision, 0 where there is none. Keys begin with the version, so the page at the
    /// high end shows it where an id has few topics; where it has many, the copy of the newest says where to look on.
    async fn newest(&self, latest: &Latest) -> Result<u64, WriteError> {
        let schema = self.client.schema();
        let query = Query {
            pk: schema.partition(&latest.node),
            range: schema.revision_range(),
            after: None,
            limit: self.limits.revision_page_items_max,
            descending: true,
            reading: ReadOptions { strong: true, attributes: Some(BTreeSet::new()) },
        };
        let copy_key = latest.key(self.settings)?;
        let reading = ReadOptions::default();
        let (page, copy) = futures::try_join!(self.client.query(&query), self.client.get(&copy_key, &reading))?;
        let mut lowest = u64::from(Version::MAX);
        for item in &page.items {
            let sort_key = key_of(item, schema).and_then(|key| schema.parse_sort_key(&key.sk));
            if let Some(SortKey::Revision { version, topic }) = sort_key {
                lowest = lowest.min(u64::from(version.number()));
                if topic == latest.topic {
                    return Ok(u64::from(version.number()));
                }
            }
        }
        if page.next.is_none() {
            return Ok(0);
        }
        self.newest_from(latest, copied_version(copy.as_ref()), lowest).await
    }

    /// The same by number: up from the one that was copied, for as long as there are any, to the lowest that was seen.
    async fn newest_from(&self, latest: &Latest, copied: u64, lowest: u64) -> Result<u64, WriteError> {
        let mut newest = 0;
        let mut from = copied.max(1);
        while from <= lowest {
            let to = lowest.min(from + BATCH_GET_KEYS_MAX as u64 - 1);
            let mut keys = Vec::new();
            for number in from..=to {
                keys.push((latest.revision_key(Version::new(number)?, self.settings)?, number));
            }
            let asked = keys.iter().map(|(key, _)| key.clone()).collect();
            let items = self.read(asked, &ReadOptions { strong: true, attributes: Some(BTreeSet::new()) }).await?;
            let Some((_, found)) = keys.iter().rfind(|(key, _)| items.contains_key(key)) else { break };
            newest = *found;
            from = to + 1;
        }
        // The copy may be of one that was removed just now: then those below it count.
        if newest == 0 && copied > 1 {
            return self.newest_below(latest, copied - 1).await;
        }
        Ok(newest)
    }

    async fn newest_below(&self, latest: &Latest, mut to: u64) -> Result<u64, WriteError> {
        while to > 0 {
            let from = to.saturating_sub(BATCH_GET_KEYS_MAX as u64 - 1).max(1);
            let mut keys = Vec::new();
            for number in from..=to {
                keys.push((latest.revision_key(Version::new(number)?, self.settings)?, number));
            }
            let asked = keys.iter().map(|(key, _)| key.clone()).collect();
            let items = self.read(asked, &ReadOptions { strong: true, attributes: Some(BTreeSet::new()) }).await?;
            if let Some((_, found)) = keys.iter().rfind(|(key, _)| items.contains_key(key)) {
                return Ok(*found);
            }
            to = from - 1;
        }
        Ok(0)
    }
}

fn copied_version(copy: Option<&Item>) -> u64 {
    match copy.and_then(Latest::version_of) {
        Some(AttributeValue::N(digits)) => digits.parse().unwrap_or(0),
        _ => 0,
    }
}
