//! Documents and everything there is to say about them.
