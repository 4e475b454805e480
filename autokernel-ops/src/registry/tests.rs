use std::path::{Path, PathBuf};

use autokernel_core::{Dtype, Extents, dim};

use super::*;
use crate::matmul;
use crate::matmul::problem::Layout;

const JSON: &str =
    r#"{"operation":"matmul","input":"bf16","output":"f32","layout":"nt","epilogue":"leaky_relu(0.2)","known_n":8}"#;
const CLASS: &str = r#"{"operation":"matmul","epilogue":"leaky_relu","input":"bf16","output":"f32","layout":"nt"}"#;

fn problem() -> Problem {
    let product = matmul::Problem::new(Dtype::Bf16, Layout::Nt, "leaky_relu(0.2)".parse().unwrap());
    matmul::Problem { output: Dtype::F32, known_n: Some(8), ..product }.into()
}

#[test]
fn problems_and_classes_are_written_and_read_as_files_have_them_since_version_1() {
    assert_eq!(serde_json::to_string(&problem()).unwrap(), JSON);
    assert_eq!(serde_json::from_str::<Problem>(JSON).unwrap(), problem());
    assert_eq!(serde_json::to_string(&problem().class()).unwrap(), CLASS);
    assert_eq!(serde_json::from_str::<Class>(CLASS).unwrap(), problem().class());
    assert_eq!(problem().key(), "matmul_leaky_relu_bf16_f32_nt_d33b989d8d9c");
}

#[test]
fn an_operation_that_is_not_there_is_refused_with_those_that_are() {
    let message = serde_json::from_str::<Class>(&CLASS.replace("matmul", "matmull")).unwrap_err().to_string();
    assert!(message.contains("unknown variant `matmull`") && message.contains("`matmul`"), "{message}");
    let message = serde_json::from_str::<Class>(&CLASS.replace("layout", "lay")).unwrap_err().to_string();
    assert!(message.contains("unknown field `lay`"), "{message}");
}

#[test]
fn the_tag_of_a_problem_is_its_operations_name() {
    for value in [serde_json::to_value(problem()).unwrap(), serde_json::to_value(problem().class()).unwrap()] {
        assert_eq!(value["operation"], problem().operation());
    }
    assert!(problem().class().slug().starts_with(problem().operation()));
    let names: Vec<Dim> = problem().signature().names().collect();
    assert_eq!(names, problem().class().dims());
}

#[test]
fn extents_of_another_operation_are_refused_with_the_dimensions_there_are() {
    let class = problem().class();
    let [m, n, k] = matmul::DIMS;
    let shuffled = Extents::new([(k, 3), (m, 1), (n, 2)]);
    assert_eq!(class.ordered(&shuffled), Ok(matmul::extents(1, 2, 3)));
    for other in [Extents::new([(k, 3), (m, 1)]), Extents::new([(m, 1), (n, 2), (k, 3), (dim("batch"), 4)])] {
        let message = class.ordered(&other).unwrap_err().to_string();
        assert!(message.starts_with("matmul has the dimensions m, n, k, not {"), "{message}");
    }
}

#[test]
fn a_problem_fits_the_extents_that_its_known_dimensions_allow() {
    assert!(problem().fits(&matmul::extents(1, 8, 3)));
    assert!(!problem().fits(&matmul::extents(1, 9, 3)));
    assert!(!problem().fits(&Extents::new([(dim("m"), 1), (dim("n"), 8)])));
}

fn cuda_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { cuda_files(&path) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|extension| extension == "cuh")).collect()
}

/// Whether a file is of no room, or of one that is there: a room behind a feature takes its files with it.
fn travels(path: &Path) -> bool {
    let path = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    path.starts_with("cuda") || Family::ALL.iter().any(|family| path.starts_with(family.operation()))
}

#[test]
fn every_cuda_file_travels_with_the_crate_under_a_name_of_its_own() {
    let mut files: Vec<String> = cuda_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
        .iter()
        .filter(|path| travels(path))
        .map(|path| path.display().to_string().rsplit_once("/cuda/").unwrap().1.to_owned())
        .collect();
    let mut travelling: Vec<&str> = all_headers().map(|(path, _)| path).collect();
    files.sort();
    travelling.sort_unstable();
    assert_eq!(files, travelling);
    travelling.dedup();
    assert_eq!(travelling.len(), files.len());
}
