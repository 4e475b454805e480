//! Small programs on the documented behaviour of single instructions, with the words that they must leave.
//!
//! Each file of `programs/` is a whole PTX module that any sm_90a GPU runs too: a kernel `program` with one parameter,
//! the address of its output, launched with the blocks and threads that its comments name. The comments `expect` list
//! the output, 32-bit words in hexadecimal, as the PTX ISA documents it.

use std::path::{Path, PathBuf};

use autokernel_emulator::{Arch, Gpu, Launch, Module, Options};

struct Program {
    name: String,
    text: String,
    blocks: u32,
    threads: u32,
    expected: Vec<u32>,
}

fn read(path: &Path) -> Program {
    let text = std::fs::read_to_string(path).unwrap();
    let comments = |key: &str| {
        let prefix = format!("// {key}: ");
        text.lines().filter_map(|line| line.strip_prefix(&prefix).map(str::to_owned)).collect::<Vec<_>>()
    };
    let number = |key: &str| comments(key)[0].parse().unwrap();
    let words = comments("expect").join(" ");
    Program {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        blocks: number("blocks"),
        threads: number("threads"),
        expected: words.split(' ').map(|word| u32::from_str_radix(word, 16).unwrap()).collect(),
        text,
    }
}

fn programs() -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn run(program: &Program, seed: u64) -> Result<Vec<u32>, String> {
    let module = Module::parse(&program.text).map_err(|error| error.to_string())?;
    let mut gpu = Gpu::new(Arch::Sm90a);
    let bytes = 4 * program.expected.len() as u64;
    let out = gpu.alloc_named("out", bytes).unwrap();
    let launch = Launch::new([program.blocks, 1, 1], [program.threads, 1, 1], out.0.to_le_bytes().to_vec());
    let options = Options { seed, instruction_budget: 1 << 20, ..Options::default() };
    gpu.launch(&module, "program", &launch, &options).map_err(|error| error.to_string())?;
    let bytes = gpu.read(out, bytes).unwrap();
    Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect())
}

#[test]
fn every_program_leaves_the_documented_words_in_any_order_of_events() {
    let programs = programs();
    assert!(programs.len() >= 25, "{} programs", programs.len());
    let mut wrong = Vec::new();
    for program in &programs {
        for seed in 0..8 {
            match run(program, seed) {
                Ok(words) if words == program.expected => {}
                Ok(words) => {
                    let at = words.iter().zip(&program.expected).position(|(got, expected)| got != expected).unwrap();
                    let (got, expected) = (words[at], program.expected[at]);
                    wrong.push(format!("{}: word {at} is {got:08x}, expected {expected:08x}", program.name));
                    break;
                }
                Err(error) => {
                    wrong.push(format!("{}: {error}", program.name));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} programs are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
