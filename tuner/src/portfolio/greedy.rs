//! Choosing the images that together leave the least to be gained.

/// How slow a shape may be at first, where no image was chosen yet: any number far above what images leave.
const NOTHING: f64 = 4.0;
/// How much the mean of the worst tenth of the shapes counts beside the mean of all.
const WORST: f64 = 0.15;
/// Shapes for one of the worst.
const TENTH: usize = 10;
/// An image in place already may be this much worse than another: it costs no build.
const IN_PLACE: f64 = 0.000_2;
/// The search begins with each of so many images, the best ones alone.
const STARTS: usize = 8;

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

/// What a choice leaves: of the logarithms of the ratios the mean, and a share of that of the highest.
fn left(served: &[Served]) -> f64 {
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    let mut logs: Vec<f64> = served.iter().map(|served| served.ratio.ln()).collect();
    let of_all = mean(&logs);
    let worst = logs.len().div_ceil(TENTH);
    if worst < logs.len() {
        logs.select_nth_unstable_by(worst, |a, b| b.total_cmp(a));
    }
    of_all + WORST * mean(&logs[..worst])
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

/// At most `most` images, most useful first. What counts at a shape is not the best of them but the one that a launch would choose.
pub fn choose(candidates: &[Candidate], most: usize) -> Vec<usize> {
    let mut firsts: Vec<(f64, usize)> = additions(candidates, &[]).collect();
    firsts.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let found = firsts.into_iter().take(STARTS).map(|(_, first)| settled(candidates, most, first));
    let best = found.min_by(|a, b| worth(candidates, a).total_cmp(&worth(candidates, b)));
    most_useful_first(candidates, best.unwrap_or_default())
}

/// Each image that helps most is added, while one helps, then each is exchanged for a better one, until neither helps.
fn settled(candidates: &[Candidate], most: usize, first: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::from_iter((most > 0).then_some(first));
    while grow(candidates, most, &mut chosen) | exchange(candidates, &mut chosen) {}
    chosen
}

/// Adds what helps; whether anything did.
fn grow(candidates: &[Candidate], most: usize, chosen: &mut Vec<usize>) -> bool {
    let before = chosen.len();
    while chosen.len() < most {
        let Some((_, next)) = addition(candidates, chosen) else { break };
        let so_far = worth(candidates, chosen);
        chosen.push(next);
        if worth(candidates, chosen) >= so_far {
            chosen.pop();
            break;
        }
    }
    chosen.len() > before
}

/// Puts a better image in the place of each that has one; whether any has.
fn exchange(candidates: &[Candidate], chosen: &mut [usize]) -> bool {
    let mut so_far = worth(candidates, chosen);
    let mut any = false;
    for place in 0..chosen.len() {
        let others: Vec<usize> = chosen.iter().copied().filter(|image| *image != chosen[place]).collect();
        let Some((_, better)) = addition(candidates, &others) else { continue };
        let before = std::mem::replace(&mut chosen[place], better);
        let now = worth(candidates, chosen);
        if now < so_far {
            (so_far, any) = (now, true);
        } else {
            chosen[place] = before;
        }
    }
    any
}

/// What `chosen` leave, less what those in place save.
fn worth(candidates: &[Candidate], chosen: &[usize]) -> f64 {
    let saved: f64 = chosen.iter().map(|&image| bonus(&candidates[image])).sum();
    left(&served(candidates, chosen.iter().copied())) - saved
}

fn bonus(image: &Candidate) -> f64 {
    if image.in_place { IN_PLACE } else { 0.0 }
}

/// The image that leaves least beside `chosen`, and what that is.
fn addition(candidates: &[Candidate], chosen: &[usize]) -> Option<(f64, usize)> {
    additions(candidates, chosen).min_by(|(a, _), (b, _)| a.total_cmp(b))
}

/// What each other image would leave beside `chosen`.
fn additions<'c>(candidates: &'c [Candidate], chosen: &'c [usize]) -> impl Iterator<Item = (f64, usize)> + 'c {
    let so_far = served(candidates, chosen.iter().copied());
    let free = candidates.iter().enumerate().filter(|(number, _)| !chosen.contains(number));
    free.map(move |(number, image)| (left(&with(&so_far, image)) - bonus(image), number))
}

fn most_useful_first(candidates: &[Candidate], mut chosen: Vec<usize>) -> Vec<usize> {
    let mut ordered: Vec<usize> = Vec::new();
    while !chosen.is_empty() {
        let left_beside = |image: usize| left(&served(candidates, ordered.iter().copied().chain([image])));
        let next = (0..chosen.len()).min_by(|&a, &b| left_beside(chosen[a]).total_cmp(&left_beside(chosen[b])));
        ordered.push(chosen.remove(next.unwrap_or(0)));
    }
    ordered
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
    fn an_image_that_others_make_needless_is_exchanged() {
        let [a, b] = [image(&[1.0, 1.0, 1.0, 3.0, 3.0, 3.0]), image(&[3.0, 3.0, 3.0, 1.0, 1.0, 1.0])];
        let images = [image(&[1.5; 6]), a, b];
        let mut two = settled(&images, 2, 0);
        two.sort_unstable();
        assert_eq!(two, [1, 2]);
    }

    #[test]
    fn of_twenty_shapes_the_worst_two_count_beside_the_mean() {
        let slow = |shapes: usize| {
            let ratio = |at: usize| if at < shapes { std::f64::consts::E } else { 1.0 };
            left(&served(&[image(&std::array::from_fn::<f64, 20, _>(ratio))], [0]))
        };
        let about = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        about(slow(1), 1.0 / 20.0 + WORST / 2.0);
        about(slow(2), 2.0 / 20.0 + WORST);
        about(slow(5), 5.0 / 20.0 + WORST);
    }

    #[test]
    fn the_image_that_is_of_most_use_alone_comes_first() {
        let images = [image(&[1.0, 2.0, 2.0]), image(&[2.0, 1.0, 1.0])];
        assert_eq!(choose(&images, 2), [1, 0]);
    }

    #[test]
    fn no_more_are_chosen_than_there_are() {
        assert_eq!(choose(&[image(&[1.0])], 5), [0]);
        assert!(choose(&[], 5).is_empty());
    }
}
