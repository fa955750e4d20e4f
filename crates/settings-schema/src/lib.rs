//! The settings of the qwen MCP runtime as data.
