//! Malformed and hostile PTX gives an error: never a panic, never an endless run.
//!
//! Texts are the programs of `programs/` with words, numbers and lines changed. `AUTOKERNEL_FUZZ` sets how many.

use std::path::Path;
use std::sync::LazyLock;

use autokernel_emulator::{Arch, Gpu, Launch, Module, Options};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// Texts that are tried ordinarily.
const ORDINARY: u32 = 20_000;

/// Numbers that find edges.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "15",
    "31",
    "32",
    "33",
    "255",
    "1024",
    "65535",
    "4294967295",
    "-2147483648",
    "18446744073709551615",
    "0x7fffffffffffffff",
];

/// Words that change what a text is.
const WORDS: [&str; 16] = [
    ";",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "bra again",
    "ret",
    "@%p1",
    "%tid.x",
    "bar.sync 0;",
    ".reg .b32 %r<99999999>;",
    "_",
    "bra loop;",
    "L: bra L;",
];

static PROGRAMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
});

/// The pieces of a text: words, numbers, and everything between them.
fn pieces(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "._%$:".contains(c);
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = is_word(first);
        let end = rest.find(|c: char| is_word(c) != kind).unwrap_or(rest.len());
        let end = if kind { end } else { end.min(first.len_utf8()) };
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces
}

/// A changed program.
fn mutated(seed: u64) -> String {
    let mut rng = SmallRng::seed_from_u64(seed);
    let text = PROGRAMS.choose(&mut rng).unwrap();
    let body = text.find(".visible").unwrap();
    let mut parts: Vec<&str> = pieces(&text[body..]);
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..parts.len());
        match rng.random_range(0..16) {
            0 => drop(parts.remove(at)),
            1 => parts[at] = NUMBERS.choose(&mut rng).unwrap(),
            2 => parts[at] = WORDS.choose(&mut rng).unwrap(),
            3 => parts.insert(at, WORDS.choose(&mut rng).unwrap()),
            4 => parts.truncate(at.max(1)),
            5 => {
                let other = rng.random_range(0..parts.len());
                parts.swap(at, other);
            }
            // A number where one is, a word of another program where one is: most of these still parse.
            6..=11 => {
                let numbers: Vec<usize> =
                    (0..parts.len()).filter(|&at| parts[at].starts_with(|c: char| c.is_ascii_digit())).collect();
                if let Some(&at) = numbers.choose(&mut rng) {
                    parts[at] = NUMBERS.choose(&mut rng).unwrap();
                }
            }
            _ => {
                let other = pieces(PROGRAMS.choose(&mut rng).unwrap());
                let alike: Vec<&str> =
                    other.into_iter().filter(|piece| piece.contains('.') && parts[at].contains('.')).collect();
                if let Some(piece) = alike.choose(&mut rng) {
                    parts[at] = piece;
                }
            }
        }
        if parts.is_empty() {
            break;
        }
    }
    format!("{}{}", &text[..body], parts.concat())
}

/// Reads and runs a text, whatever becomes of it; whether it was read, and whether it ran to its end.
fn survive(text: &str, seed: u64) -> (bool, bool) {
    let Ok(module) = Module::parse(text) else { return (false, false) };
    let Some(kernel) = module.kernels().next() else { return (true, false) };
    let name = kernel.name().to_owned();
    let bytes = kernel.parameter_bytes() as usize;
    let mut gpu = Gpu::new(Arch::Sm90a);
    let out = gpu.upload("out", &[0; 8192]).unwrap();
    let mut parameters = out.0.to_le_bytes().to_vec();
    parameters.resize(bytes.min(1 << 16), 0);
    let (blocks, threads) = if seed.is_multiple_of(2) { (2, 128) } else { (1, 32) };
    let launch = Launch::new([blocks, 1, 1], [threads, 1, 1], parameters);
    let options = Options { seed: seed % 3, instruction_budget: 5_000, ..Options::default() };
    (true, gpu.launch(&module, &name, &launch, &options).is_ok())
}

fn cases() -> u32 {
    std::env::var("AUTOKERNEL_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(ORDINARY)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_program_gives_a_result_or_an_error(seed in any::<u64>()) {
        survive(&mutated(seed), seed);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[ -~\n]{0,200}") {
        survive(&text, 0);
        survive(&format!(".visible .entry k() {{ {text} }}"), 1);
    }
}

#[test]
fn changed_programs_reach_the_interpreter_too() {
    let outcomes: Vec<(bool, bool)> = (0..2000).map(|seed| survive(&mutated(seed), seed)).collect();
    let read = outcomes.iter().filter(|(read, _)| *read).count();
    let ran = outcomes.iter().filter(|(_, ran)| *ran).count();
    assert!(read > 600 && ran > 100, "{read} of 2000 are read, {ran} run");
}
