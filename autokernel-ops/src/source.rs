//! CUDA translation units, and the structs that are printed into them.

use std::fmt::{Display, Write};

use autokernel_core::plan::Layout;
use autokernel_core::{Arg, Field};

use crate::registry::ROOM_HEADERS;

/// A CUDA translation unit with one kernel for one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSource {
    /// The kernel's `extern "C"` name: readable, and different for different kernels.
    pub symbol: String,
    /// The text. It includes files of [`all_headers`].
    pub cuda: String,
}

/// A CUDA file that travels with the crate: its path below the include folder, and its text.
pub type Header = (&'static str, &'static str);

/// The CUDA files of a folder, by the path under which sources include them.
macro_rules! headers {
    ($($folder:literal: $($path:literal)*;)*) => {
        &[$($(($path, include_str!(concat!($folder, $path))),)*)*]
    };
}

pub(crate) use headers;

/// The files that rooms share.
const SHARED: &[Header] = headers! {
    "cuda/": "epilogue.cuh" "fast_math.cuh" "pad_rows.cuh" "ptx/common.cuh" "ptx/sm80.cuh" "ptx/sm90.cuh"
        "ptx/sm90_wgmma.cuh" "raster.cuh" "types.cuh";
};

/// The CUDA files that emitted sources include.
pub fn all_headers() -> impl Iterator<Item = Header> {
    SHARED.iter().chain(ROOM_HEADERS.iter().copied().flatten()).copied()
}

/// A constant of a printed struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    ty: &'static str,
    name: &'static str,
    value: String,
}

/// An `int` constant.
pub fn int(name: &'static str, value: u32) -> Constant {
    Constant { ty: "int", name, value: value.to_string() }
}

/// A `bool` constant.
pub fn boolean(name: &'static str, value: bool) -> Constant {
    Constant { ty: "bool", name, value: value.to_string() }
}

/// `struct name` of constants, with a comment above it.
pub fn constants(comment: &str, name: &str, constants: &[Constant]) -> String {
    let lines = constants.iter().map(|Constant { ty, name, value }| format!("static constexpr {ty} {name} = {value}"));
    structure(comment, name, lines)
}

/// `struct Args`, a kernel's parameter, with the size that the launch packs.
pub fn args(fields: &[Field]) -> String {
    let lines = fields.iter().map(|Field { name, arg }| {
        let namespace = if matches!(arg, Arg::Map { .. }) { "autokernel::" } else { "" };
        format!("{namespace}{} {name}", arg.cuda_type())
    });
    let bytes = Layout::of_struct(fields).bytes;
    let text = structure("What a launch passes.", "Args", lines);
    format!("{text}static_assert(sizeof(Args) == {bytes}, \"the launch packs as many bytes\");\n")
}

fn structure(comment: &str, name: &str, lines: impl Iterator<Item = impl Display>) -> String {
    let mut text = format!("// {comment}\nstruct {name} {{\n");
    for line in lines {
        writeln!(text, "  {line};").expect("strings take any text");
    }
    text + "};\n"
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::registry::Family;

    fn cuda_files(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let below = |path: PathBuf| if path.is_dir() { cuda_files(&path) } else { vec![path] };
        entries.flat_map(below).filter(|path| path.extension().is_some_and(|extension| extension == "cuh")).collect()
    }

    /// Whether a file is of no room: a room behind a feature takes its files with it.
    fn is_shared(path: &Path) -> bool {
        path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap().starts_with("cuda")
    }

    #[test]
    fn every_cuda_file_travels_with_the_crate_under_a_name_of_its_own() {
        let mut files: Vec<String> = cuda_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
            .iter()
            .filter(|path| {
                is_shared(path) || Family::ALL.iter().any(|family| path.iter().any(|it| it == family.operation()))
            })
            .map(|path| path.display().to_string().rsplit_once("/cuda/").unwrap().1.to_owned())
            .collect();
        let mut travelling: Vec<&str> = all_headers().map(|(path, _)| path).collect();
        files.sort();
        travelling.sort_unstable();
        assert_eq!(files, travelling);
        travelling.dedup();
        assert_eq!(travelling.len(), files.len());
    }
}
