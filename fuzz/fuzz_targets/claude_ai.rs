//! Runs the target `claude_ai` of `loomtree::fuzz` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (loomtree::fuzz::target("claude_ai").run)(input));
