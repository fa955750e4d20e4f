//! The qwen command.
