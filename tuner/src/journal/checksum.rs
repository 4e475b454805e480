//! A checksum in each line, so that a bit that flips on a disk is noticed.
//!
//! It is the line's last member, `,"crc32":"89abcdef"}`, over all bytes before it: the line stays an ordinary object of
//! JSON.

const MEMBER: &[u8] = b",\"crc32\":\"";
const END: &[u8] = b"\"}";
const DIGITS: usize = 8;

/// What the checksum of a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fits the line.
    Whole,
    /// It does not.
    Damaged,
    /// There is none, as in lines of older tuners.
    Absent,
}

/// Puts the checksum into `object`, an object of JSON that is not empty.
pub fn seal(mut object: Vec<u8>) -> Vec<u8> {
    object.pop();
    let sum = crc32fast::hash(&object);
    object.extend_from_slice(MEMBER);
    object.extend_from_slice(format!("{sum:08x}").as_bytes());
    object.extend_from_slice(END);
    object
}

/// Whether `line`, without its line break, is what was sealed.
pub fn verify(line: &[u8]) -> Verdict {
    let Some(at) = line.len().checked_sub(MEMBER.len() + DIGITS + END.len()) else { return Verdict::Absent };
    let (object, tail) = line.split_at(at);
    let digits = tail.strip_prefix(MEMBER).and_then(|tail| tail.strip_suffix(END));
    let Some(digits) = digits else { return Verdict::Absent };
    if format!("{:08x}", crc32fast::hash(object)).as_bytes() == digits { Verdict::Whole } else { Verdict::Damaged }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_line_is_json_and_whole() {
        let sealed = seal(br#"{"line":"trial","at":1}"#.to_vec());
        assert_eq!(verify(&sealed), Verdict::Whole);
        let value: serde_json::Value = serde_json::from_slice(&sealed).unwrap();
        assert_eq!((value["line"].as_str(), value["crc32"].as_str().map(str::len)), (Some("trial"), Some(8)));
    }

    #[test]
    fn no_flipped_bit_leaves_a_sealed_line_whole() {
        let sealed = seal(br#"{"line":"trial","at":1}"#.to_vec());
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(verify(&flipped), Verdict::Whole, "bit {bit}");
        }
    }

    #[test]
    fn a_line_without_a_checksum_is_not_called_damaged() {
        for line in ["", "{}", r#"{"line":"trial"}"#, r#"{"line":"trial","crc32":"short"}"#] {
            assert_eq!(verify(line.as_bytes()), Verdict::Absent, "{line}");
        }
    }
}
