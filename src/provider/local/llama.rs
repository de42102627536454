//! Forward pass of the Llama family: from tokens to the logits of the next token.
//!
//! Implemented here, because model libraries do not let replies share the prompt's keys and values. A [`SharedPrefix`]
//! stores them once for all replies. [`KvBranches`] stores those of the replies, which advance in parallel by one token per
//! step.

use candle_core::{D, DType, Device, Result, Tensor, bail};
use candle_nn::{ops, rotary_emb::rope_i};

use super::gguf::{Gguf, Matrix};

/// Upper bound of the context window, whatever the file declares: the keys and values of a window of 128k tokens would
/// take more memory than the weights.
const MAX_WINDOW_TOKENS: usize = 16_384;

/// Granularity of the capacity of a [`KvCacheSpace`].
const CACHE_GROWTH_TOKENS: usize = 256;

/// A loaded model.
pub(super) struct Llama {
    embedding: Matrix,
    layers: Vec<Layer>,
    norm: Tensor,
    output: Matrix,
    /// Rotary embedding: cosines of the angles of each position.
    cosines: Tensor,
    sines: Tensor,
    heads: usize,
    /// Number of key-value heads; each serves `heads / kv_heads` query heads.
    kv_heads: usize,
    /// Dimension of a head.
    head: usize,
    epsilon: f32,
    /// Context window in tokens, for prompt and reply together.
    pub(super) window: usize,
}

struct Layer {
    attention_norm: Tensor,
    query: Matrix,
    key: Matrix,
    value: Matrix,
    attention_output: Matrix,
    feed_norm: Tensor,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

/// Keys and values of one layer, of the shape heads × tokens × head dimension.
struct KvCacheSpace {
    keys: Tensor,
    values: Tensor,
}

impl KvCacheSpace {
    fn new(heads: usize, capacity: usize, numbers: usize) -> Result<KvCacheSpace> {
        let zeros = || Tensor::zeros((heads, capacity, numbers), DType::F32, &Device::Cpu);
        Ok(KvCacheSpace { keys: zeros()?, values: zeros()? })
    }

    /// Writes keys and values from token `at` on; grows if the capacity is exceeded.
    fn write(&mut self, keys: &Tensor, values: &Tensor, at: usize) -> Result<()> {
        let (heads, capacity, numbers) = self.keys.dims3()?;
        let end = at + keys.dim(1)?;
        if end > capacity {
            // Growth by half keeps the cost of copying linear.
            let larger =
                KvCacheSpace::new(heads, (end + end / 2).div_ceil(CACHE_GROWTH_TOKENS) * CACHE_GROWTH_TOKENS, numbers)?;
            let (old_keys, old_values) = self.view(at)?;
            *self = larger;
            if at > 0 {
                self.write(&old_keys, &old_values, 0)?;
            }
        }
        self.keys.slice_set(&keys.contiguous()?, 1, at)?;
        self.values.slice_set(&values.contiguous()?, 1, at)
    }

    /// Returns keys and values of the first `length` tokens.
    fn view(&self, length: usize) -> Result<(Tensor, Tensor)> {
        Ok((self.keys.narrow(1, 0, length)?, self.values.narrow(1, 0, length)?))
    }
}

/// Evaluated tokens of a prompt, with their keys and values.
pub(super) struct SharedPrefix {
    caches: Vec<KvCacheSpace>,
    tokens: Vec<u32>,
}

impl SharedPrefix {
    /// Returns the evaluated tokens.
    pub(super) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Drops all tokens after the first `length`.
    pub(super) fn truncate(&mut self, length: usize) {
        self.tokens.truncate(length);
    }

    /// Appends the evaluated part of `tokens` from the only branch; does nothing if there are several.
    pub(super) fn adopt(&mut self, branches: &KvBranches, tokens: &[u32]) -> Result<()> {
        let tokens = &tokens[..tokens.len().min(branches.length)];
        if tokens.is_empty() || branches.count != 1 {
            return Ok(());
        }
        for (cache, branched) in self.caches.iter_mut().zip(&branches.caches) {
            let (keys, values) = branched.view(tokens.len())?;
            cache.write(&keys, &values, self.tokens.len())?;
        }
        self.tokens.extend_from_slice(tokens);
        Ok(())
    }
}

/// Keys and values of replies to one prompt, all of the same length. Each cache holds the heads of reply 0, then of reply 1,
/// and so on.
pub(super) struct KvBranches {
    caches: Vec<KvCacheSpace>,
    count: usize,
    length: usize,
}

impl KvBranches {
    /// Retains only the replies with these indices, in this order.
    pub(super) fn retain(&mut self, indices: &[u32]) -> Result<()> {
        let chosen = Tensor::new(indices, &Device::Cpu)?;
        let choose = |all: &Tensor| {
            let (heads, capacity, numbers) = all.dims3()?;
            let each = all.reshape((self.count, heads / self.count, capacity, numbers))?;
            each.index_select(&chosen, 0)?.reshape((indices.len() * heads / self.count, capacity, numbers))
        };
        for cache in &mut self.caches {
            *cache = KvCacheSpace { keys: choose(&cache.keys)?, values: choose(&cache.values)? };
        }
        self.count = indices.len();
        Ok(())
    }
}

impl Llama {
    /// Loads all matrices, and checks that the architecture is supported.
    pub(super) fn load(gguf: &mut Gguf) -> Result<Llama> {
        match gguf.text("general.architecture") {
            Some("llama") => {}
            Some(other) => bail!("the architecture is {other}; only the Llama family (`llama`) is supported"),
            None => bail!("the architecture is missing"),
        }
        if gguf.number("llama.expert_count").is_some_and(|experts| experts > 0) || gguf.has("blk.0.attn_q.bias") {
            bail!("models with experts or attention biases are not supported");
        }
        let width = gguf.required_number("llama.embedding_length")?;
        let heads = gguf.required_number("llama.attention.head_count")?;
        let kv_heads = gguf.number("llama.attention.head_count_kv").unwrap_or(heads);
        let head = gguf.number("llama.attention.key_length").unwrap_or(width / heads);
        if kv_heads == 0 || heads % kv_heads != 0 || !head.is_multiple_of(2) || head == 0 {
            bail!("inconsistent sizes: {heads} heads, {kv_heads} key-value heads of {head} dimensions");
        }
        let window = window(gguf)?;
        let (cosines, sines) = angles(gguf, head, window)?;
        let embedding = gguf.matrix("token_embd.weight")?;
        let output = if gguf.has("output.weight") { gguf.matrix("output.weight")? } else { embedding.clone() };
        let layers = (0..gguf.required_number("llama.block_count")?).map(|index| Layer::load(gguf, index));
        let layers = layers.collect::<Result<Vec<_>>>()?;
        #[allow(clippy::cast_possible_truncation)] // a small number; f32 is precise enough
        let epsilon = gguf.float("llama.attention.layer_norm_rms_epsilon").unwrap_or(1e-5) as f32;
        let norm = gguf.vector("output_norm.weight")?;
        Ok(Llama { embedding, layers, norm, output, cosines, sines, heads, kv_heads, head, epsilon, window })
    }

    /// Creates an empty prefix.
    pub(super) fn prefix(&self) -> Result<SharedPrefix> {
        Ok(SharedPrefix { caches: self.caches(self.kv_heads)?, tokens: Vec::new() })
    }

    /// Creates the caches of `count` empty replies.
    pub(super) fn branches(&self, count: usize) -> Result<KvBranches> {
        Ok(KvBranches { caches: self.caches(count * self.kv_heads)?, count, length: 0 })
    }

    fn caches(&self, heads: usize) -> Result<Vec<KvCacheSpace>> {
        self.layers.iter().map(|_| KvCacheSpace::new(heads, CACHE_GROWTH_TOKENS, self.head)).collect()
    }

    /// Evaluates more tokens of a prompt; returns the logits after the last one.
    pub(super) fn evaluate(&self, tokens: &[u32], prefix: &mut SharedPrefix) -> Result<Vec<f32>> {
        let (at, count) = (prefix.tokens.len(), tokens.len());
        let group = self.heads / self.kv_heads;
        let mut x = self.embedding.rows(tokens)?;
        let mask = mask(count, at, group)?;
        for (layer, cache) in self.layers.iter().zip(&mut prefix.caches) {
            let normed = ops::rms_norm(&x, &layer.attention_norm, self.epsilon)?;
            // From tokens × (heads × dimension) to heads × tokens × dimension.
            let split =
                |flat: Tensor, heads: usize| flat.reshape((1, count, heads, self.head))?.transpose(1, 2)?.contiguous();
            let queries = self.rotate(&split(layer.query.apply(&normed)?, self.heads)?, at)?;
            let keys = self.rotate(&split(layer.key.apply(&normed)?, self.kv_heads)?, at)?.squeeze(0)?;
            let values = split(layer.value.apply(&normed)?, self.kv_heads)?.squeeze(0)?;
            cache.write(&keys, &values, at)?;
            let (keys, values) = cache.view(at + count)?;
            let queries = queries.reshape((self.kv_heads, group * count, self.head))?;
            let weights = (queries.matmul(&keys.t()?)? * self.scale())?.broadcast_add(&mask)?;
            let mixed = ops::softmax_last_dim(&weights)?.matmul(&values)?;
            let mixed = mixed.reshape((self.heads, count, self.head))?.transpose(0, 1)?;
            x = self.feed_forward(layer, x, &mixed.reshape((count, self.heads * self.head))?)?;
        }
        prefix.tokens.extend_from_slice(tokens);
        let last = self.logits(&x.narrow(0, count - 1, 1)?)?;
        last.get(0)?.to_vec1()
    }

    /// Evaluates one more token of each reply; returns the logits after each.
    pub(super) fn step(
        &self,
        tokens: &[u32],
        prefix: &SharedPrefix,
        branches: &mut KvBranches,
    ) -> Result<Vec<Vec<f32>>> {
        let (n, read, at) = (tokens.len(), prefix.tokens.len(), branches.length);
        let (group, kv, head) = (self.heads / self.kv_heads, self.kv_heads, self.head);
        let mut x = self.embedding.rows(tokens)?;
        for ((layer, cache), shared) in self.layers.iter().zip(&mut branches.caches).zip(&prefix.caches) {
            let normed = ops::rms_norm(&x, &layer.attention_norm, self.epsilon)?;
            let queries = self.rotate(&layer.query.apply(&normed)?.reshape((n, self.heads, 1, head))?, read + at)?;
            let keys = self.rotate(&layer.key.apply(&normed)?.reshape((n, kv, 1, head))?, read + at)?;
            let values = layer.value.apply(&normed)?.reshape((n * kv, 1, head))?;
            cache.write(&keys.reshape((n * kv, 1, head))?, &values, at)?;
            let (shared_keys, shared_values) = shared.view(read)?;
            let (own_keys, own_values) = cache.view(at + 1)?;
            let queries = (queries * self.scale())?.reshape((n, kv, group, head))?;
            // One product of the prompt's keys with the queries of all replies, then one of each reply's own keys.
            let together = queries.transpose(0, 1)?.reshape((kv, n * group, head))?;
            let to_shared = together.matmul(&shared_keys.t()?)?.reshape((kv, n, group, read))?.transpose(0, 1)?;
            let to_own = queries.reshape((n * kv, group, head))?.matmul(&own_keys.t()?)?;
            let weights = Tensor::cat(&[&to_shared, &to_own.reshape((n, kv, group, at + 1))?], D::Minus1)?;
            let weights = ops::softmax_last_dim(&weights.contiguous()?)?;
            let of_shared = weights.narrow(3, 0, read)?.transpose(0, 1)?.reshape((kv, n * group, read))?;
            let of_shared = of_shared.matmul(&shared_values)?.reshape((kv, n, group, head))?.transpose(0, 1)?;
            let of_own = weights.narrow(3, read, at + 1)?.reshape((n * kv, group, at + 1))?;
            let of_own = of_own.matmul(&own_values)?.reshape((n, kv, group, head))?;
            let mixed = (of_shared + of_own)?.reshape((n, self.heads * head))?;
            x = self.feed_forward(layer, x, &mixed)?;
        }
        branches.length += 1;
        self.logits(&x)?.to_vec2()
    }

    /// Computes the rest of a layer after the attention.
    fn feed_forward(&self, layer: &Layer, x: Tensor, mixed: &Tensor) -> Result<Tensor> {
        let x = (x + layer.attention_output.apply(mixed)?)?;
        let normed = ops::rms_norm(&x, &layer.feed_norm, self.epsilon)?;
        let gated = (ops::silu(&layer.gate.apply(&normed)?)? * layer.up.apply(&normed)?)?;
        x + layer.down.apply(&gated)?
    }

    fn logits(&self, x: &Tensor) -> Result<Tensor> {
        self.output.apply(&ops::rms_norm(&x.contiguous()?, &self.norm, self.epsilon)?)
    }

    /// Applies the rotary embedding to queries or keys at positions from `at` on.
    fn rotate(&self, x: &Tensor, at: usize) -> Result<Tensor> {
        let count = x.dim(2)?;
        rope_i(&x.contiguous()?, &self.cosines.narrow(0, at, count)?, &self.sines.narrow(0, at, count)?)
    }

    fn scale(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // about a hundred
        let head = self.head as f64;
        head.sqrt().recip()
    }
}

impl Layer {
    fn load(gguf: &mut Gguf, index: usize) -> Result<Layer> {
        let name = |part: &str| format!("blk.{index}.{part}.weight");
        Ok(Layer {
            attention_norm: gguf.vector(&name("attn_norm"))?,
            query: gguf.matrix(&name("attn_q"))?,
            key: gguf.matrix(&name("attn_k"))?,
            value: gguf.matrix(&name("attn_v"))?,
            attention_output: gguf.matrix(&name("attn_output"))?,
            feed_norm: gguf.vector(&name("ffn_norm"))?,
            gate: gguf.matrix(&name("ffn_gate"))?,
            up: gguf.matrix(&name("ffn_up"))?,
            down: gguf.matrix(&name("ffn_down"))?,
        })
    }
}

/// Returns the context window of a file in tokens, for prompt and reply together.
pub(super) fn window(gguf: &Gguf) -> Result<usize> {
    Ok(gguf.required_number("llama.context_length")?.min(MAX_WINDOW_TOKENS))
}

/// Returns cosines and sines of the rotary embedding for every position.
fn angles(gguf: &mut Gguf, head: usize, window: usize) -> Result<(Tensor, Tensor)> {
    let base = gguf.float("llama.rope.freq_base").unwrap_or(10_000.0);
    if gguf.number("llama.rope.dimension_count").is_some_and(|turned| turned != head) {
        bail!("partial rotary embeddings are not supported");
    }
    let stretch = match gguf.text("llama.rope.scaling.type") {
        None | Some("none") => 1.0,
        Some("linear") => gguf.float("llama.rope.scaling.factor").unwrap_or(1.0),
        Some(other) => bail!("the position scaling {other} is not supported"),
    };
    // Llama 3.1 and later divide each frequency by a factor from the file.
    let scaling: Vec<f32> =
        if gguf.has("rope_freqs.weight") { gguf.vector("rope_freqs.weight")?.to_vec1()? } else { Vec::new() };
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // head dimensions, then angles
    let frequency = |pair: usize| {
        let slow = scaling.get(pair).map_or(1.0, |slow| f64::from(*slow));
        (base.powf(-((2 * pair) as f64) / head as f64) / slow / stretch) as f32
    };
    let frequencies = Tensor::from_vec((0..head / 2).map(frequency).collect(), (1, head / 2), &Device::Cpu)?;
    #[allow(clippy::cast_precision_loss)] // a window is far below 2^24
    let positions = Tensor::from_vec((0..window).map(|at| at as f32).collect(), (window, 1), &Device::Cpu)?;
    let angles = positions.matmul(&frequencies)?;
    Ok((angles.cos()?, angles.sin()?))
}

/// Returns the causal mask of a chunk that starts at position `at`, repeated for each query head of a group.
fn mask(count: usize, at: usize, group: usize) -> Result<Tensor> {
    let seen = |row: usize, column: usize| if column > at + row { f32::NEG_INFINITY } else { 0.0 };
    let rows = (0..group * count).flat_map(|row| (0..at + count).map(move |column| seen(row % count, column)));
    Tensor::from_vec(rows.collect(), (1, group * count, at + count), &Device::Cpu)
}
