//! What the emulator counts, held against the counters of the hardware that `ncu` reads.
//!
//! The test starts itself under `ncu`, where it launches each variant of two kernels once. Counted are the sectors of
//! global memory and the wavefronts and bank conflicts of shared memory of what threads load and store; what TMA and
//! wgmma move passes by other units.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use autokernel::emulator::{Report, Site};
use autokernel::{
    Argument, CompiledKernel, Device, EmulatedKernel, Emulation, KernelDescriptor, KernelVariant, Matrix, f16,
    image_for, symbol,
};
use gpu_tests::kernels::f32_out;
use gpu_tests::skip;

/// Set in the process that `ncu` watches.
const WATCHED: &str = "AUTOKERNEL_WATCHED";
/// How far a counter may be from the hardware's: of itself, and a count of conflicts of the wavefronts that they are
/// among. The hardware also counts collisions with what TMA and wgmma read and write at the time.
const SHARE: f64 = 0.05;
/// Of the kernels, those that such collisions may push beyond it.
const PUSHED: f64 = 0.1;

const METRICS: [(Counter, &str); 6] = [
    (Counter::SectorsLoaded, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    (Counter::SectorsStored, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    (Counter::WavefrontsLoaded, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    (Counter::WavefrontsStored, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    (Counter::ConflictsLoaded, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
    (Counter::ConflictsStored, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Counter {
    SectorsLoaded,
    SectorsStored,
    WavefrontsLoaded,
    WavefrontsStored,
    ConflictsLoaded,
    ConflictsStored,
}

/// Counters of one kernel, by its symbol.
type Counted = BTreeMap<(String, Counter), f64>;

fn kernels() -> [&'static KernelDescriptor; 2] {
    [&f32_out::f16_nn_relu::KERNEL, &f32_out::f16_nt::KERNEL].map(|kernel| kernel.descriptor().unwrap())
}

/// Dense matrices of zeros, for an `m` by `n` by `k` product; one of the extents divides no tile.
fn matrices(device: &Device, transpose_b: bool) -> [Matrix<f16>; 2] {
    let (m, n, k) = EXTENTS;
    let b = if transpose_b { (n, k) } else { (k, n) };
    [(m, k), b].map(|(rows, columns)| Matrix::zeros(device, rows, columns).unwrap())
}

const EXTENTS: (usize, usize, usize) = (392, 520, 320);

fn launch(device: &Device, descriptor: &KernelDescriptor, mut launch: impl FnMut(&mut [Argument<'_>])) {
    let transpose_b = descriptor.signature.operands[1].axes == [1, 2];
    let [a, b] = matrices(device, transpose_b);
    let mut out = Matrix::<f32>::zeros(device, EXTENTS.0, EXTENTS.1).unwrap();
    launch(&mut [Argument::from(&a), Argument::from(&b), Argument::from(&mut out)]);
}

/// Launches every variant once: what `ncu` watches.
#[test]
fn every_variant_is_launched_once_under_the_profiler() {
    if std::env::var_os(WATCHED).is_none() {
        return;
    }
    let device = Device::new(0).unwrap();
    let gpu = device.info().unwrap().compute_capability;
    for descriptor in kernels() {
        for variant in &descriptor.variants {
            let Some(image) = image_for(variant, gpu) else { continue };
            // SAFETY: the descriptor was emitted by autokernel's build together with its images.
            let kernel = unsafe { CompiledKernel::load(&device, &descriptor.signature, &variant.plan, image) }.unwrap();
            launch(&device, descriptor, |arguments| kernel.launch(&device, arguments).unwrap());
        }
    }
    device.synchronize().unwrap();
}

#[test]
fn emulated_sectors_wavefronts_and_bank_conflicts_are_those_of_the_hardware() {
    let test = "gpu_counters::emulated_sectors_wavefronts_and_bank_conflicts_are_those_of_the_hardware";
    let Some(device) = skip::gpu(test) else { return };
    let measured = match profiled() {
        Ok(measured) => measured,
        Err(reason) => return skip::log(test, &reason),
    };
    let info = device.info().unwrap();
    let mut emulated = Counted::new();
    for descriptor in kernels() {
        let running =
            descriptor.variants.iter().filter(|variant| image_for(variant, info.compute_capability).is_some());
        running.for_each(|variant| emulate(descriptor, variant, info.sm_count, &mut emulated));
    }
    let mut apart = BTreeSet::new();
    println!("kernel, counter, hardware, emulated");
    for ((kernel, counter), &emulated) in &emulated {
        let of = |counter: Counter| measured.get(&(kernel.clone(), counter)).copied();
        let (Some(real), Some(whole)) = (of(*counter), of(counter.whole())) else {
            panic!("`{kernel}` has no {counter:?} in what ncu wrote")
        };
        println!("{kernel}, {counter:?}, {real}, {emulated}");
        if (real - emulated).abs() > SHARE * whole.max(emulated) {
            println!("  apart by more than {} %", 100.0 * SHARE);
            apart.insert(kernel.clone());
        }
    }
    let kernels = emulated.len() / METRICS.len();
    println!("{} of {kernels} kernels agree in every counter", kernels - apart.len());
    assert!(kernels >= 6 && apart.len() as f64 <= PUSHED * kernels as f64, "{apart:?}");
}

impl Counter {
    /// What a share of it is a share of.
    fn whole(self) -> Counter {
        match self {
            Counter::ConflictsLoaded => Counter::WavefrontsLoaded,
            Counter::ConflictsStored => Counter::WavefrontsStored,
            counter => counter,
        }
    }
}

/// Runs a variant on an emulated GPU of as many multiprocessors.
fn emulate(descriptor: &KernelDescriptor, variant: &KernelVariant, multiprocessors: u32, counted: &mut Counted) {
    let emulation = Emulation::new(variant.arch).multiprocessors(multiprocessors);
    let images = variant.image.unwrap();
    let kernel = EmulatedKernel::load(&emulation, &descriptor.signature, &variant.plan, images.ptx).unwrap();
    launch(&Device::cpu(), descriptor, |arguments| {
        let reports = kernel.launch(arguments).unwrap();
        let [report] = &reports[..] else { panic!("aligned operands need one kernel") };
        for (counter, _) in METRICS {
            counted.insert((symbol(&variant.plan).to_owned(), counter), of(report, counter));
        }
    });
}

fn of(report: &Report, counter: Counter) -> f64 {
    let sum = |counts: fn(&str) -> bool, count: fn(&Site) -> u64| {
        let sites = report.sites.values().filter(|site| counts(&site.instruction));
        sites.map(count).sum::<u64>() as f64
    };
    match counter {
        Counter::SectorsLoaded => sum(loads_global, |site| site.sectors),
        Counter::SectorsStored => sum(stores_global, |site| site.sectors),
        Counter::WavefrontsLoaded => sum(loads_shared, |site| site.wavefronts),
        Counter::WavefrontsStored => sum(stores_shared, |site| site.wavefronts),
        Counter::ConflictsLoaded => sum(loads_shared, |site| site.bank_conflicts),
        Counter::ConflictsStored => sum(stores_shared, |site| site.bank_conflicts),
    }
}

/// `cp.async` loads through the same unit; the hardware does not count what it stores.
fn loads_global(instruction: &str) -> bool {
    let copies = instruction.starts_with("cp.async.c");
    copies || (instruction.starts_with("ld.") && !instruction.contains("shared"))
}

fn stores_global(instruction: &str) -> bool {
    instruction.starts_with("st.") && !instruction.contains("shared") && !instruction.starts_with("st.async")
}

fn loads_shared(instruction: &str) -> bool {
    instruction.starts_with("ldmatrix") || instruction.starts_with("ld.shared")
}

/// Stores to a peer's shared memory are counted where they arrive, by another counter.
fn stores_shared(instruction: &str) -> bool {
    let own = instruction.starts_with("st.shared") && !instruction.contains("cluster");
    own || instruction.starts_with("stmatrix")
}

/// The counters of every kernel that this program launches under `ncu`, or why there are none.
fn profiled() -> Result<Counted, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let metrics = METRICS.map(|(_, metric)| metric).join(",");
    let ncu = Command::new("ncu")
        .args(["--csv", "--clock-control", "none", "--cache-control", "none", "--metrics", &metrics])
        .arg(this)
        .args(["--exact", "every_variant_is_launched_once_under_the_profiler", "--nocapture"])
        .env(WATCHED, "1")
        .output()
        .map_err(|error| format!("ncu: {error}"))?;
    let text = String::from_utf8_lossy(&ncu.stdout);
    // The program's own lines come before the table.
    let Some(table) = text.find("\"ID\",") else {
        return Err(format!("ncu wrote no table: {}", text.lines().last().unwrap_or_default()));
    };
    let mut counted = Counted::new();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&text.as_bytes()[table..]);
    for row in reader.deserialize::<BTreeMap<String, String>>().filter_map(Result::ok) {
        let column = |name: &str| row.get(name).map(String::as_str).unwrap_or_default();
        let (kernel, value) = (column("Kernel Name"), column("Metric Value").replace(',', ""));
        let kernel = kernel.split('(').next().unwrap_or_default();
        let metric = METRICS.iter().find(|(_, metric)| *metric == column("Metric Name"));
        if let (Some((counter, _)), Ok(value)) = (metric, value.parse()) {
            counted.insert((kernel.to_owned(), *counter), value);
        }
    }
    Ok(counted)
}
