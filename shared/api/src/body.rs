//! The bodies of requests, of at most 1 MB.

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt;

use crate::problem::{Kind, Problem};

/// The largest body that is read, in bytes.
pub const BODY_BYTES_MAX: usize = 1_048_576;

/// The most bytes of a larger body that are skipped, so that the client reads the answer. API Gateway allows 10 MB.
const SKIPPED_BYTES_MAX: usize = 10 * BODY_BYTES_MAX;

/// Reads a whole body.
///
/// # Errors
/// [`Kind::BodyTooLarge`]; [`Kind::BadJson`] if the body doesn't arrive whole.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::stream;

    use super::*;

    async fn read(body: Body) -> Result<Bytes, Kind> {
        read_whole(body).await.map_err(|problem| problem.kind())
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_refused_whether_it_is_announced_or_not() {
        let text = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        assert!(read(Body::from(text(BODY_BYTES_MAX))).await.is_ok());
        assert_eq!(read(Body::from(text(BODY_BYTES_MAX + 1))).await, Err(Kind::BodyTooLarge));
        let pieces = (0..=1_024).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 1_024])));
        let pieces = Body::from_stream(stream::iter(pieces));
        assert_eq!(read(pieces).await, Err(Kind::BodyTooLarge));
        let endless = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 65_536])));
        assert_eq!(read(Body::from_stream(endless)).await, Err(Kind::BodyTooLarge));
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_refused() {
        let broken = stream::iter([Ok(Bytes::from("[1")), Err(std::io::Error::other("reset"))]);
        assert_eq!(read(Body::from_stream(broken)).await, Err(Kind::BadJson));
    }
}
