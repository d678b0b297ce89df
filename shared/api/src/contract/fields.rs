//! Bodies of requests, declared once: from one declaration come the type, its reader and its schema. And what bodies of
//! answers have in common.

use sapwood_core::keys::{Id, check_segment};
use sapwood_json::{self as json, Fields, FromJson, JsonError, Place};
use serde_json::value::RawValue;

/// Declares the body of a request, or a part of one. Each field has its type and how it is read: a function of
/// [`Fields`] and the field's name. `"an object …"` says what the JSON must be, if it is something else.
macro_rules! body {
    (
        $(#[$of_body:meta])*
        $body:ident: $wanted:literal {
            $($(#[$of_field:meta])* $field:ident: $type:ty = $read:expr),* $(,)?
        }
    ) => {
        $(#[$of_body])*
        #[derive(Clone, Debug, PartialEq, utoipa::ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $body {
            $($(#[$of_field])* pub $field: $type,)*
        }

        $crate::contract::fields::reads!($body: $wanted { $($field = $read),* });
    };
}

/// Declares the bodies of answers. A field `name?` may be absent, and is never null.
macro_rules! answers {
    ($(
        $(#[$of_body:meta])*
        $body:ident {
            $($(#[$of_field:meta])* $field:ident $(?: $optional:ty)? $(: $type:ty)?),* $(,)?
        }
    )*) => {$(
        $(#[$of_body])*
        pub struct $body {
            $(
                $(#[$of_field])*
                $(pub $field: $type,)?
                $(
                    #[serde(skip_serializing_if = "Option::is_none")]
                    #[schema(nullable = false)]
                    pub $field: Option<$optional>,
                )?
            )*
        }
    )*};
}

/// Makes the reader of a body of its fields.
macro_rules! reads {
    ($body:ident: $wanted:literal { $($field:ident = $read:expr),* $(,)? }) => {
        impl $body {
            /// Reads the fields, and leaves others to the caller.
            pub(super) fn take(
                fields: &mut sapwood_json::Fields<'_>,
            ) -> Result<Self, sapwood_json::JsonError> {
                Ok(Self { $($field: ($read)(fields, stringify!($field))?,)* })
            }
        }

        impl sapwood_json::FromJson for $body {
            const WANTED: &'static str = $wanted;

            fn from_json(
                raw: &serde_json::value::RawValue,
                at: &sapwood_json::Place<'_>,
            ) -> Result<Self, sapwood_json::JsonError> {
                let mut fields = sapwood_json::Fields::open(raw, at, Self::WANTED)?;
                let body = Self::take(&mut fields)?;
                fields.close().map(|()| body)
            }
        }
    };
}

/// Declares the words of an enumeration, for bodies and for query strings.
macro_rules! words {
    ($type:ident: $wanted:literal { $($word:literal = $value:ident),* $(,)? }) => {
        impl $type {
            /// Each value with its word in a query string.
            pub const WORDS: &[(&'static str, Self)] = &[$(($word, Self::$value)),*];
        }

        impl sapwood_json::FromJson for $type {
            const WANTED: &'static str = $wanted;

            fn from_json(
                raw: &serde_json::value::RawValue,
                at: &sapwood_json::Place<'_>,
            ) -> Result<Self, sapwood_json::JsonError> {
                let said = sapwood_json::text(raw, at)?;
                let found = Self::WORDS.iter().find(|(word, _)| *word == said);
                let other = || sapwood_json::JsonError::Type { path: at.to_string(), wanted: Self::WANTED };
                found.map(|(_, value)| *value).ok_or_else(other)
            }
        }
    };
}

pub(super) use {answers, body, reads, words};

type Read<T> = Result<T, JsonError>;

/// A field that may be absent.
pub(super) fn optional<T>(
    read: impl FnOnce(&RawValue, &Place<'_>) -> Read<T>,
) -> impl FnOnce(&mut Fields<'_>, &str) -> Read<Option<T>> {
    |fields, name| fields.optional(name, read)
}

/// A field that may be absent, or null, which says the same.
pub(super) fn nullable<T>(
    read: impl FnOnce(&RawValue, &Place<'_>) -> Read<T>,
) -> impl FnOnce(&mut Fields<'_>, &str) -> Read<Option<T>> {
    |fields, name| Ok(fields.optional(name, json::or_null(read))?.flatten())
}

/// A field that has a value of its own where it is absent.
pub(super) fn defaulted<T: FromJson + Default>(fields: &mut Fields<'_>, name: &str) -> Read<T> {
    Ok(fields.optional(name, json::value)?.unwrap_or_default())
}

/// A field that must be there. `remedy` says what to do if it isn't.
pub(super) fn required<T>(
    remedy: &'static str,
    read: impl FnOnce(&RawValue, &Place<'_>) -> Read<T>,
) -> impl FnOnce(&mut Fields<'_>, &str) -> Read<T> {
    move |fields, name| fields.required(name, remedy, read)
}

/// The id of a node, which must be there.
pub(super) fn id_of_node(fields: &mut Fields<'_>, name: &str) -> Read<Id> {
    fields.required(name, "give the node's id", json::id)
}

/// The fields of another body, among these.
pub(super) fn all_of<T>(
    take: impl FnOnce(&mut Fields<'_>) -> Read<T>,
) -> impl FnOnce(&mut Fields<'_>, &str) -> Read<T> {
    |fields, _| take(fields)
}

/// Reads a segment that a key can hold.
pub(super) fn segment(raw: &RawValue, at: &Place<'_>) -> Read<String> {
    let segment = json::text(raw, at)?;
    match check_segment(&segment) {
        Ok(()) => Ok(segment),
        Err(source) => Err(JsonError::Key { path: at.to_string(), source }),
    }
}
