//! Choosing the images that together leave the least to be gained.

/// How slow a shape may be at first, where no image was chosen yet: any number far above what images leave.
const NOTHING: f64 = 4.0;
/// How much the worst shape counts beside the mean of all.
const WORST: f64 = 0.15;
/// An image in place already may be this much worse than another: it costs no build.
const IN_PLACE: f64 = 0.002;

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

/// At most `most` images, most useful first: each that helps most is added, then each is exchanged for a better one while
/// there is one. Images of `in_place`, which a build compiles anyway, are preferred to equals.
pub fn choose(ratios: &Ratios, most: usize, in_place: &[bool]) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < most.min(ratios.len()) {
        let Some(next) = addition(ratios, &chosen, in_place) else { break };
        chosen.push(next);
        for place in 0..chosen.len() {
            let others: Vec<usize> = chosen.iter().copied().filter(|image| *image != chosen[place]).collect();
            if let Some(better) = addition(ratios, &others, in_place) {
                chosen[place] = better;
            }
        }
    }
    chosen
}

/// The image that leaves least beside `chosen`.
fn addition(ratios: &Ratios, chosen: &[usize], in_place: &[bool]) -> Option<usize> {
    let so_far = best_of(ratios, chosen.iter().copied());
    let candidates = (0..ratios.len()).filter(|image| !chosen.contains(image));
    let scored = candidates.map(|image| {
        let together: Vec<f64> = so_far.iter().zip(&ratios[image]).map(|(best, ratio)| best.min(*ratio)).collect();
        let bonus = if in_place[image] { IN_PLACE } else { 0.0 };
        (left(&together) - bonus, image)
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
    fn an_image_that_is_compiled_anyway_is_preferred_to_its_equal() {
        let ratios = vec![vec![1.0, 1.1], vec![1.0, 1.1]];
        assert_eq!(choose(&ratios, 1, &[false, true]), [1]);
        assert_eq!(choose(&ratios, 1, &[true, false]), [0]);
    }

    #[test]
    fn no_more_are_chosen_than_there_are() {
        assert_eq!(choose(&vec![vec![1.0]], 5, &[false]), [0]);
        assert!(choose(&Vec::new(), 5, &[]).is_empty());
    }
}
