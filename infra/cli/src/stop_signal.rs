//! The signals that end a process which serves or writes something.

use std::io;

use tokio::sync::oneshot;

/// Catches Ctrl-C and SIGTERM from now on, and, if that is wanted, the end of the standard input: the future resolves
/// at the first of them. Call it before the process says that it serves, because a reader may end it at once.
pub(crate) fn catch(end_with_input: bool) -> anyhow::Result<impl Future<Output = ()>> {
    let failed = |error: io::Error| anyhow::anyhow!("can't wait for Ctrl-C: {error}");
    #[cfg(unix)]
    let (mut interrupted, mut terminated) = {
        use tokio::signal::unix::{SignalKind, signal};
        let of = |kind| signal(kind).map_err(failed);
        (of(SignalKind::interrupt())?, of(SignalKind::terminate())?)
    };
    #[cfg(windows)]
    let (mut interrupted, mut terminated) = {
        use tokio::signal::windows::{ctrl_c, ctrl_close};
        (ctrl_c().map_err(failed)?, ctrl_close().map_err(failed)?)
    };
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => (),
            _ = terminated.recv() => (),
            () = input_end(), if end_with_input => (),
        }
    })
}

/// Resolves at the end of the standard input.
async fn input_end() {
    let (end, ended) = oneshot::channel::<()>();
    // A thread of its own: the runtime would wait at its end for a read that it runs itself.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        drop(end);
    });
    let _ = ended.await;
}
