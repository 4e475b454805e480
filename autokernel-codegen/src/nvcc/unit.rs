//! Kernels of the same headers in one run of nvcc: to preprocess and to read the headers takes it up to a quarter of a kernel's
//! time, and there it comes once.
//!
//! Each kernel has a namespace of its own. The PTX that nvcc gives is cut apart again, and ptxas takes each kernel by itself: an image
//! is what it is of a kernel that is compiled alone. What cannot be joined or cut is compiled alone, and so is what does not
//! compile, so that an error is of one kernel.

use std::collections::BTreeMap;

use super::compile::{CompileError, Compiler, Run};
use super::image::Image;
use crate::arch::Arch;
use crate::emit::KernelSource;

/// A kernel's text: the lines by which it includes files, and what comes behind them.
struct Parts<'s> {
    includes: Vec<&'s str>,
    rest: &'s str,
}

/// None of a text that says more to the preprocessor behind its first lines, which then holds for what follows, too.
fn parts(cuda: &str) -> Option<Parts<'_>> {
    let (mut includes, mut rest) = (Vec::new(), cuda);
    while let Some((line, behind)) = rest.split_once('\n') {
        if line.starts_with("#include") {
            includes.push(line);
        } else if !line.is_empty() && !line.starts_with("//") {
            break;
        }
        rest = behind;
    }
    let is_plain = |line: &str| !line.trim_start().starts_with('#') || line.trim_start().starts_with("#pragma unroll");
    rest.lines().all(is_plain).then_some(Parts { includes, rest })
}

/// The files that a kernel's text includes, where it can be joined with those of others that include the same.
pub fn joined_by(source: &KernelSource) -> Option<Vec<&str>> {
    parts(&source.cuda).map(|parts| parts.includes)
}

/// The text of all of them.
fn joined(sources: &[Parts<'_>]) -> String {
    let mut cuda: String = sources[0].includes.iter().map(|line| format!("{line}\n")).collect();
    for (number, source) in sources.iter().enumerate() {
        cuda += &format!("namespace autokernel_unit_{number} {{\n{}\n}}\n", source.rest);
    }
    cuda
}

/// What a module of PTX declares.
#[derive(Clone, Copy)]
struct Item<'p> {
    name: &'p str,
    text: &'p str,
    is_kernel: bool,
}

/// Where the braces that `text` opens first are closed; instructions have some, too.
fn end_of_braces(text: &str) -> Option<usize> {
    let mut open = 0;
    let braces = text.char_indices().filter(|(_, c)| ['{', '}'].contains(c));
    for (at, brace) in braces {
        open += if brace == '{' { 1 } else { -1 };
        if open == 0 {
            return Some(at + 1 + usize::from(text[at + 1..].starts_with('\n')));
        }
    }
    None
}

/// A module's first lines, and its items; none where there are functions that kernels call.
fn items(ptx: &str) -> Option<(&str, Vec<Item<'_>>)> {
    let after = ptx.find("\n.address_size")? + 1;
    let begin = after + ptx[after..].find('\n')? + 1;
    let (head, mut rest) = ptx.split_at(begin);
    let mut items = Vec::new();
    while !rest.is_empty() {
        let line = rest.split_inclusive('\n').next()?;
        if line.trim().is_empty() || line.trim_start().starts_with("//") {
            rest = &rest[line.len()..];
            continue;
        }
        let is_kernel = line.contains(".entry ");
        if !line.starts_with('.') || line.contains(".func") || line.starts_with(".section") {
            return None;
        }
        let end = if is_kernel { end_of_braces(rest)? } else { rest.find(";\n")? + 2 };
        let text = &rest[..end];
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let name = if is_kernel {
            line.split_once(".entry ")?.1.split(|c| !is_of_name(c)).next()?
        } else {
            // `.extern .shared .align 16 .b8 slots[];`, or with a value behind it.
            line.split(['[', '=', ';']).next()?.split_whitespace().last()?
        };
        items.push(Item { name, text, is_kernel });
        rest = &rest[end..];
    }
    Some((head, items))
}

/// The PTX of each source out of that of all of them: its kernels, those of the headers, and what they name.
fn cut(ptx: &str, sources: &[Parts<'_>]) -> Option<Vec<String>> {
    let (head, items) = items(ptx)?;
    let of = |source: &Parts<'_>| {
        let is_of = |item: &&Item<'_>| {
            let is_here = |source: &Parts<'_>| source.rest.contains(&format!("{}(", item.name));
            item.is_kernel && (is_here(source) || !sources.iter().any(is_here))
        };
        let kernels: Vec<&Item<'_>> = items.iter().filter(is_of).collect();
        let is_named = |item: &&Item<'_>| !item.is_kernel && kernels.iter().any(|it| it.text.contains(item.name));
        let named: Vec<&Item<'_>> = items.iter().filter(is_named).collect();
        let texts = named.iter().map(|item| item.text).chain(kernels.iter().flat_map(|item| ["\n", item.text]));
        format!("{head}\n{}", texts.collect::<String>())
    };
    Some(sources.iter().map(of).collect())
}

impl Compiler {
    /// Compiles kernels that are [`joined_by`] the same files as [`compile`](Compiler::compile) does each of them, in less time.
    ///
    /// # Errors
    /// Of each kernel those of `compile`.
    pub fn compile_together(&self, sources: &[&KernelSource], arch: Arch) -> Vec<Result<Image, CompileError>> {
        let is_missing = |source: &&KernelSource| self.known(source, arch).is_none();
        let missing: Vec<&KernelSource> = sources.iter().copied().filter(is_missing).collect();
        let mut joined = BTreeMap::new();
        if missing.len() > 1 && !self.has_line_info() {
            let images = self.join(&missing, arch).into_iter().flatten();
            joined.extend(missing.iter().map(|source| &source.symbol).zip(images));
        }
        // What failed otherwise than for its registers is compiled alone, and says what is wrong.
        let image = |source: &&KernelSource| match joined.remove(&source.symbol) {
            Some(Ok(image)) => Ok(image),
            Some(Err(error)) if error.spilled_bytes().is_some() => Err(error),
            _ => self.compile(source, arch),
        };
        sources.iter().map(image).collect()
    }

    /// None where they cannot be joined or cut, or nvcc refuses one of them.
    fn join(&self, sources: &[&KernelSource], arch: Arch) -> Option<Vec<Result<Image, CompileError>>> {
        let parts: Vec<Parts<'_>> = sources.iter().map(|source| parts(&source.cuda)).collect::<Option<_>>()?;
        let work = self.cache().work_folder().ok()?;
        let unit = KernelSource { symbol: sources[0].symbol.clone(), cuda: joined(&parts) };
        self.write_sources(&unit, work.path()).ok()?;
        let limit = self.limit().saturating_mul(sources.len() as u32);
        self.run_nvcc(&unit, arch, Run::ToPtx, limit, work.path()).ok()?;
        let ptx = std::fs::read_to_string(work.path().join("kernel.ptx")).ok()?;
        let texts = cut(&ptx, &parts)?;
        let image =
            |(source, ptx): (&&KernelSource, String)| self.noted(source, arch, self.assemble(source, arch, &ptx));
        Some(sources.iter().zip(texts).map(image).collect())
    }

    /// From a kernel's PTX to its image in the cache.
    fn assemble(&self, source: &KernelSource, arch: Arch, ptx: &str) -> Result<Image, CompileError> {
        let work = self.cache().work_folder().map_err(CompileError::io(self.cache().folder()))?;
        for (file, text) in [("kernel.cu", source.cuda.as_str()), ("kernel.ptx", ptx)] {
            let path = work.path().join(file);
            std::fs::write(&path, text).map_err(CompileError::io(&path))?;
        }
        let log = self.run_nvcc(source, arch, Run::FromPtx, self.limit(), work.path())?;
        self.keep(source, arch, work.path(), &log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two kernels that differ in a constant, and with the same name for it.
    fn sources() -> [KernelSource; 2] {
        [1, 2].map(|number| KernelSource {
            symbol: format!("kernel_{number}"),
            cuda: format!(
                "// Generated.\n#include \"pad_rows.cuh\"\n\nnamespace {{\nconstexpr int kAdded = {number};\n}}\n\n\
                 extern \"C\" __global__ void kernel_{number}(int* x) {{\n  __shared__ int shared[32];\n  \
                 shared[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n  \
                 x[threadIdx.x] = shared[31 - threadIdx.x] + kAdded;\n}}\n"
            ),
        })
    }

    #[test]
    fn kernels_are_joined_where_they_include_the_same_files_and_nothing_else_is_for_the_preprocessor() {
        let [one, two] = sources();
        assert_eq!(joined_by(&one), Some(vec!["#include \"pad_rows.cuh\""]));
        assert_eq!(joined_by(&one), joined_by(&two));
        let defining = KernelSource { cuda: format!("{}#define kAdded 3\n", one.cuda), ..one };
        assert_eq!(joined_by(&defining), None);
    }

    #[test]
    fn a_module_is_cut_into_the_kernels_of_each_source_those_of_headers_and_what_they_name() {
        let ptx = "//\n.version 9.0\n.target sm_90a\n.address_size 64\n\n\t// it has been demoted\n\
                   .extern .shared .align 16 .b8 slots[];\n.global .align 4 .u32 table[2] = {1, 2};\n\n\
                   .visible .entry kernel_1(\n\t.param .u64 kernel_1_param_0\n)\n{\n{\n.reg .pred p;\n\tmov.u32 %r1, slots;\n}\n}\n\
                   \t// .globl kernel_2\n.visible .entry kernel_2(\n\t.param .u64 kernel_2_param_0\n)\n{\n\tmov.u32 %r1, table;\n}\n\
                   .visible .entry autokernel_pad_rows(\n)\n{\n\tret;\n}\n";
        let sources = sources();
        let parts: Vec<Parts<'_>> = sources.iter().map(|source| parts(&source.cuda).unwrap()).collect();
        let cut = cut(ptx, &parts).unwrap();
        for (text, [has, lacks]) in cut.iter().zip([["slots", "table"], ["table", "slots"]]) {
            assert!(text.starts_with("//\n.version 9.0\n.target sm_90a\n.address_size 64\n"), "{text}");
            assert!(text.contains(has) && !text.contains(lacks) && text.contains("autokernel_pad_rows("), "{text}");
        }
        assert!(cut[0].contains("entry kernel_1(") && !cut[0].contains("kernel_2"), "{}", cut[0]);
        assert!(super::cut(&ptx.replace(".visible .entry autokernel_pad_rows", ".func pad"), &parts).is_none());
    }
}
