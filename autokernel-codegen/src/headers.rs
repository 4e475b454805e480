//! Which of the CUDA files a translation unit is made of.
//!
//! A kernel depends on the files that it includes and on no others, so that a changed file recompiles its users alone
//! and makes only their measurements old.

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::emit::{Header, all_headers};
use crate::hash;

/// The files that `cuda` includes, directly or through others, by path.
pub fn included_by(cuda: &str) -> Vec<Header> {
    closure(cuda, &all_headers().collect::<Vec<_>>())
}

/// The hash of `roots` and the files that they include: 12 hexadecimal digits that stay the same as long as the kernels
/// made of them do.
pub fn digest(roots: &[&str]) -> String {
    // The files are part of this program. A report asks once a target, of which a study may have thousands.
    static KNOWN: LazyLock<Mutex<HashMap<Vec<String>, String>>> = LazyLock::new(Mutex::default);
    let key = roots.iter().map(|&root| root.to_owned()).collect();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(key).or_insert_with(|| digest_of(roots, &all_headers().collect::<Vec<_>>())).clone()
}

fn digest_of(roots: &[&str], headers: &[(&str, &str)]) -> String {
    let cuda: String = roots.iter().map(|root| format!("#include \"{root}\"\n")).collect();
    let files = closure(&cuda, headers);
    hash::short_of(files.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]))
}

fn closure<'h>(cuda: &str, headers: &[(&'h str, &'h str)]) -> Vec<(&'h str, &'h str)> {
    let mut found = BTreeMap::new();
    let mut open: Vec<(PathBuf, &str)> = vec![(PathBuf::new(), cuda)];
    while let Some((folder, text)) = open.pop() {
        for name in includes(text) {
            // As nvcc does: beside the file that includes it, then below the include folder.
            let beside = normal(&folder.join(name));
            let known = |path: &Path| headers.iter().find(|(known, _)| Path::new(known) == path);
            let Some(&(path, text)) = known(&beside).or_else(|| known(Path::new(name))) else { continue };
            if found.insert(path, text).is_none() {
                open.push((Path::new(path).parent().unwrap_or(Path::new("")).to_owned(), text));
            }
        }
    }
    found.into_iter().collect()
}

/// The names in `#include "…"` lines.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(included)
}

fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

/// The path without `..`, whose folders need not exist.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use autokernel_ops::packing::Problem as Packing;
    use autokernel_ops::routing::Problem as Routing;
    use autokernel_ops::{Operation, attention, matmul, rows};

    use super::*;

    fn paths(cuda: &str) -> Vec<&'static str> {
        included_by(cuda).into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn a_file_is_found_beside_the_one_that_includes_it_and_below_the_include_folder() {
        let headers = [
            ("a/one.cuh", "#include \"two.cuh\"\n  # include \"../three.cuh\""),
            ("a/two.cuh", ""),
            ("three.cuh", "#include <stdint.h>"),
            ("four.cuh", ""),
        ];
        let found: Vec<&str> = closure("#include \"a/one.cuh\"", &headers).into_iter().map(|(path, _)| path).collect();
        assert_eq!(found, ["a/one.cuh", "a/two.cuh", "three.cuh"]);
    }

    #[test]
    fn files_that_include_each_other_are_found_once() {
        let headers = [("a.cuh", "#include \"b.cuh\""), ("b.cuh", "#include \"a.cuh\"")];
        assert_eq!(closure("#include \"a.cuh\"", &headers).len(), 2);
    }

    #[test]
    fn each_family_is_made_of_its_own_files_and_the_shared_ones() {
        let (sm80, sm90) = (paths("#include \"sm80_matmul.cuh\""), paths("#include \"sm90_matmul.cuh\""));
        assert!(sm80.contains(&"types.cuh") && sm90.contains(&"types.cuh"));
        assert!(!sm80.iter().any(|path| path.contains("sm90")) && !sm90.iter().any(|path| path.contains("sm80")));
        assert!(sm90.contains(&"ptx/sm90_wgmma.cuh"), "through three others");
    }

    #[test]
    fn a_changed_file_changes_the_hash_of_its_users_and_of_no_other() {
        let before = [("shared.cuh", "1"), ("one.cuh", "#include \"shared.cuh\""), ("other.cuh", "2")];
        let after = |path: &str| {
            before.map(|(known, text)| (known, if known == path { "#include \"shared.cuh\" " } else { text }))
        };
        for (changed, of_one, of_other) in
            [("shared.cuh", true, false), ("one.cuh", true, false), ("other.cuh", false, true)]
        {
            let differs = |root| digest_of(&[root], &before) != digest_of(&[root], &after(changed));
            assert_eq!((differs("one.cuh"), differs("other.cuh")), (of_one, of_other), "{changed}");
        }
    }

    #[test]
    fn every_file_is_part_of_some_kernel() {
        let of_rooms = [&matmul::roots::ROOTS[..], &rows::emit::ROOTS, &attention::emit::ROOTS];
        let measured = [&of_rooms[..], &[Routing::ROOTS, Packing::ROOTS]].concat().concat();
        let others = [
            "reference_groups.cuh",
            "reference_joined.cuh",
            "reference_matmul.cuh",
            "reference_rotated.cuh",
            "reference_scaled.cuh",
            "reference_rows.cuh",
            "reference_attention.cuh",
            "reference_routing.cuh",
            "reference_packing.cuh",
        ];
        let roots = measured.into_iter().chain(others);
        let all: String = roots.map(|root| format!("#include \"{root}\"\n")).collect();
        let mut travelling: Vec<&str> = all_headers().map(|(path, _)| path).collect();
        travelling.sort_unstable();
        assert_eq!(paths(&all), travelling);
    }
}
