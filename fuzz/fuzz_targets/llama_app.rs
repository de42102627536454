//! Runs the target `llama_app` of `loomtree::fuzz` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (loomtree::fuzz::target("llama_app").run)(input));
