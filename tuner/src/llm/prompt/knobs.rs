//! What each knob of a kernel family means: codegen's own documentation, and what experience adds.

use autokernel_codegen::schedule::Family;
use serde_json::Value;

use super::schema::documented;
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
    }
}

/// A line a knob: its path, its legal values, its meaning, and advice.
pub fn glossary(family: &FamilyKnobs) -> String {
    let mut lines = Vec::new();
    describe("", &documented(family.family), family, &mut lines);
    lines.join("\n")
}

fn describe(path: &str, schema: &Value, family: &FamilyKnobs, lines: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        // `required` keeps the order in which the fields are declared; those with a default follow.
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let defaulted = properties.keys().map(String::as_str).filter(|name| !required.contains(name));
        for name in required.iter().copied().chain(defaulted) {
            let below = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            describe(&below, &properties[name], family, lines);
        }
        return;
    }
    if path == "family" {
        return;
    }
    let values: Vec<String> = family.values.get(path).into_iter().flatten().map(Value::to_string).collect();
    let mut meaning = schema["description"].as_str().unwrap_or_default().to_owned();
    for choice in schema["oneOf"].as_array().into_iter().flatten() {
        meaning.push_str(&format!(" {}: {}", choice["const"], choice["description"].as_str().unwrap_or_default()));
    }
    let advice = advice(family.family, path).unwrap_or_default();
    lines.push(format!("- `{path}` ({}): {meaning} {advice}", values.join(", ")).trim_end().to_owned());
}

/// What measurements on earlier shapes suggest.
fn advice(family: Family, knob: &str) -> Option<&'static str> {
    Some(match (family, knob) {
        (_, "raster.order") => "Share the operand whose tiles are larger in bytes.",
        (_, "raster.group") => {
            "Decides what stays in L2; matters most when A and B exceed it. A good start is \
             sqrt(SMs * tile_n / tile_m). Costs no compile."
        }
        (Family::Sm80, "tile_m" | "tile_n") => {
            "Large tiles reuse operands best (256x128, 128x256 with 8 warps); take smaller ones when \
             ceil(m/tile_m) * ceil(n/tile_n) would leave SMs idle or a long last wave."
        }
        (Family::Sm80, "tile_k") => "64 halves the barriers, 32 leaves shared memory for more stages.",
        (Family::Sm80, "warps_m" | "warps_n") => {
            "A warp tile of 64x64 reuses registers best; more warps hide latency at the cost of that reuse."
        }
        (Family::Sm80, "stages") => "3 or 4 for large tiles, 5 or 6 for small ones.",
        (Family::Sm90, "tile_m" | "tile_n") => {
            "128x256 and 256x128 lead on large shapes; smaller tiles when there are fewer than about two thirds as \
             many tiles as SMs, or when the last wave is mostly empty."
        }
        (Family::Sm90, "stages") => {
            "At least 4 for tiles up to 128x192; beyond 6 seldom helps, except in small tiles that wait for memory: \
             keep 64 KiB or more in flight."
        }
        (Family::Sm90, "consumers") => "2 for tiles of 128 rows and more, 1 for 64 rows.",
        (Family::Sm90, "mode") => {
            "ping_pong hides the store behind the other tile's multiplications, which pays for short k; cooperative \
             allows larger tiles."
        }
        (Family::Sm90, "cluster_m" | "cluster_n") => {
            "2 halves the L2 reads of the shared operand but ties two blocks together: measured between -16 % and \
             +28 %, so try it and assume nothing. 4 is for small tiles, whose reads are large beside their products."
        }
        (Family::Sm90, "swap_ab") => {
            "true for m up to about 64, with tile_m = m rounded up to 8, 16, 32 or 64: nothing is padded to 64 rows. \
             false for large m."
        }
        (Family::Sm90, "split_k") => {
            "1 unless there are fewer tiles than SMs; then the smallest value that gives most SMs a block. With it there \
             is one tile a cluster, not a persistent block, so more than a wave of clusters wastes time."
        }
        _ => return None,
    })
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
            for knob in family.values.keys().filter(|knob| *knob != "family") {
                let line = text.lines().find(|line| line.starts_with(&format!("- `{knob}` ("))).expect(knob);
                assert!(advice(family.family, knob).is_some(), "no advice on {knob}");
                assert!(!line.contains("():") && !line.contains("):  "), "{line}");
            }
        }
    }
}
