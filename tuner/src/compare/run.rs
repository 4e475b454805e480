//! The command `compare`.

use std::path::Path;
use std::sync::Arc;

use autokernel_codegen::config::Config;
use rayon::prelude::*;

use super::args::CompareArgs;
use super::arm::Arm;
use super::chart::{self, Axis, Line};
use super::contest::{Arena, Course};
use super::costs::Costs;
use super::models::{self, Models};
use super::progress::Progress;
use super::standing::Standing;
use super::table::{self, Comparison};
use crate::app::{AppError, provider};
use crate::checkout::own_spaces;
use crate::llm::{Guard, LlmError, Named, Unanswered};
use crate::options::is_wanted;
use crate::output::{self, OutputError};
use crate::replay::{Library, Recording};
use crate::session::Budget;
use crate::strategy_name::StrategyName;

/// The rest before a schedule is timed is 10 ms; a recording of 3252 schedules checked and timed 56 a second.
const OVERHEAD_S: f64 = 0.018;

impl CompareArgs {
    /// Compares, prints the table and writes it with the charts.
    ///
    /// # Errors
    /// A recording, the config or a folder of replies cannot be read, nothing is left to compare, or an output cannot
    /// be written.
    pub fn run(&self) -> Result<(), AppError> {
        if self.llm.llm_unanswered == Unanswered::Stop {
            return Err(AppError::Usage("a comparison cannot stop at a prompt; leave --llm-unanswered out"));
        }
        let arenas = self.arenas()?;
        let (arms, left_out) = self.arms()?;
        if arms.is_empty() {
            return Err(AppError::Usage("no strategy is left to compare; llm and hybrid need --llm or --replies"));
        }
        // Before searches that may take long, or ask a model that costs something.
        std::fs::create_dir_all(&self.out).map_err(OutputError::at(&self.out))?;
        let (budget, costs) = (self.budget(), self.costs());
        let seeds = u64::from(self.seeds);
        let progress = Progress::new(arenas.len() as u64 * arms.len() as u64 * seeds);
        let courses = courses(&arenas, &arms, budget, &costs, seeds, &|| progress.ended())?;
        drop(progress);
        let by_arena = || arenas.iter().zip(&courses);
        let standing = |(arena, courses): (&Arena, &Vec<Vec<Course>>)| {
            let of_arm = |(arm, courses): (&Arm, &Vec<Course>)| {
                Standing::of(arena, &arm.name.to_string(), courses, budget.evaluations)
            };
            arms.iter().zip(courses).map(of_arm).collect::<Vec<_>>()
        };
        let comparison = Comparison {
            evaluations: budget.evaluations,
            generations: budget.generations,
            seeds: u64::from(self.seeds),
            config: self.config.as_ref().map(|path| path.display().to_string()),
            costs,
            left_out,
            standings: by_arena().flat_map(standing).collect(),
        };
        let panels: Vec<(&Arena, Vec<Line<'_>>)> =
            by_arena().map(|(arena, courses)| (arena, lines(&arms, courses))).collect();
        self.write(&comparison, &panels)
    }

    /// The recorded shapes that were asked for.
    fn arenas(&self) -> Result<Vec<Arena>, AppError> {
        let config = self.config.as_deref().map(Config::load).transpose()?.unwrap_or_default();
        let folder = self.spaces.clone().unwrap_or_else(own_spaces);
        let recordings = self.recordings(&folder)?;
        if recordings.is_empty() {
            return Err(AppError::NoSpaces { folder });
        }
        let wanted = |arena: &Arena| is_wanted(&self.shape, &arena.target.shape);
        let all = recordings.iter().flat_map(|(name, recording)| Arena::all(name, recording, &config));
        let (arenas, others): (Vec<Arena>, Vec<Arena>) = all.partition(wanted);
        if arenas.is_empty() {
            let recorded =
                others.iter().map(|arena| format!("  --space {} --shape {}", arena.space, arena.target.shape));
            return Err(AppError::NothingSelected { recorded: recorded.collect::<Vec<_>>().join("\n") });
        }
        Ok(arenas)
    }

    fn recordings(&self, folder: &Path) -> Result<Vec<(String, Arc<Recording>)>, AppError> {
        if self.space.is_empty() {
            return Ok(Library::load(folder)?.recordings);
        }
        let find = |name: &String| {
            let named = [folder.join(name), folder.join(format!("{name}.json.gz"))].into_iter();
            let path = named.into_iter().find(|path| path.is_file()).unwrap_or_else(|| Path::new(name).to_owned());
            let shown = path.file_name().map_or(name.clone(), |name| name.to_string_lossy().into_owned());
            Ok((shown, Arc::new(Recording::load(&path)?)))
        };
        self.space.iter().map(find).collect()
    }

    /// Who competes, and why others do not.
    fn arms(&self) -> Result<(Vec<Arm>, Vec<String>), AppError> {
        let (mut arms, mut left_out) = (Vec::new(), Vec::new());
        let needed = self.strategies.iter().any(|name| name.needs_model());
        let server = if needed { self.server()? } else { None };
        let mut seen: Vec<StrategyName> = Vec::new();
        for &name in &self.strategies {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            match (name.needs_model(), self.models(name, &server)?) {
                (false, _) => arms.push(Arm { name, models: None }),
                (true, Some(models)) => arms.push(Arm { name, models: Some(models) }),
                (true, None) => left_out.push(format!(
                    "{name}: it needs a model; name one with --llm, or a folder of recorded replies with --replies"
                )),
            }
        }
        Ok((arms, left_out))
    }

    /// The model that the options name for the searches of `name`, if any.
    fn models(&self, name: StrategyName, server: &Option<Arc<Guard>>) -> Result<Option<Box<Models>>, AppError> {
        Ok(match &self.llm.llm {
            None => self.replies.as_deref().map(models::recorded),
            Some(Named::Transcript(path)) => Some(models::transcript(path)?),
            Some(Named::Folder(folder)) => Some(models::files(folder, &name.to_string(), self.llm.patience())),
            Some(Named::OpenAi(_) | Named::Anthropic(_)) => {
                server.clone().map(|model| models::server(model, &self.out, &name.to_string()))
            }
        })
    }

    /// The server that `--llm` names, if it names one, within the caps of the whole comparison.
    fn server(&self) -> Result<Option<Arc<Guard>>, AppError> {
        if !matches!(self.llm.llm, Some(Named::OpenAi(_) | Named::Anthropic(_))) {
            return Ok(None);
        }
        let shared = |provider| models::shared(provider, self.llm.caps());
        Ok(provider(&self.llm)?.map(shared))
    }

    fn budget(&self) -> Budget {
        Budget { evaluations: self.evaluations as usize, generations: self.generations as usize }
    }

    fn costs(&self) -> Costs {
        Costs { nvcc_s: self.nvcc_seconds, compile_jobs: usize::from(self.compile_jobs), overhead_s: OVERHEAD_S }
    }

    fn write(&self, comparison: &Comparison, panels: &[(&Arena, Vec<Line<'_>>)]) -> Result<(), AppError> {
        let csv = table::csv(comparison).map_err(OutputError::at(&self.out.join("compare.csv")))?;
        let json = serde_json::to_vec_pretty(comparison).map_err(OutputError::at(&self.out.join("compare.json")))?;
        let markdown = table::markdown(comparison, &self.command());
        let outputs = [
            ("compare.md", markdown.clone().into_bytes()),
            ("compare.json", json),
            ("compare.csv", csv),
            ("regret_evaluations.svg", chart::regret(panels, Axis::Evaluations)?.into_bytes()),
            ("regret_seconds.svg", chart::regret(panels, Axis::Seconds)?.into_bytes()),
        ];
        for (name, contents) in &outputs {
            output::write(&self.out.join(name), contents)?;
        }
        outln!("{markdown}");
        let names = outputs.map(|(name, _)| self.out.join(name).display().to_string());
        outln!("written       {}", names.join(", "));
        Ok(())
    }

    /// The command that gives the same figures.
    fn command(&self) -> String {
        let strategies: Vec<String> = self.strategies.iter().map(ToString::to_string).collect();
        let mut words = vec![
            "cargo run --release -p tuner -- compare".to_owned(),
            format!("--strategies {}", strategies.join(",")),
            format!("--evaluations {} --generations {} --seeds {}", self.evaluations, self.generations, self.seeds),
        ];
        words.extend((!self.space.is_empty()).then(|| format!("--space {}", self.space.join(" "))));
        words.extend(self.shape.iter().map(|shape| format!("--shape {shape}")));
        words.extend(self.spaces.iter().map(|folder| format!("--spaces {}", folder.display())));
        words.extend(self.config.iter().map(|path| format!("--config {}", path.display())));
        words.extend(self.replies.iter().map(|folder| format!("--replies {}", folder.display())));
        words.extend(self.llm.llm.iter().map(|llm| format!("--llm {llm}")));
        words.extend(self.llm.model.iter().map(|model| format!("--model {model}")));
        words.push(format!("--nvcc-seconds {} --compile-jobs {}", self.nvcc_seconds, self.compile_jobs));
        words.join(" ")
    }
}

fn lines<'c>(arms: &[Arm], courses: &'c [Vec<Course>]) -> Vec<Line<'c>> {
    arms.iter().zip(courses).map(|(arm, courses)| Line { strategy: arm.name.to_string(), courses }).collect()
}

/// Every arm's searches of every arena, on all cores: `courses[arena][arm][seed]`. `ended` is called as each ends.
///
/// # Errors
/// An arm has no model for one of its searches.
pub fn courses(
    arenas: &[Arena],
    arms: &[Arm],
    budget: Budget,
    costs: &Costs,
    seeds: u64,
    ended: &(dyn Fn() + Sync),
) -> Result<Vec<Vec<Vec<Course>>>, LlmError> {
    let play = |arena: &Arena, arm: &Arm, seed| {
        let course = arm.play(arena, budget, costs, seed);
        ended();
        course
    };
    let of_arm = |arena: &Arena, arm: &Arm| -> Result<Vec<Course>, LlmError> {
        (0..seeds).into_par_iter().map(|seed| play(arena, arm, seed)).collect()
    };
    let of_arena = |arena: &Arena| arms.iter().map(|arm| of_arm(arena, arm)).collect();
    arenas.par_iter().map(of_arena).collect()
}
