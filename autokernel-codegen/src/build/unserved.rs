//! Archs that somebody asked for and that some kernel has no image for.

use std::collections::{BTreeMap, BTreeSet};

use autokernel_core::Confined;

use crate::arch::Arch;
use crate::problem::Problem;

/// Says in one warning for each reason which of the `requested` archs get no image of which of `problems`.
pub(super) fn warn<'p>(problems: impl Iterator<Item = &'p Problem>, requested: &[Arch]) {
    for message in messages(problems, requested) {
        println!("cargo::warning=autokernel: {message}");
    }
}

/// What is left without an image for one reason.
#[derive(Default)]
struct Unserved<'p> {
    archs: BTreeSet<Arch>,
    problems: Vec<&'p Problem>,
}

fn messages<'p>(problems: impl Iterator<Item = &'p Problem>, requested: &[Arch]) -> Vec<String> {
    let mut left: BTreeMap<(Arch, String), Unserved<'p>> = BTreeMap::new();
    for problem in problems {
        let class = problem.class();
        let unserved: Vec<Arch> = requested.iter().copied().filter(|&arch| class.families(arch).is_empty()).collect();
        if let (false, Some(Confined { arch, why })) = (unserved.is_empty(), class.confined()) {
            let of_reason = left.entry((arch, why)).or_default();
            of_reason.archs.extend(unserved);
            of_reason.problems.push(problem);
        }
    }
    let message = |((arch, why), Unserved { archs, problems }): ((Arch, String), Unserved<'_>)| {
        let (first, others) = problems.split_first()?;
        let archs: Vec<String> = archs.iter().map(Arch::to_string).collect();
        let others = match others.len() {
            0 => String::new(),
            others => format!(" (and so for {others} more)"),
        };
        Some(format!(
            "`{first}` has no image for {}{others}: {why}. Launches need an image for {arch}; where there is none they say so",
            archs.join(", "),
        ))
    };
    left.into_iter().filter_map(message).collect()
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
        let said = |requested: &[Arch]| messages(problems.iter(), requested);
        let [words] = &said(&[Arch::SM_80, Arch::SM_90A])[..] else { panic!("one reason") };
        assert!(words.contains("no image for sm_80 (and so for 1 more): e4m3 factors"), "{words}");
        assert!(words.contains("image for sm_89;"), "{words}");
        assert!(said(&[Arch::SM_90A]).is_empty());
        assert!(said(&[]).is_empty(), "nobody asked for an arch");
        assert!(messages(problems[..1].iter(), &[Arch::SM_80]).is_empty());
    }

    #[test]
    fn each_reason_is_told_with_the_arch_that_it_asks_for() {
        let by_blocks = "fn f(x: &Matrix<e4m3>, s: &Matrix<f32>, w: &Matrix<e4m3>, t: &Matrix<f32>, out: &mut Matrix<f32>) { out = dot(x * s, \
                         (w * t).t()); }";
        let attribute = crate::spec::attribute("fused_matmul").unwrap();
        let (arguments, by_blocks) = ("block = 128".parse().unwrap(), by_blocks.parse().unwrap());
        let by_blocks =
            crate::spec::Spec::parse(attribute, arguments, by_blocks, &crate::function::Functions::default())
                .unwrap()
                .problem;
        let problems = [by_blocks, Problem::matmul(Dtype::E4m3, Layout::Nt, "identity".parse().unwrap())];
        let said = messages(problems.iter(), &[Arch::SM_80]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("8.9 on. Launches need an image for sm_89;"), "{said:?}");
        assert!(said[1].contains("Hopper's kernels. Launches need an image for sm_90a;"), "{said:?}");
    }
}
