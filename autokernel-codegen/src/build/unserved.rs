//! Archs that somebody asked for and that some kernel has no image for.

use std::collections::BTreeSet;

use crate::arch::Arch;
use crate::problem::Problem;

/// Says in one warning which of the `requested` archs get no image of which of `problems`.
pub(super) fn warn<'p>(problems: impl Iterator<Item = &'p Problem>, requested: &[Arch]) {
    if let Some(message) = message(problems, requested) {
        println!("cargo::warning=autokernel: {message}");
    }
}

fn message<'p>(problems: impl Iterator<Item = &'p Problem>, requested: &[Arch]) -> Option<String> {
    let (mut archs, mut left) = (BTreeSet::new(), Vec::new());
    for problem in problems {
        let class = problem.class();
        let unserved: Vec<Arch> = requested.iter().copied().filter(|&arch| class.families(arch).is_empty()).collect();
        if let (false, Some(confined)) = (unserved.is_empty(), class.confined()) {
            archs.extend(unserved);
            left.push((problem, confined));
        }
    }
    let (first, confined) = left.first()?;
    let archs: Vec<String> = archs.iter().map(Arch::to_string).collect();
    let others = match left.len() - 1 {
        0 => String::new(),
        others => format!(" (and so for {others} more)"),
    };
    Some(format!(
        "`{first}` has no image for {}{others}: {}. Launches need an image for {}; where there is none they say so",
        archs.join(", "),
        confined.why,
        confined.arch
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::matmul::problem::Layout;

    #[test]
    fn one_warning_names_a_kernel_the_archs_that_do_not_serve_it_and_why() {
        let product = |input| Problem::matmul(input, Layout::Nt, "identity".parse().unwrap());
        let confined = product(Dtype::E4m3);
        let problems = [product(Dtype::Bf16), confined.clone(), confined];
        let said = |requested: &[Arch]| message(problems.iter(), requested);
        let words = said(&[Arch::SM_80, Arch::SM_90A]).unwrap();
        assert!(words.contains("no image for sm_80 (and so for 1 more): e4m3 factors"), "{words}");
        assert!(words.contains("image for sm_89;"), "{words}");
        assert_eq!(said(&[Arch::SM_90A]), None);
        assert_eq!(said(&[]), None, "nobody asked for an arch");
        assert_eq!(message(problems[..1].iter(), &[Arch::SM_80]), None);
    }
}
