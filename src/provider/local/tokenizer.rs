//! Text to tokens and back, as the GGUF's metadata has it.
//!
//! The merging is the `tokenizers` crate's; what is cut before it is ours, for it has to be as the model was trained, and
//! the reader that comes with `candle` takes most kinds for GPT-2's. Text never becomes a control token here, whatever it
//! says: those are put in by the [frame](super::template) alone, so that content cannot end a message.
//!
//! Tokens come back as bytes, for one token may be half a character.

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

/// What SentencePiece has in the place of a space.
const SPACE: &str = "▁";

/// The kind of a token that text can be made of, in the metadata.
const NORMAL: f32 = 1.0;
/// The kind of a token that is no text.
const CONTROL: f32 = 3.0;
/// The kind of a token that is one byte.
const BYTE: f32 = 6.0;

const LLAMA3: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// A model's tokens.
pub(super) struct LocalTokenizer {
    tokenizer: Tokenizer,
    /// What each token says; control tokens say nothing.
    said: Vec<Vec<u8>>,
    control: HashMap<String, u32>,
    names: HashMap<u32, String>,
    /// The token that a text begins with, if it begins with one.
    pub(super) begin: Option<u32>,
    ends: Vec<u32>,
    /// Whether spaces are [`SPACE`], and whether one stands before the text.
    spaces: Option<bool>,
}

impl std::fmt::Debug for LocalTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vocabulary").field("tokens", &self.said.len()).finish_non_exhaustive()
    }
}

impl LocalTokenizer {
    /// Reads the tokens of a model.
    pub(super) fn read(gguf: &Gguf) -> Result<LocalTokenizer> {
        let texts = gguf.texts("tokenizer.ggml.tokens")?;
        let mut kinds = gguf.numbers("tokenizer.ggml.token_type");
        kinds.resize(texts.len(), NORMAL);
        let number = |key: &str| gguf.number(&format!("tokenizer.ggml.{key}")).and_then(|id| u32::try_from(id).ok());
        let (tokenizer, said, spaces) = match gguf.text("tokenizer.ggml.model") {
            Some("gpt2") => (bytes_merged(gguf, &texts)?, bytes_said(&texts, &kinds), None),
            Some("llama") => {
                let before = gguf.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true);
                let tokenizer =
                    pieces_merged(&texts, &kinds, &gguf.numbers("tokenizer.ggml.scores"), number("unknown_token_id"))?;
                (tokenizer, pieces_said(&texts, &kinds), Some(before))
            }
            other => bail!("its tokens are of the kind {:?}, which cannot be read here", other.unwrap_or("unknown")),
        };
        let numbered = || (0u32..).zip(&texts).zip(&kinds);
        let control: HashMap<String, u32> =
            numbered().filter(|(_, kind)| **kind == CONTROL).map(|((id, text), _)| ((*text).to_owned(), id)).collect();
        let names = control.iter().map(|(name, id)| (*id, name.clone())).collect();
        // Old files of Llama's say nothing of its beginning, and want one.
        let begins = gguf.flag("tokenizer.ggml.add_bos_token").unwrap_or(spaces.is_some());
        let begin = number("bos_token_id").filter(|_| begins);
        let known = ["<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>"]
            .iter()
            .filter_map(|name| control.get(*name));
        let ends = number("eos_token_id").into_iter().chain(number("eot_token_id")).chain(known.copied()).collect();
        Ok(LocalTokenizer { tokenizer, said, control, names, begin, ends, spaces })
    }

    /// The tokens of a text, none of them a control token.
    pub(super) fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let spaced;
        let text = match self.spaces {
            Some(before) => {
                spaced = format!("{}{}", if before { SPACE } else { "" }, text.replace(' ', SPACE));
                &spaced
            }
            None => text,
        };
        let encoded = self.tokenizer.encode_fast(text, false).map_err(|error| Error::Msg(error.to_string()))?;
        Ok(encoded.get_ids().to_vec())
    }

    /// The control token of this name.
    pub(super) fn control(&self, name: &str) -> Option<u32> {
        self.control.get(name).copied()
    }

    /// The name of the token that ends a text.
    pub(super) fn end_name(&self) -> Option<&str> {
        self.names.get(self.ends.first()?).map(String::as_str)
    }

    /// What a token says; nothing if it is a control token, or none.
    pub(super) fn said(&self, token: u32) -> &[u8] {
        usize::try_from(token).ok().and_then(|at| self.said.get(at)).map_or(&[], Vec::as_slice)
    }

    /// Whether a reply ends with this token.
    pub(super) fn ends(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }
}

fn vocabulary(texts: &[&str]) -> Vocab {
    texts.iter().map(|text| (*text).to_owned()).zip(0u32..).collect()
}

fn wrapped(error: impl std::fmt::Display) -> Error {
    Error::Msg(format!("its tokens cannot be read: {error}"))
}

/// Byte-level merging, as GPT-2 began it: each byte is a character, pairs are merged in a given order.
fn bytes_merged(gguf: &Gguf, texts: &[&str]) -> Result<Tokenizer> {
    let merges = gguf.texts("tokenizer.ggml.merges")?.into_iter();
    let merges = merges.filter_map(|merge| merge.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())));
    let kind = gguf.text("tokenizer.ggml.pre").unwrap_or("gpt-2");
    // What is cut apart before anything is merged, as llama.cpp names the ways.
    let cut = |pattern: &str, then: ByteLevel| -> Result<PreTokenizerWrapper> {
        let pattern = SplitPattern::Regex(pattern.to_owned());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false).map_err(wrapped)?;
        Ok(Sequence::new(vec![split.into(), then.into()]).into())
    };
    let plain = ByteLevel::new(false, false, false);
    let words = ByteLevel::new(false, false, true);
    let (before, whole): (PreTokenizerWrapper, bool) = match kind {
        "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" => {
            (Sequence::new(vec![Digits::new(true).into(), words.into()]).into(), false)
        }
        "gpt-2" | "gpt2" => (words.into(), false),
        "llama-bpe" | "llama3" | "llama-v3" | "smaug-bpe" => (cut(LLAMA3, plain)?, true),
        "qwen2" => (cut(&LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}"), plain)?, false),
        other => bail!("its text is cut in the way {other:?}, which is not known here"),
    };
    let merged = BPE::builder().vocab_and_merges(vocabulary(texts), merges.collect::<Vec<_>>()).ignore_merges(whole);
    let mut tokenizer = Tokenizer::new(merged.build().map_err(wrapped)?);
    tokenizer.with_pre_tokenizer(Some(before));
    Ok(tokenizer)
}

/// What byte-level tokens say: printable bytes stand for themselves, the others for characters from U+0100 on.
fn bytes_said(texts: &[&str], kinds: &[f32]) -> Vec<Vec<u8>> {
    let printable = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let others = (0..=255u8).filter(|byte| !printable(byte)).zip('\u{100}'..);
    let bytes: HashMap<char, u8> =
        (0..=255u8).filter(printable).map(|byte| (char::from(byte), byte)).chain(others.map(|(b, c)| (c, b))).collect();
    let said = |text: &str| match text.chars().map(|c| bytes.get(&c).copied()).collect() {
        Some(said) => said,
        // A token that somebody added as it is.
        None => text.as_bytes().to_vec(),
    };
    texts.iter().zip(kinds).map(|(text, kind)| if *kind == CONTROL { Vec::new() } else { said(text) }).collect()
}

/// SentencePiece's merging: of all neighbours that make a token together, those that make the best are merged first. The
/// files have no list of merges; it is what every token could have been made of, by the token's score.
fn pieces_merged(texts: &[&str], kinds: &[f32], scores: &[f32], unknown: Option<u32>) -> Result<Tokenizer> {
    let known = vocabulary(texts);
    let mut merges = Vec::new();
    for ((text, kind), score) in texts.iter().zip(kinds).zip(scores) {
        if *kind != NORMAL {
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
    Ok(Tokenizer::new(merged.build().map_err(wrapped)?))
}

fn pieces_said(texts: &[&str], kinds: &[f32]) -> Vec<Vec<u8>> {
    let byte = |text: &str| u8::from_str_radix(text.strip_prefix("<0x")?.strip_suffix('>')?, 16).ok();
    let said = |text: &&str, kind: f32| match kind {
        CONTROL => Vec::new(),
        BYTE => byte(text).into_iter().collect(),
        _ => text.replace(SPACE, " ").into_bytes(),
    };
    texts.iter().zip(kinds).map(|(text, kind)| said(text, *kind)).collect()
}
