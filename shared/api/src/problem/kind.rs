//! The kinds of problems.

use axum::http::StatusCode;

/// Declares the kinds: each has a name in the `type` of a problem, a title for people, and a status code.
macro_rules! kinds {
    ($($(#[$of:meta])* $kind:ident => ($slug:literal, $title:literal, $status:ident),)*) => {
        /// A kind of problem: each error of the contract has one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$of])* $kind,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The status code of the answer.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self {
                    $(Self::$kind => StatusCode::$status,)*
                }
            }

            /// The kind's name in the `type` of a problem.
            #[must_use]
            pub fn slug(self) -> &'static str {
                match self {
                    $(Self::$kind => $slug,)*
                }
            }

            /// The kind's title, for people.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$kind => $title,)*
                }
            }
        }
    };
}

kinds! {
    /// The path of the URL can't be read.
    BadPath => ("bad-path", "Invalid path", BAD_REQUEST),
    /// A parameter of the query string is unknown or doesn't fit.
    BadParameter => ("bad-parameter", "Invalid query parameter", BAD_REQUEST),
    /// The cursor was altered, or belongs to another query or tenant.
    BadCursor => ("bad-cursor", "Invalid cursor", BAD_REQUEST),
    /// A header can't be read.
    BadHeader => ("bad-header", "Invalid header", BAD_REQUEST),
    /// The body isn't JSON of the expected shape.
    BadJson => ("bad-json", "Invalid request body", BAD_REQUEST),
    /// The authorizer names no tenant.
    Forbidden => ("forbidden", "Forbidden", FORBIDDEN),
    /// The deployment doesn't allow changes of revisions.
    RevisionsKept => ("revisions-kept", "Revisions are immutable", FORBIDDEN),
    /// The deployment has no trash.
    NoTrash => ("no-trash", "The trash is switched off", FORBIDDEN),
    /// The thing doesn't exist.
    NotFound => ("not-found", "Not found", NOT_FOUND),
    /// The path exists, but not with this method.
    MethodNotAllowed => ("method-not-allowed", "Method not allowed", METHOD_NOT_ALLOWED),
    /// Something with that id exists already.
    Exists => ("exists", "Already exists", CONFLICT),
    /// A sibling has that name already.
    NameTaken => ("name-taken", "Name already taken", CONFLICT),
    /// The node has children.
    HasChildren => ("has-children", "The node has children", CONFLICT),
    /// The node's rows aren't up to date yet, so they can't show whether it has children.
    NotUpToDate => ("not-up-to-date", "Rows not up to date yet", CONFLICT),
    /// The move would make a node its own ancestor.
    Cycle => ("cycle", "A node can't be its own ancestor", CONFLICT),
    /// The node, or one above it, is being deleted.
    Deleting => ("deleting", "The node is being deleted", CONFLICT),
    /// The node, or its new parent, is in the trash.
    InTrash => ("in-trash", "The node is in the trash", CONFLICT),
    /// The node wasn't put into the trash.
    NotInTrash => ("not-in-trash", "The node isn't in the trash", CONFLICT),
    /// The node can't go back where it was before it was put into the trash.
    NoWayBack => ("no-way-back", "Can't restore to the former parent", CONFLICT),
    /// The node that another is to be next to isn't its sibling.
    NotASibling => ("not-a-sibling", "Not a sibling", CONFLICT),
    /// No value fits between two siblings.
    NoRoom => ("no-room", "No value fits at that position", CONFLICT),
    /// Other clients kept changing the same nodes.
    Contended => ("contended", "Write contention", CONFLICT),
    /// As many copies of the tenant go on as there may be at once.
    TooManyCopies => ("too-many-copies", "Too many copies are running", CONFLICT),
    /// A request with this idempotency key is still running.
    InProgress => ("in-progress", "Request in progress", CONFLICT),
    /// The deployment has no feeds.
    ChangesOff => ("changes-off", "Feeds are switched off", CONFLICT),
    /// The feeds have no name yet.
    FeedNotBegun => ("feed-not-begun", "Feeds haven't begun", CONFLICT),
    /// A feed was asked for of a node that has a parent.
    NotARoot => ("not-a-root", "Not a root", CONFLICT),
    /// The cursor of a feed is too old, or of a feed that has ended.
    ListAnew => ("list-anew", "List the tree anew", GONE),
    /// `If-Match` or `If-None-Match` doesn't hold.
    PreconditionFailed => ("precondition-failed", "Precondition failed", PRECONDITION_FAILED),
    /// The body exceeds its limit.
    BodyTooLarge => ("body-too-large", "Request body too large", PAYLOAD_TOO_LARGE),
    /// The body has another media type.
    UnsupportedMediaType => ("unsupported-media-type", "Unsupported media type", UNSUPPORTED_MEDIA_TYPE),
    /// The parent doesn't exist.
    ParentMissing => ("parent-missing", "Parent not found", UNPROCESSABLE_ENTITY),
    /// The node, or a descendant of it, would be deeper than trees can be.
    TooDeep => ("too-deep", "Tree too deep", UNPROCESSABLE_ENTITY),
    /// An attribute's name is reserved.
    ReservedName => ("reserved-name", "Reserved name", UNPROCESSABLE_ENTITY),
    /// No key can hold this id, topic, segment or version.
    BadKey => ("bad-key", "Invalid key", UNPROCESSABLE_ENTITY),
    /// The table can't keep the value.
    BadValue => ("bad-value", "Invalid value", UNPROCESSABLE_ENTITY),
    /// The item would exceed 400 KB.
    ItemTooLarge => ("item-too-large", "Item too large", UNPROCESSABLE_ENTITY),
    /// The idempotency key was used with another body.
    IdempotencyMismatch => ("idempotency-mismatch", "Idempotency key reused", UNPROCESSABLE_ENTITY),
    /// The table gave no answer, and the request may have been carried out or not.
    OutcomeUnknown => ("outcome-unknown", "Outcome unknown", SERVICE_UNAVAILABLE),
    /// The request may succeed in a moment.
    Unavailable => ("unavailable", "Service unavailable", SERVICE_UNAVAILABLE),
    /// An internal error.
    Internal => ("internal", "Internal error", INTERNAL_SERVER_ERROR),
}

impl Kind {
    /// After how many seconds the same request may succeed. `None` if only another request can.
    #[must_use]
    pub fn retry_after(self) -> Option<u8> {
        match self {
            Self::Unavailable | Self::Internal | Self::Contended | Self::NotUpToDate => Some(1),
            // The answer to a single request says how long the first one's lease holds.
            Self::InProgress | Self::TooManyCopies => Some(5),
            _ => None,
        }
    }

    /// The `type` of a problem: `urn:sapwood:problem:cycle`.
    #[must_use]
    pub fn uri(self) -> String {
        format!("urn:sapwood:problem:{}", self.slug())
    }
}
