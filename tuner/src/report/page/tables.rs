//! The page's tables.

use std::collections::BTreeMap;

use autokernel_codegen::config::Entry;
use autokernel_core::Ms;
use maud::{Markup, html};

use super::data::{Page, Tuning};
use super::knobs::{Effect, Knob};
use super::roof::Kernel;
use crate::outcome::Outcome;
use crate::report::rate::Rate;

/// Each target against the default schedule, what was in use and cuBLAS; then the config's other entries.
pub fn entries(page: &Page) -> Markup {
    let tuned = |entry: &&Entry| {
        !page.tunings.iter().any(|tuning| {
            (tuning.target.problem.class(), tuning.target.arch, tuning.target.shape)
                == (entry.problem.clone(), entry.arch, entry.extents)
        })
    };
    let others: Vec<&Entry> = page.config.entries.iter().filter(tuned).collect();
    html! {
        section id="entries" {
            h2 { "Entries" }
            p.quiet { "The best schedule of each target. × says how many times faster it is." }
            div.scroll {
                table.entries {
                    thead {
                        tr {
                            th { "M×N×K" } th { "problem" } th.n { "time" } th.n { "TFLOP/s" } th.n { "% of roof" }
                            th.n { "× default" } th.n { "× in use" } th.n { "× cuBLAS" } th { "verdict" }
                        }
                    }
                    @for tuning in &page.tunings { (tuned_rows(tuning)) }
                }
            }
            @if !others.is_empty() { (other_entries(&others)) }
        }
    }
}

/// What the config has beside them, out of the way.
fn other_entries(others: &[&Entry]) -> Markup {
    html! {
        details {
            summary { (others.len()) " more in the config, from earlier runs" }
            div.scroll {
                table.entries {
                    thead { tr { th { "M×N×K" } th { "problem" } th.n { "time" } th.n { "TFLOP/s" } th { "date" } } }
                    @for entry in others { (entry_rows(entry)) }
                }
            }
        }
    }
}

fn tuned_rows(tuning: &Tuning) -> Markup {
    let problem = &tuning.target.problem;
    let best = tuning.best_ms();
    let percent = best.and_then(|ms| Some(tuning.roofline()?.percent(&tuning.target.work(), ms)));
    html! {
        tbody {
            tr {
                th scope="row" { (tuning.target.shape) }
                td { (problem.brief()) " " (tuning.target.arch) }
                td.n data-name="time" { (best.map_or("–".to_owned(), |ms| Ms(ms).to_string())) }
                td.n data-name="TFLOP/s" { (rate(best.map(|ms| tuning.target.tflops(ms)))) }
                td.n data-name="% of roof" { (number(percent, 0)) }
                (ratio("× default", tuning.default_ms(), best))
                (ratio("× in use", tuning.incumbent_ms(), best))
                (ratio("× cuBLAS", tuning.cublas_ms(), best))
                td data-name="verdict" {
                    @match tuning.result.as_ref().and_then(|result| result.verdict.as_ref()) {
                        Some(verdict) if verdict.promoted => { span.better { "promoted" } }
                        Some(_) => { "kept" }
                        None => { span.quiet { "no final" } }
                    }
                }
            }
            (schedule_row(9, html! {
                code { @if let Some(schedule) = tuning.best_schedule() { (schedule) } }
                @if let Some(trial) = tuning.ahead() {
                    p.worse {
                        (trial.median_ms().map_or(String::new(), |ms| Ms(ms).to_string()))
                        " in its trial, but not in the final: " code { (trial.schedule) }
                        ", tried since, or left out by --fix or --exclude"
                    }
                }
            }))
        }
    }
}

/// A schedule below its row, which it is too long for.
fn schedule_row(columns: usize, schedule: Markup) -> Markup {
    html! { tr.schedule { td colspan=(columns) { (schedule) } } }
}

fn entry_rows(entry: &Entry) -> Markup {
    let Entry { problem, arch, extents, range, schedule, provenance } = entry;
    html! {
        tbody {
            tr {
                th scope="row" { (extents) }
                td { (problem.brief()) " " (arch) @if let Some(range) = range { ", for " (range) } }
                td.n data-name="time" { (Ms(provenance.median_ms)) }
                td.n data-name="TFLOP/s" { (Rate(provenance.tflops)) }
                td.quiet data-name="date" { (provenance.date) }
            }
            (schedule_row(5, html! { code { (schedule) } }))
        }
    }
}

/// `other / own`, coloured where it is more than noise could be.
fn ratio(name: &str, other: Option<f64>, own: Option<f64>) -> Markup {
    let ratio = other.zip(own).map(|(other, own)| other / own);
    let class = match ratio {
        Some(ratio) if ratio > 1.005 => "n better",
        Some(ratio) if ratio < 0.995 => "n worse",
        _ => "n",
    };
    html! { td class=(class) data-name=(name) { (number(ratio, 2)) } }
}

fn rate(tflops: Option<f64>) -> String {
    tflops.map_or("–".to_owned(), |tflops| Rate(tflops).to_string())
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
}

/// What the numbers on a roofline mean.
pub fn kernels(kernels: &[Kernel]) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { th.n { "" } th { "target" } th.n { "TFLOP/s" } th.n { "% of roof" } } }
                tbody {
                    @for (index, kernel) in kernels.iter().enumerate() {
                        tr {
                            td.n { (index + 1) }
                            td.title { (kernel.title) }
                            td.n { (Rate(kernel.spot.tflops)) }
                            td.n { (format!("{:.0}", kernel.roof_pct)) }
                        }
                    }
                }
            }
        }
    }
}

/// What the values of each knob came to.
pub fn effects(knobs: &[Knob]) -> Markup {
    let slowest = knobs.iter().flat_map(|knob| &knob.effects).filter_map(|effect| effect.median).fold(1.0, f64::max);
    html! {
        section id="knobs" {
            h2 { "What each knob did" }
            p.quiet {
                "Median time of the schedules with a value, over the best time of their target: 1.00 is the best. The bar "
                "is what is lost. Values are not independent, and a search tries good values more often and in better company."
            }
            div.grid {
                @for knob in knobs {
                    div.knob {
                        h3 { code { (knob.name) } }
                        div.scroll {
                            table {
                                thead {
                                    tr { th.n { "value" } th { "median" } th.n { "" } th.n { "lowest" } th.n { "timed" } th.n { "failed" } }
                                }
                                tbody { @for effect in &knob.effects { (effect_row(effect, slowest)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn effect_row(effect: &Effect, slowest: f64) -> Markup {
    let width = effect.median.map_or(0.0, |median| 100.0 * (median - 1.0) / (slowest - 1.0).max(f64::EPSILON));
    html! {
        tr {
            td.n { (effect.value) }
            td { span.bar { i style=(format!("width:{width:.1}%")) {} } }
            td.n { (number(effect.median, 2)) }
            td.n { (number(effect.lowest, 2)) }
            td.n { (effect.timed) }
            td.n { (effect.failed) }
        }
    }
}

/// The failed trials by kind, each with an example.
pub fn failures(tunings: &[Tuning]) -> Markup {
    let mut kinds: BTreeMap<&str, (usize, String, String)> = BTreeMap::new();
    let trials = tunings.iter().flat_map(|tuning| &tuning.trials);
    for trial in trials {
        if let Outcome::Failed(failure) = &trial.outcome {
            let example = || (0, failure.to_string(), trial.schedule.to_string());
            kinds.entry(failure.kind()).or_insert_with(example).0 += 1;
        }
    }
    html! {
        section id="failures" {
            h2 { "Failures" }
            @if kinds.is_empty() {
                p { "Every schedule that was tried computes the right result." }
            } @else {
                div.scroll {
                    table {
                        thead { tr { th { "reason" } th.n { "count" } th { "for example" } th { "schedule" } } }
                        tbody {
                            @for (kind, (count, example, schedule)) in &kinds {
                                tr {
                                    td { (kind) }
                                    td.n { (count) }
                                    td.wrap { (first_line(example)) }
                                    td.title { code { (schedule) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Compiler logs run on for pages.
fn first_line(text: &str) -> String {
    const LONGEST: usize = 200;
    text.lines().next().unwrap_or_default().chars().take(LONGEST).collect()
}
