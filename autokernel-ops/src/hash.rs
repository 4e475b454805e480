//! Content hashes, for names and cache keys. SHA-256, so that they are the same on every machine and toolchain.

use sha2::{Digest, Sha256};

/// 64 hexadecimal digits of the SHA-256 of `parts`, each part kept apart from the next by its length.
pub fn full<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first 12 hexadecimal digits of the hash of `text`: enough to tell a crate's kernels apart.
pub fn short(text: &str) -> String {
    let mut digits = full([text.as_bytes()]);
    digits.truncate(12);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_does_not_confuse_where_parts_end() {
        assert_ne!(full([b"ab".as_slice(), b"c"]), full([b"a".as_slice(), b"bc"]));
    }

    #[test]
    fn a_hash_is_the_same_in_every_release() {
        assert_eq!(short("autokernel"), short("autokernel"));
        assert_eq!(short("autokernel").len(), 12);
    }
}
