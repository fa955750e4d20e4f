//! Every spelling of an entry, and what it means.
