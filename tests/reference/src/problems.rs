//! The problems of the API, of its enumeration.

use std::fmt::Write;

use sapwood_api::problem::Kind;

/// Each problem with its status, cause, and what to do.
pub(crate) fn page() -> String {
    let mut page = String::new();
    for kind in Kind::ALL {
        let (cause, fix) = guidance(*kind);
        let retry = match kind.retry_after() {
            Some(seconds) => format!("yes, after `Retry-After` ({seconds} s)"),
            None => "not unchanged".to_owned(),
        };
        let retry = if *kind == Kind::OutcomeUnknown { "see below".to_owned() } else { retry };
        let _ = write!(
            page,
            "## {}\n\n{} · {} · retry: {retry}\n\n- **Cause:** {cause}\n- **Fix:** {fix}\n\n",
            kind.slug(),
            kind.status().as_u16(),
            kind.title(),
        );
    }
    page
}

/// The cause of a problem, and what a client does about it.
fn guidance(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::BadPath => (
            "The path has a segment that isn't valid percent-encoding, an unknown resource, or an id that no key can hold.",
            "Encode each id, and escape `.`, `..` and slashes as the page of HTTP conventions says.",
        ),
        Kind::BadParameter => (
            "A query parameter is unknown, repeated, or has a value that doesn't fit.",
            "Read `field` and `detail`, and correct the parameter.",
        ),
        Kind::BadCursor => (
            "The page cursor was changed, belongs to another query or tenant, or was signed by a key that is no longer valid.",
            "Start the list again without `cursor`.",
        ),
        Kind::BadHeader => (
            "A header such as `If-Match`, `Prefer` or `Idempotency-Key` can't be parsed.",
            "Correct the header that `field` names.",
        ),
        Kind::BadJson => (
            "The body isn't JSON, or lacks a field, or has one of another type.",
            "Correct the field that `field` names.",
        ),
        Kind::Forbidden => (
            "The caller's token has no tenant, or lacks the scope for this request.",
            "Use a token with the tenant's claim and the scope.",
        ),
        Kind::RevisionsKept => {
            ("The deployment keeps revisions immutable.", "Append a new revision, or deploy `RevisionsMutable=on`.")
        }
        Kind::NoTrash => ("The deployment has no trash.", "Deploy `Trash=on`, or delete the node."),
        Kind::NotFound => (
            "The node, revision or operation doesn't exist, or the deployment keeps no such rows.",
            "Check the id. For a list, check the parameter that the detail names, and run `sapwood backfill`.",
        ),
        Kind::MethodNotAllowed => ("The path exists, but not with this method.", "Use a method that `Allow` names."),
        Kind::Exists => ("The id is in use.", "Choose another id, or change the node by `PATCH`."),
        Kind::NameTaken => {
            ("A sibling has the name. `node` is its id.", "Choose another name, or send `\"on_conflict\": \"rename\"`.")
        }
        Kind::HasChildren => {
            ("The node has children.", "Set `children` to `delete`, `adopt` or `detach`, or move them first.")
        }
        Kind::NotUpToDate => (
            "The node's rows aren't up to date, so they can't show whether it has children.",
            "Retry after `Retry-After`, or send the token of the last write.",
        ),
        Kind::Cycle => {
            ("The new parent is the node itself or one of its descendants.", "Choose a parent outside of the subtree.")
        }
        Kind::Deleting => ("The node, or one of its ancestors, is being deleted.", "Wait for the operation to finish."),
        Kind::InTrash => ("The node, or its new parent, is in the trash.", "Restore it first."),
        Kind::NotInTrash => (
            "The node isn't in the trash, or only because an ancestor is.",
            "Restore the ancestor, or read the node again.",
        ),
        Kind::NoWayBack => (
            "The parent that the node had is gone, in the trash, or below the node.",
            "Name a parent, or `null` for a root.",
        ),
        Kind::NotASibling => (
            "The node named by `before` or `after` isn't a child of the parent.",
            "Read the children again, and name one of them.",
        ),
        Kind::NoRoom => ("No value of the order attribute fits between the two siblings.", "Name another position."),
        Kind::Contended => {
            ("Other requests kept changing the same nodes.", "Retry after `Retry-After`, with growing pauses.")
        }
        Kind::TooManyCopies => ("The tenant has as many copies running as are allowed.", "Retry after `Retry-After`."),
        Kind::InProgress => (
            "The first request with this idempotency key is still running, or was cut off.",
            "Retry after `Retry-After` with the same key and body.",
        ),
        Kind::PreconditionFailed => (
            "`If-Match` or `If-None-Match` doesn't hold: the node has changed.",
            "Read the node, apply your change to what you read, and send the new tag.",
        ),
        Kind::BodyTooLarge => ("The body is larger than the limit.", "Split a batch, or store large values elsewhere."),
        Kind::UnsupportedMediaType => (
            "The `Content-Type` isn't JSON.",
            "Send `application/json`, or `application/merge-patch+json` for a `PATCH`.",
        ),
        Kind::ParentMissing => {
            ("The parent doesn't exist.", "Create the parent first, or put both into one batch in that order.")
        }
        Kind::TooDeep => (
            "The node, or one of its descendants, would be below the deepest level that has rows.",
            "Choose a higher parent.",
        ),
        Kind::ReservedName => {
            ("An attribute has a name that begins with `_`, or is one of the keys.", "Rename the attribute.")
        }
        Kind::BadKey => (
            "No key can hold the id, topic, segment or version: it is empty, too long, or has a character that keys reserve.",
            "Choose another one within the limits.",
        ),
        Kind::BadValue => (
            "DynamoDB or a parameter doesn't allow the value: a number of more than 38 digits, an empty set, nesting that is too deep, or a reference that holds no id.",
            "Correct the attribute that `field` names.",
        ),
        Kind::ItemTooLarge => (
            "The item would exceed 400 KB in the table, or what Lambda can carry as JSON.",
            "Move large attributes to nodes of their own, or to Amazon S3.",
        ),
        Kind::IdempotencyMismatch => {
            ("The idempotency key was used for a request with another body.", "Use a new key for each new request.")
        }
        Kind::OutcomeUnknown => (
            "The table gave no answer, and the write may have been carried out.",
            "With an idempotency key, send the same request again. Otherwise read the node first.",
        ),
        Kind::Unavailable => (
            "The table throttles, or time is up. Nothing is half done.",
            "Retry after `Retry-After`, with growing pauses.",
        ),
        Kind::Internal => (
            "An internal error. The log of the function has it, under the request's id.",
            "Retry once. If it stays, read the log of the function.",
        ),
    }
}
