//! The page's sections.

use std::cmp::Reverse;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::data::{Page, Tuning};
use super::{curve, knobs, roof, tables};
use crate::environment::kernel_sources;
use crate::report::chart::ChartError;
use crate::report::rate::Rate;

const STYLE: &str = include_str!("style.css");
/// Forbids whatever would need a network or a script.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Learning curves that a page can show.
const MOST_CURVES: usize = 100;

/// The whole page.
///
/// # Errors
/// A chart cannot be drawn.
pub fn page(page: &Page) -> Result<Markup, ChartError> {
    Ok(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                @if let Some(seconds) = page.refresh_s { meta http-equiv="refresh" content=(seconds); }
                title { "autokernel tuning report" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (header(page))
                main {
                    (tables::entries(page))
                    (curves(&page.tunings)?)
                    (roofline(&page.tunings)?)
                    (tables::effects(&knobs::knobs(&page.tunings)))
                    (tables::failures(&page.tunings))
                    (environment(page))
                }
                footer { "Written " (page.written) " by autokernel's tuner. One file, no script, no network." }
            }
        }
    })
}

fn header(page: &Page) -> Markup {
    let trials = page.trials();
    let mut gpus: Vec<&str> = page.tunings.iter().map(|tuning| tuning.environment.gpu.as_str()).collect();
    gpus.sort_unstable();
    gpus.dedup();
    let targets = page.tunings.len();
    html! {
        header {
            h1 { "Tuning report" }
            p.quiet {
                (trials) " trials of " (targets) @if targets == 1 { " target" } @else { " targets" }
                " on " (gpus.join(", "))
            }
        }
    }
}

fn curves(tunings: &[Tuning]) -> Result<Markup, ChartError> {
    let mut most: Vec<&Tuning> = tunings.iter().collect();
    let left_out = most.len().saturating_sub(MOST_CURVES);
    if left_out > 0 {
        most.sort_by_key(|tuning| Reverse(tuning.trials.len()));
        most.truncate(MOST_CURVES);
    }
    let charts = most.into_iter().map(|tuning| Ok((tuning, curve::curve(tuning)?)));
    let charts: Vec<(&Tuning, curve::Curve)> = charts.collect::<Result<_, ChartError>>()?;
    Ok(html! {
        section id="curves" {
            h2 { "Learning curves" }
            p.quiet { "Trials that were timed, by generation; the mean of each generation, and the best so far. What is much slower lies on the lower edge."
                @if tunings.iter().any(Tuning::met_in_rounds) {
                    " Trials rest before they are timed, so that large ones are faster than in a final, which is held under load."
                }
            }
            @if left_out > 0 { p { "Of the targets with the most trials; " (left_out) " more have no chart here." } }
            div.grid {
                @for (tuning, curve) in &charts {
                    figure data-points=(curve.points) {
                        h3 { (tuning.title()) }
                        (PreEscaped(&curve.svg))
                        figcaption {
                            (tuning.target.arch) ", "
                            @match &tuning.result {
                                Some(result) => {
                                    @if let (Some(verdict), Some(ms)) = (&result.verdict, tuning.best_ms()) {
                                        (Rate(tuning.target.tflops(ms))) " TFLOP/s "
                                        @if verdict.rounds.is_some() { "in its final; " } @else { "as recorded; " }
                                    }
                                    (result.strategy) "; " (result.stop.text) ". "
                                    @if let Some(verdict) = &result.verdict {
                                        @if verdict.promoted { "Promoted: " } @else { "Kept what is in use: " }
                                        (verdict.reason)
                                    }
                                }
                                None => { "stopped before its final" }
                            }
                        }
                    }
                }
            }
        }
    })
}

fn roofline(tunings: &[Tuning]) -> Result<Markup, ChartError> {
    let charts = roof::charts(tunings)?;
    Ok(html! {
        section id="roofline" {
            h2 { "Roofline" }
            p.quiet {
                "What the GPU allows at each arithmetic intensity, and where the targets are: filled after tuning, "
                "open with the default schedule, crossed cuBLAS and a kernel for the epilogue."
            }
            @if charts.is_empty() { p { "The ceilings of this GPU are not known." } }
            @for chart in &charts {
                div.grid {
                    figure data-points=(chart.kernels.iter().map(|kernel| 1 + usize::from(kernel.spot.default_tflops.is_some())).sum::<usize>()) {
                        h3 { (chart.gpu) }
                        (PreEscaped(&chart.svg))
                        figcaption {
                            (format!("{:.0} TFLOP/s dense, {:.0} GB/s, ", chart.roof.peak_tflops, chart.roof.bandwidth_gb_s))
                            (format!("ridge at {:.0} FLOP/B", chart.roof.ridge()))
                        }
                    }
                    (tables::kernels(&chart.kernels))
                }
            }
        }
    })
}

fn environment(page: &Page) -> Markup {
    let mut seen = Vec::new();
    for tuning in &page.tunings {
        let origin = tuning.result.as_ref().map_or("journal", |result| result.origin.as_str());
        let row = (&tuning.environment, origin, kernel_sources(&tuning.target.problem.class()));
        if !seen.contains(&row) {
            seen.push(row);
        }
    }
    html! {
        section id="environment" {
            h2 { "Environment" }
            div.grid {
                @for (environment, origin, sources) in seen {
                    dl {
                        dt { "GPU" } dd { (environment.gpu) }
                        dt { "Driver" } dd { (environment.driver) }
                        dt { "nvcc" } dd { (environment.nvcc) }
                        dt { "Kernel sources" }
                        dd {
                            code { (environment.kernels) } " "
                            @if environment.kernels == sources { "this build's" }
                            @else { span.quiet { "this build has " code { (sources) } } }
                        }
                        dt { "Times" } dd { (origin) }
                    }
                }
            }
        }
    }
}
