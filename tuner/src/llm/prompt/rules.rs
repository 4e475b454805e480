//! The rules of each kernel family in words, by the names that `Schedule::check` gives them.

use autokernel_codegen::schedule::Family;

/// The rules of `family`, a line each.
pub fn list(family: Family) -> String {
    let lines: Vec<String> = rules(family).iter().map(|(rule, words)| format!("- `{rule}`: {words}")).collect();
    lines.join("\n")
}

fn rules(family: Family) -> &'static [(&'static str, &'static str)] {
    match family {
        Family::Sm80 => &SM80,
        Family::Sm90 => &SM90,
    }
}

const SM80: [(&str, &str); 8] = [
    ("tile", "tile_m and tile_n are 32, 64, 128 or 256; tile_k is 32 or 64"),
    ("stages", "stages is 2 to 6"),
    ("warps", "warps_m and warps_n are powers of two; warps_m * warps_n is at most 16"),
    ("warp_tile", "the warp tile, tile_m / warps_m x tile_n / warps_n, is a multiple of 16 x 16"),
    ("accumulators", "tile_m * tile_n / (32 * warps_m * warps_n) is at most 128"),
    (
        "registers",
        "accumulators + (warp tile's m + n) / 2 + 48 is at most 255, and at most 65536 / (32 * warps_m * warps_n)",
    ),
    ("shared_memory", "stages * (tile_m + tile_n) * tile_k * 2 bytes fit the shared memory of a block"),
    ("raster_group_in_range", "raster.group is 1 to 1024"),
];

const SM90: [(&str, &str); 19] = [
    ("family_serves_arch", "sm90 runs on sm_90a alone"),
    ("consumers_one_to_three", "consumers is 1 to 3"),
    ("ping_pong_takes_two_consumers", "mode ping_pong has consumers = 2"),
    (
        "tile_m_splits_into_wgmma_blocks",
        "without swap_ab, tile_m is in 64..=256 and a multiple of 64 (ping_pong) or of 64 * consumers (cooperative)",
    ),
    ("tile_n_is_a_wgmma_width", "without swap_ab, tile_n is in 16..=256 and a multiple of 8"),
    (
        "swapped_tile_n_splits_into_wgmma_blocks",
        "with swap_ab, tile_n is in 64..=256 and a multiple of 64 (ping_pong) or of 64 * consumers (cooperative)",
    ),
    ("swapped_tile_m_is_a_wgmma_width", "with swap_ab, tile_m is in 8..=256 and a multiple of 8"),
    ("row_major_b_takes_whole_swizzle_rows", "with layout nn, tile_n is a multiple of 64"),
    (
        "accumulators_fit_registers",
        "tile_m * tile_n / 128, divided by consumers if cooperative, is at most 192, 128 with split_k above 1, or 96 with 3 \
         consumers; 16 fewer with an epilogue that calls tanh",
    ),
    ("stages_two_to_sixteen", "stages is 2 to 16"),
    ("cluster_of_one_two_or_four_in_a_row", "cluster_m x cluster_n is 1x1, 2x1, 1x2, 4x1 or 1x4"),
    (
        "cluster_slices_b_in_whole_swizzle_atoms",
        "tile_n is a multiple of 8 * cluster_m, with layout nn of 64 * cluster_m",
    ),
    ("cluster_slices_a_in_whole_swizzle_atoms", "tile_m is a multiple of 8 * cluster_n"),
    ("split_k_one_to_eight", "split_k is 1, 2, 4 or 8"),
    ("split_k_is_cooperative_without_multicast", "split_k above 1 has mode cooperative and cluster 1x1"),
    ("split_k_divides_the_consumer_warps", "split_k divides 4 * consumers"),
    (
        "split_k_partials_fit_the_ring",
        "tile_m * tile_n * 4 * (split_k - 1) / split_k is at most stages * (tile_m + tile_n) * 128",
    ),
    (
        "shared_memory_fits",
        "about 1 KiB + stages * (tile_m + tile_n) * 128 + consumers * 8 KiB to 16 KiB is at most 232448 bytes",
    ),
    ("raster_group_in_range", "raster.group is 1 to 1024"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::epilogue::Epilogue;
    use autokernel_codegen::problem::{Layout, Problem};
    use autokernel_codegen::schedule::Schedule;
    use serde_json::{Value, json};

    use super::*;

    /// The rules that break when one or two knobs of `base` take any of some odd values.
    fn broken(base: &Value) -> BTreeSet<&'static str> {
        let odd: Vec<Value> = [0, 1, 2, 3, 4, 6, 8, 24, 32, 64, 96, 128, 256].map(Value::from).to_vec();
        let knobs: Vec<String> = base.as_object().unwrap().keys().filter(|knob| *knob != "family").cloned().collect();
        let class = |layout| Problem::matmul(Dtype::Bf16, layout, Epilogue::identity()).class();
        let (nn, nt) = (class(Layout::Nn), class(Layout::Nt));
        let targets = [(nn, Arch::SM_90A), (nt.clone(), Arch::SM_90A), (nt, Arch::SM_80)];
        let mut found = BTreeSet::new();
        let mut note = |value: &Value| {
            let Ok(schedule) = serde_json::from_value::<Schedule>(value.clone()) else { return };
            for (class, arch) in &targets {
                found.extend(schedule.check(class, *arch).err().map(|broken| broken.rule));
            }
        };
        for (one, other) in knobs.iter().flat_map(|one| knobs.iter().map(move |other| (one, other))) {
            for (x, y) in odd.iter().flat_map(|x| odd.iter().map(move |y| (x, y))) {
                let mut changed = base.clone();
                changed[one] = x.clone();
                changed[other] = y.clone();
                note(&changed);
            }
        }
        for (key, value) in [("mode", json!("ping_pong")), ("raster", json!({"order": "along_m", "group": 0}))] {
            for consumers in [1, 2] {
                let mut changed = base.clone();
                changed[key] = value.clone();
                changed["consumers"] = consumers.into();
                note(&changed);
                changed.as_object_mut().unwrap().remove("consumers");
                note(&changed);
            }
        }
        found
    }

    /// `base` with the knobs of `changes`.
    fn with(base: &Value, changes: Value) -> Value {
        let mut changed = base.clone();
        for (knob, value) in changes.as_object().unwrap() {
            changed[knob] = value.clone();
        }
        changed
    }

    #[test]
    fn every_rule_that_can_break_is_in_the_prompt_and_no_other() {
        let class = Problem::matmul(Dtype::Bf16, Layout::Nt, Epilogue::identity()).class();
        for (family, arch) in [(Family::Sm80, Arch::SM_80), (Family::Sm90, Arch::SM_90A)] {
            let base = serde_json::to_value(Schedule::default_for(&class, arch)).unwrap();
            let mut found = broken(&base);
            if family == Family::Sm90 {
                found.extend(broken(&with(&base, json!({"swap_ab": true, "consumers": 1}))));
                found.extend(broken(&with(&base, json!({"tile_m": 256, "tile_n": 128, "split_k": 8}))));
            }
            let told: BTreeSet<&str> = rules(family).iter().map(|(rule, _)| *rule).collect();
            assert_eq!(found, told, "{}", family.name());
        }
    }
}
