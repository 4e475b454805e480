//! What operands of whole numbers hold when a kernel is checked or timed: offsets and counts of groups, and rows that are picked.

use autokernel_codegen::problem::Problem;
use autokernel_core::{Dtype, Each, Extents, Numbers, OWN_AXIS, Role, Signature, Size};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use crate::group_sizes::GroupSizes;

/// What operand `number` of a launch at `shape` holds by `seed`, in the range that its kernel takes as it is meant; none where nothing
/// says what its numbers do, where it is written, or where they are a table.
pub fn draw(signature: &Signature, number: usize, shape: &Extents, sizes: GroupSizes, seed: u64) -> Option<Vec<i32>> {
    let operand = signature.operands.get(number)?;
    let (Dtype::I32, Role::Input, &[axis]) = (operand.dtype, operand.role, &operand.axes[..]) else { return None };
    let rules = || signature.numbers.iter().filter(|rule| usize::from(rule.operand) == number);
    let among = rules().map(|rule| among(signature, rule, shape)).min()?;
    let (each, len) = (rules().next()?.each, shape.size(axis) as usize);
    Some(match each {
        Each::Counts => sizes.counts(len, among, seed),
        Each::Bounds => sizes.bounds(len, among, seed),
        Each::Picks => picks(len, among, seed),
        Each::StandsForZero => return None,
    })
}

/// Whether numbers on the device say how large parts of the operands of `problem` are.
pub fn has_groups(problem: &Problem) -> bool {
    problem.signature().numbers.iter().any(|rule| matches!(rule.each, Each::Counts | Each::Bounds))
}

/// Whether numbers leave elements of an output to no one: rows beyond a count, between bounds, or that none picks.
pub fn leaves_some_alone(signature: &Signature) -> bool {
    let dim = |size: &Size| {
        let of = signature.operands.get(usize::from(size.operand));
        of.and_then(|operand| operand.axes.get(usize::from(size.axis))).copied()
    };
    let is_of_output = |dim: u8| signature.outputs().any(|output| output.axes.contains(&dim));
    let is_output = |size: &Size| {
        signature.operands.get(usize::from(size.operand)).is_some_and(|operand| operand.role == Role::Output)
    };
    signature.numbers.iter().any(|rule| match rule.each {
        // Parts of a dimension that is summed over leave nothing: of no part the sum is zero.
        Each::Counts | Each::Bounds => rule.among.iter().filter_map(dim).any(is_of_output),
        Each::Picks => rule.among.iter().any(is_output),
        Each::StandsForZero => false,
    })
}

/// Whether operand `number` says which indices of dimension `dim` are of which group.
pub fn bounds_along(signature: &Signature, number: usize, dim: u8) -> bool {
    let is_along = |size: &Size| {
        let of = signature.operands.get(usize::from(size.operand));
        of.and_then(|operand| operand.axes.get(usize::from(size.axis))) == Some(&dim)
    };
    let is_its = |rule: &&Numbers| usize::from(rule.operand) == number && rule.each == Each::Bounds;
    signature.numbers.iter().filter(is_its).any(|rule| rule.among.iter().any(is_along))
}

/// Among how many a number picks, counts or bounds.
fn among(signature: &Signature, rule: &Numbers, shape: &Extents) -> usize {
    let size = |size: &Size| {
        let operand = signature.operands.get(usize::from(size.operand));
        let dim = operand.and_then(|operand| operand.axes.get(usize::from(size.axis))).copied();
        // Whoever picks rows of an operand finds as many as there are of the first dimension.
        dim.map_or(0, |dim| shape.size(if dim == OWN_AXIS { 0 } else { dim }) as usize)
    };
    rule.among.iter().map(size).product()
}

/// Each row once before any comes again: what is written is written once.
fn picks(len: usize, among: usize, seed: u64) -> Vec<i32> {
    let mut rows: Vec<i32> = (0..).take(among).collect();
    rows.shuffle(&mut Pcg64::seed_from_u64(seed));
    if rows.is_empty() { vec![-1; len] } else { rows.into_iter().cycle().take(len).collect() }
}

#[cfg(test)]
pub(crate) mod tests {
    use autokernel_codegen::matmul::{batched_extents, grouped_extents};
    use autokernel_codegen::product;
    use autokernel_codegen::rows;

    use super::*;

    /// Groups of rows, parts of K and slots, each with their operands in another order.
    pub(crate) fn grouped() -> [Problem; 3] {
        let problem = |text: &str| Problem::from(product::problem(&syn::parse_str(text).unwrap()).unwrap());
        [
            problem(
                "fn experts(x: &Matrix<bf16>, w: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) { out = dot(x, w.t()); }",
            ),
            problem(
                "fn gradients(x: &Matrix<bf16>, offsets: &Index, dy: &Matrix<bf16>, dw: &mut Batch<f32>) { dw = dot(x.t(), dy); }",
            ),
            problem(
                "fn slots(counts: &Index, x: &Batch<bf16>, w: &Batch<bf16>, out: &mut Batch<bf16>) { out = silu(dot(x, w.t())); }",
            ),
        ]
    }

    #[test]
    fn groups_have_one_offset_more_than_there_are_and_slots_a_count_each() {
        let drawn = |problem: &Problem, number, shape| draw(&problem.signature(), number, &shape, GroupSizes::Even, 3);
        let [experts, gradients, slots] = &grouped();
        assert_eq!(drawn(experts, 2, grouped_extents(4, 40, 5, 6)), Some(vec![0, 10, 20, 30, 40]));
        assert_eq!(drawn(experts, 0, grouped_extents(4, 40, 5, 6)), None, "that is a matrix");
        assert_eq!(drawn(gradients, 1, grouped_extents(2, 40, 5, 6)), Some(vec![0, 3, 6]), "parts of K");
        assert_eq!(drawn(slots, 0, batched_extents(3, 7, 5, 6)), Some(vec![7; 3]));
    }

    #[test]
    fn a_product_of_picked_rows_has_a_row_for_each_number_and_its_groups_are_of_these() {
        let text =
            "fn routed(x: &Matrix<bf16>, tokens: &Index, w: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) {
            out = dot(x[tokens], w.t());
        }";
        let problem = Problem::from(product::problem(&syn::parse_str(text).unwrap()).unwrap());
        let (signature, shape) = (problem.signature(), grouped_extents(4, 40, 5, 6));
        let drawn = |number| draw(&signature, number, &shape, GroupSizes::Even, 3).unwrap();
        let mut picked = drawn(1);
        assert_ne!(picked, (0..40).collect::<Vec<i32>>());
        picked.sort_unstable();
        assert_eq!((picked, drawn(3)), ((0..40).collect(), vec![0, 10, 20, 30, 40]));
        assert!(bounds_along(&signature, 3, 0) && !bounds_along(&signature, 1, 0) && leaves_some_alone(&signature));
    }

    #[test]
    fn only_offsets_of_rows_bound_rows() {
        let [experts, gradients, slots] = grouped().map(|problem| problem.signature());
        assert!(bounds_along(&experts, 2, 0) && !bounds_along(&experts, 0, 0));
        assert!(!bounds_along(&gradients, 1, 0) && bounds_along(&gradients, 1, 2));
        assert!(!bounds_along(&slots, 0, 0));
    }

    #[test]
    fn elements_are_left_alone_by_groups_of_rows_slots_and_scattered_rows_alone() {
        let [experts, gradients, slots] = grouped().map(|problem| leaves_some_alone(&problem.signature()));
        assert!(experts && slots && !gradients, "{experts} {gradients} {slots}");
        let rows = |text: &str| {
            let problem = Problem::from(rows::problem(&syn::parse_str(text).unwrap()).unwrap());
            leaves_some_alone(&problem.signature())
        };
        assert!(rows("fn scatter(x: &Matrix<bf16>, at: &Index, out: &mut Matrix<bf16>) { out[at] = x; }"));
        assert!(!rows("fn gather(x: &Matrix<bf16>, at: &Index, out: &mut Matrix<bf16>) { out = x[at]; }"));
        assert!(!rows("fn twice(x: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = x * 2.0; }"));
    }

    #[test]
    fn what_picks_rows_picks_each_once() {
        let text = "fn gather(x: &Matrix<bf16>, at: &Index, out: &mut Matrix<bf16>) { out = x[at]; }";
        let problem = Problem::from(rows::problem(&syn::parse_str(text).unwrap()).unwrap());
        let shape = Extents::new([(autokernel_core::dim("rows"), 9), (autokernel_core::dim("columns"), 8)]);
        let mut drawn = draw(&problem.signature(), 1, &shape, GroupSizes::Zipf, 3).unwrap();
        drawn.sort_unstable();
        assert_eq!(drawn, (0..9).collect::<Vec<i32>>());
        assert_eq!(picks(3, 0, 1), [-1; 3]);
    }
}
