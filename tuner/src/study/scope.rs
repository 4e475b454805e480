//! Which trials of a study are read: a search needs few of what may be a hundred million.

use std::collections::BTreeSet;

use autokernel_codegen::problem::ProblemClass;

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
        let begin = || wanted.iter().map(Near::to).collect::<Vec<_>>();
        let see = |near: &mut Vec<Near<'_>>, task| near.iter_mut().for_each(|near| near.see(&task));
        let near = queue.fold_tasks_in(wanted, begin, see)?;
        Ok(Some(near.into_iter().flat_map(Near::tasks).collect()))
    }
}

/// The number of a task and those of its neighbours, among tasks that are seen the oldest first. Neighbours are older than the task
/// itself, so that a search which goes on learns from those from which it learned when it began.
struct Near<'w> {
    wanted: &'w Task,
    class: ProblemClass,
    own: Option<i64>,
    /// How far they are, with their numbers.
    neighbours: Vec<(f64, i64)>,
}

/// Neighbours that are kept until the nearest are chosen of them.
const KEPT: usize = 32 * NEIGHBOURS;

impl<'w> Near<'w> {
    fn to(wanted: &'w Task) -> Self {
        Near { wanted, class: wanted.target.problem.class(), own: None, neighbours: Vec::new() }
    }

    fn see(&mut self, Numbered { id, task }: &Numbered) {
        // The oldest, whoever may have written it twice.
        if self.own.is_none() && task == self.wanted {
            self.own = Some(*id);
        }
        let (target, wanted) = (&task.target, &self.wanted.target);
        let is_neighbour = self.own.is_none()
            && task.environment == self.wanted.environment
            && target.arch == wanted.arch
            && target.problem.class() == self.class;
        if is_neighbour {
            self.neighbours.push((target.shape.distance(&wanted.shape).unwrap_or(f64::INFINITY), *id));
        }
        if self.neighbours.len() >= KEPT {
            self.keep_nearest();
        }
    }

    fn keep_nearest(&mut self) {
        self.neighbours.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.neighbours.truncate(NEIGHBOURS);
    }

    fn tasks(mut self) -> impl Iterator<Item = i64> {
        self.keep_nearest();
        self.own.into_iter().chain(self.neighbours.into_iter().map(|(_, id)| id))
    }
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
            target: Target { problem, arch: Arch::SM_90A, shape: extents(m, 64, 64) }.into(),
            environment: Environment {
                gpu: gpu.to_owned(),
                driver,
                nvcc,
                kernels,
                objective: Default::default(),
                group_sizes: Default::default(),
                regime: Default::default(),
            }
            .into(),
        }
    }

    #[test]
    fn a_search_reads_its_own_task_and_the_nearest_that_are_older_and_of_its_kind() {
        let shapes = (0..100).map(|at| task(100 + 10 * at, "relu", "here"));
        let others = [task(500, "gelu", "here"), task(500, "relu", "elsewhere")];
        let known: Vec<Numbered> =
            others.into_iter().chain(shapes).zip(1..).map(|(task, id)| Numbered { id, task }).collect();
        let own = known.iter().find(|known| known.task == task(600, "relu", "here")).unwrap().id;
        let near = |wanted: &Task| {
            let mut near = Near::to(wanted);
            known.iter().for_each(|task| near.see(task));
            near.tasks().collect::<Vec<i64>>()
        };
        let read = near(&task(600, "relu", "here"));
        assert_eq!(read.len(), 1 + NEIGHBOURS);
        let nearest: Vec<i64> = (own - 32..=own).rev().collect();
        assert_eq!(read, nearest, "none that is younger, of another class or on another GPU");
        let unknown = near(&task(605, "relu", "here"));
        assert_eq!(unknown.len(), NEIGHBOURS, "before it has a number all are older");
        assert!(unknown.contains(&own) && unknown.contains(&(own + 1)));
    }

    #[test]
    fn of_thousands_of_tasks_the_nearest_are_kept_alone() {
        let wanted = task(4000, "relu", "here");
        let mut near = Near::to(&wanted);
        for (edge, id) in (1..=5000).chain([4000]).zip(1..) {
            near.see(&Numbered { id, task: task(edge, "relu", "here") });
            assert!(near.neighbours.len() < KEPT);
        }
        let nearest: Vec<i64> = (4000 - 32..=4000).rev().collect();
        assert_eq!(near.tasks().collect::<Vec<_>>(), nearest);
    }
}
