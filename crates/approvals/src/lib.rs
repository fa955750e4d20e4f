//! Approvals of MCP server entries, bound to the exact bytes that were shown.
