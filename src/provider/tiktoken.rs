//! Exact token counts for OpenAI's models, with their vocabularies (feature `tiktoken`).
//!
//! Off by default: the vocabularies are large, and the estimate, calibrated by the usage that providers report, is enough
//! for most uses.

/// Counts the tokens of a text for the model of a reference; `None` if its tokenizer is unknown.
pub(super) fn count(reference: &str, text: &str) -> Option<usize> {
    let name = reference.rsplit([':', '/', '#']).next()?;
    let known = tiktoken_rs::bpe_for_model(name).ok()?;
    Some(known.encode_ordinary(text).len())
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn openai_models_are_counted_and_others_are_not() {
        let text = "대화는 나무처럼 갈라진다. A conversation branches like a tree.";
        let wide = tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len();
        let usual = tiktoken_rs::cl100k_base_singleton().encode_ordinary(text).len();
        assert!(wide < usual);
        assert_eq!(count("openai:gpt-4o-mini", text), Some(wide));
        assert_eq!(count("openrouter:openai/gpt-4.1", text), Some(wide));
        assert_eq!(count("openai:gpt-4", text), Some(usual));
        assert_eq!(count("ollama:llama3.2", text), None);
        assert_eq!(count("http://127.0.0.1:8089/v1#some-model", text), None);
    }
}
