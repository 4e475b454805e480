use std::path::Path;

use autokernel_core::{Arch, Dtype, Extents};

use super::{Class, Problem};
use crate::operation::{Class as _, Operation as _};
use crate::{Family, Schedule, registry};

fn problem() -> registry::Problem {
    Problem { dtype: Dtype::Bf16, alpha: 2.5, known_columns: None }.into()
}

#[test]
fn it_is_written_and_read_with_its_operation_as_every_problem() {
    let json = serde_json::to_string(&problem()).unwrap();
    assert_eq!(json, r#"{"operation":"scaled_copy","dtype":"bf16","alpha":2.5}"#);
    assert_eq!(serde_json::from_str::<registry::Problem>(&json).unwrap(), problem());
    let class = serde_json::to_string(&problem().class()).unwrap();
    assert_eq!(class, r#"{"operation":"scaled_copy","dtype":"bf16"}"#);
}

#[test]
fn its_schedules_pass_its_rules_and_no_schedule_of_another_operation_does() {
    let class = problem().class();
    let schedules = class.schedules(Family::Copy, Arch::SM_80);
    assert_eq!(schedules.len(), 4 * 4 * 2);
    assert!(schedules.contains(&class.default_schedule(Arch::SM_80)));
    let product = registry::Problem::matmul(
        Dtype::Bf16,
        crate::matmul::problem::Layout::Nt,
        crate::epilogue::Epilogue::identity(),
    );
    let other = product.class().default_schedule(Arch::SM_80);
    let broken = class.check(&other, Arch::SM_80).unwrap_err();
    assert!(broken.to_string().contains("family sm80 computes matmul, not scaled_copy bf16"), "{broken}");
    assert!(problem().emit(&other).is_err() && product.emit(&schedules[0]).is_err());
    assert_eq!(class.distance(&product.class()), None, "no schedule of one serves the other");
    assert!(class.schedules(Family::Sm80, Arch::SM_80).is_empty());
}

#[test]
fn schedules_read_back_and_share_an_image_where_only_launch_knobs_differ() {
    let schedules = Class { dtype: Dtype::F32 }.schedules(Family::Copy, Arch::SM_80);
    for schedule in &schedules {
        let json = serde_json::to_string(schedule).unwrap();
        assert_eq!(serde_json::from_str::<Schedule>(&json).unwrap(), *schedule, "{json}");
    }
    let sources = schedules.iter().map(|schedule| problem().emit(schedule).unwrap().0.cuda);
    assert_eq!(sources.collect::<std::collections::BTreeSet<_>>().len(), 4 * 4);
}

#[test]
fn its_launch_covers_every_element_once() {
    let (_, plan) = problem().emit(&problem().class().default_schedule(Arch::SM_80)).unwrap();
    let [rows, columns] = super::problem::DIMS;
    let extents = Extents::new([(rows, 3), (columns, 5000)]);
    assert_eq!(plan.kernels[0].grid.blocks(&extents, 132), 3 * 5);
    assert_eq!(problem().work(&extents).bytes(), 2.0 * 2.0 * 15_000.0);
    assert!(problem().opponent().is_none());
    assert_eq!(Problem::ROOTS, [Problem::HEADERS[0].0]);
}

/// Lines of the workspace's sources that name the operation, outside its folder and outside of tests.
fn lines_that_name_it() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = [
        "autokernel-ops",
        "autokernel-core",
        "autokernel-codegen/src",
        "autokernel-macros/src",
        "autokernel-runtime/src",
        "tuner/src",
        "src",
        "xtask/src",
    ];
    let mut lines = Vec::new();
    let mut open: Vec<_> = folders.iter().map(|folder| crates.join(folder)).collect();
    while let Some(path) = open.pop() {
        if path.ends_with("scaled_copy") || path.ends_with("target") {
            continue;
        }
        if let Ok(entries) = std::fs::read_dir(&path) {
            open.extend(entries.map(|entry| entry.unwrap().path()));
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let named =
                |line: &&str| ["scaled_copy", "ScaledCopy", "Family::Copy"].iter().any(|name| line.contains(name));
            lines.extend(text.lines().filter(named).map(|line| format!("{}: {line}", path.display())));
        }
    }
    lines
}

#[test]
fn at_most_four_lines_outside_its_folder_name_it() {
    let lines = lines_that_name_it();
    assert!((1..=4).contains(&lines.len()), "{}", lines.join("\n"));
}
