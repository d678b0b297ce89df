//! The problems of the API, of its enumeration.

use sapwood_api::problem::Kind;

/// Each problem with its status, its cause, what to do, and whether the same request may succeed later.
pub(crate) fn page() -> String {
    let entry = |kind: &Kind| {
        let (cause, fix) = guidance(*kind);
        let (status, slug) = (kind.status().as_u16(), kind.slug());
        let retry = kind.retry_after().map(|seconds| format!(", again after {seconds} s")).unwrap_or_default();
        format!("- <a id=\"{slug}\"></a>`{slug}` ({status}{retry}): {cause}. *{fix}.*\n")
    };
    Kind::ALL.iter().map(entry).collect()
}

/// The cause of a problem, and what a client does about it.
fn guidance(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::BadPath => ("the URL path can't be read", "Write ids as [`~XX`](http-conventions.md#ids-in-paths)"),
        Kind::BadParameter => ("a query parameter is unknown or doesn't fit", "Correct it"),
        Kind::BadCursor => ("the cursor belongs to another query or tenant", "Begin at the first page"),
        Kind::BadHeader => ("a header can't be read", "Correct it"),
        Kind::BadJson => ("the body isn't the JSON that the call expects", "See [openapi.json](../openapi.json)"),
        Kind::Forbidden => ("the caller has no tenant, or its token lacks a scope", "Change the token"),
        Kind::RevisionsKept => ("revisions can't be changed here", "Deploy `RevisionsMutable=on`"),
        Kind::NoTrash => ("the deployment has no trash", "Deploy `Trash=on`"),
        Kind::NotFound => (
            "nothing is there, or the deployment keeps no such rows",
            "Check the id; deploy the parameter; run `sapwood backfill`",
        ),
        Kind::MethodNotAllowed => ("the path doesn't take this method", "See `Allow`"),
        Kind::Exists => ("the id is taken", "Use another id, or `PUT`"),
        Kind::NameTaken => ("a sibling has the name", "[Another name, or `on_conflict`](../guides/unique-names.md)"),
        Kind::HasChildren => {
            ("the node has children", "Set [`children`](../guides/write.md#delete-a-node-or-a-subtree)")
        }
        Kind::NotUpToDate => ("the node's rows aren't up to date yet", "Retry after `Retry-After`"),
        Kind::Cycle => ("the move would put a node below itself", "Choose another parent"),
        Kind::Deleting => ("the node, or an ancestor, is being deleted", "Wait for the operation"),
        Kind::InTrash => ("the node, or its new parent, is in the trash", "[Restore it](../guides/trash.md)"),
        Kind::NotInTrash => {
            ("the node itself wasn't put into the trash", "If it is below one in the trash, move it out (`PATCH`)")
        }
        Kind::NoWayBack => ("the former parent is gone or in the trash", "Name another parent"),
        Kind::NotASibling => ("the named sibling has another parent, or is gone", "Read the list again"),
        Kind::NoRoom => ("no sort value fits between two siblings", "Give them other values"),
        Kind::Contended => ("other clients keep changing the same nodes", "Retry after `Retry-After`"),
        Kind::TooManyCopies => ("too many copies are running", "Retry after `Retry-After`"),
        Kind::InProgress => ("the first request with this key is running, or was cut off", "Retry after `Retry-After`"),
        Kind::ChangesOff => {
            ("the deployment keeps no feeds", "Deploy `Changes=on`, and run `sapwood feed begin` a minute later")
        }
        Kind::FeedNotBegun => {
            ("the feeds haven't begun", "Run `sapwood feed begin` a minute after every function has `Changes=on`")
        }
        Kind::NotARoot => ("a feed is of a whole tree, and the node has a parent", "Ask for its farthest ancestor"),
        Kind::ListAnew => (
            "the cursor is older than 30 days, or of a feed that has ended",
            "[Ask without a cursor, and replace your mirror](../guides/watch.md#follow-a-tree)",
        ),
        Kind::PreconditionFailed => ("`If-Match` or `If-None-Match` doesn't hold", "Read again, then retry"),
        Kind::BodyTooLarge => ("the body is over 1 MB", "Send less"),
        Kind::UnsupportedMediaType => {
            ("wrong `Content-Type`, or compressed", "See [bodies](http-conventions.md#methods-and-bodies)")
        }
        Kind::ParentMissing => ("the parent doesn't exist", "Create it first"),
        Kind::TooDeep => ("the tree would be deeper than 98, or the transaction has no room", "Choose another parent"),
        Kind::ReservedName => ("an attribute's name is reserved", "Rename it"),
        Kind::BadKey => ("no key can hold the id, segment, topic or version", "Shorten or change it"),
        Kind::BadValue => ("the value can't be kept, such as a number of 39 digits", "Change it"),
        Kind::ItemTooLarge => {
            ("the item would be over 400 KB", "[Move large attributes out](../guides/model.md#choose-attributes)")
        }
        Kind::IdempotencyMismatch => ("the key was used with another body", "Use another key"),
        Kind::Internal => ("a fault of the service", "Retry; see [the runbook](../operate/runbooks/api-errors.md)"),
        Kind::OutcomeUnknown => (
            "the write may have been carried out or not",
            "[Read `Location`, then decide](../guides/write.md#when-no-answer-comes)",
        ),
        Kind::Unavailable => ("the table is throttled or busy; nothing is half done", "Retry after `Retry-After`"),
    }
}
