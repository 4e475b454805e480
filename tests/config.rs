//! The checked-in configuration.

use std::path::Path;

use autokernel_codegen::config::{Config, json_schema};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_shipped_config_is_valid_and_each_entry_says_where_it_was_measured() {
    let config = Config::load(&Path::new(ROOT).join("best_config.json")).unwrap();
    for entry in &config.entries {
        let from = &entry.provenance;
        assert!(
            from.median_ms > 0.0 && from.samples > 0 && !from.gpu.is_empty() && !from.driver.is_empty(),
            "{entry:?}"
        );
        let tflops = entry.problem.work(&entry.extents).operations / (from.median_ms * 1e9);
        let rounding = 0.05; // it is written with one decimal
        assert!(
            (tflops - from.tflops).abs() <= rounding + 0.002 * tflops,
            "{tflops} TFLOP/s is not what it says: {entry:?}"
        );
    }
}

#[test]
fn the_checked_in_schema_is_that_of_the_code() {
    let checked_in = std::fs::read_to_string(Path::new(ROOT).join("best_config.schema.json")).unwrap();
    assert_eq!(checked_in, format!("{:#}\n", json_schema()), "run `cargo xtask schema`");
}
