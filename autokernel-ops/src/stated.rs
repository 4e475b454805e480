//! Numbers that a CUDA file states and Rust counts with: read from its text when this crate is compiled, so that they stand once.

/// The number behind `declared` in `header`, as in `constexpr int kName = 64;`.
///
/// # Panics
/// It is not there, which the compiler says of a constant.
pub(crate) const fn stated(header: &str, declared: &str) -> u32 {
    let (text, declared) = (header.as_bytes(), declared.as_bytes());
    let mut begin = 0;
    while begin + declared.len() < text.len() {
        if begins_with(text, begin, declared) {
            return digits(text, begin + declared.len());
        }
        begin += 1;
    }
    panic!("the header does not state this number")
}

const fn begins_with(text: &[u8], begin: usize, other: &[u8]) -> bool {
    let mut at = 0;
    while at < other.len() {
        if text[begin + at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

const fn digits(text: &[u8], begin: usize) -> u32 {
    let (mut at, mut number) = (begin, 0);
    while at < text.len() && text[at].is_ascii_digit() {
        number = 10 * number + (text[at] - b'0') as u32;
        at += 1;
    }
    assert!(at > begin, "what the header states is no number");
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "// kMost = 3\nconstexpr int kMost = 64;  // of 128\nconstexpr int kLeast = kMost;";

    #[test]
    fn a_number_is_read_behind_its_declaration() {
        assert_eq!(stated(HEADER, "constexpr int kMost = "), 64);
    }

    #[test]
    #[should_panic(expected = "does not state")]
    fn a_number_that_is_not_there_is_no_number() {
        stated(HEADER, "constexpr int kOther = ");
    }

    #[test]
    #[should_panic(expected = "is no number")]
    fn a_name_is_no_number() {
        stated(HEADER, "constexpr int kLeast = ");
    }
}
