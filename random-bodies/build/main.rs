//! Draws declarations and schedules, compiles them, and hands the attributes a manifest with these images alone: everything
//! between a body's text and its launch is a user's way, but for who chose the schedule.
//!
//! `AUTOKERNEL_SEED` is the seed of the first declaration, each following one's is one more; `AUTOKERNEL_BODIES` is how many;
//! with `AUTOKERNEL_SOAK` schedules have tiles of any size.

mod draw;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use autokernel_codegen::build::{ImageFiles, MANIFEST_ENV, Manifest, Plan, Variant, cache_folder};
use autokernel_codegen::function::{FunctionText, Functions};
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::spec::{Refused, Spec, attribute};
use draw::Declaration;
use draw::schedule::{Sizes, schedule};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rayon::prelude::*;

/// As many as every run of the tests has time for.
const BODIES: u64 = 32;
const FIRST: u64 = 1000;

fn main() {
    for name in ["AUTOKERNEL_SEED", "AUTOKERNEL_BODIES", "AUTOKERNEL_SOAK"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names it"));
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo names it"));
    let (compiler, not_compiled) = match Nvcc::locate(&root, &cache_folder(&out)) {
        Ok(nvcc) => (Some(Compiler::new(nvcc, cache_folder(&out))), None),
        Err(reason) => (None, Some(reason.to_string())),
    };
    let first = number("AUTOKERNEL_SEED", FIRST);
    let seeds: Vec<u64> = (first..first + number("AUTOKERNEL_BODIES", BODIES)).collect();
    let bodies: Vec<Body> = seeds.par_iter().map(|&seed| body(seed, compiler.as_ref(), &out)).collect();

    std::fs::write(out.join("bodies.rs"), text(&bodies)).expect("OUT_DIR is writable");
    let manifest = Manifest {
        codegen: env!("CARGO_PKG_VERSION").to_owned(),
        crate_root: root,
        nvcc: compiler.map(|compiler| compiler.nvcc().version.clone()),
        not_compiled,
        misplaced: Vec::new(),
        functions: bodies.iter().flat_map(|body| body.declaration.functions()).collect(),
        plans: bodies.into_iter().map(|body| (body.plan.problem.key(), body.plan)).collect::<BTreeMap<_, _>>(),
    };
    let path = out.join("manifest.json");
    std::fs::write(&path, serde_json::to_vec(&manifest).expect("a manifest has only string keys"))
        .expect("OUT_DIR is writable");
    println!("cargo::rustc-env={MANIFEST_ENV}={}", path.display());
}

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

impl Declaration {
    fn functions(&self) -> Vec<FunctionText> {
        let file = "drawn.rs".to_owned();
        self.helpers.iter().map(|text| FunctionText { file: file.clone(), text: text.clone(), inside: None }).collect()
    }
}

/// A declaration with what became of it.
struct Body {
    seed: u64,
    declaration: Declaration,
    plan: Plan,
    /// What nvcc refused.
    refused: Option<String>,
}

/// The first declaration that is not too large among those of the seed.
fn declared(seed: u64) -> (Declaration, Problem) {
    for attempt in 0.. {
        let declaration = draw::declaration(seed, attempt);
        let refuse = |error: &dyn std::fmt::Display| -> ! { panic!("seed {seed}: {error}\n{}", declaration.function) };
        let functions = Functions::new(&declaration.functions());
        let attribute = attribute(declaration.attribute).expect("drawn among the attributes");
        let [arguments, function] = [&declaration.arguments, &declaration.function]
            .map(|text| text.parse().unwrap_or_else(|error| refuse(&error)));
        match Spec::judge(attribute, arguments, function, &functions) {
            Ok(spec) => {
                // Attributes read the manifest as a whole: what cannot be read again would be the failure of every body.
                let read = serde_json::to_value(&spec.problem).and_then(serde_json::from_value::<Problem>);
                let read = read.unwrap_or_else(|error| refuse(&error));
                assert!(read == spec.problem, "seed {seed}: not the same after JSON\n{}", declaration.function);
                return (declaration, spec.problem);
            }
            Err(Refused::TooLarge(_)) => {}
            Err(Refused::Wrong(error)) => refuse(&error),
        }
    }
    unreachable!("some body is small enough")
}

fn body(seed: u64, compiler: Option<&Compiler>, out: &Path) -> Body {
    let (declaration, problem) = declared(seed);
    let refuse = |error: &dyn std::fmt::Display| -> ! { panic!("seed {seed}: {error}\n{}", declaration.function) };
    let sizes = if std::env::var_os("AUTOKERNEL_SOAK").is_some() { Sizes::All } else { Sizes::Small };
    let drawn = schedule(&mut StdRng::seed_from_u64(!seed), &problem, sizes);
    let (arch, schedule) = drawn.unwrap_or_else(|| refuse(&"no schedule passes the rules"));
    let (source, plan) = problem.emit(&schedule).expect("of one of the problem's families");
    let compiled = compiler.map(|compiler| compiler.compile(&source, arch));
    let (image, refused) = match compiled {
        Some(Ok(image)) => {
            let [ptx, cubin] = ["ptx", "cubin"].map(|extension| out.join(format!("{seed}.{extension}")));
            for (from, to) in [(&image.ptx, &ptx), (&image.cubin, &cubin)] {
                std::fs::copy(from, to).expect("OUT_DIR is writable");
            }
            (Some(ImageFiles { ptx, cubin: Some(cubin), report: image.report }), None)
        }
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    let variant = Variant { arch, tuned: None, portfolio: None, schedule, plan, image };
    Body { seed, declaration, plan: Plan { problem, variants: vec![variant], portfolios: Default::default() }, refused }
}

/// The declarations in Rust, and a list of them.
fn text(bodies: &[Body]) -> String {
    let mut text = String::new();
    for Body { seed, declaration: Declaration { attribute, arguments, function, helpers }, .. } in bodies {
        writeln!(text, "mod seed_{seed} {{\nuse autokernel::{{Column, Index, Matrix, Row, Scalar, bf16, f16}};")
            .expect("any text fits");
        for helper in helpers {
            writeln!(text, "#[autokernel::function]\npub {helper}").expect("any text fits");
        }
        writeln!(text, "#[autokernel::{attribute}({arguments})]\npub {function}\n}}").expect("any text fits");
    }
    text += "/// Every body.\npub static BODIES: &[Body] = &[\n";
    for Body { seed, declaration, plan, refused } in bodies {
        let Declaration { attribute, arguments, function, helpers } = declaration;
        let source = format!("{}\n#[{attribute}({arguments})]\n{function}", helpers.join("\n"));
        let Variant { arch, schedule, .. } = &plan.variants[0];
        let schedule = format!("{schedule} for {arch}");
        writeln!(
            text,
            "Body {{ seed: {seed}, source: {source:?}, schedule: {schedule:?}, refused: {refused:?}, kernel: \
             &seed_{seed}::kernel::KERNEL }},"
        )
        .expect("any text fits");
    }
    text + "];\n"
}
