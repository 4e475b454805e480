//! What is asked of a profile.

use std::path::PathBuf;

use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::matmul;
use autokernel_codegen::problem::{Layout, Problem, in_words, outputs};
use autokernel_core::Extents;

use super::error::ProfileError;
use crate::checkout::DEFAULT_CONFIG;
use crate::filter;
use crate::folder;
use crate::options::{of_dims, shape};

/// Say what bounds a kernel, how full it keeps a GPU, and what to try next.
///
/// Times are measured if this machine's GPU is meant and nvcc is here; else they come from the output folder's journal,
/// a recorded space or the config, and the page says from which. Everything else is computed.
#[derive(Clone, Debug, clap::Args)]
pub struct ProfileArgs {
    /// What is applied to each element, for example gelu, leaky_relu(0.2) or identity.
    #[arg(long, value_parser = filter::epilogue, default_value = "leaky_relu")]
    pub epilogue: Epilogue,
    /// The layout: nn (B is [k, n]), nt (B is [n, k]), and with A stored as [k, m] tn or tt; of other types than bf16 and f16 nt.
    #[arg(long, value_parser = filter::layout, default_value = "nt")]
    pub layout: Layout,
    /// The type of A and B: bf16, f16, e4m3, e5m2, i8 or f32.
    #[arg(long, value_parser = filter::input_type, default_value = "bf16")]
    pub dtype: Dtype,
    /// The type of C: that of A and B, or f32; of 8-bit inputs bf16, f16 or f32 [default: the first of these].
    #[arg(long, value_parser = output_type)]
    pub output: Option<Dtype>,
    /// The shape, as MxNxK.
    #[arg(long, value_name = "MxNxK", value_parser = shape)]
    pub shape: Extents,
    /// A GPU of the datasheets, for example a100, h100, h200, b200, l40s, rtx4090 [default: this machine's, else h200].
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// `tuned` (what a build with the config uses), `default`, or a schedule as JSON.
    #[arg(long, value_name = "tuned|default|JSON", default_value = "tuned")]
    pub schedule: String,
    /// Run a few tiles on an emulated GPU, with nvcc and without a GPU: bank conflicts, sectors, instructions and bytes by
    /// the lines of the CUDA source, and a model of the L2 cache.
    #[arg(long)]
    pub emulate: bool,
    /// The config in use.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONFIG)]
    pub config: PathBuf,
    /// The output folder, whose journal may know the time and which keeps the compiled kernels.
    #[arg(long, value_name = "DIR", default_value = folder::DEFAULT)]
    pub out: PathBuf,
    /// Where recorded spaces are [default: the tuner's own].
    #[arg(long, value_name = "DIR")]
    pub spaces: Option<PathBuf>,
    /// Print the profile as JSON.
    #[arg(long)]
    pub json: bool,
}

fn output_type(text: &str) -> Result<Dtype, String> {
    Dtype::from_name(text).ok_or_else(|| format!("`{text}` is not an element type; write bf16, f16 or f32"))
}

impl ProfileArgs {
    /// What is computed.
    ///
    /// # Errors
    /// The layout or the output type does not go with the input type.
    pub fn problem(&self) -> Result<Problem, ProfileError> {
        let (input, layout) = (self.dtype, self.layout);
        let layouts = Layout::of(input);
        if !layouts.contains(&layout) {
            let known = layouts.iter().map(Layout::to_string).collect::<Vec<_>>().join(" or ");
            return Err(ProfileError::Layout { input, layout, known });
        }
        let product = matmul::Problem::new(input, layout, self.epilogue.clone());
        let output = self.output.unwrap_or(product.output);
        if !outputs(input).contains(&output) {
            return Err(ProfileError::Output { input, output, known: in_words(outputs(input)) });
        }
        Ok(matmul::Problem { output, ..product }.into())
    }

    /// What is computed, and at which shape.
    ///
    /// # Errors
    /// The layout or the output type does not go with the input type, or the shape is not a product's.
    pub fn asked(&self) -> Result<(Problem, Extents), ProfileError> {
        let problem = self.problem()?;
        let shape = of_dims(&self.shape, problem.signature().names()).ok_or(ProfileError::Shape(self.shape))?;
        Ok((problem, shape))
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::matmul::extents;
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: ProfileArgs,
    }

    #[test]
    fn a_layout_or_an_output_that_does_not_go_with_the_inputs_is_refused_with_those_that_do() {
        let asked = |options: &[&str]| {
            let args = Command::parse_from([&["profile", "--shape", "16x16x16"], options].concat()).args;
            args.problem().map(|problem| problem.to_string()).map_err(|error| error.to_string())
        };
        for input in ["e4m3", "e5m2", "i8", "f32"] {
            for layout in ["nn", "tn", "tt"] {
                let refused = asked(&["--dtype", input, "--layout", layout]).unwrap_err();
                assert!(refused.contains(&format!("{input} lie as nt, not as {layout}")), "{refused}");
            }
        }
        assert!(asked(&["--dtype", "f16", "--layout", "tt"]).is_ok());
        let refused = asked(&["--dtype", "e4m3", "--output", "e4m3"]).unwrap_err();
        assert!(refused.contains("e4m3 inputs give `bf16`, `f16` or `f32`, not e4m3"), "{refused}");
        assert_eq!(asked(&["--dtype", "e4m3"]), asked(&["--dtype", "e4m3", "--output", "bf16"]));
        assert_eq!(asked(&["--dtype", "f16"]), asked(&["--dtype", "f16", "--output", "f16"]));
    }

    #[test]
    fn a_shape_of_another_operation_is_refused_with_the_form_of_a_products() {
        let asked = |shape: &str| Command::parse_from(["profile", "--shape", shape]).args.asked();
        assert_eq!(asked("3x4x5").unwrap().1, extents(3, 4, 5));
        for other in ["3x4", "3x4x5x6"] {
            let refused = asked(other).unwrap_err().to_string();
            assert!(refused.contains(other) && refused.contains("MxNxK"), "{refused}");
        }
    }
}
