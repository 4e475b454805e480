//! The shapes at which a crate's kernels are tuned.

use std::collections::BTreeSet;

use autokernel_codegen::build::Declared;
use autokernel_codegen::matmul;
use autokernel_core::{Dimension, Extents};

use super::args::DemandArgs;
use super::error::DemandError;
use super::launch_log::LaunchLog;
use super::matching::{declared_by, demand};
use super::package::Package;
use super::wanted::{Demand, Demands};
use crate::options::of_dims;

/// The first dimension where nothing says it: decoding, a small batch, a prompt, a training step.
pub const DEFAULT_M: [u32; 4] = [16, 128, 1024, 4096];

/// What `package` wants: its declared problems at the shapes of the log, of `--shape`, or of its known dimensions.
pub fn demands(
    args: &DemandArgs,
    named: &[Extents],
    package: &Package,
    log: Option<&LaunchLog>,
) -> Result<Demands, DemandError> {
    let declared = package.build.declared(&package.root)?;
    if declared.is_empty() {
        return Err(DemandError::NothingDeclared(package.root.clone()));
    }
    let mut demands = Demands::default();
    let mut seen = BTreeSet::new();
    let distinct: Vec<&Declared> = declared.iter().filter(|kernel| seen.insert(kernel.problem.key())).collect();
    for kernel in distinct {
        let logged = log.map(|log| logged(kernel, &declared, log));
        match shapes(args, named, kernel, logged) {
            Ok(of_kernel) => of_kernel.into_iter().for_each(|demand| demands.add(demand)),
            Err(reason) => {
                let file = kernel.file.strip_prefix(&package.root).unwrap_or(&kernel.file).display();
                demands.notes.push(format!("`{}` ({file}, {}): {reason}", kernel.name, kernel.problem));
            }
        }
    }
    if let Some(log) = log {
        demands.notes.extend(foreign(&declared, log));
    }
    Ok(demands)
}

/// The logged launches of `kernel`.
fn logged(kernel: &Declared, declared: &[Declared], log: &LaunchLog) -> Vec<Demand> {
    let its = |maker: &Declared| maker.problem == kernel.problem;
    let launches = log.launches.iter().filter(|launches| declared_by(launches, declared).is_some_and(its));
    launches.map(|launches| demand(launches, kernel.problem.clone())).collect()
}

/// At which shapes a kernel is tuned, or why at none.
fn shapes(
    args: &DemandArgs,
    named: &[Extents],
    kernel: &Declared,
    logged: Option<Vec<Demand>>,
) -> Result<Vec<Demand>, String> {
    let at = |shape| Demand {
        kernel: kernel.name.clone(),
        problem: kernel.problem.clone(),
        shape,
        archs: Vec::new(),
        count: 1,
    };
    if let Some(logged) = logged {
        return of_log(args, logged);
    }
    if !named.is_empty() {
        let signature = kernel.problem.signature();
        let own = named.iter().filter_map(|shape| of_dims(shape, signature.names()));
        let fitting: Vec<Demand> = own.filter(|shape| kernel.problem.fits(shape)).map(at).collect();
        return if fitting.is_empty() { Err("no --shape has its known dimensions".to_owned()) } else { Ok(fitting) };
    }
    let rows = if args.m.is_empty() { DEFAULT_M.to_vec() } else { args.m.clone() };
    let dims = kernel.problem.signature().dims;
    rows.into_iter().map(|rows| of_known(&dims, rows).map(at)).collect()
}

/// The extents with `first` in the first dimension and what was compiled in for the others, or which are missing.
fn of_known(dims: &[Dimension], first: u32) -> Result<Extents, String> {
    let sizes = dims.iter().enumerate().map(|(at, dim)| Some((dim.name, if at == 0 { first } else { dim.known? })));
    let known = sizes.collect::<Option<Vec<_>>>().and_then(Extents::collect);
    known.ok_or_else(|| {
        let unknown = dims.iter().skip(1).filter(|dim| dim.known.is_none());
        let unknown: Vec<&str> = unknown.map(|dim| dim.name.as_str()).collect();
        format!(
            "nothing says its {}; {}record a run with AUTOKERNEL_RECORD=shapes.jsonl and add --shapes-from shapes.jsonl, or \
             name shapes with --shape",
            unknown.join(", "),
            declared_known(&unknown)
        )
    })
}

/// How an attribute says these dimensions, where it can: that of a product has settings for its columns and its sums.
fn declared_known(dims: &[&str]) -> String {
    let settings: Vec<String> = matmul::DIMS[1..].iter().map(|dim| dim.to_string()).collect();
    if !dims.iter().all(|dim| settings.iter().any(|setting| setting == dim)) {
        return String::new();
    }
    let settings: Vec<String> = dims.iter().map(|dim| format!("{dim} = …")).collect();
    format!("declare them in its attribute ({}), ", settings.join(", "))
}

/// The logged demands; with `--m` at those rows instead of their own.
fn of_log(args: &DemandArgs, logged: Vec<Demand>) -> Result<Vec<Demand>, String> {
    if logged.is_empty() {
        return Err("it was not launched in the recorded run; record one that uses it".to_owned());
    }
    if args.m.is_empty() {
        return Ok(logged);
    }
    let at =
        |demand: Demand| args.m.iter().map(move |&m| Demand { shape: with_rows(&demand.shape, m), ..demand.clone() });
    Ok(logged.into_iter().flat_map(at).collect())
}

/// What the log has of kernels that the crate does not declare.
fn foreign(declared: &[Declared], log: &LaunchLog) -> Option<String> {
    let others = log.launches.iter().filter(|launches| declared_by(launches, declared).is_none());
    let names: BTreeSet<&str> = others.map(|launches| launches.kernel.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    Some(format!("left out, as this crate does not declare them: {names}; without --crate they are tuned too"))
}

/// `shape` with another size in the first dimension.
fn with_rows(shape: &Extents, rows: u32) -> Extents {
    let sizes = shape.iter().enumerate().map(|(at, (dim, size))| (dim, if at == 0 { rows } else { size }));
    Extents::collect(sizes).unwrap_or(*shape)
}
