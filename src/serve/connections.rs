//! Connections: accepts, serves HTTP/1.1 with limits on header size and time, and ends all within ten seconds of a stop.

use std::{convert::Infallible, io, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// Time in which a client must send the header of a request, and after which an idle connection is closed.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of a request's header, in bytes.
const MAX_HEADER_BYTES: usize = 64 << 10;

/// Time for open requests to end after a stop.
const GRACE: Duration = Duration::from_secs(10);

/// Pause after a failed accept, such as with no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `shutdown` is cancelled and open requests have ended, or ten seconds later.
pub(super) async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            Some(_) = connections.join_next() => continue,
            () = shutdown.cancelled() => break,
        };
        // Answers are small writes: without this they wait for the client's acknowledgement.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone().into_service::<hyper::body::Incoming>());
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(MAX_HEADER_BYTES);
        let shutdown = shutdown.clone();
        connections.spawn(async move {
            let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
            tokio::select! {
                // An error is the client's: it went away or sent no HTTP.
                _ = connection.as_mut() => return Ok::<(), Infallible>(()),
                () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
            Ok(())
        });
    }
    let ended = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        tracing::warn!(open = connections.len(), "connections were closed before their requests ended");
    }
    Ok(())
}
