//! The problems of the API, of its enumeration.

use sapwood_api::problem::Kind;

use super::row;

/// Each problem with its status, its cause, what to do, and whether the same request may succeed later.
pub(crate) fn page() -> String {
    let rows = Kind::ALL.iter().map(|kind| {
        let (cause, fix) = guidance(*kind);
        let retry = kind.retry_after().map_or_else(|| "no".to_owned(), |seconds| format!("after {seconds} s"));
        let name = format!("<a id=\"{0}\"></a>`{0}`", kind.slug());
        row(&[name, kind.status().as_u16().to_string(), cause.to_owned(), fix.to_owned(), retry])
    });
    format!("| name | status | cause | fix | same request again |\n|---|---|---|---|---|\n{}", rows.collect::<String>())
}

/// The cause of a problem, and what a client does about it.
fn guidance(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::BadPath => ("the URL path can't be read", "write ids as [`~XX`](http-conventions.md#ids-in-paths)"),
        Kind::BadParameter => ("a query parameter is unknown or doesn't fit", "correct it"),
        Kind::BadCursor => ("the cursor belongs to another query or tenant", "begin at the first page"),
        Kind::BadHeader => ("a header can't be read", "correct it"),
        Kind::BadJson => ("the body isn't the JSON that the call expects", "see [openapi.json](../openapi.json)"),
        Kind::Forbidden => ("the caller has no tenant, or its token lacks a scope", "change the token"),
        Kind::RevisionsKept => ("revisions can't be changed here", "deploy `RevisionsMutable=on`"),
        Kind::NoTrash => ("the deployment has no trash", "deploy `Trash=on`"),
        Kind::NotFound => (
            "nothing is there, or the deployment keeps no such rows",
            "check the id; deploy the parameter; run `sapwood backfill`",
        ),
        Kind::MethodNotAllowed => ("the path doesn't take this method", "see `Allow`"),
        Kind::Exists => ("the id is taken", "use another id, or `PUT`"),
        Kind::NameTaken => ("a sibling has the name", "[another name, or `on_conflict`](../guides/unique-names.md)"),
        Kind::HasChildren => {
            ("the node has children", "set [`children`](../guides/write.md#delete-a-node-or-a-subtree)")
        }
        Kind::NotUpToDate => ("the node's rows aren't up to date yet", "retry after `Retry-After`"),
        Kind::Cycle => ("the move would put a node below itself", "choose another parent"),
        Kind::Deleting => ("the node, or an ancestor, is being deleted", "wait for the operation"),
        Kind::InTrash => ("the node, or its new parent, is in the trash", "[restore it](../guides/trash.md)"),
        Kind::NotInTrash => {
            ("the node itself wasn't put into the trash", "if it is below one in the trash, move it out (`PATCH`)")
        }
        Kind::NoWayBack => ("the former parent is gone or in the trash", "name another parent"),
        Kind::NotASibling => ("the named sibling has another parent, or is gone", "read the list again"),
        Kind::NoRoom => ("no sort value fits between two siblings", "give them other values"),
        Kind::Contended => ("other clients keep changing the same nodes", "retry after `Retry-After`"),
        Kind::TooManyCopies => ("too many copies are running", "retry after `Retry-After`"),
        Kind::InProgress => ("the first request with this key is running, or was cut off", "retry after `Retry-After`"),
        Kind::PreconditionFailed => ("`If-Match` or `If-None-Match` doesn't hold", "read again, then retry"),
        Kind::BodyTooLarge => ("the body is over 1 MB", "send less"),
        Kind::UnsupportedMediaType => {
            ("wrong `Content-Type`, or compressed", "see [bodies](http-conventions.md#methods-and-bodies)")
        }
        Kind::ParentMissing => ("the parent doesn't exist", "create it first"),
        Kind::TooDeep => ("the tree would be deeper than 98, or the transaction has no room", "choose another parent"),
        Kind::ReservedName => ("an attribute's name is reserved", "rename it"),
        Kind::BadKey => ("no key can hold the id, segment, topic or version", "shorten or change it"),
        Kind::BadValue => ("the value can't be kept, such as a number of 39 digits", "change it"),
        Kind::ItemTooLarge => {
            ("the item would be over 400 KB", "[move large attributes out](../guides/model.md#choose-attributes)")
        }
        Kind::IdempotencyMismatch => ("the key was used with another body", "use another key"),
        Kind::Internal => ("a fault of the service", "retry; see [the runbook](../operate/runbooks/api-errors.md)"),
        Kind::OutcomeUnknown => (
            "the write may have been carried out or not",
            "[read `Location`, then decide](../guides/write.md#when-no-answer-comes)",
        ),
        Kind::Unavailable => ("the table is throttled or busy; nothing is half done", "retry after `Retry-After`"),
    }
}
