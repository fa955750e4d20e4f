//! `qwen mcp plan`: reads the files, derives, and says what a session started here would do. Connects nothing.

mod document;
