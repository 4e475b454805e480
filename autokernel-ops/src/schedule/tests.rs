use autokernel_core::{Arch, Dtype};
use serde_json::json;

use super::*;
use crate::epilogue::Epilogue;
use crate::matmul;
use crate::matmul::problem::{Layout, Problem};
use crate::matmul::schedule::Sm90Schedule;
use crate::space::Space;

fn class() -> matmul::problem::Class {
    Problem::new(Dtype::Bf16, Layout::Nt, Epilogue::identity()).class()
}

/// Schedules of both families.
fn some() -> Vec<matmul::Schedule> {
    let of = |family| Space::new(family, &class(), Arch::SM_90A).schedules().to_vec();
    let all = [of(Family::Sm80), of(Family::Sm90)].concat();
    all.iter().step_by(7).map(|schedule| matmul::Schedule::try_from(schedule).unwrap()).collect()
}

/// A schedule in the JSON of version 1, where the raster was an object.
fn version_1(schedule: Schedule) -> serde_json::Value {
    let mut json = serde_json::to_value(schedule).unwrap();
    let knobs = json.as_object_mut().unwrap();
    let raster = json!({"order": knobs.remove("raster_order"), "group": knobs.remove("raster_group")});
    knobs.insert("raster".to_owned(), raster);
    json
}

#[test]
fn a_schedule_is_the_same_erased_and_typed() {
    for typed in some() {
        let erased = Schedule::from(typed);
        assert_eq!(matmul::Schedule::try_from(&erased), Ok(typed));
        assert_eq!(erased.to_string(), typed.to_string());
        assert_eq!(crate::Class::from(class()).check(&erased, Arch::SM_90A), typed.check(&class(), Arch::SM_90A));
    }
}

#[test]
fn erased_schedules_order_as_typed_ones_do() {
    let mut typed = some();
    typed.sort();
    let mut erased: Vec<Schedule> = typed.iter().map(|typed| Schedule::from(*typed)).collect();
    erased.sort();
    assert_eq!(erased.iter().map(|erased| matmul::Schedule::try_from(erased).unwrap()).collect::<Vec<_>>(), typed);
}

#[test]
fn json_is_flat_and_reads_back() {
    for erased in some().into_iter().map(Schedule::from) {
        let json = serde_json::to_value(erased).unwrap();
        assert!(json["raster_order"].is_string() && json["raster"].is_null(), "{json}");
        assert_eq!(serde_json::from_value::<Schedule>(json).unwrap(), erased);
    }
}

#[test]
fn json_of_version_1_is_read_with_and_without_the_knobs_that_it_lacked() {
    for plain in some().into_iter().map(Schedule::from) {
        let mut old = version_1(plain);
        assert_eq!(serde_json::from_value::<Schedule>(old.clone()).unwrap(), plain);
        if plain.value("swap_ab") == Some(0) && plain.value("split_k") == Some(1) {
            let knobs = old.as_object_mut().unwrap();
            assert!(knobs.remove("swap_ab").is_some() && knobs.remove("split_k").is_some());
            assert_eq!(serde_json::from_value::<Schedule>(old).unwrap(), plain);
        }
    }
}

#[test]
fn json_that_is_older_than_images_that_split_says_by_its_split_whether_one_does() {
    let typed = |split_k, splits| Sm90Schedule { split_k, splits, ..Sm90Schedule::PLAIN };
    for (split_k, splits) in [(1, false), (2, true), (8, true)] {
        let mut old = version_1(matmul::Schedule::Sm90(typed(split_k, true)).into());
        assert!(old.as_object_mut().unwrap().remove("splits").is_some());
        let read: Schedule = serde_json::from_value(old).unwrap();
        assert_eq!(Sm90Schedule::try_from(&read), Ok(typed(split_k, splits)));
    }
    let both = serde_json::to_value(Schedule::from(matmul::Schedule::Sm90(typed(1, true)))).unwrap();
    assert_eq!((&both["splits"], &both["split_k"]), (&json!(true), &json!(1)));
}

#[test]
fn json_that_says_no_schedule_is_refused_with_what_would_be_one() {
    let good = serde_json::to_value(Schedule::from(some()[0])).unwrap();
    let refusal = |changes: serde_json::Value| {
        let mut changed = good.clone();
        changed.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        serde_json::from_value::<Schedule>(changed).unwrap_err().to_string()
    };
    assert!(refusal(json!({"family": "sm70"})).contains("the families are sm80, sm90"));
    assert!(
        refusal(json!({"tile_m": null, "tile_o": 3})).contains("no knob `tile_o`"),
        "a misspelt name is said first"
    );
    assert!(refusal(json!({"tile_o": 3})).contains("no knob `tile_o`; it has tile_m"));
    assert!(refusal(json!({"raster": {"turn": 1}})).contains("no knob `raster`"));
    assert!(refusal(json!({"stages": 70_000})).contains("the rules allow 2 … 6"));
    assert!(refusal(json!({"raster_order": "along_k"})).contains("`along_m`, `along_n`"));
    let missing = json!({"family": "sm80", "tile_m": 64});
    assert!(serde_json::from_value::<Schedule>(missing).unwrap_err().to_string().contains("`tile_n` is missing"));
    assert!(serde_json::from_value::<Schedule>(json!({})).unwrap_err().to_string().contains("names its `family`"));
}

#[test]
fn schedules_that_differ_in_launch_knobs_alone_share_an_image() {
    let one = Schedule::from(some()[0]);
    let other = one.with("raster_order", 1).unwrap().with("raster_group", 16).unwrap();
    assert!(one != other && one.image() == other.image());
    assert_ne!(one.with("stages", 6).unwrap().image(), one.image());
    assert_eq!(other.launch_knobs().collect::<Vec<_>>(), [("raster_order", 1), ("raster_group", 16)]);
    assert_eq!(one.image().image(), one.image());
}

#[test]
fn the_images_of_a_space_are_those_of_its_schedules_each_once() {
    for family in [Family::Sm80, Family::Sm90] {
        let space = Space::new(family, &class(), Arch::SM_90A);
        assert_eq!(space.images().next(), Some(space.schedules()[0]));
        let images: std::collections::HashSet<Schedule> =
            space.schedules().iter().map(|schedule| schedule.image()).collect();
        assert_eq!(space.images().collect::<std::collections::HashSet<_>>(), images);
    }
}

#[test]
fn the_changes_between_schedules_are_told_knob_by_knob() {
    let base = crate::registry::Class::from(class()).default_schedule(Arch::SM_90A);
    let other = base.with("stages", 5).unwrap().with("mode", 1).unwrap();
    assert_eq!(other.changes_from(&base).unwrap(), "stages 4 → 5, mode \"cooperative\" → \"ping_pong\"");
    assert_eq!(base.changes_from(&base).unwrap(), "");
    assert_eq!(base.changes_from(&crate::registry::Class::from(class()).default_schedule(Arch::SM_80)), None);
}

#[test]
fn a_knob_takes_its_own_values_only() {
    let plain = Schedule::from(some().pop().unwrap());
    assert_eq!(plain.family(), Family::Sm90);
    assert_eq!(plain.with("split_k", 8).unwrap().value("split_k"), Some(8));
    assert_eq!((plain.with("swap_ab", 2), plain.with("mode", 2), plain.with("warps_m", 1)), (None, None, None));
    assert_eq!(plain.value("warps_m"), None);
    assert!(Sm90Schedule::try_from(&plain).is_ok());
}

#[test]
fn the_default_of_an_arch_is_of_a_family_that_serves_it_and_has_a_plan() {
    let class = crate::registry::Class::from(class());
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let default = class.default_schedule(arch);
        assert_eq!(class.check(&default, arch), Ok(()));
        assert_eq!(class.plan(&default, String::new()).unwrap().kernels.len(), 1);
    }
}
