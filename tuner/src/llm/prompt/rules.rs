//! The rules of each kernel family, as its table has them.

use autokernel_codegen::schedule::Family;

/// The rules of `family`, a line each.
pub fn list(family: Family) -> String {
    let lines: Vec<String> = family.rules().iter().map(|rule| format!("- `{}`: {}", rule.name, rule.words)).collect();
    lines.join("\n")
}

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

    /// Broken by rows that an index picks, by groups of rows or along K, by bodies that reduce rows, see partners or write 8 bits, by weights of few bits and by scales of blocks alone,
    /// which nothing here is a problem of.
    const OF_BODIES: [&str; 11] = [
        "gathered_rows_are_not_shared",
        "gathered_rows_take_registers",
        "bytes_are_stored_by_sixteen",
        "block_scales_fit_registers",
        "tile_n_begins_where_blocks_do",
        "groups_are_walked_over",
        "groups_along_k_have_whole_tiles",
        "rotated_heads_lie_in_a_lane",
        "scaled_blocks_lie_in_a_warp",
        "fragments_fit_registers",
        "weights_are_the_rows_of_wgmma",
    ];
    const OF_BODIES_OF_SM80: [&str; 3] =
        ["rotated_heads_lie_in_a_lane", "scaled_blocks_lie_in_a_warp", "stages_lie_in_groups"];

    /// The rules that break when one or two knobs of `base` take any of some odd values.
    fn broken(base: &Value) -> BTreeSet<&'static str> {
        let odd: Vec<Value> = [0, 1, 2, 3, 4, 6, 8, 24, 32, 64, 96, 128, 256].map(Value::from).to_vec();
        let knobs: Vec<String> = base.as_object().unwrap().keys().filter(|knob| *knob != "family").cloned().collect();
        let class = |layout| Problem::matmul(Dtype::Bf16, layout, Epilogue::identity()).class();
        let (nn, nt, tn) = (class(Layout::Nn), class(Layout::Nt), class(Layout::Tn));
        let of_8_bits = Problem::matmul(Dtype::E4m3, Layout::Nn, Epilogue::identity()).class();
        let whole = Problem::matmul(Dtype::I8, Layout::Nt, Epilogue::identity()).class();
        let hopper = [nn, nt.clone(), tn, of_8_bits.clone(), whole].map(|class| (class, Arch::SM_90A));
        let across = Problem::matmul(Dtype::I8, Layout::Nn, Epilogue::identity()).class();
        let targets =
            [nt, of_8_bits, across].map(|class| (class, Arch::SM_80)).into_iter().chain(hopper).collect::<Vec<_>>();
        let mut found = BTreeSet::new();
        let mut note = |value: &Value| {
            let Ok(schedule) = serde_json::from_value::<Schedule>(value.clone()) else { return };
            for (class, arch) in &targets {
                found.extend(class.check(&schedule, *arch).err().map(|broken| broken.rule));
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
        for (key, value) in [("mode", json!("ping_pong")), ("raster_group", json!(0))] {
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
            let base = serde_json::to_value(class.default_schedule(arch)).unwrap();
            let mut found = broken(&base);
            if family == Family::Sm90 {
                found.extend(broken(&with(&base, json!({"swap_ab": true, "consumers": 1}))));
                found.extend(broken(&with(&base, json!({"tile_m": 256, "tile_n": 128, "splits": true, "split_k": 8}))));
                found.extend(broken(&with(&base, json!({"stream_k": true}))));
                found.extend(broken(&with(&base, json!({"stream_k": true, "splits": true}))));
                found.extend(broken(&with(&base, json!({"tile_n": 40}))));
                found.extend(OF_BODIES);
            } else {
                found.extend(OF_BODIES_OF_SM80);
            }
            let told: BTreeSet<&str> = family.rules().iter().map(|rule| rule.name).collect();
            assert_eq!(found, told, "{}", family.name());
        }
    }
}
