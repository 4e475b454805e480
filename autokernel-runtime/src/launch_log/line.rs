//! A line of the launch log, in the words of `best_config.json`.

use serde::Serialize;

use super::Served;
use crate::{Arch, ComputeCapability, Features, KernelDescriptor, ProblemDescriptor, Shape, Variant};

/// What was launched, ready to be written.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Launch {
    /// The declared function.
    kernel: String,
    problem: Problem,
    shape: Extents,
    /// The target that is tuned for this GPU; none on the CPU.
    arch: Option<String>,
    /// What ran; none on the CPU.
    entry: Option<Entry>,
}

#[derive(Debug, Clone, Serialize)]
struct Problem {
    operation: &'static str,
    input: String,
    output: String,
    layout: &'static str,
    epilogue: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    known_n: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    known_k: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
struct Extents {
    m: u32,
    n: u32,
    k: u32,
}

/// The variant that was chosen.
#[derive(Debug, Clone, Serialize)]
struct Entry {
    /// The kernel's name in its image.
    symbol: String,
    /// What its image was compiled for.
    arch: String,
    /// The shape it was tuned at; none for the arch's default.
    tuned_at: Option<Extents>,
}

/// A launch with its count: one line.
#[derive(Serialize)]
struct Line<'l> {
    #[serde(flatten)]
    launch: &'l Launch,
    count: u64,
}

impl Launch {
    pub fn new(kernel: &KernelDescriptor, shape: Shape, served: Served) -> Self {
        let (arch, entry) = match served {
            Served::Cpu => (None, None),
            Served::Gpu { capability, variant } => {
                (Some(tuned_arch(capability).to_string()), kernel.variants.get(variant).map(Entry::from))
            }
        };
        let problem = Problem::from(&kernel.problem);
        Self { kernel: kernel.name.to_string(), problem, shape: shape.into(), arch, entry }
    }

    /// The line of that many launches, with its line break.
    pub fn line(&self, count: u64) -> String {
        let json = serde_json::to_string(&Line { launch: self, count });
        json.expect("a launch has only string keys") + "\n"
    }
}

impl From<&ProblemDescriptor> for Problem {
    fn from(problem: &ProblemDescriptor) -> Self {
        Self {
            operation: "matmul",
            input: problem.input.to_string(),
            output: problem.output.to_string(),
            layout: if problem.transpose_b { "nt" } else { "nn" },
            epilogue: problem.epilogue.to_string(),
            known_n: problem.known_n,
            known_k: problem.known_k,
        }
    }
}

impl From<Shape> for Extents {
    fn from(Shape { m, n, k }: Shape) -> Self {
        Self { m, n, k }
    }
}

impl From<&Variant> for Entry {
    fn from(variant: &Variant) -> Self {
        Self {
            symbol: variant.symbol.to_string(),
            arch: variant.arch.to_string(),
            tuned_at: variant.tuned.as_ref().map(|tuned| tuned.shape.into()),
        }
    }
}

/// The arch that the tuner tunes for on a GPU: `sm_90a` on Hopper, whose own instructions the sm90 family needs.
fn tuned_arch(capability: ComputeCapability) -> Arch {
    let features = if capability == Arch::SM_90A.capability { Features::Specific } else { Features::Baseline };
    Arch { capability, features }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::{Dtype, Family, Geometry, Raster, RasterOrder};

    fn kernel() -> KernelDescriptor {
        let geometry = Geometry {
            family: Family::Sm90,
            tile_m: 128,
            tile_n: 256,
            tile_k: 64,
            cluster_m: 1,
            cluster_n: 1,
            swap_ab: false,
            split_k: 1,
            threads: 384,
            shared_bytes: 200_000,
            raster: Raster::new(RasterOrder::AlongM, 8),
        };
        KernelDescriptor {
            name: Cow::Borrowed("up"),
            problem: ProblemDescriptor {
                input: Dtype::Bf16,
                output: Dtype::F32,
                transpose_b: true,
                known_n: Some(4096),
                known_k: None,
                epilogue: Cow::Borrowed("leaky_relu(0.2)"),
            },
            variants: Cow::Owned(vec![Variant {
                arch: Arch::SM_90A,
                tuned: None,
                geometry,
                schedule: Cow::Borrowed("{}"),
                symbol: Cow::Borrowed("autokernel_up"),
                ptx: Cow::Borrowed(&[]),
                cubin: None,
            }]),
            not_compiled: None,
            epilogue: |x| x,
        }
    }

    #[test]
    fn a_line_says_what_was_launched_where_and_how_often() {
        let served = Served::Gpu { capability: ComputeCapability::new(9, 0), variant: 0 };
        let line = Launch::new(&kernel(), Shape::new(16, 4096, 1024), served).line(7);
        let expected = r#"{"kernel":"up","problem":{"operation":"matmul","input":"bf16","output":"f32","layout":"nt","epilogue":"leaky_relu(0.2)","known_n":4096},"shape":{"m":16,"n":4096,"k":1024},"arch":"sm_90a","entry":{"symbol":"autokernel_up","arch":"sm_90a","tuned_at":null},"count":7}"#;
        assert_eq!(line, format!("{expected}\n"));
    }

    #[test]
    fn a_launch_on_the_cpu_has_neither_arch_nor_entry() {
        let line = Launch::new(&kernel(), Shape::new(1, 2, 3), Served::Cpu).line(1);
        assert!(line.contains(r#""arch":null,"entry":null"#), "{line}");
    }

    #[test]
    fn each_gpu_is_recorded_under_the_arch_that_is_tuned_for_it() {
        let of = |major, minor| tuned_arch(ComputeCapability::new(major, minor)).to_string();
        assert_eq!([of(8, 6), of(9, 0), of(12, 0)], ["sm_86", "sm_90a", "sm_120"]);
    }
}
