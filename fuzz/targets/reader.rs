//! Arbitrary bytes as a settings file.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| qwen_fuzz::reader(bytes));
