//! Runs the target `open_webui` of `loomtree::fuzz` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (loomtree::fuzz::target("open_webui").run)(input));
