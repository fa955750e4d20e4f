//! Layers that differ a little, and what counts.
