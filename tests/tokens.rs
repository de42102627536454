//! The estimate of tokens beside OpenAI's tokenizers.

#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "../benches/common/texts.rs"]
mod texts;

#[test]
fn the_estimate_is_near_and_never_far_under() {
    let tokenizers = [tiktoken_rs::o200k_base().unwrap(), tiktoken_rs::cl100k_base().unwrap()];
    let mut means = Vec::new();
    for (kind, texts) in texts::all() {
        for tokenizer in &tokenizers {
            let judged = texts::judge(&texts, |text| tokenizer.encode_ordinary(text).len());
            assert!(judged.tokens > 300, "{kind} has {} tokens", judged.tokens);
            assert!(judged.under < 15.0, "{kind} is {:.1} % under", judged.under);
            let most = if ["Chinese", "Japanese", "Korean"].contains(&kind) { 50.0 } else { 15.0 };
            assert!(judged.over < most, "{kind} is {:.1} % over", judged.over);
            means.push(judged.mean);
        }
    }
    let count = f64::from(u32::try_from(means.len()).unwrap());
    let mean = means.iter().sum::<f64>() / count;
    assert!(mean < 10.0, "{mean:.1} % in the mean");
}
