//! What a plan must keep so that it can be carried out on a GPU; a schedule's own rules are its operation's.

use autokernel_core::plan::{Buffer, Layout};
use autokernel_core::{Alignment, Arg, Field, KernelStep, LaunchPlan, OWN_AXIS, TileBox};

use super::MAX_OPERANDS;
use super::parameter;
use super::region::{LINE, TMA_ALIGNMENT};
use super::workspace::MAX_BUFFERS;
use crate::descriptor::symbol;
use crate::{Error, Operand, Passed, Result, Role, Signature};

/// The most axes of an operand.
const MAX_AXES: usize = 4;
/// The most threads of a block on every GPU so far.
const MAX_THREADS: u32 = 1024;
/// The longest side of a tensor map's box.
const MAX_BOX: u32 = 256;
/// The most blocks of a cluster that every GPU with clusters grants.
const MAX_CLUSTER: u32 = 8;

/// Refuses a plan that cannot be carried out on a GPU that grants a block that much dynamic shared memory.
///
/// # Errors
/// [`Error::Plan`] with the rule.
pub(crate) fn check(signature: &Signature, plan: &LaunchPlan, shared_limit: u32) -> Result<()> {
    let refused = |symbol: &str, reason| Err(Error::Plan { symbol: symbol.to_owned(), reason });
    let broken = broken_signature(signature).or_else(|| {
        let mut alignments = plan.alignments.iter().enumerate();
        alignments.find_map(|(at, alignment)| broken_alignment(signature, *alignment, &plan.alignments[..at]))
    });
    if let Some(reason) = broken {
        return refused(symbol(plan), reason);
    }
    if plan.workspace.len() > MAX_BUFFERS {
        return refused(symbol(plan), format!("{} buffers; up to {MAX_BUFFERS} are possible", plan.workspace.len()));
    }
    let mut dims = plan.workspace.iter().flat_map(Buffer::dims);
    if let Some(dim) = dims.find(|dim| usize::from(*dim) >= signature.dims.len()) {
        return refused(symbol(plan), format!("a buffer for parts of dimension {dim}, and there is no such one"));
    }
    if plan.kernels.is_empty() {
        return refused("", "it has no kernel".to_owned());
    }
    for kernel in &plan.kernels {
        let broken = broken_block(kernel, shared_limit).or_else(|| broken_grid(signature, kernel));
        let broken = broken.or_else(|| broken_parameter(&kernel.args)).or_else(|| {
            let mut fields = kernel.args.iter();
            fields.find_map(|field| broken_field(signature, plan, field))
        });
        if let Some(reason) = broken {
            return refused(&kernel.symbol, reason);
        }
    }
    Ok(())
}

fn broken_signature(signature: &Signature) -> Option<String> {
    let (dims, operands) = (signature.dims.len(), signature.operands.len());
    if operands > MAX_OPERANDS {
        return Some(format!("{operands} operands; up to {MAX_OPERANDS} are possible"));
    }
    let axes = |operand: &Operand| operand.axes.iter().all(|dim| *dim == OWN_AXIS || usize::from(*dim) < dims);
    let strange = signature.operands.iter().find(|operand| operand.axes.len() > MAX_AXES || !axes(operand))?;
    Some(format!("`{}` has not up to four axes of the signature's dimensions", strange.name))
}

fn broken_alignment(signature: &Signature, alignment: Alignment, before: &[Alignment]) -> Option<String> {
    let Alignment { operand, bytes, .. } = alignment;
    if usize::from(operand) >= signature.operands.len() {
        return Some(format!("there is no operand {operand} to align"));
    }
    if before.iter().any(|other| other.operand == operand) {
        return Some(format!("operand {operand} is aligned twice"));
    }
    let possible = bytes.is_power_of_two() && u64::from(bytes) <= LINE;
    (!possible).then(|| format!("an alignment of {bytes} bytes; powers of two up to {LINE} are possible"))
}

fn broken_block(kernel: &KernelStep, shared_limit: u32) -> Option<String> {
    let KernelStep { threads, shared_bytes, .. } = *kernel;
    if threads == 0 || threads > MAX_THREADS {
        return Some(format!("{threads} threads a block; 1 to {MAX_THREADS} are possible"));
    }
    let fits = shared_bytes <= shared_limit;
    (!fits).then(|| format!("{shared_bytes} bytes of shared memory a block; this GPU grants {shared_limit}"))
}

fn broken_grid(signature: &Signature, kernel: &KernelStep) -> Option<String> {
    let grid = &kernel.grid;
    if !(1..=MAX_CLUSTER).contains(&grid.cluster) {
        return Some(format!("a cluster of {} blocks; 1 to {MAX_CLUSTER} are possible", grid.cluster));
    }
    if grid.residency.blocks_per_sm() == Some(0) {
        return Some("no block an SM".to_owned());
    }
    if let Some(split) = grid.split {
        let sharing = kernel.args.get(usize::from(split.field)).map(|field| &field.arg);
        match sharing {
            Some(Arg::Knob { value }) if (1..=MAX_CLUSTER as i32).contains(value) => {}
            Some(Arg::Knob { value }) => {
                return Some(format!("{value} blocks share a tile; 1 to {MAX_CLUSTER} are possible"));
            }
            _ => return Some(format!("argument {} is no knob that says how many blocks share a tile", split.field)),
        }
    }
    let strange = grid.axes.iter().find(|axis| axis.step == 0 || usize::from(axis.dim) >= signature.dims.len())?;
    Some(format!("its grid divides dimension {} in steps of {}", strange.dim, strange.step))
}

fn broken_parameter(fields: &[Field]) -> Option<String> {
    let (bytes, most) = (Layout::of_struct(fields).bytes, parameter::MAX_BYTES);
    (bytes > most).then(|| format!("a parameter of {bytes} bytes; up to {most} are possible"))
}

fn broken_field(signature: &Signature, plan: &LaunchPlan, field: &Field) -> Option<String> {
    let operand = |number: u8| signature.operands.get(usize::from(number));
    let missing = |what: &str, number: u8| Some(format!("`{}` is of {what} {number}, which is not there", field.name));
    match field.arg {
        Arg::Map { operand: number, tile } => match operand(number) {
            Some(operand) => broken_map(plan, number, operand, tile),
            None => missing("operand", number),
        },
        Arg::Pointer { operand: number }
        | Arg::Rows { operand: number }
        | Arg::Columns { operand: number }
        | Arg::Matrices { operand: number }
        | Arg::IsMapped { operand: number }
            if operand(number).is_none() =>
        {
            missing("operand", number)
        }
        Arg::Scalar { operand: number } if operand(number).is_none_or(|operand| operand.passed != Passed::ByValue) => {
            missing("scalar", number)
        }
        Arg::Pointer { operand: number }
            if operand(number).is_some_and(|operand| operand.passed == Passed::ByValue) =>
        {
            Some(format!("`{}` is an address, and operand {number} is passed by value", field.name))
        }
        Arg::Stride { operand: number, .. } if operand(number).is_none() => missing("operand", number),
        Arg::Stride { operand: number, axis } => {
            let axes = operand(number).map_or(0, |operand| operand.axes.len().max(2));
            if usize::from(axis) < axes { None } else { missing("axis", axis) }
        }
        Arg::Workspace { buffer } if usize::from(buffer) >= plan.workspace.len() => missing("buffer", buffer),
        Arg::Extent { dim } if usize::from(dim) >= signature.dims.len() => missing("dimension", dim),
        _ => None,
    }
}

/// TMA's rules ("cuTensorMapEncodeTiled", CUDA driver API): whole units of 16 bytes in a row of a box, which swizzled is
/// at most what is swizzled together; and inputs lie as it can load them, or the kernel is told whether they do (as it is of outputs, which
/// are stored without it where they do not).
fn broken_map(plan: &LaunchPlan, number: u8, operand: &Operand, tile: TileBox) -> Option<String> {
    let TileBox { rows, columns, swizzle } = tile;
    let name = &operand.name;
    if !(1..=MAX_BOX).contains(&rows) || !(1..=MAX_BOX).contains(&columns) {
        return Some(format!("a box of {rows}x{columns} of `{name}`; sides of 1 to {MAX_BOX} are possible"));
    }
    let row = columns * operand.dtype.bytes();
    if !u64::from(row).is_multiple_of(TMA_ALIGNMENT) {
        return Some(format!("a box row of {row} bytes of `{name}`; multiples of 16 can be moved"));
    }
    if ![16, 32, 64, 128].contains(&swizzle) || (swizzle > 16 && row > swizzle) {
        return Some(format!("a box row of {row} bytes of `{name}` swizzled by {swizzle}"));
    }
    let aligns = |alignment: &Alignment| {
        alignment.operand == number && alignment.rows && u64::from(alignment.bytes) >= TMA_ALIGNMENT
    };
    let mut fields = plan.kernels.iter().flat_map(|kernel| &kernel.args);
    let tells = fields.any(|field| field.arg == Arg::IsMapped { operand: number });
    let loadable = operand.role == Role::Output || tells || plan.alignments.iter().any(aligns);
    (!loadable).then(|| format!("TMA loads `{name}`, whose rows are not aligned to 16 bytes"))
}

#[cfg(test)]
mod tests {
    use autokernel_core::plan::{Axis, Contents, Each, Split};
    use autokernel_core::{Dimension, Grid, Residency};

    use super::*;
    use crate::{Dtype, Multiprocessor, matmul};

    const SHARED_LIMIT: u32 = Multiprocessor::HOPPER.shared_bytes_per_block;

    fn signature() -> Signature {
        let dims = matmul::DIMS.map(|name| Dimension { name, known: None }).to_vec();
        let operand = |name: &str, role, axes: [u8; 2]| Operand {
            name: name.to_owned(),
            role,
            dtype: Dtype::Bf16,
            axes: axes.to_vec(),
            passed: Passed::ByAddress,
        };
        Signature {
            dims,
            operands: vec![operand("a", Role::Input, [0, 2]), operand("c", Role::Output, [0, 1])],
            ..Signature::default()
        }
    }

    /// A plan that `change` has broken.
    fn refusal(change: impl FnOnce(&mut Signature, &mut LaunchPlan)) -> Option<String> {
        let tile = TileBox { rows: 64, columns: 64, swizzle: 128 };
        let args = [
            Arg::Map { operand: 0, tile },
            Arg::Stride { operand: 1, axis: 0 },
            Arg::Extent { dim: 2 },
            Arg::Knob { value: 8 },
        ];
        let axes = vec![Axis { dim: 0, step: 256 }, Axis { dim: 1, step: 256 }];
        let kernel = KernelStep {
            symbol: "product".to_owned(),
            threads: 384,
            shared_bytes: 200_000,
            overlaps_previous: true,
            grid: Grid {
                axes,
                cluster: 2,
                tiles: 2,
                residency: Residency::Persistent { blocks_per_sm: 1 },
                split: None,
            },
            args: args.map(|arg| Field { name: "field".to_owned(), arg }).to_vec(),
        };
        let mut plan = LaunchPlan::of_kernel(kernel, vec![Alignment { operand: 0, bytes: 16, rows: true }]);
        let mut signature = signature();
        change(&mut signature, &mut plan);
        check(&signature, &plan, SHARED_LIMIT).err().map(|error| error.to_string())
    }

    #[test]
    fn a_plan_that_can_be_carried_out_is_accepted() {
        assert_eq!(refusal(|_, _| ()), None);
    }

    #[test]
    fn each_rule_that_is_broken_is_named() {
        type Change = fn(&mut Signature, &mut LaunchPlan);
        fn tile(plan: &mut LaunchPlan) -> &mut TileBox {
            match &mut plan.kernels[0].args[0].arg {
                Arg::Map { tile, .. } => tile,
                other => panic!("{other:?}"),
            }
        }
        fn of_parts(dim: u8) -> Buffer {
            Buffer { each: Each::Part([Axis { dim, step: 1 }; 2]), ..Buffer::of_block(4, Contents::Zeros) }
        }
        fn split(plan: &mut LaunchPlan, field: u8, value: i32) {
            let whole = Residency::Persistent { blocks_per_sm: 1 };
            plan.kernels[0].grid.split = Some(Split { field, whole });
            plan.kernels[0].args[3].arg = Arg::Knob { value };
        }
        let cases: [(Change, &str); 30] = [
            (|_, plan| split(plan, 3, 0), "0 blocks share a tile; 1 to 8"),
            (|_, plan| split(plan, 3, i32::MIN), "-2147483648 blocks share a tile"),
            (|_, plan| split(plan, 3, 9), "9 blocks share a tile"),
            (|_, plan| split(plan, 2, 4), "argument 2 is no knob"),
            (|_, plan| plan.kernels.clear(), "no kernel"),
            (|_, plan| plan.kernels[0].threads = 2048, "2048 threads"),
            (|_, plan| plan.kernels[0].threads = 0, "0 threads"),
            (|_, plan| plan.kernels[0].shared_bytes = SHARED_LIMIT + 1, "grants 232448"),
            (|_, plan| plan.kernels[0].grid.cluster = 0, "cluster of 0"),
            (|_, plan| plan.kernels[0].grid.cluster = 16, "cluster of 16"),
            (|_, plan| plan.kernels[0].grid.residency = Residency::Persistent { blocks_per_sm: 0 }, "no block an SM"),
            (|_, plan| plan.kernels[0].grid.axes[1].step = 0, "steps of 0"),
            (|_, plan| plan.kernels[0].grid.axes[1].dim = 3, "dimension 3"),
            (|_, plan| plan.alignments[0].bytes = 24, "alignment of 24"),
            (|_, plan| plan.alignments[0].operand = 2, "no operand 2"),
            (|_, plan| plan.alignments.push(plan.alignments[0]), "aligned twice"),
            (|_, plan| plan.alignments[0].rows = false, "TMA loads `a`"),
            (|_, plan| plan.alignments.clear(), "TMA loads `a`"),
            (|_, plan| tile(plan).rows = 512, "box of 512x64"),
            (|_, plan| tile(plan).columns = 4, "box row of 8 bytes of `a`"),
            (|_, plan| tile(plan).swizzle = 64, "128 bytes of `a` swizzled by 64"),
            (|_, plan| plan.kernels[0].args[1].arg = Arg::Stride { operand: 1, axis: 2 }, "axis 2"),
            (|_, plan| plan.kernels[0].args[1].arg = Arg::Pointer { operand: 7 }, "operand 7"),
            (|_, plan| plan.kernels[0].args[2].arg = Arg::Workspace { buffer: 0 }, "buffer 0"),
            (|_, plan| plan.workspace = vec![Buffer::of_block(4, Contents::Zeros); 7], "7 buffers"),
            (|_, plan| plan.workspace = vec![of_parts(3)], "parts of dimension 3"),
            (|_, plan| plan.kernels[0].args[2].arg = Arg::Extent { dim: 3 }, "dimension 3"),
            (|_, plan| plan.kernels[0].args = vec![plan.kernels[0].args[0].clone(); 13], "a parameter of 1664 bytes"),
            (|signature, _| signature.operands[1].axes.extend([0; 3]), "`c` has not up to four axes"),
            (|_, plan| plan.kernels[0].args[1].arg = Arg::Scalar { operand: 1 }, "scalar 1"),
        ];
        for (change, reason) in cases {
            let text = refusal(change).unwrap_or_default();
            assert!(text.contains(reason), "{reason}: {text}");
        }
    }
}
