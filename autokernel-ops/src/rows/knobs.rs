//! Tables of knobs, from which schedules are made.

/// Declares the schedules of a family: its knobs in order, each with what JSON that is older than it means, the values that the rules
/// allow, and advice.
macro_rules! schedule {
    (@absent) => { None };
    (@absent $absent:literal) => { Some($absent) };
    ($(#[doc = $about:literal])+ $name:ident; $(
        $(#[doc = $line:literal])+
        $knob:ident: $ty:ty $(= $absent:literal)?, $legal:literal, $advice:literal;
    )+) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            $($(#[doc = $line])+ pub $knob: $ty,)+
        }

        impl $name {
            /// Its knobs, in the order of [`codes`](Self::codes).
            pub const KNOBS: &[$crate::knob::Knob] = &[
                $($crate::knob::Knob {
                    name: stringify!($knob),
                    path_v1: stringify!($knob),
                    at: $crate::knob::At::Image,
                    kind: <$ty as $crate::knob::KnobValue>::KIND,
                    absent: $crate::rows::knobs::schedule!(@absent $($absent)?),
                    told_by: None,
                    meaning: &[$($line),+],
                    legal: $legal,
                    advice: $advice,
                    search: $crate::search::Search::PLAIN,
                },)+
            ];

            /// The values of its knobs.
            pub fn codes(&self) -> impl Iterator<Item = u16> {
                [$($crate::knob::KnobValue::code(self.$knob),)+].into_iter()
            }

            /// The schedule whose knobs have these values, if all of them can be had.
            pub fn from_codes(codes: &[u16]) -> Option<Self> {
                let mut codes = codes.iter().copied();
                let mut next = || codes.next();
                Some($name { $($knob: <$ty as $crate::knob::KnobValue>::from_code(next()?)?,)+ })
            }
        }
    };
}

pub(super) use schedule;
