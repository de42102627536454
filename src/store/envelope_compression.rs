//! Provider envelopes as deflate streams.

use std::io::{self, Read, Write};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};

/// Maximum size in bytes of an uncompressed envelope. Compression would save a third, but building a stream's tables
/// takes longer than the rest of reading or writing it.
const MAX_STORED_BYTES: usize = 1_024;

/// First byte of a deflate stream of one stored block; its length, the complement, and the text follow.
const STORED_BLOCK: u8 = 1;

/// Encodes a text as a deflate stream.
pub(super) fn pack(text: &str) -> io::Result<Vec<u8>> {
    if let Some(length) = u16::try_from(text.len()).ok().filter(|_| text.len() <= MAX_STORED_BYTES) {
        let head = [&[STORED_BLOCK][..], &length.to_le_bytes(), &(!length).to_le_bytes()];
        return Ok([&head.concat(), text.as_bytes()].concat());
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

/// Decodes a deflate stream into `text`; a stored block needs no decoder.
pub(super) fn unpack(packed: &[u8], text: &mut String) -> io::Result<()> {
    text.clear();
    if let Some(([STORED_BLOCK, low, high, ..], stored)) = packed.split_at_checked(5)
        && usize::from(u16::from_le_bytes([*low, *high])) == stored.len()
    {
        text.push_str(std::str::from_utf8(stored).map_err(io::Error::other)?);
        return Ok(());
    }
    DeflateDecoder::new(packed).read_to_string(text).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_of_all_lengths_come_back_and_every_decoder_reads_them() {
        for length in [0, 1, 5, MAX_STORED_BYTES - 1, MAX_STORED_BYTES, MAX_STORED_BYTES + 1, 70_000] {
            let text = "ä{".repeat(length / 3) + &"x".repeat(length % 3);
            let packed = pack(&text).unwrap();
            let (mut read, mut inflated) = (String::from("before"), String::new());
            unpack(&packed, &mut read).unwrap();
            DeflateDecoder::new(&packed[..]).read_to_string(&mut inflated).unwrap();
            assert!(read == text && inflated == text, "{length}");
            assert_eq!(packed.len() == text.len() + 5, length <= MAX_STORED_BYTES, "{length}");
        }
        for wrong in [&[][..], &[1, 1, 0, 254, 255], &[1, 2, 0, 253, 255, b'x', 0xff], &[7, 7, 7]] {
            assert!(unpack(wrong, &mut String::new()).is_err(), "{wrong:?}");
        }
    }
}
