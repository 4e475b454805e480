//! What a launch chooses at shapes that were recorded, against the best that was recorded there.

use autokernel_codegen::config::Config;
use autokernel_codegen::matmul::{self, sizes};
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;

use super::breakdown::breakdown;
use super::choice::{Choice, Facts};
use crate::placement::placement;
use crate::portfolio::Measured;
use crate::replay::{RecordedShape, Recording};
use crate::target;

/// Shapes at which most is lost, that are told one by one.
const TOLD: usize = 12;

/// What a build with `config` would launch at each shape of `recording`, of the forms of images that were recorded there; none
/// without a portfolio for it.
pub fn choices(config: &Config, recording: &Recording) -> Option<Vec<Choice>> {
    let portfolio = config.portfolio_for(&recording.problem, recording.arch)?;
    let layout = recording.problem.as_product()?.layout;
    let mut measured = Measured::default();
    let class = recording.problem.class();
    measured.add(recording, &class);
    measured.take_up(portfolio.images.iter().map(|image| &image.schedule), &class);
    let factor = |form: &Schedule| {
        let of = portfolio.images.iter().find(|known| known.schedule.image() == form.image());
        of.map(|known| known.measured_over_predicted)
    };
    let recorded = recording.shapes.iter().filter(|recorded| recorded.optimum().is_some());
    let choice = |(shape, recorded): (usize, &RecordedShape)| {
        let rows = measured.rows.iter().filter(|row| row.shape == shape);
        let timed = rows.filter_map(|row| {
            let factor = factor(&measured.forms[row.form])?;
            Some((row, factor * measured.predicted_ms(row, portfolio.model)))
        });
        let (row, predicted_ms) = timed.clone().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let forms = timed.clone().count();
        let of_portfolio_ms = timed.map(|(row, _)| row.ms).fold(f64::INFINITY, f64::min);
        let (best, fastest) = recorded.optimum()?;
        let schedule = measured.traits[row.form].with_raster(
            &measured.forms[row.form],
            &recorded.shape,
            &measured.shapes[row.shape].machine,
        );
        let own = recorded.rows.iter().find(|(known, _)| *known == schedule);
        Some(Choice {
            extents: recorded.shape,
            layout,
            schedule,
            ms: row.ms,
            with_its_raster_ms: own.and_then(|(_, outcome)| outcome.median_ms()),
            predicted_ms,
            of_portfolio_ms,
            forms,
            best: (best, fastest.median_ms),
            facts: facts(recording, &recorded.shape, &schedule, row.ms)?,
        })
    };
    Some(recorded.enumerate().filter_map(choice).collect())
}

fn facts(recording: &Recording, extents: &Extents, schedule: &Schedule, ms: f64) -> Option<Facts> {
    let class = recording.problem.class();
    let geometry = matmul::Schedule::try_from(schedule).ok()?.geometry(&recording.problem.as_product()?.class());
    let [m, n, k] = sizes(extents);
    let there = |tile: u32, extent: u32| f64::from(extent) / f64::from(extent.div_ceil(tile) * tile);
    let (rows, columns) = (f64::from(geometry.tile_m), f64::from(geometry.columns));
    let loaded = there(geometry.tile_m, m) * rows + there(geometry.columns, n) * columns;
    let memory_ms = target::work(&class, extents).bytes / (recording.gpu.machine(None).memory_gb_per_s * 1e6);
    Some(Facts {
        split_k: geometry.split_k,
        waves: placement(schedule, &class, *extents, recording.gpu.sm_count, 1).waves,
        padding: 1.0 - loaded / (rows + columns),
        stages: k.div_ceil(geometry.tile_k * geometry.split_k),
        memory: memory_ms / ms,
    })
}

/// Lines that sum up `choices`: tables by what may explain them, the cost of the raster, and the worst.
pub fn tell(choices: &[Choice]) -> Vec<String> {
    let mut lines = breakdown(choices);
    let rasters: Vec<f64> = choices.iter().filter_map(|choice| Some(choice.with_its_raster_ms? / choice.ms)).collect();
    lines.push(format!(
        "the launch's raster was recorded at {} shapes, where it costs {:.2} % over the best of its image's",
        rasters.len(),
        100.0 * (crate::portfolio::geomean(&rasters) - 1.0),
    ));
    let mut worst: Vec<&Choice> = choices.iter().collect();
    worst.sort_by(|a, b| b.over_best().total_cmp(&a.over_best()));
    lines.extend(worst.into_iter().take(TOLD).map(Choice::words));
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::chosen::tests::shipped;

    fn recording() -> Recording {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results");
        Recording::load(&results.join("drawn-h100/drawn-bf16-nn-h100.json.gz")).unwrap()
    }

    #[test]
    fn a_choice_is_the_recorded_image_of_the_portfolio_that_is_predicted_to_be_fastest() {
        let (config, recording) = (shipped(), recording());
        let choices = choices(&config, &recording).unwrap();
        assert!(choices.len() > recording.shapes.len() / 2, "{} shapes", choices.len());
        for choice in &choices {
            assert!(
                choice.best.1 <= choice.of_portfolio_ms && choice.of_portfolio_ms <= choice.ms && choice.forms > 0,
                "{choice:?}"
            );
            assert!(choice.with_its_raster_ms.is_none_or(|ms| ms >= choice.ms), "{choice:?}");
            assert!((0.0..1.0).contains(&choice.facts.padding) && choice.facts.waves > 0.0, "{choice:?}");
        }
        assert_eq!(super::choices(&Config::default(), &recording).map(|found| found.len()), None);
    }

    #[test]
    fn what_is_told_sums_up_every_shape_and_names_the_worst() {
        let choices = choices(&shipped(), &recording()).unwrap();
        let lines = tell(&choices);
        let all = lines.iter().find(|line| line.contains("| all |")).unwrap();
        assert!(all.contains(&format!(" {} ", choices.len())), "{all}");
        let worst = choices.iter().map(Choice::over_best).fold(1.0, f64::max);
        assert!(lines.iter().any(|line| line.contains(&format!(": {:.1} %: ", 100.0 * (worst - 1.0)))), "{lines:#?}");
    }
}
