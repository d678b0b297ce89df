//! The feed of a tree: what has changed since a cursor, and what has changed lately.

use std::fmt;

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_core::plan::Rules;
use sapwood_engine::query::{CHANGES_MAX, ChangesPage, Followed};
use sapwood_store::{RetryPolicy, Table};

use super::call::{Asked, At, ReaderState};
use super::list::limit;
use crate::call::Call;
use crate::contract::{ChangeBody, ChangesBody, PageBody};
use crate::cursor::Scope;
use crate::headers::Prefer;
use crate::problem::{Kind, Problem};
use crate::wait::{Pauses, WaitFor};

/// How long a cursor stays where it is while nothing changes, in milliseconds. Then it moves on with a strong read.
const STAYS_MS_MAX: u64 = 60 * 60 * 1_000;

/// `GET /nodes/{id}/changes`
pub(super) struct Changes {
    tree: NodeRef,
    from: Start,
    scope: Scope,
    entries_max: usize,
}

/// Where a follower is.
enum Start {
    Listing,
    Now,
    Cursor(Position),
}

/// The position in a cursor: the name of the feeds, and how far the follower has come under it.
struct Position {
    feed: String,
    followed: Followed,
}

impl Call<ReaderState> for Changes {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let tree = asked.node("id")?;
        asked.prefer.wait = Prefer::read(&asked.parts.headers)?.wait;
        let scope = Scope::new("changes", tree.tenant.as_ref()).text(tree.id.as_str());
        let from = match asked.parameters.text("cursor").as_deref() {
            None => Start::Listing,
            Some("now") => Start::Now,
            Some(cursor) => {
                let refused = |detail: String| Problem::new(Kind::BadCursor, detail).at("cursor");
                let opened =
                    asked.shared.own.cursors.open(&scope, cursor).map_err(|error| refused(error.to_string()))?;
                let stale = || refused("this cursor no longer works; list the tree anew, without a cursor".to_owned());
                Start::Cursor(Position::read(&opened).ok_or_else(stale)?)
            }
        };
        Ok(Self { tree, from, scope, entries_max: limit(asked, CHANGES_MAX)?.unwrap_or(CHANGES_MAX) })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let of_cursor = if let Start::Cursor(position) = &self.from { Some(&*position.feed) } else { None };
        let feed = at.shared.own.feed.demand(&at.reader(), at.deadline.now_ms(), of_cursor).await?;
        let (now, rules) = (at.deadline.now_ms(), Rules::default());
        let followed = match &self.from {
            Start::Cursor(position) if position.feed != feed || position.followed.is_too_old(now) => {
                let detail = "this cursor is older than 30 days, or of a feed that has ended; ask without a cursor, which lists the tree, and \
                    put what comes in the place of your mirror";
                return Err(Problem::new(Kind::ListAnew, detail).at("cursor"));
            }
            Start::Cursor(position) => position.followed.clone(),
            Start::Listing | Start::Now => {
                demand_root(at, &self.tree).await?;
                Followed::begin(now, rules)
            }
        };
        let stays = |followed: Followed| ChangesPage { changes: Vec::new(), followed, more: false };
        let page = match (&self.from, &followed) {
            (Start::Now, _) => stays(Followed::now(now, rules)),
            (_, Followed::Changes { since, after: None })
                if now.saturating_sub(*since) < STAYS_MS_MAX && !self.appear(at, *since).await? =>
            {
                stays(followed)
            }
            _ => {
                let now = at.deadline.now_ms();
                at.reader().changes(&self.tree, &followed, now, (self.entries_max, rules)).await?
            }
        };
        let body = |change| ChangeBody::of(change, None, &at.shared.settings);
        let position = Position { feed, followed: page.followed };
        at.json(&ChangesBody {
            changes: page.changes.iter().map(body).collect(),
            cursor: at.shared.own.cursors.seal(&self.scope, &position.to_string()),
            has_more: page.more,
        })
    }
}

/// Checks that a node is there, and a root.
async fn demand_root<T: Table>(at: &At<'_, T>, node: &NodeRef) -> Result<(), Problem> {
    let Some(parent) = at.reader().node(node, true).await?.parent else { return Ok(()) };
    let detail = "the node has a parent, and a feed is of a whole tree; ask for its farthest ancestor";
    Err(Problem::new(Kind::NotARoot, detail).because_of(parent.as_str()))
}

impl Changes {
    /// True if there are changes since this time, or come while the client waits.
    async fn appear<T: Table>(&self, at: &At<'_, T>, since: u64) -> Result<bool, Problem> {
        let waits = &at.shared.waits;
        let wait = WaitFor::Changes(self.tree.clone());
        let longest = at.prefer.longest_wait().filter(|_| !waits.is_in_vain(&wait)).unwrap_or_default();
        let mut pauses = Pauses::within(at.deadline, longest);
        while !at.reader().has_changes(&self.tree, since, at.deadline.now_ms()).await? {
            if longest.is_zero() {
                return Ok(false);
            }
            if !pauses.pause_for_changes().await {
                waits.was_in_vain(wait);
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Position {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '\n');
        let mut part = || parts.next();
        let (feed, kind, since) = (part()?.to_owned(), part()?, part()?.parse().ok()?);
        let after = part().map(str::to_owned);
        let followed = match kind {
            "listing" => Followed::Listing { since, after },
            "changes" => Followed::Changes { since, after },
            _ => return None,
        };
        Some(Self { feed, followed })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, Followed::Listing { since, after } | Followed::Changes { since, after }) = match &self.followed {
            followed @ Followed::Listing { .. } => ("listing", followed),
            followed @ Followed::Changes { .. } => ("changes", followed),
        };
        write!(f, "{}\n{kind}\n{since}", self.feed)?;
        after.as_ref().map_or(Ok(()), |after| write!(f, "\n{after}"))
    }
}

/// `GET /nodes/{id}/recent`
pub(super) struct Recent {
    tree: NodeRef,
    scope: Scope,
    after: Option<String>,
    entries_max: usize,
}

impl Call<ReaderState> for Recent {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let tree = asked.node("id")?;
        let scope = Scope::new("recent", tree.tenant.as_ref()).text(tree.id.as_str());
        let after =
            asked.parameters.text("cursor").map(|cursor| asked.shared.own.cursors.open(&scope, &cursor)).transpose();
        let after = after.map_err(|error| Problem::new(Kind::BadCursor, error.to_string()).at("cursor"))?;
        Ok(Self { tree, scope, after, entries_max: limit(asked, CHANGES_MAX)?.unwrap_or(CHANGES_MAX) })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        at.shared.own.feed.demand(&at.reader(), at.deadline.now_ms(), None).await?;
        let is_first = self.after.is_none();
        let page = at.reader().recent(&self.tree, self.after, self.entries_max).await?;
        if is_first && page.items.is_empty() {
            demand_root(at, &self.tree).await?;
        }
        let body = |(time, change)| ChangeBody::of(&change, Some(time), &at.shared.settings);
        let cursor = page.next.map(|next| at.shared.own.cursors.seal(&self.scope, &next));
        at.json(&PageBody { items: page.items.into_iter().map(body).collect(), cursor, placed: None })
    }
}
