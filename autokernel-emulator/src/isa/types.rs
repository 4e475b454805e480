//! Types and state spaces (PTX ISA, "Fundamental Types", "State Spaces").

/// What the bits of an operand mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Bits,
    Unsigned,
    Signed,
    /// IEEE 754.
    Float,
    /// bfloat16, alone or packed.
    Brain,
    /// 4 exponent bits and 3 mantissa bits.
    E4m3,
    /// 5 exponent bits and 2 mantissa bits.
    E5m2,
    /// Single precision of which the last 13 bits are ignored.
    Tf32,
    Predicate,
}

/// A fundamental type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Type {
    pub kind: Kind,
    /// Of the whole operand.
    pub bits: u32,
    /// Elements that the operand packs.
    pub lanes: u32,
}

const fn scalar(kind: Kind, bits: u32) -> Type {
    Type { kind, bits, lanes: 1 }
}

/// Two of 8 bits.
const fn packed_bytes(kind: Kind) -> Type {
    Type { kind, bits: 16, lanes: 2 }
}

const fn packed(kind: Kind) -> Type {
    Type { kind, bits: 32, lanes: 2 }
}

impl Type {
    pub const B32: Type = scalar(Kind::Bits, 32);
    pub const B64: Type = scalar(Kind::Bits, 64);
    pub const S8: Type = scalar(Kind::Signed, 8);
    pub const U16: Type = scalar(Kind::Unsigned, 16);
    pub const U32: Type = scalar(Kind::Unsigned, 32);
    pub const S32: Type = scalar(Kind::Signed, 32);
    pub const U64: Type = scalar(Kind::Unsigned, 64);
    pub const F16: Type = scalar(Kind::Float, 16);
    pub const F32: Type = scalar(Kind::Float, 32);
    pub const F64: Type = scalar(Kind::Float, 64);
    pub const BF16: Type = scalar(Kind::Brain, 16);
    pub const E4M3: Type = scalar(Kind::E4m3, 8);
    pub const E5M2: Type = scalar(Kind::E5m2, 8);
    pub const TF32: Type = scalar(Kind::Tf32, 32);
    pub const F16X2: Type = packed(Kind::Float);
    pub const BF16X2: Type = packed(Kind::Brain);
    pub const PREDICATE: Type = scalar(Kind::Predicate, 1);

    /// The type that a modifier names.
    pub fn from_word(word: &str) -> Option<Type> {
        const TYPES: &[(&str, Type)] = &[
            ("b8", scalar(Kind::Bits, 8)),
            ("b16", scalar(Kind::Bits, 16)),
            ("b32", Type::B32),
            ("b64", Type::B64),
            ("u8", scalar(Kind::Unsigned, 8)),
            ("u16", Type::U16),
            ("u32", Type::U32),
            ("u64", Type::U64),
            ("s8", Type::S8),
            ("s16", scalar(Kind::Signed, 16)),
            ("s32", Type::S32),
            ("s64", scalar(Kind::Signed, 64)),
            ("f16", Type::F16),
            ("f32", Type::F32),
            ("f64", Type::F64),
            ("bf16", Type::BF16),
            ("e4m3", Type::E4M3),
            ("e5m2", Type::E5M2),
            ("tf32", Type::TF32),
            ("f16x2", Type::F16X2),
            ("bf16x2", Type::BF16X2),
            ("e4m3x2", packed_bytes(Kind::E4m3)),
            ("e5m2x2", packed_bytes(Kind::E5m2)),
            ("pred", Type::PREDICATE),
        ];
        TYPES.iter().find(|(name, _)| *name == word).map(|(_, ty)| *ty)
    }

    pub fn bytes(self) -> u32 {
        self.bits / 8
    }

    pub fn is_integer(self) -> bool {
        matches!(self.kind, Kind::Bits | Kind::Unsigned | Kind::Signed)
    }

    pub fn is_float(self) -> bool {
        matches!(self.kind, Kind::Float | Kind::Brain)
    }

    pub fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }

    /// The bits of `value` that an operand of this type has.
    pub fn truncate(self, value: u64) -> u64 {
        if self.bits >= 64 { value } else { value & ((1 << self.bits) - 1) }
    }
}

/// A state space as an access names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    Constant,
    Parameter,
    Local,
    /// This block's shared memory.
    Shared,
    /// The shared memory of any block of the cluster.
    SharedCluster,
}

impl Space {
    /// The space that a modifier names.
    pub fn from_word(word: &str) -> Option<Space> {
        Some(match word {
            "global" => Space::Global,
            "const" => Space::Constant,
            "param" | "param::entry" => Space::Parameter,
            "local" => Space::Local,
            "shared" | "shared::cta" => Space::Shared,
            "shared::cluster" => Space::SharedCluster,
            _ => return None,
        })
    }
}
