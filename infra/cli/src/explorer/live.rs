//! What the event source mapping does, for pages that watch. Each event is sent to all pages that watch at that moment;
//! nobody waits for a page. One that falls behind by [`BEHIND_MAX`] events is cut: it reads everything anew.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use futures::stream::unfold;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{COPYING, DELETING, TRASHED};
use sapwood_local::mapping::{Seen, Watcher};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender, channel};
use tokio::time::timeout;

use super::node::LABELS;
use crate::clock::now;
use crate::watch::below;

/// How many events a page may be behind. It is a choice: a move of thousands of nodes has a hundred.
const BEHIND_MAX: usize = 256;

/// The longest silence on a connection, so that a page that has gone is noticed.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// The events of one mapping. It is cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    /// None once it is closed.
    sender: Arc<Mutex<Option<Sender<Arc<str>>>>>,
    begun: Instant,
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self { sender: Arc::new(Mutex::new(Some(channel(BEHIND_MAX).0))), begun: now() }
    }

    /// Sends an event, if a page watches. Otherwise it isn't even made.
    pub(crate) fn send(&self, make: impl FnOnce() -> Value) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(sender) = sender.filter(|sender| sender.receiver_count() > 0) else { return };
        let mut event = make();
        event["at"] = json!(u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        // No page watches any more.
        let _ = sender.send(event.to_string().into());
    }

    /// Ends the connections of all pages.
    pub(crate) fn close(&self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The watcher of the mapping's records.
    pub(crate) fn watcher(&self, schema: Schema) -> Watcher {
        let feed = self.clone();
        Arc::new(move |records| feed.send(|| read(records, &schema)))
    }

    /// The body of a connection that sends each event as it comes.
    pub(super) fn body(&self) -> Body {
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
    match timeout(SILENCE_MAX, receiver.recv()).await {
        Ok(Ok(event)) => Some((format!("data: {event}\n\n"), Some(receiver))),
        Ok(Err(RecvError::Lagged(missed))) => Some((format!("event: cut\ndata: {missed}\n\n"), None)),
        Ok(Err(RecvError::Closed)) => None,
        Err(_) => Some((":\n\n".to_owned(), Some(receiver))),
    }
}

/// The records of a read, a thousand at most: what changed, which of it goes to the handler, the node that a row shows,
/// and of a base record its label, its parent, and the marks that it had and has.
fn read(records: &mut dyn Iterator<Item = Seen>, schema: &Schema) -> Value {
    let names = schema.names();
    let named = records.map(|Seen { event, keys, old, new, is_wanted }| {
        let text = |name: &String| keys[name]["S"].as_str().unwrap_or_default().to_owned();
        let key = ItemKey { pk: text(&names.partition_key), sk: text(&names.sort_key) };
        let owner = schema.parse_partition(&key.pk).ok().map(|node| node.id.as_str().to_owned());
        let value = |name: &str| new.or(old)?.get(name)?.as_s().ok();
        let base = (key.sk == names.node).then(|| {
            let [trashed, deleting, copying] = [TRASHED, DELETING, COPYING]
                .map(|mark| [old, new].map(|image| image.is_some_and(|image| image.contains_key(mark))));
            json!({
                "label": LABELS.iter().find_map(|name| value(name)), "parent": value(&names.parent),
                "trashed": trashed, "deleting": deleting, "copying": copying,
            })
        });
        json!({
            "what": event, "pk": key.pk, "sk": key.sk, "in": owner, "node": schema.shown(&key.sk),
            "goes_on": is_wanted, "below": below(&key, old, new, schema), "base": base,
        })
    });
    json!({"type": "read", "records": named.collect::<Vec<_>>()})
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
