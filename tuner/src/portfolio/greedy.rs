//! Choosing the images that together leave the least to be gained.

/// How slow a shape may be at first, where no image was chosen yet: any number far above what images leave.
const NOTHING: f64 = 4.0;
/// How much the worst shape counts beside the mean of all.
const WORST: f64 = 0.15;

/// Times of each image (rows) at each shape (columns), over the best of any image there.
pub type Ratios = Vec<Vec<f64>>;

/// What a choice leaves: of the logarithms of the ratios the mean, and a share of the highest.
fn left(ratios: &[f64]) -> f64 {
    let logs = ratios.iter().map(|ratio| ratio.ln());
    let mean = logs.clone().sum::<f64>() / ratios.len().max(1) as f64;
    mean + WORST * logs.fold(0.0, f64::max)
}

/// The best that `chosen` do at each shape.
pub fn best_of(ratios: &Ratios, chosen: impl IntoIterator<Item = usize>) -> Vec<f64> {
    let shapes = ratios.first().map_or(0, Vec::len);
    chosen.into_iter().fold(vec![NOTHING; shapes], |best, image| {
        best.iter().zip(&ratios[image]).map(|(best, ratio)| best.min(*ratio)).collect()
    })
}

/// At most `most` images: first those of `in_place`, which a build compiles anyway, then each that helps most, most useful
/// first. Each of the latter is exchanged for a better one while there is one.
pub fn choose(ratios: &Ratios, most: usize, in_place: &[bool]) -> Vec<usize> {
    let mut chosen: Vec<usize> = (0..ratios.len()).filter(|image| in_place[*image]).take(most).collect();
    let fixed = chosen.len();
    while chosen.len() < most.min(ratios.len()) {
        let Some(next) = addition(ratios, &chosen) else { break };
        chosen.push(next);
        for place in fixed..chosen.len() {
            let others: Vec<usize> = chosen.iter().copied().filter(|image| *image != chosen[place]).collect();
            if let Some(better) = addition(ratios, &others) {
                chosen[place] = better;
            }
        }
    }
    chosen
}

/// The image that leaves least beside `chosen`.
fn addition(ratios: &Ratios, chosen: &[usize]) -> Option<usize> {
    let so_far = best_of(ratios, chosen.iter().copied());
    let candidates = (0..ratios.len()).filter(|image| !chosen.contains(image));
    let scored = candidates.map(|image| {
        let together: Vec<f64> = so_far.iter().zip(&ratios[image]).map(|(best, ratio)| best.min(*ratio)).collect();
        (left(&together), image)
    });
    scored.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, image)| image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specialists_together_beat_the_best_of_all_trades() {
        let ratios = vec![vec![1.2, 1.2, 1.2, 1.2], vec![1.0, 1.0, 2.0, 2.0], vec![2.0, 2.0, 1.0, 1.0]];
        assert_eq!(choose(&ratios, 1, &[false; 3]), [0]);
        let mut two = choose(&ratios, 2, &[false; 3]);
        two.sort_unstable();
        assert_eq!(two, [1, 2]);
        assert_eq!(best_of(&ratios, two), [1.0; 4]);
    }

    #[test]
    fn images_that_are_compiled_anyway_come_first_and_stay() {
        let ratios = vec![vec![1.0, 1.1], vec![1.5, 1.5], vec![1.3, 1.0]];
        assert_eq!(choose(&ratios, 2, &[false, true, false]), [1, 0]);
        assert_eq!(choose(&ratios, 3, &[false, true, false]), [1, 0, 2]);
    }

    #[test]
    fn no_more_are_chosen_than_there_are() {
        assert_eq!(choose(&vec![vec![1.0]], 5, &[false]), [0]);
        assert!(choose(&Vec::new(), 5, &[]).is_empty());
    }
}
