//! How many images a kernel carries for sizes that nobody tuned.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::num::NonZeroUsize;

use super::error::BuildError;
use crate::arch::Arch;
use crate::config::{AS_PREDICTED, Config, Entry};
use crate::problem::Problem;
use crate::schedule::Schedule;

/// Replaces what the build script says: `AUTOKERNEL_IMAGES=2`, or `AUTOKERNEL_IMAGES=2,sm_80=1`.
const IMAGES_ENV: &str = "AUTOKERNEL_IMAGES";

/// What is asked for: at most so many images for each arch.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// For archs that are not named.
    of_others: Option<NonZeroUsize>,
    of: BTreeMap<Arch, NonZeroUsize>,
}

impl Asked {
    /// How many images `arch` gets at most, if anything is asked for it.
    pub fn most(&self, arch: Arch) -> Option<NonZeroUsize> {
        self.of.get(&arch).copied().or(self.of_others)
    }
}

/// What `AUTOKERNEL_IMAGES` asks for; nothing where it is not set.
pub(super) fn from_environment() -> Result<Asked, BuildError> {
    println!("cargo::rerun-if-env-changed={IMAGES_ENV}");
    asked(&std::env::var_os(IMAGES_ENV).unwrap_or_default())
}

/// Blank is not set: that is how a shell or a CI file takes a variable back.
fn asked(variable: &OsStr) -> Result<Asked, BuildError> {
    let (text, mut asked) = (variable.to_string_lossy(), Asked::default());
    if text.trim().is_empty() {
        return Ok(asked);
    }
    for part in text.split(',') {
        note(part, &mut asked).ok_or_else(|| BuildError::Images(text.trim().to_owned()))?;
    }
    Ok(asked)
}

/// Adds `2` or `sm_80=1`; none where it is neither.
fn note(part: &str, asked: &mut Asked) -> Option<()> {
    match part.split_once('=') {
        Some((arch, most)) => {
            asked.of.insert(arch.trim().parse().ok()?, most.trim().parse().ok()?);
        }
        None => asked.of_others = Some(part.trim().parse().ok()?),
    }
    Some(())
}

/// Of what `config` has for `problem` on `arch` at most `most` images, each with its measured over its predicted time: the default
/// schedule, which runs on every GPU of the arch, before the first of the portfolio. Those that share an image come last: few images
/// are asked for so that a build is short.
pub(super) fn carried(
    config: &Config,
    problem: &Problem,
    arch: Arch,
    most: Option<NonZeroUsize>,
) -> Vec<(Schedule, f64)> {
    let mut images = config.images_for(problem, arch);
    let Some(most) = most.map(NonZeroUsize::get).filter(|&most| most < images.len()) else { return images };
    let default = problem.class().default_schedule(arch);
    let is_default = |(schedule, _): &(Schedule, f64)| schedule.image() == default.image();
    let default = match images.iter().position(is_default) {
        Some(at) => images.remove(at),
        None => (default, AS_PREDICTED),
    };
    images.sort_by_key(|(schedule, _)| schedule.shares_its_image());
    images.truncate(most - 1);
    images.insert(0, default);
    images
}

/// Whether `most` images are fewer than `config` has for `problem` on `arch`.
pub(super) fn are_fewer(config: &Config, problem: &Problem, arch: Arch, most: Option<NonZeroUsize>) -> bool {
    most.is_some_and(|most| most.get() < config.images_for(problem, arch).len())
}

/// The tuned entries that `problem` carries on `arch`: where images are few, those of its own class alone, and none of a class that
/// is merely near.
pub(super) fn tuned<'c>(
    config: &'c Config,
    problem: &Problem,
    arch: Arch,
    most: Option<NonZeroUsize>,
) -> impl Iterator<Item = &'c Entry> {
    let class = problem.class();
    let entries = config.entries_for(problem, arch).into_iter();
    entries.filter(move |entry| most.is_none() || entry.problem == class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::problem::Layout;

    #[test]
    fn a_blank_variable_is_one_that_is_not_set_and_a_kernel_has_one_image_at_least() {
        let asked = |text: &str| asked(text.as_ref());
        assert_eq!(asked(" ").unwrap(), Asked::default());
        assert_eq!(asked(" 3 ").unwrap().most(Arch::SM_80), NonZeroUsize::new(3));
        for broken in ["0", "-1", "few", "2,", "few=1", "sm_80=0", "sm_80"] {
            let message = asked(broken).unwrap_err().to_string();
            assert!(message.contains("AUTOKERNEL_IMAGES") && message.contains(broken), "{message}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_no_text_says_no_number() {
        let message = asked(std::os::unix::ffi::OsStrExt::from_bytes(b"2\xff")).unwrap_err().to_string();
        assert!(message.starts_with("AUTOKERNEL_IMAGES is `2"), "{message}");
    }

    #[test]
    fn archs_that_are_named_have_as_many_images_as_is_asked_for_them() {
        let most = |text: &str| [Arch::SM_80, Arch::SM_90A].map(|arch| asked(text.as_ref()).unwrap().most(arch));
        let [one, two] = [1, 2].map(NonZeroUsize::new);
        assert_eq!(most("2, sm_80 = 1"), [one, two]);
        assert_eq!(most("sm_80=1,2"), [one, two]);
        assert_eq!(most("sm_90a=2"), [None, two]);
    }

    #[test]
    fn of_fewer_images_those_that_were_tuned_for_another_class_are_none() {
        let text = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../best_config.json")).unwrap();
        let config: Config = serde_json::from_slice(&text).unwrap();
        let product = |epilogue: &str| Problem::matmul(Dtype::Bf16, Layout::Nt, epilogue.parse().unwrap());
        let count = |problem: &Problem, most| tuned(&config, problem, Arch::SM_90A, NonZeroUsize::new(most)).count();
        let [own, near] = ["leaky_relu", "silu"].map(product);
        assert!(count(&own, 0) > 0 && count(&near, 0) > 0, "without a limit");
        assert_eq!((count(&own, 1), count(&near, 1)), (count(&own, 0), 0));
    }

    #[test]
    fn of_fewer_images_the_default_is_one_and_the_portfolios_first_that_share_none_are_the_others() {
        let text = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../best_config.json")).unwrap();
        let config: Config = serde_json::from_slice(&text).unwrap();
        let product = |input| Problem::matmul(input, Layout::Nt, "relu".parse().unwrap());
        for problem in [product(Dtype::Bf16), product(Dtype::E4m3)] {
            let all = config.images_for(&problem, Arch::SM_90A);
            let default = problem.class().default_schedule(Arch::SM_90A);
            let of = |most| carried(&config, &problem, Arch::SM_90A, NonZeroUsize::new(most));
            assert!(all.len() > 4, "{problem}");
            assert_eq!(carried(&config, &problem, Arch::SM_90A, None), all, "{problem}");
            assert_eq!(of(all.len()), all, "{problem}");
            let fewer = |most| are_fewer(&config, &problem, Arch::SM_90A, NonZeroUsize::new(most));
            assert!(fewer(1) && fewer(all.len() - 1) && !fewer(all.len()) && !fewer(0), "{problem}");
            for most in 1..4 {
                let few = of(most);
                let of_its_own = |(it, _): &&(Schedule, f64)| it.image() != default.image() && !it.shares_its_image();
                let others: Vec<_> = all.iter().filter(of_its_own).take(most - 1).collect();
                assert_eq!((few.len(), few[0].0.image()), (most, default.image()), "{problem}");
                assert_eq!(few[1..].iter().collect::<Vec<_>>(), others, "{problem}");
            }
        }
    }
}
