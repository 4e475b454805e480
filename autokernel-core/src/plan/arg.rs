//! A kernel's parameter: one struct, whose fields the runtime fills in and CUDA's source declares.

use serde::{Deserialize, Serialize};

/// A field of a kernel's parameter struct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Its name in CUDA.
    pub name: String,
    /// What a launch puts there.
    pub arg: Arg,
}

/// What a launch puts into a field. Operands, axes and dimensions are numbers in the signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// The tensor map of an operand of two axes, by which TMA loads an input or stores an output. Zeros for an operand
    /// without elements, for an output that TMA cannot store exactly, and for an input that is not aligned as it can load
    /// it: see [`Arg::IsMapped`].
    Map {
        /// The operand.
        operand: u8,
        /// The part that one copy moves.
        tile: TileBox,
    },
    /// The address of an operand's first element.
    Pointer {
        /// The operand.
        operand: u8,
    },
    /// Elements from one index to the next along an axis of an operand.
    Stride {
        /// The operand.
        operand: u8,
        /// The axis, from 0, outermost first.
        axis: u8,
    },
    /// The value of an operand that is passed by value.
    Scalar {
        /// The operand.
        operand: u8,
    },
    /// The size of a dimension.
    Extent {
        /// The dimension.
        dim: u8,
    },
    /// The rows that an operand has, whose axis may be its own.
    Rows {
        /// The operand.
        operand: u8,
    },
    /// The elements of a row of an operand, whose axis may be its own.
    Columns {
        /// The operand.
        operand: u8,
    },
    /// The matrices that an operand has along its outermost axis, which may be its own: the pages of a cache.
    Matrices {
        /// The operand.
        operand: u8,
    },
    /// 1 if the operand's map is there, so that TMA may store or load it; 0 if the kernel must use its address.
    /// TMA writes whole units of 16 bytes: it cannot store rows that begin or end inside one, nor load rows that begin inside one.
    IsMapped {
        /// The operand.
        operand: u8,
    },
    /// The address of a buffer of the plan's workspace.
    Workspace {
        /// The buffer.
        buffer: u8,
    },
    /// A knob of the schedule that is set at launch.
    Knob {
        /// Its value.
        value: i32,
    },
}

/// The part of an operand that one TMA copy moves, and how it lies in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TileBox {
    /// Rows.
    pub rows: u32,
    /// Elements of a row.
    pub columns: u32,
    /// Bytes of a row that are swizzled together: 128, 64 or 32; 16 for no swizzle.
    pub swizzle: u32,
}

/// Size and alignment of a value, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its size.
    pub bytes: usize,
    /// Its alignment.
    pub align: usize,
}

impl Arg {
    /// The type in CUDA's struct.
    pub const fn cuda_type(&self) -> &'static str {
        match self {
            Arg::Map { .. } => "TensorMap",
            Arg::Pointer { .. } | Arg::Workspace { .. } => "void*",
            Arg::Stride { .. } => "int64_t",
            Arg::Scalar { .. } => "float",
            Arg::Extent { .. }
            | Arg::Rows { .. }
            | Arg::Columns { .. }
            | Arg::Matrices { .. }
            | Arg::IsMapped { .. }
            | Arg::Knob { .. } => "int",
        }
    }

    /// Size and alignment of that type.
    pub const fn layout(&self) -> Layout {
        match self {
            Arg::Map { .. } => Layout { bytes: 128, align: 64 },
            Arg::Pointer { .. } | Arg::Stride { .. } | Arg::Workspace { .. } => Layout { bytes: 8, align: 8 },
            Arg::Scalar { .. }
            | Arg::Extent { .. }
            | Arg::Rows { .. }
            | Arg::Columns { .. }
            | Arg::Matrices { .. }
            | Arg::IsMapped { .. }
            | Arg::Knob { .. } => Layout { bytes: 4, align: 4 },
        }
    }
}

impl Layout {
    /// The layout of a C struct of those fields.
    pub fn of_struct(fields: &[Field]) -> Layout {
        let mut whole = Layout { bytes: 0, align: 1 };
        for field in fields {
            let Layout { bytes, align } = field.arg.layout();
            whole.bytes = whole.bytes.next_multiple_of(align) + bytes;
            whole.align = whole.align.max(align);
        }
        Layout { bytes: whole.bytes.next_multiple_of(whole.align), ..whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(arg: Arg) -> Field {
        Field { name: String::new(), arg }
    }

    #[test]
    fn a_struct_is_laid_out_as_c_does() {
        let tile = TileBox { rows: 64, columns: 64, swizzle: 128 };
        let (int, pointer) = (Arg::Extent { dim: 0 }, Arg::Pointer { operand: 0 });
        let of = |args: &[&Arg]| {
            let fields: Vec<Field> = args.iter().map(|arg| field((*arg).clone())).collect();
            let Layout { bytes, align } = Layout::of_struct(&fields);
            (bytes, align)
        };
        assert_eq!(of(&[]), (0, 1));
        assert_eq!(of(&[&int, &int, &int]), (12, 4));
        assert_eq!(of(&[&int, &pointer, &int]), (24, 8));
        assert_eq!(of(&[&pointer, &Arg::Map { operand: 0, tile }, &int]), (256, 64));
    }

    #[test]
    fn a_plan_survives_json() {
        let knob = Arg::Knob { value: 8 };
        let json = serde_json::to_string(&field(knob.clone())).unwrap();
        assert_eq!(serde_json::from_str::<Field>(&json).unwrap().arg, knob);
    }
}
