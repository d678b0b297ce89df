//! What a connection's bytes say that hyper doesn't hand on: a `#` in the target of a request.
//!
//! hyper takes what follows it for a fragment and drops it, so that `DELETE /nodes/ORDER#98765?children=restrict` would arrive as
//! `DELETE /nodes/ORDER`. Browsers and curl never send one, but simple clients do.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Whether a connection has brought a request line with a `#`.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragments(Arc<AtomicBool>);

impl Fragments {
    pub(super) fn seen(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream whose bytes are looked at as they are read.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    line: Line,
    fragments: Fragments,
}

/// Where in a line the last byte stood. Any line may be a request's: no line of JSON begins with capitals and a blank, so a body is
/// taken for one only where it tries to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Start,
    Method,
    Target { fragment: bool },
    Version { matched: usize },
    Other,
}

/// What stands after the target of a request.
const VERSION: &[u8] = b"HTTP/1.";

impl Line {
    /// After one more byte; whether a request line with a `#` is complete now.
    fn after(self, byte: u8) -> (Self, bool) {
        let next = match (self, byte) {
            (_, b'\n') | (Self::Start, b'\r') => Self::Start,
            (Self::Start | Self::Method, b'A'..=b'Z') => Self::Method,
            (Self::Method, b' ') => Self::Target { fragment: false },
            (Self::Target { fragment: true }, b' ') => Self::Version { matched: 0 },
            (Self::Target { fragment: false }, b' ') => Self::Other,
            (Self::Target { fragment }, byte) => Self::Target { fragment: fragment || byte == b'#' },
            (Self::Version { matched }, byte) if VERSION.get(matched) == Some(&byte) => {
                return (Self::Version { matched: matched + 1 }, matched + 1 == VERSION.len());
            }
            _ => Self::Other,
        };
        (next, false)
    }
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, fragments: Fragments) -> Self {
        Self { stream, line: Line::Start, fragments }
    }

    fn watch(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let (line, complete) = self.line.after(*byte);
            self.line = line;
            if complete {
                self.fragments.0.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.watch(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> bool {
        let fragments = Fragments::default();
        let mut watched = Watched::new((), fragments.clone());
        // Wherever the bytes are cut.
        for byte in text.as_bytes() {
            watched.watch(std::slice::from_ref(byte));
        }
        fragments.seen()
    }

    #[test]
    fn a_fragment_in_the_line_of_any_request_is_seen() {
        assert!(seen("DELETE /nodes/ORDER#98765?children=restrict HTTP/1.1\r\n"));
        assert!(seen("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /nodes/a?b=# HTTP/1.1\r\n"), "of the second as well");
        assert!(seen("\r\nGET /# HTTP/1.0"));
    }

    #[test]
    fn a_number_sign_elsewhere_is_none() {
        assert!(!seen("GET / HTTP/1.1\r\nCookie: # HTTP/1.1\r\nX: # HTTP/1.1\r\n\r\n{\"id\": \"GET # HTTP/1.1\"}\n"));
        assert!(!seen("POST /nodes HTTP/1.1\r\n\r\nAB c#d"), "a chunk of a body may begin anywhere");
    }
}
