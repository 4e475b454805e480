//! What choices lose, by what may explain it.

use std::collections::BTreeMap;

use super::choice::{Choice, Facts};
use crate::portfolio::{geomean, quantile};

/// A way to divide choices: its name, and the part that one belongs to, with its place.
type Division = (&'static str, fn(&Choice) -> (usize, String));

const DIVISIONS: [Division; 7] = [
    ("", |_| (0, "all".to_owned())),
    ("M", |choice| below(f64::from(choice.rows()), &[2.0, 17.0, 65.0, 257.0, 1025.0], "")),
    ("layout", |choice| (0, choice.layout.to_string())),
    ("split of K", |choice| (choice.facts.split_k as usize, choice.facts.split_k.to_string())),
    ("waves", |Choice { facts: Facts { waves, .. }, .. }| below(*waves, &[0.5, 0.9, 1.001, 2.0, 4.0], "")),
    ("forms recorded", |choice| below(choice.forms as f64, &[10.0, 16.0, 25.0], "")),
    ("padding", |choice| below(100.0 * choice.facts.padding, &[5.0, 15.0, 30.0, 50.0], " %")),
];

/// The part of `edges` that `value` falls in, by the edge above it.
fn below(value: f64, edges: &[f64], unit: &str) -> (usize, String) {
    let at = edges.partition_point(|edge| *edge <= value);
    let words = edges
        .get(at)
        .map_or_else(|| format!("{}{unit} and more", edges[edges.len() - 1]), |edge| format!("below {edge}{unit}"));
    (at, words)
}

/// A table of Markdown: for each part the loss against the portfolio's best, the portfolio's own, and the loss against the best of all, in percent, and the
/// measured over the predicted time.
pub fn breakdown(choices: &[Choice]) -> Vec<String> {
    let mut lines = vec![
        "| of the shapes | | shapes | over the portfolio's best: median, 90th percentile, worst | the portfolio's best over the best of all | over the best of all | measured over predicted |"
            .to_owned(),
        "|---|---|---|---|---|---|---|".to_owned(),
    ];
    for (name, part_of) in DIVISIONS {
        let mut parts: BTreeMap<(usize, String), Vec<&Choice>> = BTreeMap::new();
        choices.iter().for_each(|choice| parts.entry(part_of(choice)).or_default().push(choice));
        lines.extend(parts.into_iter().map(|((_, part), of)| line(name, &part, &of)));
    }
    lines
}

fn line(name: &str, part: &str, of: &[&Choice]) -> String {
    let over = |ratio: fn(&Choice) -> f64| {
        let ratios: Vec<f64> = of.iter().map(|choice| ratio(choice)).collect();
        let at = |share| 100.0 * (quantile(&ratios, share) - 1.0);
        format!("{:.1}, {:.1}, {:.1} %", at(0.5), at(0.9), at(1.0))
    };
    let predicted: Vec<f64> = of.iter().map(|choice| choice.ms / choice.predicted_ms).collect();
    let (portfolio, left, best) = (over(Choice::over_portfolio), over(Choice::left), over(Choice::over_best));
    format!("| {name} | {part} | {} | {portfolio} | {left} | {best} | {:.3} |", of.len(), geomean(&predicted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_belongs_to_the_part_whose_edge_is_the_first_above_it() {
        let edges = [2.0, 17.0];
        assert_eq!(below(1.0, &edges, ""), (0, "below 2".to_owned()));
        assert_eq!(below(2.0, &edges, " %"), (1, "below 17 %".to_owned()));
        assert_eq!(below(900.0, &edges, ""), (2, "17 and more".to_owned()));
    }
}
