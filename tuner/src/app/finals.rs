//! `tuner final`: the finals of a journal, held again, and how far their choice was from the best.

use std::rc::Rc;

use autokernel_codegen::schedule::Schedule;

use super::ending::Ending;
use super::error::AppError;
use super::{in_use, long_final};
use crate::evaluate::{Contender, Evaluator, Rounds};
use crate::folder;
use crate::gpu::cli::FinalArgs;
use crate::gpu::sampling::Effort;
use crate::gpu::{Bench, GpuEvaluator};
use crate::held_final::Leg;
use crate::journal::{Journal, Start};
use crate::options::is_wanted;
use crate::promote::{self, FinalPlan};
use crate::stop::Stop;
use crate::store::Store;
use crate::target::Target;
use crate::trial::Trial;

/// How long the measurement lasts that finals are held against: several times as many rounds as a final.
const LONG: Rounds = Rounds { count: 60, round_ms: 10.0, warm_up_ms: 2000.0 };
/// How many times as many schedules as finalists are in it: the best may not have qualified.
const WIDER: usize = 2;

/// Holds the final of each target of the journal, as often as `args` say, and measures for long what they chose from and
/// what did not qualify.
///
/// # Errors
/// There is no GPU, the journal holds nothing that was measured on it, or the GPU is lost.
pub fn finals(args: &FinalArgs, stop: &Stop) -> Result<Ending, AppError> {
    let config = in_use::load(args.config.as_deref())?;
    let bench = args.gpu.bench(&folder::kernels(&args.out))?.ok_or(AppError::NoGpu)?;
    let mut journal = Journal::open(&folder::journal(&args.out), Start::Resume)?;
    let targets = targets(args, &journal, &bench);
    let bench = bench.into_shared();
    if targets.is_empty() {
        return Err(AppError::NothingJournaled { journal: journal.path().to_owned() });
    }
    for target in &targets {
        let mut evaluator = GpuEvaluator::new(Rc::clone(&bench), target, Effort::THOROUGH);
        let trials: Vec<Trial> = journal.records().trials_of(target, &evaluator.about().environment).cloned().collect();
        if let Some(count) = args.long {
            outln!("{target}: {} trials", trials.len());
            long_final::hold(target, &trials, count as usize, &mut evaluator)?;
            if stop.is_requested() {
                return Ok(Ending::Interrupted);
            }
            continue;
        }
        let gpu = evaluator.about().gpu.clone();
        let meeting =
            |finalists| promote::Final::new(FinalPlan::with_finalists(finalists), target, &trials, &config, &gpu);
        let usual = meeting(args.qualify.finalists);
        outln!("{target}: {} trials, {} finalists", trials.len(), usual.schedules().len());
        let mut chosen = Vec::new();
        for repeat in 1..=args.repeat {
            if stop.is_requested() {
                return Ok(Ending::Interrupted);
            }
            chosen.push(hold(&usual, repeat, &mut evaluator, &mut journal)?);
        }
        if stop.is_requested() {
            return Ok(Ending::Interrupted);
        }
        if args.repeat > 1 {
            let long = measure_long(&meeting(WIDER * args.qualify.finalists), target, &chosen, &mut evaluator)?;
            print_regret(&long, &chosen);
        }
    }
    Ok(Ending::Finished)
}

/// Holds a final, journals it, and gives what it chose: the winner, or what is in use.
fn hold(
    meeting: &promote::Final<'_>,
    repeat: u32,
    evaluator: &mut GpuEvaluator,
    journal: &mut Journal,
) -> Result<Schedule, AppError> {
    let (held, outcome) = meeting.hold(evaluator)?;
    let verdict = &outcome.verdict;
    let word = if verdict.promoted { "promoted" } else { "not promoted" };
    outln!("  final {repeat}      {word}: {}", verdict.reason);
    journal.append_final(held)?;
    let winner = outcome.winner.filter(|_| verdict.promoted).map(|(trial, _)| trial.schedule);
    Ok(winner.unwrap_or(outcome.incumbent.schedule))
}

/// The targets that were measured here, in the order of the journal.
fn targets(args: &FinalArgs, journal: &Journal, bench: &Bench) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for trial in journal.trials() {
        let (target, class) = (&*trial.target, trial.target.problem.class());
        let wanted =
            is_wanted(&args.shape, &target.shape) && args.problem.as_ref().is_none_or(|slug| *slug == class.slug());
        if wanted && !targets.contains(target) && *trial.environment == bench.environment(target) {
            targets.push(target.clone());
        }
    }
    targets
}

/// The fastest of the trials, what is in use and what was chosen, for long.
fn measure_long(
    meeting: &promote::Final<'_>,
    target: &Target,
    chosen: &[Schedule],
    evaluator: &mut GpuEvaluator,
) -> Result<Leg, AppError> {
    let mut contenders: Vec<Contender> = Vec::new();
    let schedules = meeting.schedules().into_iter().chain([meeting.incumbent().schedule]).chain(chosen.iter().copied());
    for contender in schedules.map(Contender::Schedule) {
        if !contenders.contains(&contender) {
            contenders.push(contender);
        }
    }
    let results = evaluator.compare(target, &contenders, LONG)?;
    Ok(Leg::new(Some(LONG), &contenders, results))
}

/// How far each choice is from the best by the long measurement, in percent.
fn print_regret(long: &Leg, chosen: &[Schedule]) {
    let ranking = long.ranking();
    let Some((best, best_score)) = ranking.first() else {
        outln!("  regret       not known: nothing could be measured for long");
        return;
    };
    outln!("  long         {} rounds of {} contenders; best: {best}", LONG.count, long.entrants.len());
    let regret = |schedule: &Schedule| {
        let score = ranking.iter().find(|(ranked, _)| ranked == schedule).map_or(f64::INFINITY, |(_, score)| *score);
        100.0 * (score / best_score - 1.0)
    };
    let regrets: Vec<f64> = chosen.iter().map(regret).collect();
    for (repeat, (schedule, regret)) in chosen.iter().zip(&regrets).enumerate() {
        outln!("  regret {}     {regret:.2} %: {schedule}", repeat + 1);
    }
    let worst = regrets.iter().copied().fold(0.0, f64::max);
    outln!("  regret       {worst:.2} % at most, over {} finals", regrets.len());
}
