//! What a declared kernel carries on Hopper for sizes that nobody tuned, and which of it the model chooses.

use std::path::Path;

use autokernel::{AnyKernel, Arch, Datasheet, Device, Error, Extents, Images, KernelDescriptor, KernelVariant};
use autokernel_codegen::config::Config;
use autokernel_codegen::matmul::model::Machine;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::schedule::Schedule;
use autokernel_codegen::problem;
use autokernel_codegen::product::Problem;
use autokernel_core::Portfolio;

use crate::timed::Compiled;

/// The images of a kernel.
pub struct Carried {
    product: Problem,
    problem: problem::Problem,
    images: Vec<(autokernel_codegen::schedule::Schedule, f64)>,
    /// Of the model.
    constants: Option<String>,
}

impl Carried {
    /// Those of `problem`.
    ///
    /// # Panics
    /// The workspace's configuration cannot be read.
    pub fn of(problem: &Problem) -> Self {
        let text = include_str!("../../best_config.json");
        let config =
            Config::parse(text, Path::new("best_config.json")).expect("the workspace's configuration is valid");
        let product = problem.clone();
        let problem = problem::Problem::from(problem.clone());
        let constants = |model| serde_json::to_string(model).expect("constants have only string keys");
        Carried {
            images: config.images_for(&problem, Arch::SM_90A),
            constants: config.portfolio_for(&problem, Arch::SM_90A).map(|portfolio| constants(&portfolio.model)),
            problem,
            product,
        }
    }

    /// A kernel as a declaration makes it, which chooses for itself, of those of its images that compiled; they are never freed.
    ///
    /// # Panics
    /// Problems and schedules have no JSON.
    pub fn kernel(&self, compiled: &[Compiled]) -> AnyKernel {
        let json = |value: serde_json::Result<String>| value.expect("problems and schedules have only string keys");
        let factor = |schedule: &Schedule| {
            let of_image = |(image, _): &&(autokernel_codegen::schedule::Schedule, f64)| *image == (*schedule).into();
            self.images.iter().find(of_image).map(|(_, factor)| *factor)
        };
        let variant = |(schedule, plan, cubin): &Compiled| KernelVariant {
            arch: Arch::SM_90A,
            tuned: None,
            portfolio: factor(schedule),
            schedule: json(serde_json::to_string(&autokernel_codegen::schedule::Schedule::from(*schedule))),
            plan: plan.clone(),
            image: Some(Images { ptx: b"", cubin: Some(cubin.clone().leak()) }),
        };
        let portfolio = Portfolio { arch: Arch::SM_90A, model: self.constants.clone(), gpus: vec!["any".to_owned()] };
        let descriptor = KernelDescriptor {
            name: "carried".to_owned(),
            about: "what a declared kernel carries".to_owned(),
            problem: json(serde_json::to_string(&self.problem)),
            signature: signature(&self.product),
            variants: compiled.iter().map(variant).collect(),
            portfolios: vec![portfolio],
            confined: None,
            not_compiled: None,
        };
        let none = |_: &mut [autokernel::Argument<'_>]| Err(Error::NoDriver);
        // SAFETY: each image was compiled from the source that was emitted with its plan, of this signature.
        unsafe { AnyKernel::from_descriptor(descriptor, none) }
    }

    /// Their schedules, as they are launched at those extents on `machine`, which has the rate of 16 bits, with the milliseconds that the
    /// model predicts; the one that it chooses first.
    ///
    /// # Panics
    /// An image is of no product.
    pub fn at(&self, extents: &Extents, machine: Machine) -> Vec<(f64, Schedule)> {
        let machine = Machine { matrix_tflops: machine.matrix_tflops * self.over_16_bits(), ..machine };
        let predicted = |(image, factor): &(autokernel_codegen::schedule::Schedule, f64)| {
            let forecast = self.problem.class().forecast(image, self.constants.as_deref(), machine)?;
            let with = |schedule: autokernel_codegen::schedule::Schedule, (name, value): (&str, i32)| {
                schedule.with(name, u16::try_from(value).ok()?)
            };
            let launched = forecast.launch_knobs(extents).into_iter().try_fold(*image, with)?;
            Some((forecast.expected_ms(extents, *factor), Schedule::try_from(&launched).ok()?))
        };
        let all = self.images.iter().map(|image| predicted(image).expect("the model knows images of products"));
        let mut all: Vec<(f64, Schedule)> = all.collect();
        all.sort_by(|left, right| left.0.total_cmp(&right.0));
        all
    }

    /// The rate of the type that is multiplied over that of 16 bits, by an H200's datasheet.
    fn over_16_bits(&self) -> f64 {
        let peak = Datasheet::find("h200").map(|sheet| sheet.peak);
        let rate = self.problem.class().multiplies().zip(peak).and_then(|(dtype, peak)| peak.of(dtype));
        rate.map_or(1.0, |rate| rate / H200.matrix_tflops)
    }

    /// Their schedules, each by its first launch.
    ///
    /// # Panics
    /// An image is of no product.
    pub fn images(&self) -> impl Iterator<Item = Schedule> + '_ {
        self.images.iter().map(|(image, _)| Schedule::try_from(image).expect("images of products"))
    }
}

/// The H200, as the model sees it.
const H200: Machine = Machine {
    capability: autokernel::ComputeCapability::new(9, 0),
    sm_count: 132,
    matrix_tflops: 989.4,
    memory_gb_per_s: 4800.0,
};

/// What the datasheet says of `device`, or of an H200 where none describes it.
///
/// # Panics
/// The driver cannot say what GPU it is.
pub fn machine(device: &Device) -> Machine {
    let info = device.info().expect("the driver says what GPU it is");
    let of_sheet = |sheet: &Datasheet| Machine {
        capability: sheet.capability,
        sm_count: sheet.sm_count,
        memory_gb_per_s: sheet.bandwidth_gb_s,
        ..H200
    };
    Datasheet::of_driver_name(&info.name).map_or(H200, of_sheet)
}
