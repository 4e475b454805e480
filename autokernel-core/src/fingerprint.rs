/// The fingerprint of a text whose own is `own`, and which depends on texts of those fingerprints, in their order. A build
/// computes it from what it found, and a crate from what rustc finds: where they differ, another text was found.
pub const fn fingerprint(own: u64, of_others: &[u64]) -> u64 {
    const MULTIPLIER: u64 = 0x0000_0100_0000_01b3;
    let mut all = own;
    let mut at = 0;
    while at < of_others.len() {
        all = (all.rotate_left(29) ^ of_others[at]).wrapping_mul(MULTIPLIER);
        at += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn a_fingerprint_tells_which_others_there_are_and_in_which_order() {
        let all = [fingerprint(1, &[]), fingerprint(1, &[2]), fingerprint(1, &[2, 3]), fingerprint(1, &[3, 2])];
        let different: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(fingerprint(1, &[]), 1);
    }
}
