//! Local ids: the short names of nodes for humans and models.
//!
//! A local id is a prefix of the *random* part of the node's ULID (its characters 11 to 26), not of the whole. The
//! first ten characters are a clock: all nodes of a quarter of an hour share six of them, and every local id would grow
//! to ten characters or more. Six characters are 30 random bits. `store/choose_local_id.rs` chooses the length.

use std::{fmt, ops::Deref};

use serde::{Deserialize, Serialize};

use super::NodeId;

/// Length of a local id without collision.
const MIN_LENGTH: usize = 6;
/// Length of a ULID's random part, and so the maximum length of a local id.
const MAX_LENGTH: usize = 16;
/// Length of a ULID's clock part.
const CLOCK_LENGTH: usize = 10;

/// A node's short name: 6 (rarely more) lower-case Crockford base32 characters, unique in its tree, immutable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LocalId {
    /// Inline storage, padded with zeros: every loaded node has a local id, and none is allocated.
    bytes: [u8; MAX_LENGTH],
    length: u8,
}

/// An error of parsing a local id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a local id: {0:?} ({MIN_LENGTH} to {MAX_LENGTH} characters of lower-case Crockford base32)")]
pub struct LocalIdError(pub String);

impl LocalId {
    /// Returns the first `length` random characters of a node's ULID, in lower case. Clamps `length` to 6..=16.
    #[must_use]
    pub fn derive(node: NodeId, length: usize) -> Self {
        let mut text = [0; ulid::ULID_LEN];
        let text = node.ulid().array_to_str(&mut text);
        text.make_ascii_lowercase();
        Self::truncated(&text[CLOCK_LENGTH..][..length.clamp(MIN_LENGTH, MAX_LENGTH)])
    }

    /// Stores at most [`MAX_LENGTH`] bytes of an ASCII text.
    fn truncated(text: &str) -> Self {
        let (mut bytes, length) = ([0; MAX_LENGTH], text.len().min(MAX_LENGTH));
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Self { bytes, length: u8::try_from(length).unwrap_or_default() }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // All characters are ASCII.
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl Deref for LocalId {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for LocalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalId").field(&self.as_str()).finish()
    }
}

impl fmt::Display for LocalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl TryFrom<&str> for LocalId {
    type Error = LocalIdError;

    fn try_from(text: &str) -> Result<Self, LocalIdError> {
        let fits = (MIN_LENGTH..=MAX_LENGTH).contains(&text.len()) && text.bytes().all(is_base32);
        if fits { Ok(Self::truncated(text)) } else { Err(LocalIdError(text.to_owned())) }
    }
}

impl TryFrom<String> for LocalId {
    type Error = LocalIdError;

    fn try_from(text: String) -> Result<Self, LocalIdError> {
        Self::try_from(text.as_str())
    }
}

impl From<LocalId> for String {
    fn from(id: LocalId) -> Self {
        id.as_str().to_owned()
    }
}

fn is_base32(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'h' | b'j' | b'k' | b'm' | b'n' | b'p'..=b't' | b'v'..=b'z')
}

/// An id written by a user or a model, normalised: brackets removed, lower case, look-alikes folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternText {
    /// A full ULID.
    Full(NodeId),
    /// A local id, a prefix of one, or more of the random part.
    Local(LocalPattern),
}

/// A prefix of a node's random part: 2 to 16 base32 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalPattern(String);

impl LocalPattern {
    /// The normalised characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PatternText {
    /// Parses an id in any accepted form: `a7x2kq`, `A7X2`, `[a7x2kq]`, a ULID. Reads `o` as `0`, and `i` and `l` as
    /// `1`; drops hyphens. Returns `None` if the text cannot name a node in any tree.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text).trim();
        let mut folded = String::with_capacity(text.len());
        for c in text.chars() {
            match c.to_ascii_lowercase() {
                'o' => folded.push('0'),
                'i' | 'l' => folded.push('1'),
                '-' => {}
                c if u8::try_from(c).is_ok_and(is_base32) => folded.push(c),
                _ => return None,
            }
        }
        match folded.len() {
            26 => folded.parse().ok().map(Self::Full),
            2..=MAX_LENGTH => Some(Self::Local(LocalPattern(folded))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ulid::Ulid;

    use super::*;

    fn node(text: &str) -> NodeId {
        text.parse().unwrap()
    }

    #[test]
    fn a_local_id_comes_from_the_random_part() {
        let id = node("01ARZ3NDEKTSV4RRFFQ69G5FAV");
        assert_eq!(LocalId::derive(id, 6).as_str(), "tsv4rr");
        assert_eq!(LocalId::derive(id, 8).as_str(), "tsv4rrff");
        assert_eq!(LocalId::derive(id, 99).as_str(), "tsv4rrffq69g5fav");
    }

    #[test]
    fn nodes_of_one_millisecond_do_not_share_local_ids() {
        use crate::{
            id::{IdSource, RandomIds},
            types::Timestamp,
        };
        let ids = RandomIds::seeded(7);
        let at = Timestamp::from_millis(1_700_000_000_000);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1_000 {
            seen.insert(LocalId::derive(NodeId::new(ids.ulid(at)), 6));
        }
        assert!(seen.len() >= 999, "{} of 1000 are different", seen.len());
    }

    #[test]
    fn every_accepted_form_is_read() {
        let short = |text: &str| match PatternText::read(text) {
            Some(PatternText::Local(local)) => local.0,
            other => panic!("{text:?}: {other:?}"),
        };
        assert_eq!(short("a7x2kq"), "a7x2kq");
        assert_eq!(short("A7X2"), "a7x2");
        assert_eq!(short("[a7x2kq]"), "a7x2kq");
        assert_eq!(short(" [ a7 ] "), "a7");
        assert_eq!(short("oil0"), "0110");
        let full = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        assert_eq!(PatternText::read(full), Some(PatternText::Full(node(full))));
        assert_eq!(PatternText::read(&full.to_lowercase()), Some(PatternText::Full(node(full))));
        for bad in ["", "a", "a7u2", "a7 x2", "hello world", "é7", "[a7x2", "01ARZ3NDEKTSV4RRFFQ69G5FAVX"] {
            assert_eq!(PatternText::read(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_ulid_is_read_back(random in any::<u128>(), ms in 0u64..(1 << 48)) {
            let id = NodeId::new(Ulid::from_parts(ms, random));
            prop_assert_eq!(PatternText::read(&id.to_string()), Some(PatternText::Full(id)));
            let local = LocalId::derive(id, 6);
            prop_assert!(LocalId::try_from(local.as_str().to_owned()).is_ok());
            let read = PatternText::read(&local.to_uppercase());
            prop_assert_eq!(read, Some(PatternText::Local(LocalPattern(local.as_str().to_owned()))));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = PatternText::read(&text);
        }
    }
}
