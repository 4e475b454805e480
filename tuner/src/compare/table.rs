//! The comparison as Markdown, CSV and JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::costs::Costs;
use super::standing::Standing;

/// All that a comparison found, and how.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Evaluations of each search.
    pub evaluations: usize,
    /// Generations of each search.
    pub generations: usize,
    /// Searches of each strategy at each shape, with seeds from 0.
    pub seeds: u64,
    /// What seeded the searches beside the default schedule.
    pub config: Option<String>,
    /// What the simulated seconds were computed from.
    pub costs: Costs,
    /// Strategies that were asked for and left out, with the reason.
    pub left_out: Vec<String>,
    /// A standing for each shape and strategy.
    pub standings: Vec<Standing>,
}

/// The comparison as a Markdown document.
pub fn markdown(comparison: &Comparison, command: &str) -> String {
    let Comparison { evaluations, generations, seeds, costs, .. } = comparison;
    let mut text = format!("# Strategies compared\n\n`{command}`\n\n");
    // Strings take any text, so these writes cannot fail.
    let _ = writeln!(
        text,
        "{seeds} seeds each, {evaluations} evaluations in {generations} generations. Figures are % of the recorded \
         optimum: median (lower quartile – upper quartile). Seconds are simulated: recorded samples × median time, \
         {} s for rest and check, {} s of nvcc an image on {} cores, and the strategy's own thinking.",
        costs.overhead_s, costs.nvcc_s, costs.compile_jobs
    );
    let seeded = comparison.config.as_deref().map_or("the default schedule alone".to_owned(), |config| {
        format!("the entries of {config} for other shapes, and the default schedule")
    });
    let _ = writeln!(text, "Searches other than random know {seeded} beforehand.\n");
    for reason in &comparison.left_out {
        let _ = writeln!(text, "Left out: {reason}\n");
    }
    let checkpoints = comparison.standings.first().map_or(Vec::new(), |standing| {
        standing.reached.iter().map(|checkpoint| format!("after {}", checkpoint.evaluations)).collect()
    });
    let _ = writeln!(
        text,
        "| space | shape | schedules | strategy | {} | evaluations to 98 % | seeds at 98 % | s to 98 % | s in all |",
        checkpoints.join(" | ")
    );
    let _ = writeln!(text, "|{}", "---|".repeat(8 + checkpoints.len()));
    for standing in &comparison.standings {
        text += &row(standing);
    }
    let notices: Vec<String> = comparison.standings.iter().flat_map(notices).collect();
    if !notices.is_empty() {
        let _ = writeln!(text, "\nSaid by the strategies:\n\n{}", notices.join("\n"));
    }
    text
}

fn row(standing: &Standing) -> String {
    let reached: Vec<String> = standing
        .reached
        .iter()
        .map(|checkpoint| checkpoint.optimum_pct)
        .map(|pct| format!("{:.2} ({:.2} – {:.2})", pct.median, pct.lower, pct.upper))
        .collect();
    let Standing { space, shape, schedules, strategy, .. } = standing;
    let evaluations = standing.evaluations_to_98_pct.map_or("not reached".to_owned(), |at| at.to_string());
    let seconds = standing.seconds_to_98_pct.map_or("–".to_owned(), |seconds| format!("{seconds:.1}"));
    format!(
        "| {} | {shape} | {schedules} | {strategy} | {} | {evaluations} | {:.0} % | {seconds} | {:.1} |\n",
        space.trim_end_matches(".json.gz"),
        reached.join(" | "),
        standing.seeds_at_98_pct,
        standing.seconds
    )
}

fn notices(standing: &Standing) -> Vec<String> {
    let said = in_brief(&standing.notices).into_iter();
    said.map(|notice| format!("- {} at {}: {notice}", standing.strategy, standing.shape)).collect()
}

/// The first of all notices that differ in their numbers alone, and how many more there are.
fn in_brief(notices: &[String]) -> Vec<String> {
    let mut kinds: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for notice in notices {
        let kind = notice.chars().filter(|c| !c.is_ascii_digit()).collect();
        kinds.entry(kind).or_default().push(notice);
    }
    let line = |alike: &Vec<&str>| match alike.len() - 1 {
        0 => alike[0].to_owned(),
        more => format!("{} ({more} more like it)", alike[0]),
    };
    kinds.values().map(line).collect()
}

/// The comparison as CSV: a line for each shape, strategy and checkpoint.
///
/// # Errors
/// None that memory would not cause.
pub fn csv(comparison: &Comparison) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "space",
        "problem",
        "shape",
        "schedules",
        "optimum_ms",
        "strategy",
        "evaluations",
        "optimum_pct_lower",
        "optimum_pct_median",
        "optimum_pct_upper",
        "evaluations_to_98_pct",
        "seeds_at_98_pct",
        "seconds_to_98_pct",
        "seconds",
    ])?;
    for standing in &comparison.standings {
        for checkpoint in &standing.reached {
            let pct = checkpoint.optimum_pct;
            writer.write_record([
                standing.space.clone(),
                standing.problem.clone(),
                standing.shape.clone(),
                standing.schedules.to_string(),
                standing.optimum_ms.to_string(),
                standing.strategy.clone(),
                checkpoint.evaluations.to_string(),
                format!("{:.3}", pct.lower),
                format!("{:.3}", pct.median),
                format!("{:.3}", pct.upper),
                standing.evaluations_to_98_pct.map_or(String::new(), |at| at.to_string()),
                format!("{:.1}", standing.seeds_at_98_pct),
                standing.seconds_to_98_pct.map_or(String::new(), |seconds| format!("{seconds:.2}")),
                format!("{:.2}", standing.seconds),
            ])?;
        }
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_that_differ_in_numbers_alone_are_said_once_with_their_count() {
        let said = ["prompt 1 is another", "prompt 2 is another", "prompt 13 is another", "the model is gone"];
        let said = in_brief(&said.map(str::to_owned));
        assert_eq!(said, ["prompt 1 is another (2 more like it)", "the model is gone"]);
    }
}
