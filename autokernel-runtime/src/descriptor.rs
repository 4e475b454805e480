//! What a build knows of one declared kernel: a JSON text and images that a `static` can hold.

use std::fmt;

use autokernel_core::{Descriptor, LaunchPlan, Variant};

use crate::{ComputeCapability, CpuFunction, Error, Result};

/// Everything a build knows of one declared kernel, read.
pub type KernelDescriptor = Descriptor<Images>;

/// One compiled schedule of a kernel.
pub type KernelVariant = Variant<Images>;

/// What a build embeds of one kernel. Costs nothing until the kernel is first used.
#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    /// A [`Descriptor`] as JSON, whose variants name their images by number.
    pub json: &'static str,
    /// The images, each once: variants that differ in launch-time knobs alone share theirs.
    pub images: &'static [Images],
    /// The same computation on the CPU.
    pub cpu: CpuFunction,
}

/// The images of one compiled schedule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Images {
    /// PTX text; may be empty if there is a cubin.
    pub ptx: &'static [u8],
    /// Machine code for exactly the variant's arch.
    pub cubin: Option<&'static [u8]>,
}

/// One compiled image, as the driver takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image<'a> {
    /// PTX text: the driver compiles it when it is loaded.
    Ptx(&'a [u8]),
    /// Machine code: loaded as it is.
    Cubin(&'a [u8]),
}

impl Image<'_> {
    /// `PTX` or `cubin`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Ptx(_) => "PTX",
            Self::Cubin(_) => "cubin",
        }
    }
}

impl Embedded {
    /// Reads the text.
    ///
    /// # Errors
    /// [`Error::Descriptor`] if it is no descriptor, or names an image that is not there.
    pub(crate) fn read(&self) -> Result<KernelDescriptor> {
        let unusable = |reason: String| Error::Descriptor { reason };
        let written: Descriptor<usize> =
            serde_json::from_str(self.json).map_err(|error| unusable(error.to_string()))?;
        let Descriptor { name, about, problem, signature, variants, portfolios, confined, not_compiled } = written;
        let with_images = |variant: Variant<usize>| {
            let Variant { arch, tuned, portfolio, schedule, plan, image } = variant;
            let find = |number: usize| {
                let found = self.images.get(number).copied();
                found.ok_or_else(|| unusable(format!("there is no image number {number}")))
            };
            let image = image.map(find).transpose()?;
            Ok(Variant { arch, tuned, portfolio, schedule, plan, image })
        };
        let variants = variants.into_iter().map(with_images).collect::<Result<_>>()?;
        Ok(Descriptor { name, about, problem, signature, variants, portfolios, confined, not_compiled })
    }
}

/// The image of a variant that runs on a GPU of that compute capability: the cubin if it does, else the PTX, else none.
pub fn image_for(variant: &KernelVariant, gpu: ComputeCapability) -> Option<Image<'static>> {
    let images = variant.image?;
    let cubin = images.cubin.filter(|_| variant.arch.cubin_runs_on(gpu));
    let ptx = || Some(images.ptx).filter(|ptx| !ptx.is_empty() && variant.arch.ptx_runs_on(gpu));
    cubin.map(Image::Cubin).or_else(|| ptx().map(Image::Ptx))
}

/// What a plan is called in messages and in the launch log: the name of its first kernel.
pub fn symbol(plan: &LaunchPlan) -> &str {
    plan.kernels.first().map_or("", |kernel| &kernel.symbol)
}

impl fmt::Debug for Images {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cubin = self.cubin.map_or(0, <[u8]>::len);
        write!(f, "Images({} bytes of PTX, {cubin} of machine code)", self.ptx.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIANT: &str =
        r#"{"arch":"sm_80","tuned":null,"schedule":"{}","plan":{"alignments":[],"kernels":[]},"image":1}"#;
    const IMAGES: [Images; 2] = [Images { ptx: b"zero", cubin: None }, Images { ptx: b"one", cubin: None }];

    fn read(variants: &str) -> Result<KernelDescriptor> {
        let json = format!(
            r#"{{"name":"linear","about":"","problem":"{{}}","signature":{{"dims":[],"operands":[]}},
                "variants":[{variants}],"not_compiled":null}}"#
        );
        Embedded { json: json.leak(), images: &IMAGES, cpu: |_| Ok(()) }.read()
    }

    #[test]
    fn a_variant_finds_its_image_by_number() {
        let kernel = read(&[VARIANT, VARIANT].join(",")).unwrap();
        assert!(kernel.variants.iter().all(|variant| variant.image == Some(IMAGES[1])));
    }

    #[test]
    fn a_text_that_is_no_descriptor_is_an_error_with_the_remedy_and_no_panic() {
        for variants in ["{", &VARIANT.replace("\"image\":1", "\"image\":2"), &VARIANT.replace("tuned", "turned")] {
            let error = read(variants).unwrap_err();
            assert!(matches!(error, Error::Descriptor { .. }), "{error:?}");
            assert!(error.to_string().contains("Rebuild the crate"), "{error}");
        }
    }
}
