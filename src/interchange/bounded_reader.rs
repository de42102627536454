//! Reader with a limit, for streams that unpack to more than they hold.

use std::io::{self, Read};

/// Reader that fails where its stream is longer than a limit.
pub(super) struct BoundedReader<R> {
    inner: R,
    /// Bytes that may still come.
    pub(super) left: u64,
}

impl<R> BoundedReader<R> {
    pub(super) fn new(inner: R, max_bytes: u64) -> Self {
        Self { inner, left: max_bytes }
    }
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.left.checked_sub(read as u64);
        self.left = left.ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "it unpacks to too many bytes"))?;
        Ok(read)
    }
}
