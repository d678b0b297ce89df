//! The kinds of problems.

use axum::http::StatusCode;

/// A kind of problem: each error of the contract has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The path of the URL can't be read.
    BadPath,
    /// A parameter of the query string is unknown or doesn't fit.
    BadParameter,
    /// The cursor was altered, or belongs to another query or tenant.
    BadCursor,
    /// A header can't be read.
    BadHeader,
    /// The body isn't JSON of the expected shape.
    BadJson,
    /// The authorizer names no tenant.
    Forbidden,
    /// The deployment doesn't allow changes of revisions.
    RevisionsKept,
    /// The deployment has no trash.
    NoTrash,
    /// The thing doesn't exist.
    NotFound,
    /// The path exists, but not with this method.
    MethodNotAllowed,
    /// Something with that id exists already.
    Exists,
    /// A sibling has that name already.
    NameTaken,
    /// The node has children.
    HasChildren,
    /// The node's rows aren't up to date yet, so they can't show whether it has children.
    NotYetPlaced,
    /// The move would make a node its own ancestor.
    Cycle,
    /// The node, or one above it, is being deleted.
    Deleting,
    /// The node, or its new parent, is in the trash.
    InTrash,
    /// The node wasn't put into the trash.
    NotInTrash,
    /// The node can't go back where it was before it was put into the trash.
    NoWayBack,
    /// The node that another is to be next to isn't its sibling.
    NotASibling,
    /// No value fits between two siblings.
    NoRoom,
    /// Other clients kept changing the same nodes.
    Contended,
    /// As many copies of the tenant go on as there may be at once.
    TooManyCopies,
    /// A request with this idempotency key is still running.
    InProgress,
    /// `If-Match` or `If-None-Match` doesn't hold.
    PreconditionFailed,
    /// The body exceeds its limit.
    BodyTooLarge,
    /// The body has another media type.
    UnsupportedMediaType,
    /// The parent doesn't exist.
    ParentMissing,
    /// The node, or a descendant of it, would be deeper than trees can be.
    TooDeep,
    /// An attribute's name is reserved.
    ReservedName,
    /// No key can hold this id, topic, segment or version.
    BadKey,
    /// The table can't keep the value.
    BadValue,
    /// The item would exceed 400 KB.
    ItemTooLarge,
    /// The idempotency key was used with another body.
    IdempotencyMismatch,
    /// The table gave no answer, and the request may have been carried out or not.
    OutcomeUnknown,
    /// The request may succeed in a moment.
    Unavailable,
    /// An internal error.
    Internal,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 37] = [
        Self::BadPath,
        Self::BadParameter,
        Self::BadCursor,
        Self::BadHeader,
        Self::BadJson,
        Self::Forbidden,
        Self::RevisionsKept,
        Self::NoTrash,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Exists,
        Self::NameTaken,
        Self::HasChildren,
        Self::NotYetPlaced,
        Self::Cycle,
        Self::Deleting,
        Self::InTrash,
        Self::NotInTrash,
        Self::NoWayBack,
        Self::NotASibling,
        Self::NoRoom,
        Self::Contended,
        Self::TooManyCopies,
        Self::InProgress,
        Self::PreconditionFailed,
        Self::BodyTooLarge,
        Self::UnsupportedMediaType,
        Self::ParentMissing,
        Self::TooDeep,
        Self::ReservedName,
        Self::BadKey,
        Self::BadValue,
        Self::ItemTooLarge,
        Self::IdempotencyMismatch,
        Self::OutcomeUnknown,
        Self::Unavailable,
        Self::Internal,
    ];

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

    /// The status code of the answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::BadPath | Self::BadParameter | Self::BadCursor | Self::BadHeader | Self::BadJson => {
                StatusCode::BAD_REQUEST
            }
            Self::Forbidden | Self::RevisionsKept | Self::NoTrash => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Exists
            | Self::NameTaken
            | Self::HasChildren
            | Self::NotYetPlaced
            | Self::Cycle
            | Self::Deleting
            | Self::InTrash
            | Self::NotInTrash
            | Self::NoWayBack
            | Self::NotASibling
            | Self::NoRoom
            | Self::Contended
            | Self::TooManyCopies
            | Self::InProgress => StatusCode::CONFLICT,
            Self::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::ParentMissing
            | Self::TooDeep
            | Self::ReservedName
            | Self::BadKey
            | Self::BadValue
            | Self::ItemTooLarge
            | Self::IdempotencyMismatch => StatusCode::UNPROCESSABLE_ENTITY,
            Self::OutcomeUnknown | Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The kind's name in the `type` of a problem.
    #[must_use]
    pub fn slug(self) -> &'static str {
        self.texts().0
    }

    /// The kind's title, for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.texts().1
    }

    /// The `type` of a problem: `urn:sapwood:problem:cycle`.
    #[must_use]
    pub fn uri(self) -> String {
        format!("urn:sapwood:problem:{}", self.slug())
    }

    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::BadPath => ("bad-path", "The path can't be read"),
            Self::BadParameter => ("bad-parameter", "A parameter is unknown or doesn't fit"),
            Self::BadCursor => ("bad-cursor", "The cursor isn't one of this query"),
            Self::BadHeader => ("bad-header", "A header can't be read"),
            Self::BadJson => ("bad-json", "The body isn't the JSON that is expected"),
            Self::Forbidden => ("forbidden", "The caller may not do this"),
            Self::RevisionsKept => ("revisions-kept", "Revisions can't be changed here"),
            Self::NoTrash => ("no-trash", "There is no trash here"),
            Self::NotFound => ("not-found", "There is no such thing"),
            Self::MethodNotAllowed => ("method-not-allowed", "The path doesn't take this method"),
            Self::Exists => ("exists", "It exists already"),
            Self::NameTaken => ("name-taken", "A sibling has that name"),
            Self::HasChildren => ("has-children", "The node has children"),
            Self::NotYetPlaced => ("not-yet-placed", "The node's rows aren't up to date yet"),
            Self::Cycle => ("cycle", "A node can't be below itself"),
            Self::Deleting => ("deleting", "The node is being deleted"),
            Self::InTrash => ("in-trash", "The node is in the trash"),
            Self::NotInTrash => ("not-in-trash", "The node isn't in the trash"),
            Self::NoWayBack => ("no-way-back", "The node can't go back to its former parent"),
            Self::NotASibling => ("not-a-sibling", "The node isn't a child of that parent"),
            Self::NoRoom => ("no-room", "There is no room at that place"),
            Self::Contended => ("contended", "Others change the same nodes"),
            Self::TooManyCopies => ("too-many-copies", "Too many copies go on"),
            Self::InProgress => ("in-progress", "The first request with this key is still running"),
            Self::PreconditionFailed => ("precondition-failed", "A precondition doesn't hold"),
            Self::BodyTooLarge => ("body-too-large", "The body is too large"),
            Self::UnsupportedMediaType => ("unsupported-media-type", "The body is of another media type"),
            Self::ParentMissing => ("parent-missing", "The parent doesn't exist"),
            Self::TooDeep => ("too-deep", "The tree would be too deep"),
            Self::ReservedName => ("reserved-name", "The name is reserved"),
            Self::BadKey => ("bad-key", "No key can hold this"),
            Self::BadValue => ("bad-value", "The value can't be kept"),
            Self::ItemTooLarge => ("item-too-large", "The item is too large"),
            Self::IdempotencyMismatch => ("idempotency-mismatch", "The key was used with another body"),
            Self::OutcomeUnknown => ("outcome-unknown", "The write may have been carried out, or not"),
            Self::Unavailable => ("unavailable", "The service can't answer now"),
            Self::Internal => ("internal", "The service has a fault"),
        }
    }
}
