//! Built-in local models: GGUF files of the Llama family, and a model of sentence embeddings, evaluated by this process on
//! the CPU.
//!
//! They serve users without a key or a server, and tests that need a real model. Replies to one prompt share its
//! evaluation, so several cost little more than one. The common prefix of consecutive prompts is evaluated once.
//!
//! `candle` does the arithmetic; the forward pass is in `llama`. Quantized products run on `CANDLE_NUM_THREADS` threads and
//! dense products on `RAYON_NUM_THREADS`, by default one per core. Quantized products are slow on several threads if other
//! programs use the cores. So the program `loom` sets `CANDLE_NUM_THREADS` to 1; a host of the library decides itself.
//!
//! Left out: GPUs, native tool calls (the model writes arrow lines instead), images.

mod chat_template;
mod detokenizer;
mod gguf;
mod llama;
mod loaded_model;
mod sampler;
mod sentence_encoder;
mod tokenizer;
mod worker;

pub use loaded_model::LoadedModel;
pub(super) use loaded_model::window;
pub use sentence_encoder::SentenceEncoder;

#[cfg(test)]
mod tests;
