//! Cursors: positions in lists, sealed for clients.
//!
//! A cursor is the position, in base64url, with a code that only the key's holders can make: of the position, and of the
//! list with all its parameters, and the tenant. So a cursor is good for its own list alone, whichever function or process made
//! it, and nothing that a client writes into one is ever read.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

/// The format: a cursor of another one is stale.
const FORMAT: u8 = 1;

/// How much of the code a cursor carries: 128 bits.
const CODE_BYTES: usize = 16;

/// Shortest secret.
const SECRET_BYTES_MIN: usize = 16;

/// What cursors are made and checked with. All functions of a deployment have the same.
#[derive(Clone)]
pub struct CursorKey(Hmac<Sha256>);

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey")
    }
}

/// A secret that is too short to keep one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the secret of cursors has fewer than {SECRET_BYTES_MIN} bytes; make one of 32 random bytes, written as text")]
pub struct ShortSecret;

/// Why a cursor isn't taken. The caller is told the same whatever it is: read the list from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CursorError {
    /// It was made in another format, by an older or a newer deployment.
    #[error("this cursor is of no use any more; read the list from its beginning")]
    Stale,
    /// It isn't what was handed out for this list with these parameters: it was altered, is another list's or another
    /// tenant's, or the key has changed.
    #[error(
        "this cursor isn't one of this list; pass on the one that the page before gave, and change no parameter but `limit`"
    )]
    Foreign,
}

/// What a cursor is bound to: the kind of list, its parameters, and the tenant. Each part is written with its length, so that no
/// two lists are bound alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope(Vec<u8>);

impl Scope {
    /// The scope of a kind of list, of one tenant.
    #[must_use]
    pub fn new(kind: &str, tenant: Option<&sapwood_core::keys::Tenant>) -> Self {
        Self(Vec::new()).text(kind).optional(tenant.map(sapwood_core::keys::Tenant::as_str))
    }

    /// With a parameter.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.0.push(1);
        self.0.extend((text.len() as u64).to_be_bytes());
        self.0.extend(text.as_bytes());
        self
    }

    /// With a parameter that needn't be there.
    #[must_use]
    pub fn optional(mut self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => {
                self.0.push(0);
                self
            }
        }
    }

    /// With a number.
    #[must_use]
    pub fn number(self, number: usize) -> Self {
        self.text(&number.to_string())
    }

    /// With a list.
    #[must_use]
    pub fn list<'a>(self, texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts: Vec<&str> = texts.into_iter().collect();
        let counted = self.number(texts.len());
        texts.into_iter().fold(counted, Self::text)
    }
}

impl CursorKey {
    /// A key out of a secret.
    ///
    /// # Errors
    /// [`ShortSecret`] for one of fewer than 16 bytes.
    pub fn new(secret: &[u8]) -> Result<Self, ShortSecret> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(ShortSecret);
        }
        Hmac::new_from_slice(secret).map(Self).map_err(|_| ShortSecret)
    }

    /// The cursor of a position.
    #[must_use]
    pub fn seal(&self, scope: &Scope, position: &str) -> String {
        let mut cursor = vec![FORMAT];
        cursor.extend(position.as_bytes());
        let code = self.code(scope, &cursor).finalize().into_bytes();
        cursor.extend(&code[..CODE_BYTES]);
        URL_SAFE_NO_PAD.encode(cursor)
    }

    /// The position of a cursor.
    ///
    /// # Errors
    /// [`CursorError`] for one that wasn't made for this scope with this key.
    pub fn open(&self, scope: &Scope, cursor: &str) -> Result<String, CursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| CursorError::Foreign)?;
        if bytes.first().is_some_and(|format| *format != FORMAT) {
            return Err(CursorError::Stale);
        }
        let split = bytes.len().checked_sub(CODE_BYTES).filter(|split| *split > 0).ok_or(CursorError::Foreign)?;
        let (sealed, code) = bytes.split_at(split);
        self.code(scope, sealed).verify_truncated_left(code).map_err(|_| CursorError::Foreign)?;
        String::from_utf8(sealed[1..].to_vec()).map_err(|_| CursorError::Foreign)
    }

    fn code(&self, scope: &Scope, sealed: &[u8]) -> Hmac<Sha256> {
        let length = (scope.0.len() as u64).to_be_bytes();
        self.0.clone().chain_update(length).chain_update(&scope.0).chain_update(sealed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use sapwood_core::keys::Tenant;

    const SECRET: &[u8] = b"a secret of enough bytes";

    fn key() -> CursorKey {
        CursorKey::new(SECRET).unwrap()
    }

    fn scope() -> Scope {
        Scope::new("descendants", None).text("D").number(1).optional(None)
    }

    #[test]
    fn a_cursor_opens_in_another_process_with_the_same_secret() {
        for position in ["", "a#é\u{10ffff}", &"x".repeat(1_024)] {
            assert_eq!(key().open(&scope(), &key().seal(&scope(), position)).as_deref(), Ok(position));
        }
    }

    #[test]
    fn a_cursor_is_the_same_from_one_release_to_the_next() {
        // Computed with another implementation of HMAC. Handed out by a function before an update, and passed back after it. A change here is a change of FORMAT.
        assert_eq!(key().seal(&scope(), "at"), "AWF0rw5fbuHwTpFPIFnBbIKetw");
    }

    #[test]
    fn a_cursor_with_any_byte_altered_left_out_or_added_is_refused() {
        let cursor = key().seal(&scope(), "a position");
        for at in 0..cursor.len() {
            for byte in (0x20..0x7f_u8).filter(|byte| *byte != cursor.as_bytes()[at]) {
                let mut altered = cursor.clone().into_bytes();
                altered[at] = byte;
                let altered = String::from_utf8(altered).unwrap();
                assert!(key().open(&scope(), &altered).is_err(), "{altered}");
            }
            assert!(key().open(&scope(), &cursor[..at]).is_err());
            assert!(key().open(&scope(), &cursor[at + 1..]).is_err());
            let added = format!("{}A{}", &cursor[..at], &cursor[at..]);
            assert!(key().open(&scope(), &added).is_err());
        }
        for longer in ["A", "=", "==", "\n", "AAAA"] {
            assert!(key().open(&scope(), &format!("{cursor}{longer}")).is_err());
        }
    }

    #[test]
    fn a_cursor_of_another_list_another_tenant_or_another_key_is_refused() {
        let cursor = key().seal(&scope(), "at");
        let tenant = Tenant::new("t").unwrap();
        for other in [
            Scope::new("count", None).text("D").number(1).optional(None),
            Scope::new("descendants", Some(&tenant)).text("D").number(1).optional(None),
            Scope::new("descendants", None).text("E").number(1).optional(None),
            Scope::new("descendants", None).text("D").number(2).optional(None),
            Scope::new("descendants", None).text("D").number(1).optional(Some("")),
            Scope::new("descendants", None).text("D1").optional(None),
            Scope::new("descendants", None).text("D").number(1),
            Scope::new("descendants", None).list(["D", "1"]).optional(None),
        ] {
            assert_eq!(key().open(&other, &cursor), Err(CursorError::Foreign), "{other:?}");
        }
        let other = CursorKey::new(b"another secret of enough bytes").unwrap();
        assert_eq!(other.open(&scope(), &cursor), Err(CursorError::Foreign));
    }

    #[test]
    fn a_cursor_of_another_format_is_stale() {
        let mut bytes = URL_SAFE_NO_PAD.decode(key().seal(&scope(), "at")).unwrap();
        bytes[0] = FORMAT + 1;
        assert_eq!(key().open(&scope(), &URL_SAFE_NO_PAD.encode(bytes)), Err(CursorError::Stale));
    }

    #[test]
    fn a_short_secret_makes_no_key() {
        assert!(CursorKey::new(b"fifteen bytes..").is_err() && CursorKey::new(b"sixteen bytes...").is_ok());
        assert!(!format!("{:?}", key()).contains("97"), "a key doesn't show its secret");
    }
}
