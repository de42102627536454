//! The Llama family's forward pass: from tokens to how probable each token is next.
//!
//! Written out here, not taken from a library of models, because replies that share a prompt need what no such library
//! has: keys and values of the prompt that are held once, and read by every reply beside its own. A [`SharedPrefix`] is those
//! of a prompt; [`KvBranches`] are those of the replies, which go on side by side, a token each at a time.

use candle_core::{D, DType, Device, Result, Tensor, bail};
use candle_nn::{ops, rotary_emb::rope_i};

use super::gguf::{Gguf, Matrix};

/// The longest prompt and reply together that is allowed, in tokens, whatever the file says: the keys and values of a
/// window of 128k would take more memory than the weights.
const LONGEST: usize = 16_384;

/// How many tokens the room for keys and values grows by.
const GROWTH: usize = 256;

/// A loaded model.
pub(super) struct Llama {
    embedding: Matrix,
    layers: Vec<Layer>,
    norm: Tensor,
    output: Matrix,
    /// For each position, by which angles a query or key is turned.
    cosines: Tensor,
    sines: Tensor,
    heads: usize,
    /// How many heads have keys and values of their own; each serves `heads / kv_heads` queries.
    kv_heads: usize,
    /// Numbers in a head.
    head: usize,
    epsilon: f32,
    /// Tokens of prompt and reply together.
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

/// Keys and values of one layer: rows of heads, filled token by token. Shaped heads × tokens × numbers.
struct KvCacheSpace {
    keys: Tensor,
    values: Tensor,
}

impl KvCacheSpace {
    fn new(heads: usize, capacity: usize, numbers: usize) -> Result<KvCacheSpace> {
        let zeros = || Tensor::zeros((heads, capacity, numbers), DType::F32, &Device::Cpu);
        Ok(KvCacheSpace { keys: zeros()?, values: zeros()? })
    }

    /// Puts keys and values in at the token `at`, in a larger room if it is full.
    fn put(&mut self, keys: &Tensor, values: &Tensor, at: usize) -> Result<()> {
        let (heads, capacity, numbers) = self.keys.dims3()?;
        let end = at + keys.dim(1)?;
        if end > capacity {
            // Half as much again, so that copying stays in proportion.
            let larger = KvCacheSpace::new(heads, (end + end / 2).div_ceil(GROWTH) * GROWTH, numbers)?;
            let (old_keys, old_values) = self.filled(at)?;
            *self = larger;
            if at > 0 {
                self.put(&old_keys, &old_values, 0)?;
            }
        }
        self.keys.slice_set(&keys.contiguous()?, 1, at)?;
        self.values.slice_set(&values.contiguous()?, 1, at)
    }

    /// The first `length` tokens' keys and values.
    fn filled(&self, length: usize) -> Result<(Tensor, Tensor)> {
        Ok((self.keys.narrow(1, 0, length)?, self.values.narrow(1, 0, length)?))
    }
}

/// What was evaluated of a prompt.
pub(super) struct SharedPrefix {
    rooms: Vec<KvCacheSpace>,
    tokens: Vec<u32>,
}

impl SharedPrefix {
    /// The tokens that were evaluated.
    pub(super) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Forgets all tokens after the first `length`.
    pub(super) fn truncate(&mut self, length: usize) {
        self.tokens.truncate(length);
    }

    /// Takes over what the only branch evaluated: the first of `tokens`.
    pub(super) fn adopt(&mut self, branches: &KvBranches, tokens: &[u32]) -> Result<()> {
        let tokens = &tokens[..tokens.len().min(branches.length)];
        if tokens.is_empty() || branches.count != 1 {
            return Ok(());
        }
        for (room, branched) in self.rooms.iter_mut().zip(&branches.rooms) {
            let (keys, values) = branched.filled(tokens.len())?;
            room.put(&keys, &values, self.tokens.len())?;
        }
        self.tokens.extend_from_slice(tokens);
        Ok(())
    }
}

/// Replies that go on from one prompt, all of the same length. In the rooms stand the heads of one after those of the
/// other.
pub(super) struct KvBranches {
    rooms: Vec<KvCacheSpace>,
    count: usize,
    length: usize,
}

impl KvBranches {
    /// Keeps only these, in this order.
    pub(super) fn keep(&mut self, kept: &[u32]) -> Result<()> {
        let chosen = Tensor::new(kept, &Device::Cpu)?;
        let choose = |all: &Tensor| {
            let (heads, capacity, numbers) = all.dims3()?;
            let each = all.reshape((self.count, heads / self.count, capacity, numbers))?;
            each.index_select(&chosen, 0)?.reshape((kept.len() * heads / self.count, capacity, numbers))
        };
        for room in &mut self.rooms {
            *room = KvCacheSpace { keys: choose(&room.keys)?, values: choose(&room.values)? };
        }
        self.count = kept.len();
        Ok(())
    }
}

impl Llama {
    /// Loads the matrices.
    pub(super) fn load(gguf: &mut Gguf) -> Result<Llama> {
        match gguf.text("general.architecture") {
            Some("llama") => {}
            Some(other) => bail!("it is of the family {other}; only the Llama family (`llama`) can be run here"),
            None => bail!("it does not say what family of model it is"),
        }
        if gguf.number("llama.expert_count").is_some_and(|experts| experts > 0) || gguf.has("blk.0.attn_q.bias") {
            bail!("models with experts or with biases in their attention cannot be run here");
        }
        let width = gguf.needed("llama.embedding_length")?;
        let heads = gguf.needed("llama.attention.head_count")?;
        let kv_heads = gguf.number("llama.attention.head_count_kv").unwrap_or(heads);
        let head = gguf.number("llama.attention.key_length").unwrap_or(width / heads);
        if kv_heads == 0 || heads % kv_heads != 0 || !head.is_multiple_of(2) || head == 0 {
            bail!("its {heads} heads, {kv_heads} for keys, {head} numbers each, do not fit together");
        }
        let window = gguf.needed("llama.context_length")?.min(LONGEST);
        let (cosines, sines) = angles(gguf, head, window)?;
        let embedding = gguf.matrix("token_embd.weight")?;
        let output = if gguf.has("output.weight") { gguf.matrix("output.weight")? } else { embedding.clone() };
        let layers = (0..gguf.needed("llama.block_count")?).map(|index| Layer::load(gguf, index));
        let layers = layers.collect::<Result<Vec<_>>>()?;
        #[allow(clippy::cast_possible_truncation)] // a small number, as good as it gets
        let epsilon = gguf.measure("llama.attention.layer_norm_rms_epsilon").unwrap_or(1e-5) as f32;
        let norm = gguf.vector("output_norm.weight")?;
        Ok(Llama { embedding, layers, norm, output, cosines, sines, heads, kv_heads, head, epsilon, window })
    }

    /// An empty prefix.
    pub(super) fn prefix(&self) -> Result<SharedPrefix> {
        Ok(SharedPrefix { rooms: self.rooms(self.kv_heads)?, tokens: Vec::new() })
    }

    /// `count` replies that have said nothing yet.
    pub(super) fn branches(&self, count: usize) -> Result<KvBranches> {
        Ok(KvBranches { rooms: self.rooms(count * self.kv_heads)?, count, length: 0 })
    }

    fn rooms(&self, heads: usize) -> Result<Vec<KvCacheSpace>> {
        self.layers.iter().map(|_| KvCacheSpace::new(heads, GROWTH, self.head)).collect()
    }

    /// Evaluates more of a prompt; gives the weights of what follows its last token.
    pub(super) fn read(&self, tokens: &[u32], prefix: &mut SharedPrefix) -> Result<Vec<f32>> {
        let (at, count) = (prefix.tokens.len(), tokens.len());
        let group = self.heads / self.kv_heads;
        let mut x = self.embedding.rows(tokens)?;
        let mask = mask(count, at, group)?;
        for (layer, room) in self.layers.iter().zip(&mut prefix.rooms) {
            let normed = ops::rms_norm(&x, &layer.attention_norm, self.epsilon)?;
            // From tokens × (heads × numbers) to heads × tokens × numbers.
            let split =
                |flat: Tensor, heads: usize| flat.reshape((1, count, heads, self.head))?.transpose(1, 2)?.contiguous();
            let queries = self.turn(&split(layer.query.apply(&normed)?, self.heads)?, at)?;
            let keys = self.turn(&split(layer.key.apply(&normed)?, self.kv_heads)?, at)?.squeeze(0)?;
            let values = split(layer.value.apply(&normed)?, self.kv_heads)?.squeeze(0)?;
            room.put(&keys, &values, at)?;
            let (keys, values) = room.filled(at + count)?;
            let queries = queries.reshape((self.kv_heads, group * count, self.head))?;
            let weights = (queries.matmul(&keys.t()?)? * self.scale())?.broadcast_add(&mask)?;
            let mixed = ops::softmax_last_dim(&weights)?.matmul(&values)?;
            let mixed = mixed.reshape((self.heads, count, self.head))?.transpose(0, 1)?;
            x = self.rest(layer, x, &mixed.reshape((count, self.heads * self.head))?)?;
        }
        prefix.tokens.extend_from_slice(tokens);
        let last = self.weigh(&x.narrow(0, count - 1, 1)?)?;
        last.get(0)?.to_vec1()
    }

    /// Evaluates one more token of each reply; gives the weights of what follows each.
    pub(super) fn step(
        &self,
        tokens: &[u32],
        prefix: &SharedPrefix,
        branches: &mut KvBranches,
    ) -> Result<Vec<Vec<f32>>> {
        let (n, read, at) = (tokens.len(), prefix.tokens.len(), branches.length);
        let (group, kv, head) = (self.heads / self.kv_heads, self.kv_heads, self.head);
        let mut x = self.embedding.rows(tokens)?;
        for ((layer, room), shared) in self.layers.iter().zip(&mut branches.rooms).zip(&prefix.rooms) {
            let normed = ops::rms_norm(&x, &layer.attention_norm, self.epsilon)?;
            let queries = self.turn(&layer.query.apply(&normed)?.reshape((n, self.heads, 1, head))?, read + at)?;
            let keys = self.turn(&layer.key.apply(&normed)?.reshape((n, kv, 1, head))?, read + at)?;
            let values = layer.value.apply(&normed)?.reshape((n * kv, 1, head))?;
            room.put(&keys.reshape((n * kv, 1, head))?, &values, at)?;
            let (shared_keys, shared_values) = shared.filled(read)?;
            let (own_keys, own_values) = room.filled(at + 1)?;
            let queries = (queries * self.scale())?.reshape((n, kv, group, head))?;
            // The prompt's keys meet the queries of all replies in one product; each reply's own meet its own.
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
            x = self.rest(layer, x, &mixed)?;
        }
        branches.length += 1;
        self.weigh(&x)?.to_vec2()
    }

    /// What follows the attention in a layer.
    fn rest(&self, layer: &Layer, x: Tensor, mixed: &Tensor) -> Result<Tensor> {
        let x = (x + layer.attention_output.apply(mixed)?)?;
        let normed = ops::rms_norm(&x, &layer.feed_norm, self.epsilon)?;
        let gated = (ops::silu(&layer.gate.apply(&normed)?)? * layer.up.apply(&normed)?)?;
        x + layer.down.apply(&gated)?
    }

    fn weigh(&self, x: &Tensor) -> Result<Tensor> {
        self.output.apply(&ops::rms_norm(&x.contiguous()?, &self.norm, self.epsilon)?)
    }

    /// Turns queries or keys by the angles of their positions, from `at` on.
    fn turn(&self, x: &Tensor, at: usize) -> Result<Tensor> {
        let count = x.dim(2)?;
        rope_i(&x.contiguous()?, &self.cosines.narrow(0, at, count)?, &self.sines.narrow(0, at, count)?)
    }

    fn scale(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // a hundred or so
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

/// Cosine and sine of every angle of every position.
fn angles(gguf: &mut Gguf, head: usize, window: usize) -> Result<(Tensor, Tensor)> {
    let base = gguf.measure("llama.rope.freq_base").unwrap_or(10_000.0);
    if gguf.number("llama.rope.dimension_count").is_some_and(|turned| turned != head) {
        bail!("it turns only a part of each head, which cannot be run here");
    }
    let stretch = match gguf.text("llama.rope.scaling.type") {
        None | Some("none") => 1.0,
        Some("linear") => gguf.measure("llama.rope.scaling.factor").unwrap_or(1.0),
        Some(other) => bail!("its positions are scaled by {other}, which cannot be run here"),
    };
    // Llama 3.1 and later say by how much each angle is slowed down.
    let slowed: Vec<f32> =
        if gguf.has("rope_freqs.weight") { gguf.vector("rope_freqs.weight")?.to_vec1()? } else { Vec::new() };
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // numbers of a head, then angles
    let frequency = |pair: usize| {
        let slow = slowed.get(pair).map_or(1.0, |slow| f64::from(*slow));
        (base.powf(-((2 * pair) as f64) / head as f64) / slow / stretch) as f32
    };
    let frequencies = Tensor::from_vec((0..head / 2).map(frequency).collect(), (1, head / 2), &Device::Cpu)?;
    #[allow(clippy::cast_precision_loss)] // a window is far below 2^24
    let positions = Tensor::from_vec((0..window).map(|at| at as f32).collect(), (window, 1), &Device::Cpu)?;
    let angles = positions.matmul(&frequencies)?;
    Ok((angles.cos()?, angles.sin()?))
}

/// What is added so that no token of a prompt sees those after it; the same for each query head of a group.
fn mask(count: usize, at: usize, group: usize) -> Result<Tensor> {
    let seen = |row: usize, column: usize| if column > at + row { f32::NEG_INFINITY } else { 0.0 };
    let rows = (0..group * count).flat_map(|row| (0..at + count).map(move |column| seen(row % count, column)));
    Tensor::from_vec(rows.collect(), (1, group * count, at + count), &Device::Cpu)
}
