//! The emulator's programs on a GPU: the hardware must leave the words that each expects of the documented behaviour.

use std::path::{Path, PathBuf};

use autokernel::Device;
use autokernel::cudarc::driver::{LaunchConfig, PushKernelArg};
use autokernel::cudarc::nvrtc::Ptx;
use gpu_tests::skip;

/// Where the programs lie; `AUTOKERNEL_ROOT` stands in for the workspace away from the machine that built this.
fn folder() -> PathBuf {
    let root = match std::env::var_os("AUTOKERNEL_ROOT") {
        Some(root) => root.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
    };
    root.join("autokernel-emulator/tests/programs")
}

/// What stands behind `// key: ` in a program, line by line.
fn comments<'t>(text: &'t str, key: &str) -> Vec<&'t str> {
    let prefix = format!("// {key}: ");
    text.lines().filter_map(|line| line.strip_prefix(&prefix)).collect()
}

/// The words that a program leaves on the GPU.
fn run(device: &Device, text: &str, words: usize) -> Result<Vec<u32>, Box<dyn std::error::Error>> {
    let stream = device.stream().ok_or("no GPU")?;
    let function = stream.context().load_module(Ptx::from_src(text))?.load_function("program")?;
    let mut out = stream.alloc_zeros::<u32>(words)?;
    let number = |key| comments(text, key).first().and_then(|number| number.parse().ok()).unwrap_or(1);
    let (grid_dim, block_dim) = ((number("blocks"), 1, 1), (number("threads"), 1, 1));
    let launch = LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 };
    // SAFETY: a program takes the address of its output alone, which is as long as what it is expected to leave there.
    unsafe { stream.launch_builder(&function).arg(&mut out).launch(launch) }?;
    Ok(stream.clone_dtoh(&out)?)
}

#[test]
fn the_hardware_leaves_the_words_that_the_emulators_programs_expect() {
    let Some(device) = skip::gpu("the_hardware_leaves_the_words_that_the_emulators_programs_expect") else { return };
    if device.info().is_ok_and(|info| info.compute_capability.major != 9) {
        return skip::log("the_hardware_leaves_the_words_that_the_emulators_programs_expect", "the GPU is no Hopper");
    }
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 25, "{} programs in {}", paths.len(), folder().display());
    let mut wrong = Vec::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        let expected: Vec<u32> = comments(&text, "expect")
            .iter()
            .flat_map(|line| line.split(' '))
            .map(|word| u32::from_str_radix(word, 16).unwrap())
            .collect();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match run(&device, &text, expected.len()) {
            Ok(words) if words == expected => println!("{name}: {} words as expected", words.len()),
            Ok(words) => {
                let differ = words.iter().zip(&expected).enumerate().filter(|(_, (got, expected))| got != expected);
                let list: Vec<String> =
                    differ.map(|(at, (got, expected))| format!("word {at} {got:08x} not {expected:08x}")).collect();
                wrong.push(format!("{name}: {}", list.join(", ")));
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {} programs:\n{}", wrong.len(), paths.len(), wrong.join("\n"));
}
