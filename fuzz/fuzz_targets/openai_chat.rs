//! Runs the target `openai_chat` of `loomtree::fuzz` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (loomtree::fuzz::target("openai_chat").run)(input));
