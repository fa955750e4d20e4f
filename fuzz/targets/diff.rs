//! Arbitrary bytes as two versions of a settings document, with a line of dashes between them.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| qwen_fuzz::diff(bytes));
