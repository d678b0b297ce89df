//! Bodies: JSON of at most 1 MB, read into a type that says what may be in it.

mod json;
#[cfg(test)]
mod tests;

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt;
pub use json::{JsonBody, MergePatch, parse};

use crate::problem::{Kind, Problem};

/// The largest body that is read.
pub const BODY_BYTES_MAX: usize = 1_048_576;

/// What is read and thrown away of a larger one, so that the client hears the answer before the connection ends. API Gateway
/// lets no more than 10 MB through.
const SKIPPED_BYTES_MAX: usize = 10 * BODY_BYTES_MAX;

/// A body as a whole.
///
/// # Errors
/// [`Kind::BodyTooLarge`]; [`Kind::BadJson`] where it doesn't arrive whole.
pub async fn read_whole(mut body: Body) -> Result<Bytes, Problem> {
    let mut whole = Vec::new();
    let mut seen = 0;
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    while seen.max(announced) <= SKIPPED_BYTES_MAX
        && let Some(frame) = body.frame().await
    {
        let frame = frame.map_err(|_| Problem::new(Kind::BadJson, "the body broke off; send it again"))?;
        let Ok(data) = frame.into_data() else { continue };
        seen += data.len();
        if seen.max(announced) <= BODY_BYTES_MAX {
            whole.extend_from_slice(&data);
        }
    }
    match seen.max(announced) {
        ..=BODY_BYTES_MAX => Ok(whole.into()),
        _ => Err(Problem::new(Kind::BodyTooLarge, "a body has at most 1 MB (1,048,576 bytes); send less at once")),
    }
}
