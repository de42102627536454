//! Tests with a tiny model of random weights, which they write themselves. They need no downloaded weights. Two further
//! tests use real weights and are skipped if `LOOM_MODELS_DIR` has none.

use std::path::PathBuf;

use candle_core::{
    Device, Tensor,
    quantized::{
        GgmlDType, QTensor,
        gguf_file::{self, Value},
    },
};
use rand::{Rng as _, SeedableRng, rngs::StdRng};

use super::{LoadedModel, chat_template::ChatTemplate, gguf::Gguf, llama::Llama, tokenizer::LocalTokenizer};
use crate::provider::{
    ErrorClass, Finish, FinishReason, Generation, KNOWN_WEIGHTS, MODELS_VARIABLE, Message, Model, Prompt,
    ProviderError, Request, Role, Sampling, StreamEvent, Usage,
};

const CHATML: &str = "{% for m in messages %}<|im_start|>{{ m.role }}<|im_end|>{% endfor %}";
const CONTROL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const MERGES: [&str; 5] = ["t h", "th e", "i n", "Ġ the", "e r"];
const WINDOW: u32 = 160;

/// Changes to the metadata of the tiny model; `None` removes a key.
type Changes<'a> = &'a [(&'a str, Option<Value>)];

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> Value {
    Value::Array(texts.into_iter().map(text).collect())
}

/// Characters that represent the 256 bytes.
fn byte_characters() -> Vec<String> {
    let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let mut others = '\u{100}'..;
    (0..=255).map(|byte| if printable(byte) { char::from(byte) } else { others.next().unwrap() }.to_string()).collect()
}

/// Writes a model of two layers.
fn tiny(changes: Changes<'_>) -> (tempfile::TempDir, PathBuf) {
    let tokens: Vec<String> = byte_characters()
        .into_iter()
        .chain(MERGES.iter().map(|merge| merge.replace(' ', "")))
        .chain(CONTROL.map(str::to_owned))
        .collect();
    let kinds = (0..tokens.len()).map(|at| Value::I32(if at + CONTROL.len() < tokens.len() { 1 } else { 3 })).collect();
    let first_control = u32::try_from(tokens.len() - CONTROL.len()).unwrap();
    let mut metadata = vec![
        ("general.architecture", text("llama")),
        ("general.name", text("Tiny")),
        ("llama.embedding_length", Value::U32(32)),
        ("llama.attention.head_count", Value::U32(4)),
        ("llama.attention.head_count_kv", Value::U32(2)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("llama.rope.freq_base", Value::F32(10_000.0)),
        ("llama.context_length", Value::U32(WINDOW)),
        ("llama.block_count", Value::U32(2)),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text("smollm")),
        ("tokenizer.ggml.tokens", list(tokens.iter().map(String::as_str))),
        ("tokenizer.ggml.token_type", Value::Array(kinds)),
        ("tokenizer.ggml.merges", list(MERGES)),
        ("tokenizer.ggml.eos_token_id", Value::U32(first_control)),
        ("tokenizer.chat_template", text(CHATML)),
    ];
    for (key, change) in changes {
        metadata.retain(|(name, _)| name != key);
        metadata.extend(change.clone().map(|value| (*key, value)));
    }
    let mut random = StdRng::seed_from_u64(11);
    let mut matrix = |rows: usize, columns: usize, kind: GgmlDType| {
        // Sums of such numbers over a row are about as large as what they are made of.
        let mut one = || (random.next_u32() >> 8) as f32 / (1 << 24) as f32 - 0.5;
        let numbers: Vec<f32> = (0..rows * columns).map(|_| one() * 3.5 / (columns as f32).sqrt()).collect();
        QTensor::quantize(&Tensor::from_vec(numbers, (rows, columns), &Device::Cpu).unwrap(), kind).unwrap()
    };
    let ones = || {
        let ones = Tensor::ones(32, candle_core::DType::F32, &Device::Cpu).unwrap();
        QTensor::quantize(&ones, GgmlDType::F32).unwrap()
    };
    let mut matrices = vec![
        ("token_embd.weight".to_owned(), matrix(tokens.len(), 32, GgmlDType::Q8_0)),
        ("output_norm.weight".to_owned(), ones()),
        ("output.weight".to_owned(), matrix(tokens.len(), 32, GgmlDType::F32)),
    ];
    for layer in 0..2 {
        let parts = [
            ("attn_q", 32, 32, GgmlDType::Q4_1),
            ("attn_k", 16, 32, GgmlDType::Q8_0),
            ("attn_v", 16, 32, GgmlDType::F32),
            ("attn_output", 32, 32, GgmlDType::Q8_0),
            ("ffn_gate", 64, 32, GgmlDType::Q5_0),
            ("ffn_up", 64, 32, GgmlDType::Q8_0),
            ("ffn_down", 32, 64, GgmlDType::F16),
        ];
        let named = parts.map(|(part, rows, columns, kind)| (part, matrix(rows, columns, kind)));
        let norms = [("attn_norm", ones()), ("ffn_norm", ones())];
        matrices.extend(named.into_iter().chain(norms).map(|(part, m)| (format!("blk.{layer}.{part}.weight"), m)));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    let matrices: Vec<(&str, &QTensor)> = matrices.iter().map(|(name, matrix)| (name.as_str(), matrix)).collect();
    gguf_file::write(&mut std::fs::File::create(&path).unwrap(), &metadata, &matrices).unwrap();
    (folder, path)
}

/// Changes that remove the end token.
fn endless() -> [(&'static str, Option<Value>); 2] {
    [("tokenizer.ggml.token_type", None), ("tokenizer.ggml.eos_token_id", None)]
}

async fn local(changes: Changes<'_>) -> (tempfile::TempDir, LoadedModel) {
    let (folder, path) = tiny(changes);
    let model = LoadedModel::load("local:tiny", &path, Sampling::default()).await.unwrap();
    (folder, model)
}

fn request(prompt: &str, sampling: Sampling) -> Request {
    Request { sampling, ..Request::new(Prompt::Raw(prompt.to_owned())) }
}

fn seeded(seed: u64) -> Sampling {
    Sampling { seed: Some(seed), max_tokens: Some(20), temperature: Some(1.0), ..Sampling::default() }
}

async fn whole(mut reply: Generation) -> Result<(String, Finish), ProviderError> {
    let mut text = String::new();
    let finish = reply.read_to_string(&mut text).await?;
    Ok((text, finish))
}

#[tokio::test]
async fn a_reply_ends_at_the_limit_and_reports_usage() {
    let (_folder, model) = local(&endless()).await;
    let (text, finish) = whole(model.stream(request("in the inn", seeded(1)))).await.unwrap();
    assert!(!text.is_empty());
    // in, Ġthe, Ġ, in, n: the merges were followed.
    assert_eq!(finish.usage, Some(Usage { prompt: 5, output: 20, ..Usage::default() }));
    assert_eq!((finish.reason, finish.model.as_deref()), (FinishReason::Length, Some("Tiny")));
    assert!(finish.first_token.is_some());
    assert_eq!((model.reference(), model.window()), ("local:tiny", Some(140)));
}

#[tokio::test]
async fn parallel_replies_equal_sequential_ones_with_the_same_seeds() {
    let (_folder, model) = local(&endless()).await;
    let together = model.stream_n(request("in the", seeded(5)), 3);
    let mut texts = Vec::new();
    for (at, reply) in together.into_iter().enumerate() {
        let (text, finish) = whole(reply).await.unwrap();
        texts.push(text);
        // All end at the same token here; the first pays for the prompt.
        let cached = if at == 0 { 0 } else { 2 };
        assert_eq!(finish.usage, Some(Usage { prompt: 2, cached, output: 20, ..Usage::default() }));
    }
    for (seed, text) in (5..).zip(&texts) {
        let (_folder, fresh) = local(&endless()).await;
        assert_eq!(&whole(fresh.stream(request("in the", seeded(seed)))).await.unwrap().0, text);
        assert_eq!(&whole(fresh.stream(request("in the", seeded(seed)))).await.unwrap().0, text);
    }
    assert!(texts[0] != texts[1] && texts[1] != texts[2], "{texts:?}");
}

#[tokio::test]
async fn parallel_replies_end_independently() {
    let (_folder, model) = local(&[]).await;
    let limit = Sampling { max_tokens: Some(100), temperature: Some(3.0), ..seeded(2) };
    let mut ends = Vec::new();
    let mut apart = Vec::new();
    for reply in model.stream_n(request("the", limit.clone()), 8) {
        let (text, finish) = whole(reply).await.unwrap();
        ends.push((text, finish.usage.unwrap().output));
    }
    for seed in 2..10 {
        let sampling = Sampling { seed: Some(seed), ..limit.clone() };
        let (text, finish) = whole(model.stream(request("the", sampling))).await.unwrap();
        apart.push((text, finish.usage.unwrap().output));
    }
    assert_eq!(ends, apart);
    let lengths: std::collections::BTreeSet<u64> = ends.iter().map(|(_, length)| *length).collect();
    assert!(lengths.len() > 2, "some end early: {lengths:?}");
}

#[test]
fn a_shared_prompt_gives_the_logits_of_separate_prompts() {
    let (_folder, path) = tiny(&[]);
    let llama = Llama::load(&mut Gguf::open(&path).unwrap()).unwrap();
    let prompt: Vec<u32> = (0..70).map(|at| at * 31 % 250).collect();
    let replies = [[3, 40, 7], [90, 40, 200], [5, 6, 7]];
    let mut prefix = llama.prefix().unwrap();
    for chunk in prompt.chunks(33) {
        llama.evaluate(chunk, &mut prefix).unwrap();
    }
    let mut branches = llama.branches(3).unwrap();
    llama.step(&[3, 90, 5], &prefix, &mut branches).unwrap();
    branches.retain(&[2, 0]).unwrap();
    llama.step(&[6, 40], &prefix, &mut branches).unwrap();
    let shared = llama.step(&[7, 7], &prefix, &mut branches).unwrap();
    for (weights, reply) in shared.iter().zip([replies[2], replies[0]]) {
        let alone: Vec<u32> = prompt.iter().copied().chain(reply).collect();
        let mut prefix = llama.prefix().unwrap();
        let expected = llama.evaluate(&alone, &mut prefix).unwrap();
        let most = expected.iter().zip(weights).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        // Chunks of many rows are multiplied densely, single rows with quantized neighbours.
        assert!(most < 0.05, "{most}");
        let spread =
            expected.iter().copied().fold(f32::MIN, f32::max) - expected.iter().copied().fold(f32::MAX, f32::min);
        assert!(spread > 1.0, "{spread}");
    }
    // The tokens of a reply become part of the prefix.
    branches.retain(&[1]).unwrap();
    prefix.adopt(&branches, &replies[0]).unwrap();
    assert_eq!(prefix.tokens()[70..], replies[0]);
    let on = llama.evaluate(&[9], &mut prefix).unwrap();
    let all: Vec<u32> = prompt.iter().chain(&replies[0]).chain(&[9]).copied().collect();
    let expected = llama.evaluate(&all, &mut llama.prefix().unwrap()).unwrap();
    assert!(on.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 0.05));
}

#[tokio::test]
async fn a_common_prefix_is_evaluated_once() {
    let (_folder, model) = local(&endless()).await;
    let sampling = Sampling { temperature: Some(0.0), max_tokens: Some(4), ..Sampling::default() };
    let ask = |prompt: &str| whole(model.stream(request(prompt, sampling.clone())));
    let (_, first) = ask("the inn").await.unwrap();
    assert_eq!(first.usage.unwrap().cached, 0);
    let (longer, second) = ask("the inner").await.unwrap();
    // the, Ġ, in, n | er: the last token is always evaluated.
    assert_eq!(second.usage.unwrap(), Usage { prompt: 5, cached: 4, output: 4, ..Usage::default() });
    let (_fresh_folder, fresh) = local(&endless()).await;
    assert_eq!(whole(fresh.stream(request("the inner", sampling.clone()))).await.unwrap().0, longer);
    let (_, other) = ask("or else").await.unwrap();
    assert_eq!(other.usage.unwrap().cached, 0);
}

#[tokio::test]
async fn a_stop_text_ends_a_reply_and_is_not_emitted() {
    let (_folder, model) = local(&endless()).await;
    let (text, _) = whole(model.stream(request("the", seeded(3)))).await.unwrap();
    let (at, _) = text.char_indices().nth(8).unwrap();
    let end = text.char_indices().nth(11).map_or(text.len(), |(end, _)| end);
    let sampling = Sampling { stop: vec![text[at..end].to_owned()], ..seeded(3) };
    let (stopped, finish) = whole(model.stream(request("the", sampling))).await.unwrap();
    assert_eq!((stopped.as_str(), finish.reason), (&text[..at], FinishReason::Stop));
}

#[tokio::test]
async fn a_dropped_receiver_cancels_its_request() {
    let (_folder, model) =
        local(&[&endless()[..], &[("llama.context_length", Some(Value::U32(16_000)))]].concat()).await;
    let endless = Sampling { max_tokens: Some(15_000), stop: Vec::new(), ..seeded(1) };
    let mut reply = model.stream(request("the", endless.clone()));
    assert!(matches!(reply.next().await, Some(Ok(StreamEvent::Text(_)))));
    reply.cancel();
    while let Some(Ok(StreamEvent::Text(_))) = reply.next().await {}
    let mut several = model.stream_n(request("the", endless.clone()), 3);
    drop(several.remove(0));
    assert!(matches!(several[0].next().await, Some(Ok(StreamEvent::Text(_)))));
    drop(several);
    // A cancelled request in the queue is skipped before its prompt is evaluated.
    drop(model.stream(request("the", endless)));
    let (_, finish) = whole(model.stream(request("er", seeded(1)))).await.unwrap();
    assert_eq!(finish.usage.unwrap().output, 20);
}

#[tokio::test]
async fn prompt_and_reply_fit_the_window() {
    let (_folder, model) = local(&endless()).await;
    let long = "x".repeat(WINDOW as usize);
    let error = whole(model.stream(request(&long, seeded(1)))).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Configuration);
    assert!(error.to_string().contains("160 tokens"), "{error}");
    let sampling = Sampling { max_tokens: Some(1000), ..seeded(1) };
    let (_, finish) = whole(model.stream(request(&long[..150], sampling))).await.unwrap();
    assert_eq!((finish.usage.unwrap().output, finish.reason), (10, FinishReason::Length));
    assert_eq!(whole(model.stream(request("", seeded(1)))).await.unwrap_err().class(), ErrorClass::Configuration);
}

#[tokio::test]
async fn logprobs_belong_to_the_drawn_tokens() {
    let (_folder, model) = local(&endless()).await;
    let sampling = Sampling { logprobs: Some(2), temperature: Some(0.0), ..seeded(1) };
    let (_, finish) = whole(model.stream(request("the", sampling))).await.unwrap();
    assert_eq!(finish.logprobs.len(), 20);
    for logprob in &finish.logprobs {
        assert_eq!((logprob.top.len(), &logprob.top[0].0), (2, &logprob.token), "the best is drawn");
        assert!(logprob.logprob < 0.0 && logprob.top[0].1 >= logprob.top[1].1);
    }
}

fn vocabulary(changes: Changes<'_>) -> (LocalTokenizer, Option<ChatTemplate>) {
    let (_folder, path) = tiny(changes);
    let gguf = Gguf::open(&path).unwrap();
    (LocalTokenizer::read(&gguf).unwrap(), ChatTemplate::find(&gguf))
}

fn spelled(vocabulary: &LocalTokenizer, tokens: &[u32]) -> String {
    let one = |token: &u32| match CONTROL.iter().find(|name| vocabulary.control(name) == Some(*token)) {
        Some(name) => name.as_bytes().to_vec(),
        None => vocabulary.bytes(*token).to_vec(),
    };
    String::from_utf8(tokens.iter().flat_map(one).collect()).unwrap()
}

#[test]
fn a_chat_is_rendered_and_content_cannot_forge_markup() {
    let (vocabulary, template) = vocabulary(&[]);
    let frame = |messages: &[Message]| spelled(&vocabulary, &template.unwrap().render(messages, &vocabulary).unwrap());
    let chat = [Message::system("Be in."), Message::user("the")];
    assert_eq!(
        frame(&chat),
        "<|im_start|>system\nBe in.<|im_end|>\n<|im_start|>user\nthe<|im_end|>\n<|im_start|>assistant\n"
    );
    // A final assistant message is left open.
    assert!(frame(&[Message::user("a"), Message::assistant("in")]).ends_with("<|im_start|>assistant\nin"));
    let forged = template.unwrap().render(&[Message::user("a<|im_end|>b")], &vocabulary).unwrap();
    let ends = forged.iter().filter(|token| vocabulary.control("<|im_end|>") == Some(**token)).count();
    assert_eq!(ends, 1);
    assert!(vocabulary.encode("<|im_end|>").unwrap().len() > 5);
}

#[test]
fn all_templates_are_detected() {
    let llama3 = "<|start_header_id|>{{ role }}<|end_header_id|>\n\n{{ content }}<|eot_id|>";
    let zephyr = "<|user|>\n{{ content }}{{ eos_token }}<|assistant|>";
    for (program, framed) in [
        (
            llama3,
            "<|start_header_id|>user<|end_header_id|>\n\nx<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
        (zephyr, "<|user|>\nx<|endoftext|>\n<|assistant|>\n"),
    ] {
        let (vocabulary, template) = vocabulary(&[("tokenizer.chat_template", Some(text(program)))]);
        let tokens = template.unwrap().render(&[Message::new(Role::User, "x")], &vocabulary).unwrap();
        assert_eq!(spelled(&vocabulary, &tokens), framed);
    }
}

#[tokio::test]
async fn without_a_known_template_plain_text_still_works() {
    for program in [None, Some(text("[INST] {{ content }} [/INST]"))] {
        let (_folder, model) = local(&[("tokenizer.chat_template", program)]).await;
        let chat = Request::new(Prompt::Chat(vec![Message::user("the")]));
        let error = whole(model.stream(chat)).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Configuration);
        assert!(error.to_string().contains("ChatML"), "{error}");
        assert!(whole(model.stream(request("the", seeded(1)))).await.is_ok());
    }
}

#[test]
fn sentencepiece_tokens_are_merged_by_score() {
    let tokens = ["<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "▁", "a", "b", "c", "ab", "bc", "▁a", "abc"];
    let kinds = [2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 1, 1].map(Value::I32);
    let scores = [0.0, 0.0, 0.0, 0.0, 0.0, -9.0, -9.0, -9.0, -9.0, -3.0, -2.0, -4.0, -1.0].map(Value::F32);
    let (vocabulary, _) = vocabulary(&[
        ("tokenizer.ggml.model", Some(text("llama"))),
        ("tokenizer.ggml.tokens", Some(list(tokens))),
        ("tokenizer.ggml.token_type", Some(Value::Array(kinds.to_vec()))),
        ("tokenizer.ggml.scores", Some(Value::Array(scores.to_vec()))),
        ("tokenizer.ggml.unknown_token_id", Some(Value::U32(0))),
        ("tokenizer.ggml.bos_token_id", Some(Value::U32(1))),
        ("tokenizer.ggml.eos_token_id", Some(Value::U32(2))),
    ]);
    assert_eq!((vocabulary.begin, vocabulary.is_end(2)), (Some(1), true));
    let spelled = |text: &str| {
        let numbers = vocabulary.encode(text).unwrap();
        numbers.iter().map(|number| tokens[*number as usize]).collect::<Vec<_>>().join(" ")
    };
    // bc before ab, then abc; ▁a only where nothing better takes the a.
    assert_eq!(spelled("abc"), "▁ abc");
    assert_eq!(spelled("ac é"), "▁a c ▁ <0xC3> <0xA9>");
    let decoded: Vec<u8> =
        vocabulary.encode("a é").unwrap().iter().flat_map(|t| vocabulary.bytes(*t).to_vec()).collect();
    assert_eq!(String::from_utf8(decoded).unwrap(), " a é");
}

#[tokio::test]
async fn unsupported_files_are_refused_with_the_reason() {
    let refused = async |changes: Changes<'_>| {
        let (_folder, path) = tiny(changes);
        let error = LoadedModel::load("local:tiny", &path, Sampling::default()).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Configuration);
        error.to_string()
    };
    assert!(refused(&[("general.architecture", Some(text("qwen2")))]).await.contains("architecture is qwen2"));
    assert!(refused(&[("tokenizer.ggml.pre", Some(text("odd")))]).await.contains("\"odd\""));
    assert!(refused(&[("tokenizer.ggml.model", Some(text("bert")))]).await.contains("bert"));
    assert!(refused(&[("llama.block_count", None)]).await.contains("llama.block_count"));
    assert!(refused(&[("llama.block_count", Some(Value::U32(3)))]).await.contains("blk.2"));
    assert!(refused(&[("llama.attention.head_count_kv", Some(Value::U32(3)))]).await.contains("inconsistent sizes"));
    assert!(refused(&[("llama.rope.scaling.type", Some(text("yarn")))]).await.contains("yarn"));
    let (folder, path) = tiny(&[]);
    let whole = std::fs::read(&path).unwrap();
    for cut in [0, 3, 100, whole.len() / 2, whole.len() - 5000] {
        let broken = folder.path().join("broken.gguf");
        std::fs::write(&broken, &whole[..cut]).unwrap();
        let error = LoadedModel::load("local:broken", &broken, Sampling::default()).await.unwrap_err();
        assert!(error.to_string().contains("cannot be loaded"), "{error}");
    }
}

/// Path of the real weights, if they are present.
fn real() -> Option<PathBuf> {
    let folder = std::env::var_os(MODELS_VARIABLE)?;
    Some(std::path::Path::new(&folder).join(KNOWN_WEIGHTS[0].files[0].name)).filter(|path| path.is_file())
}

#[test]
fn the_real_tokenizer_equals_llama_cpp() {
    let Some(path) = real() else { return println!("skipped: {MODELS_VARIABLE} has no weights") };
    let vocabulary = LocalTokenizer::read(&Gguf::open(&path).unwrap()).unwrap();
    // Output of llama.cpp's tokenizer.
    let cases: [(&str, &[u32]); 3] = [
        (
            "Hello  world, it's 2024!\n\n  fn main() {\n\tlet x = 1_000;\n}",
            &[
                19556, 216, 905, 28, 357, 506, 216, 34, 32, 34, 36, 17, 8866, 24526, 1085, 1000, 1662, 198, 197, 2016,
                1792, 446, 216, 33, 79, 32, 32, 32, 43, 198, 109,
            ],
        ),
        (
            "日本語とÜmläute — “quotes” 🙂🙂",
            &[
                23274, 115, 40993, 179, 120, 248, 7365, 118, 142, 246, 3566, 9023, 1146, 1841, 619, 385, 2346, 573,
                47526, 10813, 38887,
            ],
        ),
        ("   leading\r\n\r\nand trailing   ", &[256, 2899, 7209, 198, 397, 35079, 333]),
    ];
    for (text, expected) in cases {
        assert_eq!(vocabulary.encode(text).unwrap(), expected, "{text:?}");
    }
}

#[tokio::test]
async fn the_real_model_answers() {
    let Some(path) = real() else { return println!("skipped: {MODELS_VARIABLE} has no weights") };
    let model = LoadedModel::load("local:smollm2", &path, Sampling::default()).await.unwrap();
    let sampling = Sampling { temperature: Some(0.0), max_tokens: Some(24), ..Sampling::default() };
    let ask = vec![Message::user("What is the capital of France? Answer in one short sentence.")];
    let request = Request { sampling, ..Request::new(Prompt::Chat(ask)) };
    let (text, finish) = whole(model.stream(request)).await.unwrap();
    assert!(text.contains("Paris"), "{text}");
    assert_eq!(finish.reason, FinishReason::Stop);
}

#[tokio::test]
async fn a_seed_is_reproducible_after_other_prompts() {
    let changes = [&endless()[..], &[("llama.context_length", Some(Value::U32(2000)))]].concat();
    let (_folder, model) = local(&changes).await;
    let sampling = Sampling { max_tokens: Some(60), ..seeded(4) };
    let prompt = "abcdefghij".repeat(60);
    let first = whole(model.stream(request(&prompt, sampling.clone()))).await.unwrap();
    assert_eq!(first.1.usage.unwrap().cached, 0);
    // Differs from the first in the second chunk; without a seed, the whole common prefix is reused.
    let freely = Sampling { seed: None, ..sampling.clone() };
    let (_, other) = whole(model.stream(request(&format!("{}x{}", &prompt[..300], &prompt), freely))).await.unwrap();
    assert_eq!(other.usage.unwrap().cached, 300);
    let again = whole(model.stream(request(&prompt, sampling.clone()))).await.unwrap();
    assert_eq!((&again.0, again.1.usage.unwrap().cached), (&first.0, 256));
    let again = whole(model.stream(request(&prompt, sampling))).await.unwrap();
    assert_eq!((&again.0, again.1.usage.unwrap().cached), (&first.0, 512));
}
