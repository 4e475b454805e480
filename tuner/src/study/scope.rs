//! Which trials of a study are read: a search needs few of what may be a hundred million.

use std::collections::BTreeSet;

use super::error::StudyError;
use super::queue::{Numbered, Queue};
use super::request::Task;

/// Which trials of a study are read.
#[derive(Clone, Debug)]
pub enum Scope {
    /// All of them.
    All,
    /// Those that searches of these tasks learn from: their own, and their neighbours'.
    Searches(Vec<Task>),
}

/// Shapes of the same class, arch and environment that a search learns from: those nearest to its own.
const NEIGHBOURS: usize = 32;

impl Scope {
    /// The numbers of its tasks; none if that is all of them.
    pub fn tasks(&self, queue: &mut Queue) -> Result<Option<BTreeSet<i64>>, StudyError> {
        let Scope::Searches(wanted) = self else { return Ok(None) };
        let known = queue.tasks_in(wanted)?;
        Ok(Some(wanted.iter().flat_map(|task| near(task, &known)).collect()))
    }
}

/// The numbers of `wanted` and its neighbours among the tasks that are `known`. Neighbours are older than the task itself, so
/// that a search which goes on learns from those from which it learned when it began.
fn near(wanted: &Task, known: &[Numbered]) -> Vec<i64> {
    let own = known.iter().find(|known| known.task == *wanted).map(|known| known.id);
    let class = wanted.target.problem.class();
    let is_neighbour = |known: &&Numbered| {
        let Task { target, environment } = &known.task;
        own.is_none_or(|own| known.id < own)
            && *environment == wanted.environment
            && target.arch == wanted.target.arch
            && known.task != *wanted
            && target.problem.class() == class
    };
    let distance = |known: &Numbered| known.task.target.shape.distance(&wanted.target.shape).unwrap_or(f64::INFINITY);
    let mut neighbours: Vec<(f64, i64)> =
        known.iter().filter(is_neighbour).map(|known| (distance(known), known.id)).collect();
    neighbours.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    own.into_iter().chain(neighbours.into_iter().take(NEIGHBOURS).map(|(_, id)| id)).collect()
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::{Layout, Problem};

    use super::*;
    use crate::environment::Environment;
    use crate::target::Target;

    fn task(m: u32, epilogue: &str, gpu: &str) -> Task {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, epilogue.parse().unwrap());
        let [driver, nvcc, kernels] = ["1", "2", "3"].map(str::to_owned);
        Task {
            target: Target { problem, arch: Arch::SM_90A, shape: extents(m, 64, 64) },
            environment: Environment {
                gpu: gpu.to_owned(),
                driver,
                nvcc,
                kernels,
                objective: Default::default(),
                group_sizes: Default::default(),
            },
        }
    }

    #[test]
    fn a_search_reads_its_own_task_and_the_nearest_that_are_older_and_of_its_kind() {
        let shapes = (0..100).map(|at| task(100 + 10 * at, "relu", "here"));
        let others = [task(500, "gelu", "here"), task(500, "relu", "elsewhere")];
        let known: Vec<Numbered> =
            others.into_iter().chain(shapes).zip(1..).map(|(task, id)| Numbered { id, task }).collect();
        let own = known.iter().find(|known| known.task == task(600, "relu", "here")).unwrap().id;
        let read = near(&task(600, "relu", "here"), &known);
        assert_eq!(read.len(), 1 + NEIGHBOURS);
        let nearest: Vec<i64> = (own - 32..=own).rev().collect();
        assert_eq!(read, nearest, "none that is younger, of another class or on another GPU");
        let unknown = near(&task(605, "relu", "here"), &known);
        assert_eq!(unknown.len(), NEIGHBOURS, "before it has a number all are older");
        assert!(unknown.contains(&own) && unknown.contains(&(own + 1)));
    }
}
