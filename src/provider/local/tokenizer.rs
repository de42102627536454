//! Tokenizer of a GGUF file, built from its metadata.
//!
//! The `tokenizers` crate merges; this module selects the pre-tokenizer the model was trained with, because the reader of
//! `candle` treats most kinds as GPT-2's. Text never becomes a control token: only the [template](super::template)
//! inserts those, so that content cannot end a message.
//!
//! A token decodes to bytes, because it may be a part of a character.

use std::collections::HashMap;

use candle_core::{Error, Result, bail};
use tokenizers::{
    PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer,
    models::bpe::{BPE, Vocab},
    pre_tokenizers::{
        byte_level::ByteLevel,
        digits::Digits,
        sequence::Sequence,
        split::{Split, SplitPattern},
    },
};

use super::gguf::Gguf;

/// Character that replaces the space in SentencePiece tokens.
const SENTENCEPIECE_SPACE: &str = "▁";

/// Token type in the metadata: plain text.
const TYPE_NORMAL: f32 = 1.0;
/// Token type in the metadata: control token.
const TYPE_CONTROL: f32 = 3.0;
/// Token type in the metadata: a single byte.
const TYPE_BYTE: f32 = 6.0;

const LLAMA3_PATTERN: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Tokenizer of a local model.
pub(super) struct LocalTokenizer {
    tokenizer: Tokenizer,
    /// Bytes of each token; empty for control tokens.
    token_bytes: Vec<Vec<u8>>,
    control: HashMap<String, u32>,
    names: HashMap<u32, String>,
    /// Token that starts every text, if the model uses one.
    pub(super) begin: Option<u32>,
    ends: Vec<u32>,
    /// `Some` if spaces are encoded as [`SENTENCEPIECE_SPACE`]; then true if one precedes the text.
    spaces: Option<bool>,
}

impl std::fmt::Debug for LocalTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalTokenizer").field("tokens", &self.token_bytes.len()).finish_non_exhaustive()
    }
}

impl LocalTokenizer {
    /// Builds the tokenizer from a file's metadata.
    pub(super) fn read(gguf: &Gguf) -> Result<LocalTokenizer> {
        let texts = gguf.texts("tokenizer.ggml.tokens")?;
        let mut kinds = gguf.numbers("tokenizer.ggml.token_type");
        kinds.resize(texts.len(), TYPE_NORMAL);
        let number = |key: &str| gguf.number(&format!("tokenizer.ggml.{key}")).and_then(|id| u32::try_from(id).ok());
        let (tokenizer, token_bytes, spaces) = match gguf.text("tokenizer.ggml.model") {
            Some("gpt2") => (byte_level_bpe(gguf, &texts)?, byte_level_bytes(&texts, &kinds), None),
            Some("llama") => {
                let before = gguf.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true);
                let tokenizer = sentencepiece_bpe(
                    &texts,
                    &kinds,
                    &gguf.numbers("tokenizer.ggml.scores"),
                    number("unknown_token_id"),
                )?;
                (tokenizer, sentencepiece_bytes(&texts, &kinds), Some(before))
            }
            other => bail!("the tokenizer {:?} is not supported", other.unwrap_or("unknown")),
        };
        let numbered = || (0u32..).zip(&texts).zip(&kinds);
        let control: HashMap<String, u32> = numbered()
            .filter(|(_, kind)| **kind == TYPE_CONTROL)
            .map(|((id, text), _)| ((*text).to_owned(), id))
            .collect();
        let names = control.iter().map(|(name, id)| (*id, name.clone())).collect();
        // Old Llama files lack the key and need the token.
        let begins = gguf.flag("tokenizer.ggml.add_bos_token").unwrap_or(spaces.is_some());
        let begin = number("bos_token_id").filter(|_| begins);
        let known = ["<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>"]
            .iter()
            .filter_map(|name| control.get(*name));
        let ends = number("eos_token_id").into_iter().chain(number("eot_token_id")).chain(known.copied()).collect();
        Ok(LocalTokenizer { tokenizer, token_bytes, control, names, begin, ends, spaces })
    }

    /// Encodes a text; never returns control tokens.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let spaced;
        let text = match self.spaces {
            Some(before) => {
                spaced = format!(
                    "{}{}",
                    if before { SENTENCEPIECE_SPACE } else { "" },
                    text.replace(' ', SENTENCEPIECE_SPACE)
                );
                &spaced
            }
            None => text,
        };
        let encoded = self.tokenizer.encode_fast(text, false).map_err(|error| Error::Msg(error.to_string()))?;
        Ok(encoded.get_ids().to_vec())
    }

    /// Returns the control token with this name.
    pub(super) fn control(&self, name: &str) -> Option<u32> {
        self.control.get(name).copied()
    }

    /// Returns the name of the token that ends a text.
    pub(super) fn end_name(&self) -> Option<&str> {
        self.names.get(self.ends.first()?).map(String::as_str)
    }

    /// Returns the bytes of a token; empty for control tokens and unknown ids.
    pub(super) fn bytes(&self, token: u32) -> &[u8] {
        usize::try_from(token).ok().and_then(|at| self.token_bytes.get(at)).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a token ends the reply.
    pub(super) fn is_end(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }
}

fn vocab_ids(texts: &[&str]) -> Vocab {
    texts.iter().map(|text| (*text).to_owned()).zip(0u32..).collect()
}

fn tokenizer_error(error: impl std::fmt::Display) -> Error {
    Error::Msg(format!("invalid tokenizer data: {error}"))
}

/// Builds a byte-level BPE tokenizer (GPT-2): each byte is a character, and pairs are merged in the order of the file.
fn byte_level_bpe(gguf: &Gguf, texts: &[&str]) -> Result<Tokenizer> {
    let merges = gguf.texts("tokenizer.ggml.merges")?.into_iter();
    let merges = merges.filter_map(|merge| merge.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())));
    let kind = gguf.text("tokenizer.ggml.pre").unwrap_or("gpt-2");
    // Pre-tokenizers by the names that llama.cpp uses.
    let cut = |pattern: &str, then: ByteLevel| -> Result<PreTokenizerWrapper> {
        let pattern = SplitPattern::Regex(pattern.to_owned());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false).map_err(tokenizer_error)?;
        Ok(Sequence::new(vec![split.into(), then.into()]).into())
    };
    let plain = ByteLevel::new(false, false, false);
    let words = ByteLevel::new(false, false, true);
    let (before, whole): (PreTokenizerWrapper, bool) = match kind {
        "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" => {
            (Sequence::new(vec![Digits::new(true).into(), words.into()]).into(), false)
        }
        "gpt-2" | "gpt2" => (words.into(), false),
        "llama-bpe" | "llama3" | "llama-v3" | "smaug-bpe" => (cut(LLAMA3_PATTERN, plain)?, true),
        "qwen2" => (cut(&LLAMA3_PATTERN.replace(r"\p{N}{1,3}", r"\p{N}"), plain)?, false),
        other => bail!("the pre-tokenizer {other:?} is not supported"),
    };
    let merged = BPE::builder().vocab_and_merges(vocab_ids(texts), merges.collect::<Vec<_>>()).ignore_merges(whole);
    let mut tokenizer = Tokenizer::new(merged.build().map_err(tokenizer_error)?);
    tokenizer.with_pre_tokenizer(Some(before));
    Ok(tokenizer)
}

/// Returns the bytes of byte-level tokens: printable bytes represent themselves, the others are characters from U+0100.
fn byte_level_bytes(texts: &[&str], kinds: &[f32]) -> Vec<Vec<u8>> {
    let printable = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let others = (0..=255u8).filter(|byte| !printable(byte)).zip('\u{100}'..);
    let bytes: HashMap<char, u8> =
        (0..=255u8).filter(printable).map(|byte| (char::from(byte), byte)).chain(others.map(|(b, c)| (c, b))).collect();
    let token_text = |text: &str| match text.chars().map(|c| bytes.get(&c).copied()).collect() {
        Some(bytes) => bytes,
        // Added tokens are plain text.
        None => text.as_bytes().to_vec(),
    };
    texts
        .iter()
        .zip(kinds)
        .map(|(text, kind)| if *kind == TYPE_CONTROL { Vec::new() } else { token_text(text) })
        .collect()
}

/// Builds a SentencePiece BPE tokenizer: of all pairs that form a token, the one with the best score is merged first.
///
/// The files contain no list of merges. It is reconstructed from all splits of each token, ordered by the token's score.
fn sentencepiece_bpe(texts: &[&str], kinds: &[f32], scores: &[f32], unknown: Option<u32>) -> Result<Tokenizer> {
    let known = vocab_ids(texts);
    let mut merges = Vec::new();
    for ((text, kind), score) in texts.iter().zip(kinds).zip(scores) {
        if *kind != TYPE_NORMAL {
            continue;
        }
        for (at, _) in text.char_indices().skip(1) {
            let (left, right) = text.split_at(at);
            if known.contains_key(left) && known.contains_key(right) {
                merges.push((*score, (left.to_owned(), right.to_owned())));
            }
        }
    }
    merges.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let merges = merges.into_iter().map(|(_, pair)| pair).collect::<Vec<_>>();
    let mut merged = BPE::builder().vocab_and_merges(known, merges).byte_fallback(true).fuse_unk(true);
    if let Some(unknown) = unknown.and_then(|id| texts.get(usize::try_from(id).ok()?)) {
        merged = merged.unk_token((*unknown).to_owned());
    }
    Ok(Tokenizer::new(merged.build().map_err(tokenizer_error)?))
}

fn sentencepiece_bytes(texts: &[&str], kinds: &[f32]) -> Vec<Vec<u8>> {
    let byte = |text: &str| u8::from_str_radix(text.strip_prefix("<0x")?.strip_suffix('>')?, 16).ok();
    let token_text = |text: &&str, kind: f32| match kind {
        TYPE_CONTROL => Vec::new(),
        TYPE_BYTE => byte(text).into_iter().collect(),
        _ => text.replace(SENTENCEPIECE_SPACE, " ").into_bytes(),
    };
    texts.iter().zip(kinds).map(|(text, kind)| token_text(text, *kind)).collect()
}
