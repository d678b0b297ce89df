//! What the event source mapping does, for pages that watch. Each event is sent to all pages that watch at that moment;
//! nobody waits for a page. One that falls behind by 256 events is cut: it reads everything anew.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use futures::future::{Either, select};
use futures::stream::unfold;
use sapwood_core::keys::{DEPTH_MAX, ItemKey, NodeRef, Schema, SortKey};
use sapwood_core::model::{COPYING, DELETING, Item, TRASHED, text_of};
use sapwood_engine::fanout::Report;
use sapwood_store::clock::{Instant, now, sleep};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender, channel};

use crate::change::Watched;
use crate::node::LABELS;

/// How many events a page may be behind. It is a choice: a move of thousands of nodes has a hundred.
const BEHIND_MAX: usize = 256;

/// The longest silence on a connection, so that a page that has gone is noticed.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// The events of one mapping. It is cheap to clone.
#[derive(Clone, Debug)]
pub struct Feed {
    /// None once it is closed.
    sender: Arc<Mutex<Option<Sender<Arc<str>>>>>,
    begun: Instant,
}

impl Default for Feed {
    fn default() -> Self {
        Self::new()
    }
}

impl Feed {
    /// A feed that nobody watches yet.
    #[must_use]
    pub fn new() -> Self {
        Self { sender: Arc::new(Mutex::new(Some(channel(BEHIND_MAX).0))), begun: now() }
    }

    /// Sends an event, if a page watches. Otherwise it isn't even made.
    pub fn send(&self, make: impl FnOnce() -> Value) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(sender) = sender.filter(|sender| sender.receiver_count() > 0) else { return };
        let mut event = make();
        event["at"] = json!(u64::try_from(now().saturating_duration_since(self.begun).as_millis()).unwrap_or(u64::MAX));
        // No page watches any more.
        let _ = sender.send(event.to_string().into());
    }

    /// Ends the connections of all pages.
    pub fn close(&self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The body of a connection that sends each event as it comes.
    pub(crate) fn body(&self) -> Body {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = sender.as_ref().map(Sender::subscribe);
        let first = "retry: 1000\n\nevent: begin\ndata: {}\n\n".to_owned();
        Body::from_stream(unfold((Some(first), receiver), |(first, receiver)| async move {
            match first {
                Some(first) => Some((Ok::<_, Infallible>(first), (None, receiver))),
                None => {
                    let (text, receiver) = next(receiver?).await?;
                    Some((Ok(text), (None, receiver)))
                }
            }
        }))
    }
}

/// The next event of a connection, and the receiver of those after it.
async fn next(mut receiver: Receiver<Arc<str>>) -> Option<(String, Option<Receiver<Arc<str>>>)> {
    let received = match select(pin!(receiver.recv()), pin!(sleep(SILENCE_MAX))).await {
        Either::Left((received, _)) => Some(received),
        Either::Right(_) => None,
    };
    match received {
        Some(Ok(event)) => Some((format!("data: {event}\n\n"), Some(receiver))),
        Some(Err(RecvError::Lagged(missed))) => Some((format!("event: cut\ndata: {missed}\n\n"), None)),
        Some(Err(RecvError::Closed)) => None,
        None => Some((":\n\n".to_owned(), Some(receiver))),
    }
}

/// A record that a mapping has read.
#[derive(Clone, Debug)]
pub struct Record {
    /// The event: `INSERT`, `MODIFY` or `REMOVE`.
    pub event: &'static str,
    /// The item's key.
    pub key: ItemKey,
    /// The item before, if there was one.
    pub old: Option<Item>,
    /// The item after, if there is one.
    pub new: Option<Item>,
    /// True if the handler gets the record.
    pub goes_on: bool,
}

/// The event of a read, of a thousand records at most: what changed, which of it goes to the handler, the node that a
/// row shows, and of a base record its label, its parent, and the marks that it had and has.
pub fn read(records: impl Iterator<Item = Record>, schema: &Schema) -> Value {
    let names = schema.names();
    let named = records.map(|Record { event, key, old, new, goes_on }| {
        let owner = schema.parse_partition(&key.pk).ok();
        let below = owner.as_ref().and_then(|node| below(node, &key, old.as_ref(), new.as_ref(), schema));
        let owner = owner.map(|node| node.id.as_str().to_owned());
        let value = |name: &str| text_of(new.as_ref().or(old.as_ref())?, name);
        let base = (key.sk == names.node).then(|| {
            let [trashed, deleting, copying] = [TRASHED, DELETING, COPYING]
                .map(|mark| [&old, &new].map(|image| image.as_ref().is_some_and(|image| image.contains_key(mark))));
            json!({
                "label": LABELS.iter().find_map(|name| value(name)), "parent": value(&names.parent),
                "trashed": trashed, "deleting": deleting, "copying": copying,
            })
        });
        json!({
            "what": event, "pk": key.pk, "sk": key.sk, "in": owner, "node": schema.shown(&key.sk),
            "goes_on": goes_on, "below": below, "base": base,
        })
    });
    json!({"type": "read", "records": named.collect::<Vec<_>>()})
}

/// What a record says to who watches the node whose partition it is in.
fn below(node: &NodeRef, key: &ItemKey, old: Option<&Item>, new: Option<&Item>, schema: &Schema) -> Option<Value> {
    if !matches!(schema.parse_sort_key(&key.sk), Some(SortKey::Ancestor { .. } | SortKey::Node)) {
        return None;
    }
    Watched { node, schema, depth_max: DEPTH_MAX, revisions: false }.change(key, old, new)?.brief()
}

/// The event of a batch that is handled. `again`: it was delivered a second time.
pub fn handled(report: &Report, took: Duration, again: bool) -> Value {
    let (usage, tally) = (report.counts.usage, report.counts.tally);
    json!({
        "type": "handled", "again": again, "failed": report.failed.len(),
        "problems": report.problems.iter().map(|one| json!({"pk": one.key.pk, "sk": one.key.sk, "reason": one.reason})).collect::<Vec<_>>(),
        "requests": usage.requests, "read_units": usage.read_units, "write_units": usage.write_units,
        "rows_put": tally.rows_put, "rows_deleted": tally.rows_deleted, "touches": tally.touches, "copies": tally.copies,
        "child_actions": tally.child_actions, "nodes_deleted": tally.nodes_deleted, "nodes_copied": tally.nodes_copied,
        "milliseconds": milliseconds(took),
    })
}

/// A time in milliseconds, as events have it.
pub fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::StreamExt;

    use super::*;

    fn text(chunk: Option<Result<axum::body::Bytes, axum::Error>>) -> String {
        String::from_utf8(chunk.unwrap().unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn nothing_is_made_while_nobody_watches() {
        let (feed, made) = (Feed::new(), std::cell::Cell::new(0));
        let send = || {
            feed.send(|| {
                made.set(made.get() + 1);
                json!({})
            });
        };
        send();
        assert_eq!(made.get(), 0);
        let watching = feed.body();
        send();
        assert_eq!(made.get(), 1);
        drop(watching);
        send();
        assert_eq!(made.get(), 1, "made for a page that has gone");
    }

    #[tokio::test]
    async fn a_page_that_falls_behind_is_cut_and_holds_nobody_up() {
        let feed = Feed::new();
        let mut slow = feed.body().into_data_stream();
        assert!(text(slow.next().await).contains("event: begin"));
        for number in 0..=BEHIND_MAX {
            feed.send(|| json!({"number": number}));
        }
        assert_eq!(text(slow.next().await), "event: cut\ndata: 1\n\n");
        assert!(slow.next().await.is_none());
    }

    #[tokio::test]
    async fn a_feed_that_is_closed_ends_its_pages() {
        let feed = Feed::new();
        let mut page = feed.body().into_data_stream();
        page.next().await.unwrap().unwrap();
        feed.send(|| json!({"number": 1}));
        feed.close();
        assert!(text(page.next().await).contains("\"number\":1"));
        assert!(page.next().await.is_none());
        assert!(feed.body().into_data_stream().skip(1).next().await.is_none());
    }
}
