//! The digest of a resolved wire: same fingerprint, same connection. Kept in memory only, under a per-process key,
//! so that no digest of a secret ever means anything outside this process.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::OnceLock,
};

use sha2::{Digest, Sha256};

use crate::domain::{EnvPolicy, OAuth, PoolMode, Remote, Secret, Stdio, VersionNegotiation, Wire};

/// Identifies a connection by everything that defines it. Not stable across processes, never written anywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Computes the digest over the canonical form of the wire, field by field.
    #[must_use]
    pub fn of(wire: &Wire) -> Self {
        let mut form = Form::keyed();
        match wire {
            Wire::Stdio(stdio) => form.tag(b's').stdio(stdio),
            Wire::Http(remote) => form.tag(b'h').remote(remote),
            Wire::Sse(remote) => form.tag(b'e').remote(remote),
        };
        let digest = form.0.finalize();
        let mut short = [0; 16];
        short.copy_from_slice(&digest[..16]);
        Self(short)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The canonical form: every text is preceded by its length and every collection by its size, so that no two
/// different wires have the same form.
struct Form(Sha256);

impl Form {
    fn keyed() -> Self {
        static KEY: OnceLock<[u8; 32]> = OnceLock::new();
        let key = KEY.get_or_init(|| {
            let mut key = [0; 32];
            for chunk in key.chunks_exact_mut(8) {
                chunk.copy_from_slice(&RandomState::new().hash_one(0u8).to_le_bytes());
            }
            key
        });
        let mut hash = Sha256::new();
        hash.update(key);
        Self(hash)
    }

    fn tag(&mut self, tag: u8) -> &mut Self {
        self.0.update([tag]);
        self
    }

    fn size(&mut self, size: usize) -> &mut Self {
        self.0.update((size as u64).to_le_bytes());
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.size(text.len());
        self.0.update(text.as_bytes());
        self
    }

    fn texts<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a String>) -> &mut Self {
        self.size(texts.len());
        for text in texts {
            self.text(text);
        }
        self
    }

    fn secrets(&mut self, map: &BTreeMap<String, Secret>) -> &mut Self {
        self.size(map.len());
        for (name, value) in map {
            self.text(name).text(value.expose());
        }
        self
    }

    fn stdio(&mut self, stdio: &Stdio) -> &mut Self {
        let Stdio { command, args, env, cwd, env_policy, version_negotiation, pool } = stdio;
        self.text(command).texts(args.iter()).secrets(env).text(&cwd.to_string_lossy());
        self.tag(match env_policy {
            EnvPolicy::Full => b'f',
            EnvPolicy::Restricted => b'r',
        });
        self.negotiation(*version_negotiation).pool(*pool)
    }

    fn remote(&mut self, remote: &Remote) -> &mut Self {
        let Remote { url, headers, oauth, auth_provider, sse_fallback, version_negotiation, pool } = remote;
        self.text(url.expose()).secrets(headers).tag(u8::from(*sse_fallback));
        match oauth {
            None => self.tag(b'-'),
            Some(OAuth { fields, scopes, audiences }) => {
                self.tag(b'+').secrets(fields).texts(scopes.iter()).texts(audiences.iter())
            }
        };
        self.size(auth_provider.len());
        for (name, value) in auth_provider {
            self.text(name).text(value);
        }
        self.negotiation(*version_negotiation).pool(*pool)
    }

    fn negotiation(&mut self, negotiation: VersionNegotiation) -> &mut Self {
        self.tag(match negotiation {
            VersionNegotiation::Auto => b'a',
            VersionNegotiation::Legacy => b'l',
            VersionNegotiation::Modern => b'm',
        })
    }

    fn pool(&mut self, pool: PoolMode) -> &mut Self {
        self.tag(match pool {
            PoolMode::Session => b'p',
            PoolMode::Shared => b's',
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::stdio;

    #[test]
    fn equal_wires_have_one_fingerprint_whatever_the_order_of_env() {
        let mut a = stdio("srv");
        a.env = [("A".to_owned(), "1".into()), ("B".to_owned(), "2".into())].into();
        let mut b = stdio("srv");
        b.env = [("B".to_owned(), "2".into()), ("A".to_owned(), "1".into())].into();
        assert_eq!(Fingerprint::of(&Wire::Stdio(a)), Fingerprint::of(&Wire::Stdio(b)));
    }

    #[test]
    fn text_cannot_move_between_neighbouring_fields() {
        let mut a = stdio("srv");
        a.args = vec!["ab".to_owned(), "c".to_owned()];
        let mut b = stdio("srv");
        b.args = vec!["a".to_owned(), "bc".to_owned()];
        assert_ne!(Fingerprint::of(&Wire::Stdio(a)), Fingerprint::of(&Wire::Stdio(b)));
    }

    proptest! {
        #[test]
        fn any_edit_of_one_field_is_another_fingerprint(field in 0..8usize, text in "[a-z]{1,6}") {
            let base = stdio("srv");
            let mut edited = base.clone();
            match field {
                0 => edited.command.push_str(&text),
                1 => edited.args.push(text),
                2 => { edited.env.insert(text, "1".into()); }
                3 => edited.cwd.push(text),
                4 => edited.env_policy = EnvPolicy::Restricted,
                5 => edited.version_negotiation = VersionNegotiation::Legacy,
                6 => edited.version_negotiation = VersionNegotiation::Modern,
                _ => edited.pool = PoolMode::Shared,
            }
            prop_assert_ne!(Fingerprint::of(&Wire::Stdio(base)), Fingerprint::of(&Wire::Stdio(edited)));
        }
    }
}
