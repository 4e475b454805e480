//! Mutants of a text.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// What stands for a number in a mutant: what arithmetic and loops are afraid of.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "1e300",
    "-1e300",
    "1e-300",
    "1e999",
    "4294967295",
    "4294967296",
    "18446744073709551616",
    "0.0000001",
    "null",
    "\"\"",
    "[]",
    "2147483648",
];

/// `text` with one to three changes that `seed` decides.
pub fn mutant(text: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut mutant = text.to_vec();
    for _ in 0..random.random_range(1..=3) {
        change(&mut mutant, &mut random);
    }
    mutant
}

fn change(text: &mut Vec<u8>, random: &mut Pcg64) {
    if text.is_empty() {
        text.push(random.random());
        return;
    }
    let at = random.random_range(0..text.len());
    let end = (at + random.random_range(1..=16)).min(text.len());
    match random.random_range(0..8) {
        0 => text[at] ^= 1 << random.random_range(0..8),
        1 => text[at] = random.random(),
        2 => drop(text.drain(at..end)),
        3 => {
            let piece = text[at..end].to_vec();
            text.splice(at..at, piece);
        }
        4 => text.truncate(at),
        5 => text.insert(at, [b'"', b'{', b'[', b',', b'\\', b'\n', 0][random.random_range(0..7)]),
        6 => {
            let deep = vec![b'['; random.random_range(1..400)];
            text.splice(at..at, deep);
        }
        _ => number(text, at, random),
    }
}

/// Replaces the first number behind `at`.
fn number(text: &mut Vec<u8>, at: usize, random: &mut Pcg64) {
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'e');
    let Some(begin) = text[at..].iter().position(u8::is_ascii_digit).map(|found| at + found) else { return };
    let end = text[begin..].iter().position(|byte| !is_part(byte)).map_or(text.len(), |length| begin + length);
    let other = NUMBERS[random.random_range(0..NUMBERS.len())];
    text.splice(begin..end, other.bytes());
}
