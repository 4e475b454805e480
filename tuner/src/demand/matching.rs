//! From logged launches to demands: by themselves, or for the kernels that a crate declares.

use autokernel_codegen::build::Declared;
use autokernel_codegen::problem::Problem;

use super::launch_log::{LaunchLog, Launches};
use super::wanted::{Demand, Demands};

/// Everything that was launched.
pub fn of_log(log: &LaunchLog) -> Demands {
    let mut demands = Demands::default();
    for launches in &log.launches {
        match launches.problem.problem() {
            Ok(problem) if problem.fits(&launches.shape) => demands.add(demand(launches, problem)),
            Ok(problem) => demands.notes.push(format!(
                "`{}` at {:?}: not extents of {problem}; record it again",
                launches.kernel, launches.shape
            )),
            Err(error) => demands.notes.push(format!(
                "`{}` at {}: {error}; name the crate that declares it with --crate",
                launches.kernel, launches.shape
            )),
        }
    }
    demands
}

/// The demand of launches of a problem.
pub fn demand(launches: &Launches, problem: Problem) -> Demand {
    Demand {
        kernel: launches.kernel.clone(),
        shape: problem.class().ordered(&launches.shape).unwrap_or(launches.shape),
        problem,
        archs: launches.arch.into_iter().collect(),
        count: launches.count,
    }
}

/// The declared kernel that made these launches: one of the same problem, else one that has meanwhile got other known
/// dimensions, if they fit the shape; among several that of the same name.
pub fn declared_by<'d>(launches: &Launches, declared: &'d [Declared]) -> Option<&'d Declared> {
    let same = |kernel: &&Declared| launches.problem.is(&kernel.problem);
    let similar = |kernel: &&Declared| {
        launches.problem.is_up_to_dimensions(&kernel.problem) && kernel.problem.fits(&launches.shape)
    };
    let named = |kernel: &&Declared| kernel.name == launches.kernel;
    let among = |filter: &dyn Fn(&&Declared) -> bool| {
        let mut found = declared.iter().filter(|kernel| filter(kernel));
        let first = found.clone().next();
        found.find(named).or(first)
    };
    among(&same).or_else(|| among(&similar))
}
