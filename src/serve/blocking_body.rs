//! Bodies as readers and writers of blocking code. A writer gives the body of an answer, a reader takes the body of a
//! request. Both hold a few pieces in memory, however large the body is.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use axum::body::{Body, Bytes};
use futures_util::{Stream, StreamExt as _, stream};
use tokio::{runtime::Handle, sync::mpsc};

use super::error::{ApiError, Result};

/// Bytes of a piece.
const PIECE_BYTES: usize = 64 << 10;

/// Pieces in memory.
const MAX_PIECES: usize = 4;

/// Time after which a client that reads nothing loses its answer: the writer holds a snapshot of the database.
const STALL_TIME: Duration = Duration::from_secs(30);

/// Writer whose bytes are the body of an answer. It runs on a thread for blocking calls.
pub(super) struct BodyWriter {
    pieces: mpsc::Sender<Result<Bytes>>,
    runtime: Handle,
    buffer: Vec<u8>,
}

impl BodyWriter {
    fn send(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.buffer));
        let sent = self.runtime.block_on(tokio::time::timeout(STALL_TIME, self.pieces.send(Ok(piece))));
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client went away")),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")),
        }
    }
}

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

/// Returns the body that a blocking function writes. An error before the first piece is the answer instead; a later one
/// breaks the connection, so that the client does not take the part for the whole.
pub(super) async fn written_body(write: impl FnOnce(&mut BodyWriter) -> Result<()> + Send + 'static) -> Result<Body> {
    let (pieces, mut written) = mpsc::channel(MAX_PIECES);
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let mut writer = BodyWriter { pieces: pieces.clone(), runtime: runtime.clone(), buffer: Vec::new() };
        let done = write(&mut writer).and_then(|()| writer.send().map_err(ApiError::internal));
        if let Err(error) = done {
            // A closed channel is a client that went away.
            let _ = runtime.block_on(pieces.send(Err(error)));
        }
    });
    let first = written.recv().await.transpose()?;
    let rest = stream::unfold(written, |mut written| async move { written.recv().await.map(|piece| (piece, written)) });
    let rest = rest.map(|piece| piece.map_err(|error| io::Error::other(error.message().to_owned())));
    Ok(Body::from_stream(stream::iter(first.map(Ok)).chain(rest)))
}

/// Reader of the body of a request. It fails if the body ends early or is longer than the limit.
pub(super) struct BodyReader {
    pieces: mpsc::Receiver<io::Result<Option<Bytes>>>,
    piece: Bytes,
    /// Bytes that may still come.
    left: u64,
    ended: bool,
}

/// True if an error says that a body is longer than its limit.
pub(super) fn is_too_long(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::FileTooLarge
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() && !self.ended {
            match self.pieces.blocking_recv() {
                Some(Ok(Some(piece))) => {
                    let left = self.left.checked_sub(piece.len() as u64);
                    self.left =
                        left.ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "the body is too large"))?;
                    self.piece = piece;
                }
                Some(Ok(None)) => self.ended = true,
                Some(Err(error)) => return Err(error),
                None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the client went away")),
            }
        }
        let count = buffer.len().min(self.piece.len());
        buffer[..count].copy_from_slice(&self.piece.split_to(count));
        Ok(count)
    }
}

/// Calls a blocking function with a reader of a body.
pub(super) async fn read_body<T: Send + 'static>(
    body: Body,
    max_bytes: u64,
    read: impl FnOnce(BodyReader) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, pieces) = mpsc::channel(MAX_PIECES);
    let reader = BodyReader { pieces, piece: Bytes::new(), left: max_bytes, ended: false };
    let done = tokio::task::spawn_blocking(move || read(reader));
    let ((), done) = tokio::join!(send_pieces(body.into_data_stream(), sender), done);
    done.map_err(ApiError::internal)?
}

async fn send_pieces<E: std::fmt::Display>(
    mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    sender: mpsc::Sender<io::Result<Option<Bytes>>>,
) {
    while let Some(piece) = body.next().await {
        let piece = piece.map(Some).map_err(|error| io::Error::other(error.to_string()));
        let failed = piece.is_err();
        // A closed channel is a reader that has enough.
        if sender.send(piece).await.is_err() || failed {
            return;
        }
    }
    let _ = sender.send(Ok(None)).await;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn a_body_that_is_written_can_be_read() {
        let text: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        let expected = text.clone();
        let body = written_body(move |out| {
            text.chunks(1_000).try_for_each(|part| out.write_all(part)).map_err(ApiError::internal)
        });
        let read = |mut reader: BodyReader| {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map_err(|error| ApiError::invalid(error.to_string()))?;
            Ok(bytes)
        };
        assert_eq!(read_body(body.await.unwrap(), 1 << 30, read).await.unwrap(), expected);
    }

    #[tokio::test]
    async fn a_body_that_is_too_long_or_breaks_is_no_whole_one() {
        let read = |mut reader: BodyReader| {
            let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
            Ok(is_too_long(&error))
        };
        assert!(read_body(Body::from(vec![0; 1_001]), 1_000, read).await.unwrap());
        let broken = stream::iter([Ok(Bytes::from_static(b"a")), Err(io::Error::other("reset"))]);
        assert!(!read_body(Body::from_stream(broken), 1_000, read).await.unwrap());
    }

    #[tokio::test]
    async fn an_error_before_the_first_piece_is_the_answer() {
        let failed = written_body(|_| Err(ApiError::invalid("no"))).await;
        assert_eq!(failed.unwrap_err().code(), "invalid");
    }
}
