//! Zstandard streams, in which Codex CLI and Zed keep old conversations.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Bytes with which a frame begins.
const MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// True if bytes begin a compressed stream.
pub(super) fn is_compressed(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Decompresses a stream of at most `max_bytes`.
///
/// # Errors
/// If the stream is malformed or longer.
pub(super) fn decompress(bytes: &[u8], max_bytes: usize) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    ZstdReader::new(bytes).take(max_bytes as u64 + 1).read_to_end(&mut out)?;
    if out.len() > max_bytes {
        return Err(io::Error::other(format!("it is longer than {max_bytes} bytes")));
    }
    Ok(out)
}

/// Decompressed content of a stream of frames. It keeps a window of each frame in memory.
pub(super) struct ZstdReader<R> {
    source: R,
    /// `None` between two frames.
    frame: Option<FrameDecoder>,
}

impl<R: BufRead> ZstdReader<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, frame: None }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let malformed = |error: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(frame) = &mut self.frame else {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                let mut frame = FrameDecoder::new();
                frame.init(&mut self.source).map_err(|error| malformed(&error))?;
                self.frame = Some(frame);
                continue;
            };
            while frame.can_collect() < buffer.len() && !frame.is_finished() {
                let wanted = BlockDecodingStrategy::UptoBytes(buffer.len() - frame.can_collect());
                frame.decode_blocks(&mut self.source, wanted).map_err(|error| malformed(&error))?;
            }
            let read = frame.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            self.frame = None;
        }
    }
}
