//! Converts the bytes of tokens to text: complete characters only, without stop texts or their beginnings.

/// Decoder of one reply.
#[derive(Debug, Default)]
pub(super) struct Detokenizer {
    /// Bytes of an incomplete character.
    bytes: Vec<u8>,
    /// Text held back, because it may be the beginning of a stop text.
    pending: String,
    stops: Vec<String>,
}

impl Detokenizer {
    /// Creates a decoder that ends the reply at the first of `stops`.
    pub(super) fn new(stops: &[String]) -> Detokenizer {
        let stops = stops.iter().filter(|stop| !stop.is_empty()).cloned().collect();
        Detokenizer { stops, ..Detokenizer::default() }
    }

    /// Decodes more bytes. Returns the text that can be emitted now, and whether a stop text ended the reply.
    pub(super) fn push(&mut self, bytes: &[u8]) -> (String, bool) {
        self.bytes.extend_from_slice(bytes);
        self.decode();
        let stop = self.stops.iter().filter_map(|stop| self.pending.find(stop.as_str())).min();
        if let Some(at) = stop {
            self.pending.truncate(at);
            return (std::mem::take(&mut self.pending), true);
        }
        // The longest suffix that is the beginning of a stop text.
        let open = self.pending.char_indices().map(|(at, _)| at);
        let open = open.into_iter().find(|at| self.stops.iter().any(|stop| stop.starts_with(&self.pending[*at..])));
        let pending = self.pending.split_off(open.unwrap_or(self.pending.len()));
        (std::mem::replace(&mut self.pending, pending), false)
    }

    /// Returns the text held back at the end of the reply. An incomplete character is dropped.
    pub(super) fn flush(&mut self) -> String {
        self.bytes.clear();
        std::mem::take(&mut self.pending)
    }

    /// Decodes complete characters; an invalid byte becomes U+FFFD.
    fn decode(&mut self) {
        loop {
            match std::str::from_utf8(&self.bytes) {
                Ok(text) => {
                    self.pending.push_str(text);
                    self.bytes.clear();
                    return;
                }
                Err(error) => {
                    let whole = error.valid_up_to();
                    self.pending.push_str(&String::from_utf8_lossy(&self.bytes[..whole]));
                    let Some(wrong) = error.error_len() else {
                        self.bytes.drain(..whole);
                        return;
                    };
                    self.pending.push(char::REPLACEMENT_CHARACTER);
                    self.bytes.drain(..whole + wrong);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text emitted for each piece, and whether a stop text ended the reply.
    fn emitted(stops: &[&str], pieces: &[&[u8]]) -> (Vec<String>, bool) {
        let stops: Vec<String> = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let mut detokenizer = Detokenizer::new(&stops);
        let mut shown = Vec::new();
        for piece in pieces {
            let (text, stopped) = detokenizer.push(piece);
            shown.push(text);
            if stopped {
                return (shown, true);
            }
        }
        shown.push(detokenizer.flush());
        (shown, false)
    }

    #[test]
    fn only_complete_characters_are_emitted() {
        let euro = "€".as_bytes();
        let pieces: [&[u8]; 4] = [b"a", &euro[..1], &euro[1..2], &euro[2..]];
        assert_eq!(
            emitted(&[], &pieces),
            (vec!["a".into(), String::new(), String::new(), "€".into(), String::new()], false)
        );
        // An incomplete character is dropped at the end, and replaced in the middle.
        assert_eq!(emitted(&[], &[b"a", &euro[..2]]).0.concat(), "a");
        assert_eq!(emitted(&[], &[&euro[..2], b"b\xff"]).0.concat(), "\u{fffd}b\u{fffd}");
    }

    #[test]
    fn stop_texts_and_their_beginnings_are_not_emitted() {
        assert_eq!(emitted(&["\n\n"], &[b"one\n", b"\ntwo"]), (vec!["one".into(), String::new()], true));
        assert_eq!(emitted(&["\n\n"], &[b"one\n", b"two"]), (vec!["one".into(), "\ntwo".into(), String::new()], false));
        assert_eq!(emitted(&["END", "E!"], &[b"say E", b"N", b"D"]).0.concat(), "say ");
        assert_eq!(emitted(&["END", "E!"], &[b"say EN", b"E", b"!"]).0.concat(), "say EN");
        // The earliest stop text counts, and text pending at the end belongs to the reply.
        assert_eq!(emitted(&["b", "ab"], &[b"xab"]).0.concat(), "x");
        assert_eq!(emitted(&["END", ""], &[b"the EN"]).0.concat(), "the EN");
    }
}
