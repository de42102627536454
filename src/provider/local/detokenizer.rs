//! What a reply says, from tokens' bytes: whole characters only, and nothing of a text that would end it.

/// A reply that is being written.
#[derive(Debug, Default)]
pub(super) struct Detokenizer {
    /// The beginning of a character.
    bytes: Vec<u8>,
    /// What may be the beginning of a stop text.
    held: String,
    stops: Vec<String>,
}

impl Detokenizer {
    /// A reply that ends where one of `stops` comes up.
    pub(super) fn new(stops: &[String]) -> Detokenizer {
        let stops = stops.iter().filter(|stop| !stop.is_empty()).cloned().collect();
        Detokenizer { stops, ..Detokenizer::default() }
    }

    /// Takes more bytes. Gives what can be shown now, and whether the reply ended with a stop text.
    pub(super) fn push(&mut self, bytes: &[u8]) -> (String, bool) {
        self.bytes.extend_from_slice(bytes);
        self.decode();
        let stop = self.stops.iter().filter_map(|stop| self.held.find(stop.as_str())).min();
        if let Some(at) = stop {
            self.held.truncate(at);
            return (std::mem::take(&mut self.held), true);
        }
        // The longest end that a stop text begins with.
        let open = self.held.char_indices().map(|(at, _)| at);
        let open = open.into_iter().find(|at| self.stops.iter().any(|stop| stop.starts_with(&self.held[*at..])));
        let held = self.held.split_off(open.unwrap_or(self.held.len()));
        (std::mem::replace(&mut self.held, held), false)
    }

    /// What was held back, when nothing more comes. Half a character is dropped.
    pub(super) fn end(&mut self) -> String {
        self.bytes.clear();
        std::mem::take(&mut self.held)
    }

    /// Moves whole characters on; what can never become one is shown as such.
    fn decode(&mut self) {
        loop {
            match std::str::from_utf8(&self.bytes) {
                Ok(text) => {
                    self.held.push_str(text);
                    self.bytes.clear();
                    return;
                }
                Err(error) => {
                    let whole = error.valid_up_to();
                    self.held.push_str(&String::from_utf8_lossy(&self.bytes[..whole]));
                    let Some(wrong) = error.error_len() else {
                        self.bytes.drain(..whole);
                        return;
                    };
                    self.held.push(char::REPLACEMENT_CHARACTER);
                    self.bytes.drain(..whole + wrong);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is shown of these pieces, and whether a stop text ended it.
    fn said(stops: &[&str], pieces: &[&[u8]]) -> (Vec<String>, bool) {
        let stops: Vec<String> = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let mut speech = Detokenizer::new(&stops);
        let mut shown = Vec::new();
        for piece in pieces {
            let (text, stopped) = speech.push(piece);
            shown.push(text);
            if stopped {
                return (shown, true);
            }
        }
        shown.push(speech.end());
        (shown, false)
    }

    #[test]
    fn characters_come_whole() {
        let euro = "€".as_bytes();
        let pieces: [&[u8]; 4] = [b"a", &euro[..1], &euro[1..2], &euro[2..]];
        assert_eq!(
            said(&[], &pieces),
            (vec!["a".into(), String::new(), String::new(), "€".into(), String::new()], false)
        );
        // Half a character at the end is dropped; in the middle it is shown as broken.
        assert_eq!(said(&[], &[b"a", &euro[..2]]).0.concat(), "a");
        assert_eq!(said(&[], &[&euro[..2], b"b\xff"]).0.concat(), "\u{fffd}b\u{fffd}");
    }

    #[test]
    fn stop_texts_are_not_shown_not_even_their_beginnings() {
        assert_eq!(said(&["\n\n"], &[b"one\n", b"\ntwo"]), (vec!["one".into(), String::new()], true));
        assert_eq!(said(&["\n\n"], &[b"one\n", b"two"]), (vec!["one".into(), "\ntwo".into(), String::new()], false));
        assert_eq!(said(&["END", "E!"], &[b"say E", b"N", b"D"]).0.concat(), "say ");
        assert_eq!(said(&["END", "E!"], &[b"say EN", b"E", b"!"]).0.concat(), "say EN");
        // The earlier one counts, and what is held at the end belongs to the reply.
        assert_eq!(said(&["b", "ab"], &[b"xab"]).0.concat(), "x");
        assert_eq!(said(&["END", ""], &[b"the EN"]).0.concat(), "the EN");
    }
}
