//! The task on real files.
