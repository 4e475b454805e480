//! A GPU of which no datasheet and no clock tells the ceilings.

use serde_json::Value;
use tuner::replay::Recording;

use crate::common::Tuner;

/// It once reached "inf % of the roofline", and left results that the report could not read.
#[test]
fn a_gpu_without_known_ceilings_is_tuned_and_reported_without_a_share_of_them() {
    let tuner = Tuner::new();
    let path = tuner.folder().join("spaces/leaky_relu.json.gz");
    let mut recording = Recording::load(&path).unwrap();
    recording.gpu.matrix_tflops = 0.0;
    recording.save(&path).unwrap();
    let output = tuner.run(&["--evaluations", "12"]);
    let summary = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && summary.contains(" TFLOP/s"), "{summary}");
    assert!(!summary.contains("roofline,") && !summary.contains("inf"), "{summary}");
    let results: Value = serde_json::from_slice(&std::fs::read(tuner.out("results.json")).unwrap()).unwrap();
    assert_eq!(results["targets"][0]["best"]["roofline_pct"], Value::Null);
    let report = tuner.sub(&["report"]);
    assert!(report.status.success() && report.stderr.is_empty(), "{}", String::from_utf8_lossy(&report.stderr));
    let page = std::fs::read_to_string(tuner.out("report.html")).unwrap();
    assert!(page.contains("The ceilings of this GPU are not known.") && page.contains("promoted"));
    assert!(!page.contains("NaN") && !page.contains(">inf"));
}
