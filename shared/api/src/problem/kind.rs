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
    BadPath => ("bad-path", "The path can't be read", BAD_REQUEST),
    /// A parameter of the query string is unknown or doesn't fit.
    BadParameter => ("bad-parameter", "A parameter is unknown or doesn't fit", BAD_REQUEST),
    /// The cursor was altered, or belongs to another query or tenant.
    BadCursor => ("bad-cursor", "The cursor isn't one of this query", BAD_REQUEST),
    /// A header can't be read.
    BadHeader => ("bad-header", "A header can't be read", BAD_REQUEST),
    /// The body isn't JSON of the expected shape.
    BadJson => ("bad-json", "The body isn't the JSON that is expected", BAD_REQUEST),
    /// The authorizer names no tenant.
    Forbidden => ("forbidden", "The caller may not do this", FORBIDDEN),
    /// The deployment doesn't allow changes of revisions.
    RevisionsKept => ("revisions-kept", "Revisions can't be changed here", FORBIDDEN),
    /// The deployment has no trash.
    NoTrash => ("no-trash", "There is no trash here", FORBIDDEN),
    /// The thing doesn't exist.
    NotFound => ("not-found", "There is no such thing", NOT_FOUND),
    /// The path exists, but not with this method.
    MethodNotAllowed => ("method-not-allowed", "The path doesn't take this method", METHOD_NOT_ALLOWED),
    /// Something with that id exists already.
    Exists => ("exists", "It exists already", CONFLICT),
    /// A sibling has that name already.
    NameTaken => ("name-taken", "A sibling has that name", CONFLICT),
    /// The node has children.
    HasChildren => ("has-children", "The node has children", CONFLICT),
    /// The node's rows aren't up to date yet, so they can't show whether it has children.
    NotYetPlaced => ("not-yet-placed", "The node's rows aren't up to date yet", CONFLICT),
    /// The move would make a node its own ancestor.
    Cycle => ("cycle", "A node can't be below itself", CONFLICT),
    /// The node, or one above it, is being deleted.
    Deleting => ("deleting", "The node is being deleted", CONFLICT),
    /// The node, or its new parent, is in the trash.
    InTrash => ("in-trash", "The node is in the trash", CONFLICT),
    /// The node wasn't put into the trash.
    NotInTrash => ("not-in-trash", "The node isn't in the trash", CONFLICT),
    /// The node can't go back where it was before it was put into the trash.
    NoWayBack => ("no-way-back", "The node can't go back to its former parent", CONFLICT),
    /// The node that another is to be next to isn't its sibling.
    NotASibling => ("not-a-sibling", "The node isn't a child of that parent", CONFLICT),
    /// No value fits between two siblings.
    NoRoom => ("no-room", "There is no room at that place", CONFLICT),
    /// Other clients kept changing the same nodes.
    Contended => ("contended", "Others change the same nodes", CONFLICT),
    /// As many copies of the tenant go on as there may be at once.
    TooManyCopies => ("too-many-copies", "Too many copies go on", CONFLICT),
    /// A request with this idempotency key is still running.
    InProgress => ("in-progress", "The first request with this key is still running", CONFLICT),
    /// `If-Match` or `If-None-Match` doesn't hold.
    PreconditionFailed => ("precondition-failed", "A precondition doesn't hold", PRECONDITION_FAILED),
    /// The body exceeds its limit.
    BodyTooLarge => ("body-too-large", "The body is too large", PAYLOAD_TOO_LARGE),
    /// The body has another media type.
    UnsupportedMediaType => ("unsupported-media-type", "The body is of another media type", UNSUPPORTED_MEDIA_TYPE),
    /// The parent doesn't exist.
    ParentMissing => ("parent-missing", "The parent doesn't exist", UNPROCESSABLE_ENTITY),
    /// The node, or a descendant of it, would be deeper than trees can be.
    TooDeep => ("too-deep", "The tree would be too deep", UNPROCESSABLE_ENTITY),
    /// An attribute's name is reserved.
    ReservedName => ("reserved-name", "The name is reserved", UNPROCESSABLE_ENTITY),
    /// No key can hold this id, topic, segment or version.
    BadKey => ("bad-key", "No key can hold this", UNPROCESSABLE_ENTITY),
    /// The table can't keep the value.
    BadValue => ("bad-value", "The value can't be kept", UNPROCESSABLE_ENTITY),
    /// The item would exceed 400 KB.
    ItemTooLarge => ("item-too-large", "The item is too large", UNPROCESSABLE_ENTITY),
    /// The idempotency key was used with another body.
    IdempotencyMismatch => ("idempotency-mismatch", "The key was used with another body", UNPROCESSABLE_ENTITY),
    /// The table gave no answer, and the request may have been carried out or not.
    OutcomeUnknown => ("outcome-unknown", "The write may have been carried out, or not", SERVICE_UNAVAILABLE),
    /// The request may succeed in a moment.
    Unavailable => ("unavailable", "The service can't answer now", SERVICE_UNAVAILABLE),
    /// An internal error.
    Internal => ("internal", "The service has a fault", INTERNAL_SERVER_ERROR),
}

impl Kind {
    /// After how many seconds the same request may succeed. `None` if only another request can.
    #[must_use]
    pub fn retry_after(self) -> Option<u8> {
        match self {
            Self::Unavailable | Self::Internal | Self::Contended | Self::NotYetPlaced => Some(1),
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
