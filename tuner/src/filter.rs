//! Which targets are meant.

use std::str::FromStr;

use autokernel_codegen::arch::{Arch, ParseArchError};
use autokernel_codegen::config::Entry;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::problem::{INPUTS, Layout, Problem, ProblemClass, attributes};
use autokernel_core::Extents;
use clap::builder::PossibleValuesParser;

use crate::options::{is_wanted, shape};
use crate::target::Target;

/// What stands above the options that tell products apart.
const PRODUCTS: &str = "Of matrix products";

/// Of the hashes in names of classes.
const HASH_DIGITS: usize = 12;

/// Which targets are meant; all of them if nothing is said.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Filter {
    /// Only this shape: MxNxK of a product, MxNxKxCOUNT of groups or a batch, ROWSxCOLUMNS of a row-wise kernel,
    /// BATCHxHEADSxGROUPSxQUERIESxKEYSxDIMxVALUES of attention; may be repeated.
    #[arg(long, value_name = "MxNxK", value_parser = shape)]
    pub shape: Vec<Extents>,
    /// Only this attribute's kernels, built in or declared; of products matmul has no epilogue, fused_matmul one or a body.
    #[arg(long, value_parser = PossibleValuesParser::new(attributes().map(|attribute| attribute.name)))]
    pub op: Option<String>,
    /// Only this problem class, for example matmul_leaky_relu_bf16_bf16_nt, or as `tuner show` names that of a kernel with a body.
    #[arg(long, value_name = "CLASS", value_parser = class_name)]
    pub problem: Option<String>,
    /// Only this epilogue, for example gelu or leaky_relu(0.2).
    #[arg(long, help_heading = PRODUCTS, value_parser = epilogue)]
    pub epilogue: Option<Epilogue>,
    /// Only this type of A and B: bf16, f16, e4m3, e5m2, i8 or f32.
    #[arg(long, help_heading = PRODUCTS, value_parser = input_type)]
    pub dtype: Option<Dtype>,
    /// Only this layout: nn (B is [k, n]), nt (B is [n, k]), and with A stored as [k, m] tn or tt.
    #[arg(long, help_heading = PRODUCTS, value_parser = layout)]
    pub layout: Option<Layout>,
    /// Only this target, for example sm_90a; auto is any, and for tuning that of the GPU here, if there is one.
    #[arg(long, value_name = "ARCH", default_value = "auto")]
    pub arch: ArchChoice,
}

impl Filter {
    /// Whether `target` is meant.
    pub fn takes(&self, target: &Target) -> bool {
        self.passes(&target.problem, target.shape) && self.arch.admits(target.arch)
    }

    /// Whether `problem` is meant at `shape`, whatever the target of nvcc.
    pub fn passes(&self, problem: &Problem, shape: Extents) -> bool {
        self.passes_class(&problem.class(), shape)
            && self.epilogue.as_ref().is_none_or(|epilogue| problem.field("epilogue") == Some(epilogue.to_string()))
    }

    /// Whether `entry` is meant.
    pub fn takes_entry(&self, entry: &Entry) -> bool {
        self.takes_class(&entry.problem, entry.arch, entry.extents)
    }

    /// Whether `class` is meant at `shape`. A class has its epilogue whatever the parameters are.
    pub fn takes_class(&self, class: &ProblemClass, arch: Arch, shape: Extents) -> bool {
        self.passes_class(class, shape)
            && self.epilogue.as_ref().is_none_or(|epilogue| class.field("epilogue").as_deref() == Some(epilogue.name()))
            && self.arch.admits(arch)
    }

    /// What is asked of a class and of a problem alike.
    fn passes_class(&self, class: &ProblemClass, shape: Extents) -> bool {
        is_wanted(&self.shape, &shape)
            && self.op.as_deref().is_none_or(|op| op == class.attribute())
            && self.problem.as_ref().is_none_or(|name| *name == class.slug())
            && self.dtype.is_none_or(|dtype| class.field("input").as_deref() == Some(dtype.name()))
            && self.layout.is_none_or(|layout| class.field("layout") == Some(layout.to_string()))
    }
}

/// For which target of nvcc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchChoice {
    /// Any; for tuning that of the GPU, or else those of the recordings.
    #[default]
    Auto,
    /// This one.
    Named(Arch),
}

impl ArchChoice {
    /// Whether `arch` is meant.
    pub fn admits(self, arch: Arch) -> bool {
        self == ArchChoice::Auto || self == ArchChoice::Named(arch)
    }
}

impl FromStr for ArchChoice {
    type Err = ParseArchError;

    fn from_str(text: &str) -> Result<Self, ParseArchError> {
        if text == "auto" { Ok(ArchChoice::Auto) } else { text.parse().map(ArchChoice::Named) }
    }
}

/// Reads the name of a problem class from the command line: that of a built-in problem, or one that a declared kernel may be of.
pub fn class_name(text: &str) -> Result<String, String> {
    if Problem::built_in().iter().any(|problem| problem.class().slug() == text) || may_be_declared(text) {
        return Ok(text.to_owned());
    }
    let epilogues: Vec<String> = Epilogue::all().iter().map(|epilogue| epilogue.name().to_owned()).collect();
    Err(format!(
        "`{text}` is not a problem class; write matmul_EPILOGUE_INPUT_OUTPUT_LAYOUT, for example \
         matmul_identity_bf16_bf16_nn, with an epilogue of {}, inputs of bf16 or f16 in layout nn or nt, or of e4m3, e5m2, i8 or \
         f32 (as tf32) in layout nt, and an output of the same type or f32, of 8-bit inputs bf16, f16 or f32; or the name that \
         `tuner show` or `tuner --crate` tells of a declared kernel",
        epilogues.join(", ")
    ))
}

/// Whether only a declaration tells all of the class of that name: a hash stands for the body, or nothing of the attribute is built in.
fn may_be_declared(text: &str) -> bool {
    let is_hash = |part: &str| part.len() == HASH_DIGITS && part.bytes().all(|digit| digit.is_ascii_hexdigit());
    let is_of = |name: &str| text.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
    let is_built_in = |name: &str| Problem::built_in().iter().any(|problem| problem.class().attribute() == name);
    let mut names = attributes().map(|attribute| attribute.name);
    names.any(|name| is_of(name) && (text.split('_').any(is_hash) || !is_built_in(name)))
}

/// Reads an epilogue from the command line.
pub fn epilogue(text: &str) -> Result<Epilogue, String> {
    text.parse::<Epilogue>().map_err(|error| error.to_string())
}

/// Reads the type of A and B from the command line.
pub fn input_type(text: &str) -> Result<Dtype, String> {
    let known = Dtype::from_name(text).filter(|dtype| INPUTS.contains(dtype));
    known.ok_or_else(|| format!("`{text}` is not an input type; write bf16, f16, e4m3, e5m2, i8 or f32"))
}

/// Reads a layout from the command line.
pub fn layout(text: &str) -> Result<Layout, String> {
    let known = Layout::ALL.into_iter().find(|layout| layout.to_string() == text);
    known.ok_or_else(|| format!("`{text}` is not a layout; write nn, nt, tn or tt"))
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::matmul::{self, extents};
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        filter: Filter,
    }

    #[test]
    fn a_problem_class_is_read_as_it_is_written_and_anything_else_is_refused_with_the_form() {
        for epilogue in ["identity", "leaky_relu(0.2)", "gelu", "gelu_tanh"] {
            for layout in Layout::OF_ROW_MAJOR_A {
                let product = matmul::Problem::new(Dtype::F16, layout, epilogue.parse().unwrap());
                let class = Problem::from(matmul::Problem { output: Dtype::F32, ..product }).class();
                assert_eq!(class_name(&class.slug()), Ok(class.slug()));
            }
        }
        let misspelt = ["matmul_rleu_bf16_bf16_nn", "matmul_relu_bf16_f16_nn", "matmul_relu_bf16_bf16_tn"];
        for text in ["", "matmul", "matmul_bf16_bf16_nn", "matmul_relu_f32_f32_nn"].into_iter().chain(misspelt) {
            let refused = class_name(text).unwrap_err();
            assert!(refused.contains("matmul_identity_bf16_bf16_nn") && refused.contains("leaky_relu"), "{refused}");
        }
    }

    #[test]
    fn the_class_of_a_declared_kernel_is_named_as_it_is_told_and_takes_that_kernel_alone() {
        let row_wise = |body: &str| {
            let function = format!("fn double(x: &Matrix<f32>, out: &mut Matrix<f32>) {{ out = {body}; }}");
            Problem::from(autokernel_codegen::rows::problem(&syn::parse_str(&function).unwrap()).unwrap()).class()
        };
        let (class, other) = (row_wise("x + x"), row_wise("x / row_sum(x)"));
        let filter = Command::parse_from(["tuner", "--problem", &class.slug()]).filter;
        let takes = |class: &ProblemClass| filter.takes_class(class, Arch::SM_90A, class.ordered(&sizes()).unwrap());
        assert_eq!((takes(&class), takes(&other)), (true, false));
        for name in ["attention_causal_128_bf16", "routing_f32_2_of_8", "packing_bf16_i4x2_128"] {
            assert_eq!(class_name(name), Ok(name.to_owned()));
        }
        assert!(class_name("rowsmax").is_err() && class_name("softmax_bf16").is_err());
    }

    fn takes(options: &[&str], epilogue: &str) -> [bool; 2] {
        let filter = Command::parse_from([&["tuner"], options].concat()).filter;
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, epilogue.parse().unwrap());
        let (arch, shape) = (Arch::SM_90A, extents(1, 2, 3));
        let class = filter.takes_class(&problem.class(), arch, shape);
        [filter.takes(&Target { problem, arch, shape }), class]
    }

    #[test]
    fn nothing_said_takes_every_target_and_class() {
        assert_eq!(takes(&[], "gelu"), [true; 2]);
        assert_eq!(takes(&["--arch", "auto"], "gelu"), [true; 2]);
    }

    #[test]
    fn each_option_narrows_targets_and_classes_alike() {
        let options =
            [["--arch", "sm_80"], ["--op", "matmul"], ["--layout", "nn"], ["--dtype", "f16"], ["--shape", "4x5x6"]];
        for option in options {
            assert_eq!(takes(&option, "gelu"), [false; 2], "{option:?}");
        }
        let own = ["--arch", "sm_90a", "--op", "fused_matmul", "--layout", "nt", "--dtype", "bf16", "--shape", "1x2x3"];
        assert_eq!(takes(&own, "gelu"), [true; 2]);
        assert_eq!(takes(&["--op", "fused_matmul"], "identity"), [false; 2]);
        assert_eq!(takes(&["--op", "matmul"], "identity"), [true; 2]);
    }

    #[test]
    fn every_registered_attribute_is_an_op_and_takes_its_own_problems_alone() {
        for attribute in attributes() {
            let filter = Command::parse_from(["tuner", "--op", attribute.name]).filter;
            assert!(Problem::built_in().iter().all(|problem| {
                let class = problem.class();
                filter.takes_class(&class, Arch::SM_90A, extents(1, 2, 3)) == (class.attribute() == attribute.name)
            }));
        }
        let body = "fn double(x: &Matrix<f32>, out: &mut Matrix<f32>) { out = x + x; }";
        let row_wise = Problem::from(autokernel_codegen::rows::problem(&syn::parse_str(body).unwrap()).unwrap());
        let takes = |op| {
            let filter = Command::parse_from(["tuner", "--op", op]).filter;
            filter.takes_class(&row_wise.class(), Arch::SM_90A, row_wise.class().ordered(&sizes()).unwrap())
        };
        assert_eq!((takes("rows"), takes("matmul")), (true, false));
        assert!(
            Command::try_parse_from(["tuner", "--op", "softmax"])
                .is_err_and(|error| error.to_string().contains("rows"))
        );
    }

    fn sizes() -> Extents {
        Extents::new([(autokernel_core::dim("rows"), 4), (autokernel_core::dim("columns"), 8)])
    }

    #[test]
    fn a_class_has_its_epilogue_whatever_the_parameters_are() {
        assert_eq!(takes(&["--epilogue", "leaky_relu(0.2)"], "leaky_relu(0.01)"), [false, true]);
    }
}
