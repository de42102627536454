//! Sentence embeddings in this process: the forward pass of a small BERT model, for recall by meaning.
//!
//! The model is all-MiniLM-L6-v2: six layers of 384 numbers, trained on pairs of English texts that mean the same. A text's
//! embedding is the mean of its tokens'. Texts are evaluated one by one, since padding would cost more than it saves.

use std::path::Path;

use candle_core::{Device, Result, Tensor, safetensors::load};
use candle_nn::{LayerNorm, Linear, Module as _, ops::softmax_last_dim};
use tokenizers::{Tokenizer, TruncationParams};

use futures_util::future::{BoxFuture, ready};

use crate::{
    provider::{EmbeddingModel, ProviderError, error::clean},
    recall::{EmbedError, Embedder},
};

/// Number of layers, of attention heads, and of tokens that are read of a text.
const LAYERS: usize = 6;
const HEADS: usize = 12;
const MAX_TOKENS: usize = 256;
/// Constant of the layer norms.
const EPSILON: f64 = 1e-12;

/// A loaded sentence-embedding model.
pub struct SentenceEncoder {
    reference: String,
    tokenizer: Tokenizer,
    words: Tensor,
    positions: Tensor,
    norm: LayerNorm,
    layers: Vec<EncoderLayer>,
}

struct EncoderLayer {
    query: Linear,
    key: Linear,
    value: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    up: Linear,
    down: Linear,
    norm: LayerNorm,
}

impl std::fmt::Debug for SentenceEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SentenceEncoder").field("reference", &self.reference).finish_non_exhaustive()
    }
}

impl SentenceEncoder {
    /// Loads weights in the safetensors format, and the tokenizer's JSON file.
    ///
    /// # Errors
    /// Returns a configuration error if a file cannot be read or is not of this model.
    pub fn load(reference: &str, weights: &Path, tokenizer: &Path) -> std::result::Result<Self, ProviderError> {
        let fail = |path: &Path, error: &dyn std::fmt::Display| {
            ProviderError::configuration(clean(&format!("{} cannot be loaded: {error}", path.display()), None))
        };
        let mut words = Tokenizer::from_file(tokenizer).map_err(|error| fail(tokenizer, &error))?;
        words.with_padding(None);
        let limit = TruncationParams { max_length: MAX_TOKENS, ..TruncationParams::default() };
        words.with_truncation(Some(limit)).map_err(|error| fail(tokenizer, &error))?;
        Self::read(reference, weights, words).map_err(|error| fail(weights, &error))
    }

    fn read(reference: &str, weights: &Path, tokenizer: Tokenizer) -> Result<Self> {
        let tensors = load(weights, &Device::Cpu)?;
        let tensor = |name: &str| {
            tensors.get(name).cloned().ok_or_else(|| candle_core::Error::Msg(format!("the tensor {name} is missing")))
        };
        let linear = |name: &str| {
            Ok::<_, candle_core::Error>(Linear::new(
                tensor(&format!("{name}.weight"))?,
                Some(tensor(&format!("{name}.bias"))?),
            ))
        };
        let norm = |name: &str| {
            let (weight, bias) = (tensor(&format!("{name}.weight"))?, tensor(&format!("{name}.bias"))?);
            Ok::<_, candle_core::Error>(LayerNorm::new(weight, bias, EPSILON))
        };
        let layer = |index: usize| {
            let name = |part: &str| format!("encoder.layer.{index}.{part}");
            Ok::<_, candle_core::Error>(EncoderLayer {
                query: linear(&name("attention.self.query"))?,
                key: linear(&name("attention.self.key"))?,
                value: linear(&name("attention.self.value"))?,
                attention_output: linear(&name("attention.output.dense"))?,
                attention_norm: norm(&name("attention.output.LayerNorm"))?,
                up: linear(&name("intermediate.dense"))?,
                down: linear(&name("output.dense"))?,
                norm: norm(&name("output.LayerNorm"))?,
            })
        };
        // All tokens are of the first segment.
        let segment = tensor("embeddings.token_type_embeddings.weight")?.narrow(0, 0, 1)?;
        Ok(Self {
            reference: reference.to_owned(),
            tokenizer,
            words: tensor("embeddings.word_embeddings.weight")?,
            positions: tensor("embeddings.position_embeddings.weight")?.broadcast_add(&segment)?,
            norm: norm("embeddings.LayerNorm")?,
            layers: (0..LAYERS).map(layer).collect::<Result<_>>()?,
        })
    }

    /// Evaluates one text. The result is not normalized.
    fn encode(&self, text: &str) -> Result<Vec<f32>> {
        let encoded =
            self.tokenizer.encode_fast(text, true).map_err(|error| candle_core::Error::Msg(error.to_string()))?;
        let tokens = encoded.get_ids();
        let words = self.words.index_select(&Tensor::new(tokens, &Device::Cpu)?, 0)?;
        let mut x = self.norm.forward(&(words + self.positions.narrow(0, 0, tokens.len())?)?)?;
        for layer in &self.layers {
            x = layer.forward(&x)?;
        }
        x.mean(0)?.to_vec1()
    }
}

impl EncoderLayer {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (count, width) = x.dims2()?;
        let head = width / HEADS;
        // From tokens × (heads × dimension) to heads × tokens × dimension.
        let split = |flat: Tensor| flat.reshape((count, HEADS, head))?.transpose(0, 1)?.contiguous();
        let (query, key, value) =
            (split(self.query.forward(x)?)?, split(self.key.forward(x)?)?, split(self.value.forward(x)?)?);
        #[allow(clippy::cast_precision_loss)] // a head has 32 numbers
        let weights = (query.matmul(&key.t()?)? * (head as f64).sqrt().recip())?;
        let mixed = softmax_last_dim(&weights)?.matmul(&value)?.transpose(0, 1)?.reshape((count, width))?;
        let x = self.attention_norm.forward(&(x + self.attention_output.forward(&mixed)?)?)?;
        let fed = self.down.forward(&self.up.forward(&x)?.gelu_erf()?)?;
        self.norm.forward(&(x + fed)?)
    }
}

impl Embedder for SentenceEncoder {
    fn model(&self) -> &str {
        &self.reference
    }

    fn embed(&self, texts: &[String]) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
        texts.iter().map(|text| self.encode(text).map_err(|error| EmbedError::Model(error.to_string()))).collect()
    }
}

/// The future computes when it is created, so it belongs on a thread that may block.
impl EmbeddingModel for SentenceEncoder {
    fn reference(&self) -> &str {
        &self.reference
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, std::result::Result<Vec<Vec<f32>>, ProviderError>> {
        let vectors = Embedder::embed(self, texts).map_err(|error| ProviderError::configuration(error.to_string()));
        Box::pin(ready(vectors))
    }
}
