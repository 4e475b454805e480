//! What each knob of a kernel family means, as its table has it.

use std::collections::BTreeSet;

use autokernel_codegen::knob::Knob;
use autokernel_codegen::schedule::Family;
use serde_json::Value;

use crate::llm::candidates::FamilyKnobs;

/// How the family works, in a paragraph.
pub fn about(family: Family) -> &'static str {
    match family {
        Family::Sm80 => {
            "One block computes one tile of C. cp.async fills a ring of shared-memory stages; warps read it with \
             ldmatrix through an XOR swizzle and multiply with mma.sync m16n8k16. Each warp holds \
             (tile_m / warps_m) x (tile_n / warps_n) of the tile in registers."
        }
        Family::Sm90 => {
            "Persistent: about one block an SM walks over tiles of C. One warpgroup loads with TMA into a ring of \
             shared-memory stages of 64 elements of K, guarded by mbarriers; the consumer warpgroups multiply from \
             shared memory with wgmma and store through TMA. wgmma multiplies 64-row blocks of A by up to 256 columns \
             of B; with swap_ab it multiplies 64-column blocks of B by up to 256 rows of A. With split_k a cluster of \
             blocks shares the k of one tile and adds up through distributed shared memory."
        }
        Family::RowsSm80 => {
            "threads_per_row threads take a row, each the vectors t, t + threads_per_row, and so on; they request all \
             that they hold before they use the first, keep it in registers from pass to pass, and reduce by shuffles \
             and shared memory. A row longer than what they hold is read again in each pass."
        }
    }
}

/// A line a knob: its name, its legal values, its meaning, and advice. Those that JSON may leave out come last.
pub fn glossary(family: &FamilyKnobs) -> String {
    let (defaulted, always): (Vec<_>, Vec<_>) = family.knobs().partition(|(knob, _)| knob.absent.is_some());
    let lines = always.into_iter().chain(defaulted).map(|(knob, values)| describe(knob, values));
    lines.collect::<Vec<_>>().join("\n")
}

fn describe(knob: &Knob, values: &BTreeSet<u16>) -> String {
    let values: Vec<String> = values.iter().map(|value| knob.to_json(*value).to_string()).collect();
    let mut meaning = knob.meaning();
    for choice in knob.choices() {
        meaning.push_str(&format!(" {}: {}", Value::from(choice.name), choice.meaning()));
    }
    format!("- `{}` ({}): {meaning} {}", knob.name, values.join(", "), knob.advice).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::epilogue::Epilogue;
    use autokernel_codegen::problem::{Layout, Problem};
    use autokernel_codegen::schedule::space::Space;

    use super::*;
    use crate::llm::Candidates;

    #[test]
    fn every_knob_has_its_values_its_meaning_and_advice() {
        let class = Problem::matmul(Dtype::Bf16, Layout::Nt, Epilogue::identity()).class();
        let space = |family| Space::new(family, &class, Arch::SM_90A).schedules().to_vec();
        let schedules = [space(Family::Sm80), space(Family::Sm90)].concat();
        let candidates = Candidates::new(class.clone(), Arch::SM_90A, schedules);
        assert_eq!(candidates.families().len(), 2);
        for family in candidates.families() {
            let text = glossary(family);
            for (knob, _) in family.knobs() {
                let line =
                    text.lines().find(|line| line.starts_with(&format!("- `{}` (", knob.name))).expect(knob.name);
                assert!(!line.contains("():") && !line.contains("):  "), "{line}");
            }
        }
    }
}
