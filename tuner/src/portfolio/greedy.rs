//! Choosing the images that together leave the least to be gained.

/// How slow a shape may be at first, where no image was chosen yet: any number far above what images leave.
const NOTHING: f64 = 4.0;
/// How much the worst shape counts beside the mean of all.
const WORST: f64 = 0.15;
/// An image in place already may be this much worse than another: it costs no build.
const IN_PLACE: f64 = 0.002;

/// What is known of one image, shape by shape.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// Its time over the best of any image.
    pub ratios: Vec<f64>,
    /// Its predicted time, by which a launch chooses.
    pub predicted: Vec<f64>,
    /// Whether a build compiles it anyway.
    pub in_place: bool,
}

/// Of some images the one that a launch would choose at a shape.
#[derive(Clone, Copy)]
struct Served {
    predicted: f64,
    ratio: f64,
}

/// What serves each shape where nothing was chosen yet.
const UNSERVED: Served = Served { predicted: f64::INFINITY, ratio: NOTHING };

fn with(served: &[Served], image: &Candidate) -> Vec<Served> {
    let one = |(at, known): (usize, &Served)| {
        let new = Served { predicted: image.predicted[at], ratio: image.ratios[at] };
        if new.predicted < known.predicted { new } else { *known }
    };
    served.iter().enumerate().map(one).collect()
}

fn served(candidates: &[Candidate], chosen: impl IntoIterator<Item = usize>) -> Vec<Served> {
    let shapes = candidates.first().map_or(0, |image| image.ratios.len());
    chosen.into_iter().fold(vec![UNSERVED; shapes], |served, image| with(&served, &candidates[image]))
}

/// What a choice leaves: of the logarithms of the ratios the mean, and a share of the highest.
fn left(served: &[Served]) -> f64 {
    let logs = served.iter().map(|served| served.ratio.ln());
    let mean = logs.clone().sum::<f64>() / served.len().max(1) as f64;
    mean + WORST * logs.fold(0.0, f64::max)
}

/// The ratio at each shape of the one of `chosen` that a launch would choose.
pub fn chosen_of(candidates: &[Candidate], chosen: impl IntoIterator<Item = usize>) -> Vec<f64> {
    served(candidates, chosen).into_iter().map(|served| served.ratio).collect()
}

/// The best that `chosen` do at each shape.
pub fn best_of(candidates: &[Candidate], chosen: impl IntoIterator<Item = usize>) -> Vec<f64> {
    let shapes = candidates.first().map_or(0, |image| image.ratios.len());
    chosen.into_iter().fold(vec![NOTHING; shapes], |best, image| {
        best.iter().zip(&candidates[image].ratios).map(|(best, ratio)| best.min(*ratio)).collect()
    })
}

/// At most `most` images, most useful first: each that helps most is added, if any helps, then each is exchanged for a better
/// one while there is one. What counts at a shape is not the best of them but the one that a launch would choose.
pub fn choose(candidates: &[Candidate], most: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < most.min(candidates.len()) {
        let so_far = left(&served(candidates, chosen.iter().copied()));
        let Some(next) = addition(candidates, &chosen) else { break };
        chosen.push(next);
        if left(&served(candidates, chosen.iter().copied())) > so_far {
            chosen.pop();
            break;
        }
        for place in 0..chosen.len() {
            let others: Vec<usize> = chosen.iter().copied().filter(|image| *image != chosen[place]).collect();
            if let Some(better) = addition(candidates, &others) {
                chosen[place] = better;
            }
        }
    }
    chosen
}

/// The image that leaves least beside `chosen`.
fn addition(candidates: &[Candidate], chosen: &[usize]) -> Option<usize> {
    let so_far = served(candidates, chosen.iter().copied());
    let free = candidates.iter().enumerate().filter(|(number, _)| !chosen.contains(number));
    let scored = free.map(|(number, image)| {
        let bonus = if image.in_place { IN_PLACE } else { 0.0 };
        (left(&with(&so_far, image)) - bonus, number)
    });
    scored.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image whose times are predicted as they are.
    fn image(ratios: &[f64]) -> Candidate {
        Candidate { ratios: ratios.to_vec(), predicted: ratios.to_vec(), in_place: false }
    }

    #[test]
    fn specialists_together_beat_the_best_of_all_trades() {
        let images = [image(&[1.2; 4]), image(&[1.0, 1.0, 2.0, 2.0]), image(&[2.0, 2.0, 1.0, 1.0])];
        assert_eq!(choose(&images, 1), [0]);
        let mut two = choose(&images, 2);
        two.sort_unstable();
        assert_eq!(two, [1, 2]);
        assert_eq!(best_of(&images, two), [1.0; 4]);
    }

    #[test]
    fn an_image_that_would_be_chosen_where_a_better_one_is_there_is_left_out() {
        let underrated = Candidate { predicted: vec![9.0, 9.0], ..image(&[1.0, 1.0]) };
        let images = [image(&[1.5, 1.5]), underrated, image(&[1.4, 1.8])];
        assert_eq!(chosen_of(&images, [0, 1]), [1.5, 1.5]);
        assert_eq!(choose(&images, 3), [1]);
    }

    #[test]
    fn an_image_that_is_compiled_anyway_is_preferred_to_its_equal() {
        let place = |in_place| Candidate { in_place, ..image(&[1.0, 1.1]) };
        assert_eq!(choose(&[place(false), place(true)], 1), [1]);
        assert_eq!(choose(&[place(true), place(false)], 1), [0]);
    }

    #[test]
    fn no_more_are_chosen_than_there_are() {
        assert_eq!(choose(&[image(&[1.0])], 5), [0]);
        assert!(choose(&[], 5).is_empty());
    }
}
