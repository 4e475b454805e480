//! The shapes at which a crate's kernels are tuned.

use std::collections::BTreeSet;

use autokernel_codegen::build::Declared;
use autokernel_codegen::matmul::{extents, sizes};
use autokernel_core::Extents;

use super::args::DemandArgs;
use super::error::DemandError;
use super::launch_log::LaunchLog;
use super::matching::{declared_by, demand, fits};
use super::package::Package;
use super::wanted::{Demand, Demands};

/// M where nothing says it: decoding, a small batch, a prompt, a training step.
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
        let fitting: Vec<Demand> =
            named.iter().filter(|&&shape| fits(&kernel.problem, shape)).map(|&shape| at(shape)).collect();
        return if fitting.is_empty() { Err("no --shape has its known dimensions".to_owned()) } else { Ok(fitting) };
    }
    let (Some(n), Some(k)) = (kernel.problem.known_n, kernel.problem.known_k) else {
        return Err("its n and k are not both known; declare them in its attribute (n = …, k = …), record a run with \
                    AUTOKERNEL_RECORD=shapes.jsonl and add --shapes-from shapes.jsonl, or name shapes with --shape"
            .to_owned());
    };
    let rows = if args.m.is_empty() { DEFAULT_M.to_vec() } else { args.m.clone() };
    Ok(rows.into_iter().map(|m| at(extents(m, n, k))).collect())
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

fn with_rows(shape: &Extents, m: u32) -> Extents {
    let [_, n, k] = sizes(shape);
    extents(m, n, k)
}
