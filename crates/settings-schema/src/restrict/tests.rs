//! A wrong type never admits more.
