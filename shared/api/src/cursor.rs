//! Cursors: positions in lists, sealed for clients.
//!
//! A cursor is a position and an authentication code, in base64url. The code covers the position, the list with its
//! parameters, and the tenant. So a cursor works for its own list alone, in any process, and positions can't be forged.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

/// The version of the format. A cursor of another version is stale.
const FORMAT: u8 = 1;

/// The length of the code in a cursor: 128 bits.
const CODE_BYTES: usize = 16;

const SECRET_BYTES_MIN: usize = 16;

/// The key that makes and checks cursors. All functions of a deployment have the same one.
#[derive(Clone)]
pub struct CursorKey {
    newest: Hmac<Sha256>,
    /// The key before, whose cursors still open.
    older: Option<Hmac<Sha256>>,
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey")
    }
}

/// The secret is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the secret of cursors has fewer than {SECRET_BYTES_MIN} bytes; make one of 32 random bytes, written as text")]
pub struct ShortSecret;

/// Why a cursor is refused. The client is told to read the list from its beginning either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CursorError {
    /// An older or a newer deployment made the cursor, in another format.
    #[error("this cursor no longer works; read the list from its beginning")]
    Stale,
    /// The cursor was altered, belongs to another list or tenant, or its key is gone.
    #[error(
        "this cursor doesn't belong to this list; pass the cursor of the page before, and change no parameter but `limit`"
    )]
    Foreign,
}

/// The list that a cursor is bound to: kind, parameters and tenant, each with its length, so no two are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Scope(Vec<u8>);

impl Scope {
    /// Begins the scope of a kind of list in a tenant.
    pub fn new(kind: &str, tenant: Option<&sapwood_core::keys::Tenant>) -> Self {
        Self(Vec::new()).text(kind).optional(tenant.map(sapwood_core::keys::Tenant::as_str))
    }

    /// Adds a parameter.
    pub fn text(mut self, text: &str) -> Self {
        self.0.push(1);
        self.0.extend((text.len() as u64).to_be_bytes());
        self.0.extend(text.as_bytes());
        self
    }

    /// Adds a parameter that may be absent.
    pub fn optional(mut self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => {
                self.0.push(0);
                self
            }
        }
    }

    /// Adds a number.
    pub fn number(self, number: usize) -> Self {
        self.text(&number.to_string())
    }

    /// Adds a list.
    pub fn list<'a>(self, texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts: Vec<&str> = texts.into_iter().collect();
        let counted = self.number(texts.len());
        texts.into_iter().fold(counted, Self::text)
    }
}

impl CursorKey {
    /// Makes a key of a secret.
    pub fn new(secret: &[u8]) -> Result<Self, ShortSecret> {
        Ok(Self { newest: keyed(secret)?, older: None })
    }

    /// The same key, which also opens the cursors of an older one, so that a deployment's key can be changed.
    pub fn with_older(self, secret: &[u8]) -> Result<Self, ShortSecret> {
        Ok(Self { older: Some(keyed(secret)?), ..self })
    }

    /// Seals a position as a cursor.
    #[must_use]
    pub fn seal(&self, scope: &Scope, position: &str) -> String {
        let mut cursor = vec![FORMAT];
        cursor.extend(position.as_bytes());
        let code = code(&self.newest, scope, &cursor).finalize().into_bytes();
        cursor.extend(&code[..CODE_BYTES]);
        URL_SAFE_NO_PAD.encode(cursor)
    }

    /// Returns the position in a cursor.
    ///
    /// # Errors
    /// [`CursorError`] if the cursor wasn't made for this scope with this key or the older one.
    pub fn open(&self, scope: &Scope, cursor: &str) -> Result<String, CursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| CursorError::Foreign)?;
        if bytes.first().is_some_and(|format| *format != FORMAT) {
            return Err(CursorError::Stale);
        }
        let split = bytes.len().checked_sub(CODE_BYTES).filter(|split| *split > 0).ok_or(CursorError::Foreign)?;
        let (sealed, found) = bytes.split_at(split);
        let mut keys = [Some(&self.newest), self.older.as_ref()].into_iter().flatten();
        if !keys.any(|key| code(key, scope, sealed).verify_truncated_left(found).is_ok()) {
            return Err(CursorError::Foreign);
        }
        String::from_utf8(sealed[1..].to_vec()).map_err(|_| CursorError::Foreign)
    }
}

fn keyed(secret: &[u8]) -> Result<Hmac<Sha256>, ShortSecret> {
    if secret.len() < SECRET_BYTES_MIN {
        return Err(ShortSecret);
    }
    Hmac::new_from_slice(secret).map_err(|_| ShortSecret)
}

fn code(key: &Hmac<Sha256>, scope: &Scope, sealed: &[u8]) -> Hmac<Sha256> {
    let length = (scope.0.len() as u64).to_be_bytes();
    key.clone().chain_update(length).chain_update(&scope.0).chain_update(sealed)
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
        // Another implementation of HMAC computed this cursor. A function may hand it out before an update and get it
        // back after it, so a change here is a change of FORMAT.
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
    fn after_a_change_of_the_key_the_cursors_of_the_older_one_still_open_and_new_ones_are_the_new_keys() {
        let newest = || CursorKey::new(b"another secret of enough bytes").unwrap();
        let both = newest().with_older(SECRET).unwrap();
        assert_eq!(both.open(&scope(), &key().seal(&scope(), "at")).as_deref(), Ok("at"));
        let cursor = both.seal(&scope(), "at");
        assert_eq!(newest().open(&scope(), &cursor).as_deref(), Ok("at"));
        assert_eq!(key().open(&scope(), &cursor), Err(CursorError::Foreign));
        let third = CursorKey::new(b"a third secret of enough bytes").unwrap();
        assert_eq!(both.open(&scope(), &third.seal(&scope(), "at")), Err(CursorError::Foreign));
        assert!(newest().with_older(b"fifteen bytes..").is_err());
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
