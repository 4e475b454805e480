//! A family's schedule as a struct, and its knobs as a table: both from one list.

use super::Knob;

/// Declares the schedule of a family: for each knob its comment, name and type, its value in JSON that is older than it,
/// the values that are allowed in words, advice, and what a search should know of it ([`Search`](crate::search::Search)).
/// Where an older file says by another knob whether a flag is set, `unless` and that one's name follow the value.
/// One that is set at launch has `@Launch` before its name. Behind them may stand a field that is several knobs, with a table of its own
/// and the names of its fields.
macro_rules! schedule {
    (@or $otherwise:expr;) => { $otherwise };
    (@or $otherwise:expr; $given:expr) => { $given };
    (
        $(#[doc = $about:literal])+
        $name:ident {
            $(
                $(#[doc = $line:literal])+
                $(@$at:ident)? $knob:ident: $ty:ty $(= $absent:literal $(unless $told_by:literal)?)?, $legal:literal, $advice:literal
                $(, { $($search:ident: $value:expr),+ })?;
            )+
        }
        $(
            $(#[doc = $group_line:literal])+
            $group:ident: $group_ty:ident { $($part:ident),+ }
        )?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            $($(#[doc = $line])+ pub $knob: $ty,)+
            $($(#[doc = $group_line])+ pub $group: $group_ty,)?
        }

        impl $name {
            /// Its knobs, in the order of [`codes`](Self::codes).
            pub const KNOBS: &[$crate::knob::Knob] = {
                const OWN: &[$crate::knob::Knob] = &[
                    $($crate::knob::Knob {
                        name: stringify!($knob),
                        path_v1: stringify!($knob),
                        at: $crate::knob::schedule!(@or $crate::knob::At::Image; $($crate::knob::At::$at)?),
                        kind: <$ty as $crate::knob::KnobValue>::KIND,
                        absent: $crate::knob::schedule!(@or None; $(Some($absent))?),
                        told_by: $crate::knob::schedule!(@or None; $($(Some($told_by))?)?),
                        meaning: &[$($line),+],
                        legal: $legal,
                        advice: $advice,
                        search: $crate::search::Search { $($($search: $value,)+)? ..$crate::search::Search::PLAIN },
                    },)+
                ];
                const GROUP: &[$crate::knob::Knob] = $crate::knob::schedule!(@or &[]; $(&$group_ty::KNOBS)?);
                &$crate::knob::with_group::<{ OWN.len() + GROUP.len() }>(OWN, GROUP)
            };

            /// The values of its knobs.
            pub fn codes(&self) -> impl Iterator<Item = u16> {
                use $crate::knob::KnobValue;
                [$(self.$knob.code(),)+ $($(self.$group.$part.code(),)+)?].into_iter()
            }

            /// The schedule whose knobs have these values, if all of them can be had.
            pub fn from_codes(codes: &[u16]) -> Option<Self> {
                use $crate::knob::KnobValue;
                let mut codes = codes.iter().copied();
                let mut next = || codes.next();
                Some($name {
                    $($knob: <$ty as KnobValue>::from_code(next()?)?,)+
                    $($group: $group_ty { $($part: KnobValue::from_code(next()?)?,)+ },)?
                })
            }
        }
    };
}

pub(crate) use schedule;

/// A family's own knobs, and behind them those of a field.
pub(crate) const fn with_group<const N: usize>(own: &[Knob], group: &[Knob]) -> [Knob; N] {
    let mut all = [own[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < own.len() { own[at] } else { group[at - own.len()] };
        at += 1;
    }
    all
}
