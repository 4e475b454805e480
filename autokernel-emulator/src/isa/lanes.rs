//! Values of a warp: one 64-bit slot a lane, of which narrower values use the low bits and leave the rest zero.

/// Threads of a warp.
pub(crate) const WARP: usize = 32;

/// One value for each lane.
pub(crate) type Lanes = [u64; WARP];

/// An operation on all lanes of up to three operands.
pub(crate) type Lanewise = fn(&Lanes, &Lanes, &Lanes, &mut Lanes);

/// A comparison on all lanes: one bit each.
pub(crate) type LanewiseTest = fn(&Lanes, &Lanes) -> u32;

/// Makes a [`Lanewise`] of a function of one, two or three scalars.
macro_rules! lanewise {
    (|$a:ident| $f:expr) => {
        lanewise!(|$a, _b, _c| $f)
    };
    (|$a:ident, $b:ident| $f:expr) => {
        lanewise!(|$a, $b, _c| $f)
    };
    (|$a:ident, $b:ident, $c:ident| $f:expr) => {{
        fn apply(
            a: &$crate::isa::lanes::Lanes,
            b: &$crate::isa::lanes::Lanes,
            c: &$crate::isa::lanes::Lanes,
            d: &mut $crate::isa::lanes::Lanes,
        ) {
            for (((d, &$a), &$b), &$c) in d.iter_mut().zip(a).zip(b).zip(c) {
                *d = $f;
            }
        }
        apply as $crate::isa::lanes::Lanewise
    }};
}

/// Makes a [`LanewiseTest`] of a function of two scalars.
macro_rules! lanewise_test {
    (|$a:ident, $b:ident| $f:expr) => {{
        fn test(a: &$crate::isa::lanes::Lanes, b: &$crate::isa::lanes::Lanes) -> u32 {
            let mut bits = 0;
            for (lane, (&$a, &$b)) in a.iter().zip(b).enumerate() {
                bits |= u32::from($f) << lane;
            }
            bits
        }
        test as $crate::isa::lanes::LanewiseTest
    }};
}

pub(crate) use {lanewise, lanewise_test};

/// The lanes of a mask, lowest first.
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(lane)
    })
}
