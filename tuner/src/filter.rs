//! Which targets are meant.

use autokernel_codegen::arch::Arch;
use autokernel_codegen::config::Entry;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::problem::{Layout, ProblemClass};
use autokernel_codegen::shape::Shape;

use crate::target::Target;

/// Which targets are meant; all of them if nothing is said.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Filter {
    /// Only this shape, as MxNxK; may be repeated.
    #[arg(long, value_name = "MxNxK")]
    pub shape: Vec<Shape>,
    /// Only this problem class, for example matmul_leaky_relu_bf16_bf16_nt.
    #[arg(long, value_name = "CLASS")]
    pub problem: Option<String>,
    /// Only this epilogue, for example gelu or leaky_relu(0.2).
    #[arg(long, value_parser = epilogue)]
    pub epilogue: Option<Epilogue>,
    /// Only this type of A and B: bf16 or f16.
    #[arg(long, value_parser = input_type)]
    pub dtype: Option<Dtype>,
    /// Only this layout: nn (B is [k, n]) or nt (B is [n, k]).
    #[arg(long, value_parser = layout)]
    pub layout: Option<Layout>,
    /// Only this target, for example sm_90a.
    #[arg(long)]
    pub arch: Option<Arch>,
}

impl Filter {
    /// Whether `target` is meant.
    pub fn takes(&self, target: &Target) -> bool {
        let problem = &target.problem;
        (self.shape.is_empty() || self.shape.contains(&target.shape))
            && self.problem.as_ref().is_none_or(|slug| *slug == problem.class().slug())
            && self.epilogue.as_ref().is_none_or(|epilogue| *epilogue == problem.epilogue)
            && self.dtype.is_none_or(|dtype| dtype == problem.input)
            && self.layout.is_none_or(|layout| layout == problem.layout)
            && self.arch.is_none_or(|arch| arch == target.arch)
    }

    /// Whether `entry` is meant.
    pub fn takes_entry(&self, entry: &Entry) -> bool {
        self.takes_class(&entry.problem, entry.arch, entry.shape)
    }

    /// Whether `class` is meant at `shape`. A class has its epilogue whatever the parameters are.
    pub fn takes_class(&self, class: &ProblemClass, arch: Arch, shape: Shape) -> bool {
        (self.shape.is_empty() || self.shape.contains(&shape))
            && self.problem.as_ref().is_none_or(|slug| *slug == class.slug())
            && self.epilogue.as_ref().is_none_or(|epilogue| epilogue.name() == class.epilogue)
            && self.dtype.is_none_or(|dtype| dtype == class.input)
            && self.layout.is_none_or(|layout| layout == class.layout)
            && self.arch.is_none_or(|wanted| wanted == arch)
    }
}

/// Reads an epilogue from the command line.
pub fn epilogue(text: &str) -> Result<Epilogue, String> {
    text.parse::<Epilogue>().map_err(|error| error.to_string())
}

/// Reads the type of A and B from the command line.
pub fn input_type(text: &str) -> Result<Dtype, String> {
    let known = Dtype::from_name(text).filter(|dtype| dtype.is_input());
    known.ok_or_else(|| format!("`{text}` is not an input type; write bf16 or f16"))
}

/// Reads a layout from the command line.
pub fn layout(text: &str) -> Result<Layout, String> {
    let known = Layout::ALL.into_iter().find(|layout| layout.to_string() == text);
    known.ok_or_else(|| format!("`{text}` is not a layout; write nn or nt"))
}
