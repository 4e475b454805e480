//! From problems to compiled variants.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use autokernel_core::{Dim, Extents, Portfolio};

use super::error::{BuildError, env};
use super::images;
use super::manifest::{ImageFiles, Plan, Variant};
use super::progress::Progress;
use crate::arch::Arch;
use crate::config::Config;
use crate::emit::KernelSource;
use crate::nvcc::{CompileError, Compiler, Image, joined_by};
use crate::problem::Problem;
use crate::schedule::Schedule;

/// A kernel to compile.
struct Job {
    source: KernelSource,
    arch: Arch,
    /// Whether its machine code is kept.
    tuned: bool,
    /// Whether somebody measured it: a problem does not do without it.
    needed: bool,
}

/// An image by its symbol and arch.
type ImageId = (String, Arch);

fn image_of(variant: &Variant) -> ImageId {
    (variant.symbol().to_owned(), variant.arch)
}

/// The plan of each problem, its images, as many as `most_of` says, compiled and copied below `out`.
pub fn build(
    problems: &BTreeMap<String, Problem>,
    config: &Config,
    most_of: impl Fn(&Problem, Arch) -> Option<NonZeroUsize>,
    compiler: Option<&Compiler>,
    out: &Path,
) -> Result<BTreeMap<String, Plan>, BuildError> {
    let mut plans = BTreeMap::new();
    let mut jobs = BTreeMap::new();
    for (key, problem) in problems {
        let mut variants = Vec::new();
        for (source, variant) in self::variants(problem, config, |arch| most_of(problem, arch)) {
            let (arch, tuned) = (variant.arch, variant.tuned.is_some() || variant.portfolio.is_some());
            let job = jobs.entry(image_of(&variant)).or_insert(Job { source, arch, tuned, needed: false });
            job.tuned |= tuned;
            job.needed |= is_needed(&variant, problem, config);
            variants.push(variant);
        }
        let portfolios = portfolios(problem, config);
        plans.insert(key.clone(), Plan { problem: problem.clone(), variants, portfolios });
    }
    let Some(compiler) = compiler else { return Ok(plans) };

    let jobs: Vec<Job> = jobs.into_values().collect();
    let (mut files, mut spilled) = (BTreeMap::new(), BTreeMap::new());
    for (job, image) in jobs.iter().zip(compile_all(compiler, &jobs)) {
        let id = (job.source.symbol.clone(), job.arch);
        match image {
            Ok(image) => {
                let name = format!("{}.{}", job.source.symbol, job.arch);
                files.insert(id, copy_image(&image, job.tuned, &name, out)?);
            }
            Err(error) if !job.needed && error.spilled_bytes().is_some() => {
                spilled.insert(id, error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    for plan in plans.values_mut() {
        for id in leave_out(&mut plan.variants, &spilled) {
            let spilling = jobs.iter().find(|job| (&job.source.symbol, job.arch) == (&id.0, id.1));
            if let (false, Some(job)) = (files.contains_key(&id), spilling) {
                // Others, which were not asked for, may do with the registers that there are.
                if !images::are_fewer(config, &plan.problem, job.arch, most_of(&plan.problem, job.arch)) {
                    warn_of_spills(&plan.problem, job.arch, &spilled[&id]);
                }
                let image = compiler.clone().with_spills().compile(&job.source, job.arch)?;
                files.insert(id, copy_image(&image, job.tuned, &format!("{}.{}", job.source.symbol, job.arch), out)?);
            }
        }
        for variant in &mut plan.variants {
            variant.image = files.get(&image_of(variant)).cloned();
        }
    }
    Ok(plans)
}

fn warn_of_spills(problem: &Problem, arch: Arch, error: &CompileError) {
    let bytes = error.spilled_bytes().unwrap_or(0);
    let faster = problem.with_fewer_registers();
    println!(
        "cargo::warning=autokernel: `{problem}` needs more registers than a thread has on {arch}: {bytes} bytes of them go \
         through memory. It is right, and slower; {faster} may be faster"
    );
}

/// Whether a problem does not do without `variant`: somebody measured it. A product's images carry over from one epilogue to
/// another, but nobody compiled them with this body before.
fn is_needed(variant: &Variant, problem: &Problem, config: &Config) -> bool {
    let has_body = problem.as_product().is_some_and(|product| product.body.is_some());
    match (&variant.tuned, variant.portfolio) {
        (Some(tuned), _) => !has_body || tuned.class == problem.class().to_string(),
        (None, Some(_)) => !has_body && config.portfolio_for(problem, variant.arch).is_some(),
        (None, None) => false,
    }
}

/// Leaves out images that would spill registers and that no problem needs: how many a body takes is known to ptxas alone. Of an arch
/// that has no others the one that spills least stays; gives those.
fn leave_out(variants: &mut Vec<Variant>, spilled: &BTreeMap<ImageId, CompileError>) -> Vec<ImageId> {
    let (gone, mut left): (Vec<Variant>, Vec<Variant>) =
        variants.drain(..).partition(|variant| spilled.contains_key(&image_of(variant)));
    let mut stay: BTreeMap<Arch, Variant> = BTreeMap::new();
    for variant in gone {
        let bytes = |variant: &Variant| spilled[&image_of(variant)].spilled_bytes();
        let is_missed = !left.iter().any(|other| other.arch == variant.arch);
        if is_missed && stay.get(&variant.arch).is_none_or(|other| bytes(&variant) < bytes(other)) {
            stay.insert(variant.arch, variant);
        }
    }
    let ids = stay.values().map(image_of).collect();
    left.extend(stay.into_values());
    *variants = left;
    ids
}

/// For each arch that a family serves the portfolio that serves `problem`, of the config or else its operation's own, and the tuned
/// entries; where there are none of its dimensions, the arch's default. Each with its source.
fn variants(
    problem: &Problem,
    config: &Config,
    most_of: impl Fn(Arch) -> Option<NonZeroUsize>,
) -> Vec<(KernelSource, Variant)> {
    let class = problem.class();
    let dims: Vec<Dim> = problem.signature().names().collect();
    let variant = |arch, schedule: Schedule, tuned, portfolio| {
        let emitted = problem.emit(&schedule);
        let (source, plan) = emitted.expect("a schedule that was checked for the class is of one of its families");
        (source, Variant { arch, tuned, portfolio, schedule, plan, image: None })
    };
    let mut variants = Vec::new();
    let serves = |arch: &&Arch| !class.families(**arch).is_empty();
    for &arch in config.archs.iter().filter(serves) {
        let (first, most) = (variants.len(), most_of(arch));
        let images = images::carried(config, problem, arch, most).into_iter();
        variants.extend(images.map(|(schedule, factor)| variant(arch, schedule, None, Some(factor))));
        let entries = images::tuned(config, problem, arch, most);
        variants.extend(entries.map(|entry| variant(arch, entry.schedule, Some(entry.tuned()), None)));
        // An entry of a single product says nothing of the extents of many.
        let is_of_these = |tuned: &Extents| tuned.iter().map(|(dim, _)| dim).eq(dims.iter().copied());
        let is_near = |it: &Variant| it.tuned.as_ref().is_none_or(|tuned| is_of_these(&tuned.extents));
        if !variants[first..].iter().any(|(_, it)| is_near(it)) {
            variants.push(variant(arch, class.default_schedule(arch), None, None));
        }
    }
    variants
}

/// By what is chosen among the images of each arch that has a portfolio.
fn portfolios(problem: &Problem, config: &Config) -> Vec<Portfolio> {
    let of_arch = |&arch: &Arch| {
        let shipped = config.portfolio_for(problem, arch);
        let model = shipped.map(|of| serde_json::to_string(&of.model).expect("constants have only string keys"));
        let has_images = !config.images_for(problem, arch).is_empty();
        has_images.then(|| Portfolio { arch, model, gpus: config.measured_on(problem, arch) })
    };
    config.archs.iter().filter_map(of_arch).collect()
}

/// Kernels that one run of nvcc compiles at most.
const MOST_TOGETHER: usize = 8;
/// Runs of each thread among which what is left is divided, so that none waits long for the last one.
const RUNS_LEFT: usize = 2;

/// The places of jobs that one run of nvcc compiles together, fewer towards the end.
fn units(jobs: &[Job], threads: usize) -> Vec<Vec<usize>> {
    let (mut units, mut open) = (Vec::new(), BTreeMap::<_, Vec<usize>>::new());
    for (at, job) in jobs.iter().enumerate() {
        let most = ((jobs.len() - at) / (threads * RUNS_LEFT)).clamp(1, MOST_TOGETHER);
        let Some(files) = joined_by(&job.source) else {
            units.push(vec![at]);
            continue;
        };
        let unit = open.entry((job.arch, files)).or_default();
        unit.push(at);
        if unit.len() >= most {
            units.push(std::mem::take(unit));
        }
    }
    units.extend(open.into_values().filter(|unit| !unit.is_empty()));
    units
}

/// Compiles on as many threads as cargo grants.
fn compile_all(compiler: &Compiler, jobs: &[Job]) -> Vec<Result<Image, CompileError>> {
    let threads = env("NUM_JOBS").ok().and_then(|jobs| jobs.to_str()?.parse().ok()).unwrap_or(1usize);
    let threads = threads.clamp(1, jobs.len().max(1));
    let units = units(jobs, threads);
    let next = AtomicUsize::new(0);
    let images: Mutex<Vec<(usize, Result<Image, CompileError>)>> = Mutex::new(Vec::new());
    let progress = Progress::new(jobs.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let sources: Vec<&KernelSource> = unit.iter().map(|&at| &jobs[at].source).collect();
                    let compiled = compiler.compile_together(&sources, jobs[unit[0]].arch);
                    let mut images = images.lock().expect("no compile panics while it holds the list");
                    images.extend(unit.iter().copied().zip(compiled));
                    progress.tell(images.len());
                }
            });
        }
    });
    let mut images = images.into_inner().expect("no compile panics while it holds the list");
    images.sort_by_key(|(at, _)| *at);
    images.into_iter().map(|(_, image)| image).collect()
}

/// Copies an image below `out`, so that emptying the cache breaks no later build.
fn copy_image(image: &Image, tuned: bool, name: &str, out: &Path) -> Result<ImageFiles, BuildError> {
    let copy = |from: &Path, extension: &str| -> Result<PathBuf, BuildError> {
        let to = out.join(format!("{name}.{extension}"));
        let content = std::fs::read(from).map_err(BuildError::io(from))?;
        write_if_changed(&to, &content).map_err(BuildError::io(&to))?;
        Ok(to)
    };
    let ptx = copy(&image.ptx, "ptx")?;
    let cubin = if tuned { Some(copy(&image.cubin, "cubin")?) } else { None };
    Ok(ImageFiles { ptx, cubin, report: image.report })
}

/// Leaves a file that holds `content` already untouched, so that nothing that depends on it is built again.
pub fn write_if_changed(path: &Path, content: &[u8]) -> std::io::Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    std::fs::write(path, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_the_same_headers_and_arch_are_compiled_together_and_fewer_of_them_towards_the_end() {
        let job = |file: &str, arch, number: usize| Job {
            source: KernelSource {
                symbol: format!("k{number}"),
                cuda: format!("#include \"{file}.cuh\"\n{number};\n"),
            },
            arch,
            tuned: true,
            needed: true,
        };
        let files = |number| if number % 3 == 0 { "epilogue" } else { "types" };
        let archs = [Arch::SM_80, Arch::SM_90A];
        let jobs: Vec<Job> = (0..100).map(|it| job(files(it), archs[it % 2], it)).collect();
        let units = units(&jobs, 2);
        for unit in &units {
            let first = &jobs[unit[0]];
            let is_alike = |at: &usize| jobs[*at].arch == first.arch && files(*at) == files(unit[0]);
            assert!(unit.iter().all(is_alike) && unit.len() <= MOST_TOGETHER, "{unit:?}");
        }
        let mut all: Vec<usize> = units.concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>(), "each once");
        assert_eq!((units[0].len(), units.last().map(Vec::len)), (MOST_TOGETHER, Some(1)));
        assert!(super::units(&jobs[..4], 2).iter().all(|unit| unit.len() == 1), "as many runs as threads");
    }

    #[test]
    fn a_tuned_entry_of_one_kernel_takes_no_image_from_another() {
        let body = |text: &str| Problem::from(crate::rows::problem(&syn::parse_str(text).unwrap()).unwrap());
        let tuned = body("fn double(x: &Matrix<f32>, out: &mut Matrix<f32>) { out = x + x; }");
        let other = body("fn spread(x: &Matrix<f32>, out: &mut Matrix<f32>) { out = x - row_max(x); }");
        let schedule = tuned.class().default_schedule(Arch::SM_90A);
        let config = serde_json::json!({
            "version": 2, "archs": ["sm_90a"],
            "entries": [{
                "problem": tuned.class(), "arch": "sm_90a", "shape": {"rows": 64, "columns": 64}, "schedule": schedule,
                "provenance": {
                    "gpu": "-", "driver": "-", "nvcc": "-", "date": "2026-01-01", "median_ms": 1.0, "spread_pct": 0.0,
                    "tflops": 1.0, "samples": 1, "proposed_by": "a test"
                }
            }]
        });
        let config: Config = serde_json::from_value(config).unwrap();
        for problem in [&tuned, &other] {
            let variants = variants(problem, &config, |_| None);
            let untuned = variants.iter().filter(|(_, variant)| variant.portfolio.is_some()).count();
            assert_eq!(untuned, problem.class().portfolio(Arch::SM_90A).len(), "{problem}");
            assert!(untuned > 1, "{problem}");
        }
        assert!(variants(&tuned, &config, |_| None).iter().any(|(_, variant)| variant.tuned.is_some()));
    }

    #[test]
    fn each_arch_that_has_a_portfolio_says_by_what_it_is_chosen_from_and_where_that_was_measured() {
        let product = |input| Problem::matmul(input, crate::problem::Layout::Nt, "relu".parse().unwrap());
        let of = |problem: &Problem, config: &Config| -> Vec<(String, bool, Vec<String>)> {
            let portfolios = portfolios(problem, config).into_iter();
            portfolios.map(|it| (it.arch.to_string(), it.model.is_some(), it.gpus)).collect()
        };
        let text = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../best_config.json")).unwrap();
        let shipped: Config = serde_json::from_slice(&text).unwrap();
        let (estimates, h200) = (|arch: &str| (arch.to_owned(), false, Vec::new()), || vec!["NVIDIA H200".to_owned()]);
        let bf16 = product(crate::dtype::Dtype::Bf16);
        assert_eq!(of(&bf16, &shipped), [estimates("sm_80"), ("sm_90a".to_owned(), true, h200())]);
        assert_eq!(of(&bf16, &Config::default()), [estimates("sm_80")]);
        let e4m3 = of(&product(crate::dtype::Dtype::E4m3), &shipped);
        assert_eq!(e4m3.last(), Some(&("sm_90a".to_owned(), false, h200())), "the room's own");
    }

    #[test]
    fn images_that_spill_are_left_out_but_for_the_one_that_spills_least_where_an_arch_has_no_other() {
        let body = syn::parse_quote! { fn double(x: &Matrix<f32>, out: &mut Matrix<f32>) { out = x + x; } };
        let problem = Problem::from(crate::rows::problem(&body).unwrap());
        let config = Config::default();
        let all: Vec<Variant> = variants(&problem, &config, |_| None).into_iter().map(|(_, variant)| variant).collect();
        let refused = |(number, variant): (usize, &Variant)| {
            let (symbol, arch) = image_of(variant);
            let log = format!("{} bytes spill stores", 8 + number % 3);
            (image_of(variant), CompileError::Refused { symbol, arch, log })
        };
        let mut one = all.clone();
        assert_eq!(leave_out(&mut one, &BTreeMap::from([refused((0, &all[0]))])), []);
        assert_eq!(one, all[1..]);

        let of_first_arch = || all.iter().enumerate().filter(|(_, variant)| variant.arch == all[0].arch);
        assert!(of_first_arch().count() > 3, "more than one spills least");
        let mut left = all.clone();
        let ids = leave_out(&mut left, &of_first_arch().map(refused).collect());
        assert_eq!(ids, [image_of(&all[0])]);
        assert_eq!(left.iter().filter(|variant| variant.arch == all[0].arch).count(), 1);
        assert!(left.iter().any(|variant| variant.arch != all[0].arch), "other archs keep theirs");
    }
}
