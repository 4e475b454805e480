//! Content hashes, for names and cache keys. SHA-256, so that they are the same on every machine and toolchain.

use hmac_sha256::Hash;

/// 64 hexadecimal digits of the SHA-256 of `parts`, each part kept apart from the next by its length.
pub fn full<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Hash::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first 12 hexadecimal digits of the hash of `parts`: enough to tell a crate's kernels apart.
pub fn short_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digits = full(parts);
    digits.truncate(12);
    digits
}

/// The same of one text.
pub fn short(text: &str) -> String {
    short_of([text.as_bytes()])
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
        assert_eq!(short("autokernel"), "c9a3045d45d6");
        assert_eq!(
            full([b"".as_slice(), b"autokernel"]),
            "6c64cc3c3548d5999a887497c2aa879b95a589b02e8174710a91be559c38ffc3"
        );
    }
}
