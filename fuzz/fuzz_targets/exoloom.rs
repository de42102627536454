//! Runs the target `exoloom` of `loomtree::fuzz` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (loomtree::fuzz::target("exoloom").run)(input));
