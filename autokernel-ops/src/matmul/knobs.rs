//! A family's schedule as a struct, and its knobs as a table: both from one list.

/// Declares the schedule of a family: for each knob its comment, name and type, its value in JSON that is older than it,
/// the values that are allowed in words, advice, and what a search should know of it ([`Search`](crate::search::Search)).
/// Where an older file says by another knob whether a flag is set, `unless` and that one's name follow the value.
/// One that is set at launch has `@Launch` before its name. The raster follows by itself.
macro_rules! schedule {
    (
        $(#[doc = $about:literal])+
        $name:ident {
            $(
                $(#[doc = $line:literal])+
                $(@$at:ident)? $knob:ident: $ty:ty $(= $absent:literal $(unless $told_by:literal)?)?, $legal:literal, $advice:literal
                $(, { $($search:ident: $value:expr),+ })?;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            $($(#[doc = $line])+ pub $knob: $ty,)+
            /// The order of tiles.
            pub raster: $crate::matmul::schedule::Raster,
        }

        impl $name {
            /// Its knobs, in the order of [`codes`](Self::codes).
            pub const KNOBS: &[$crate::knob::Knob] = &[
                $($crate::knob::Knob {
                    name: stringify!($knob),
                    path_v1: stringify!($knob),
                    at: { let _at = $crate::knob::At::Image; $(let _at = $crate::knob::At::$at;)? _at },
                    kind: <$ty as $crate::knob::KnobValue>::KIND,
                    absent: { let _absent: Option<u16> = None; $(let _absent = Some($absent);)? _absent },
                    told_by: { let _told_by: Option<&'static str> = None; $($(let _told_by = Some($told_by);)?)? _told_by },
                    meaning: &[$($line),+],
                    legal: $legal,
                    advice: $advice,
                    search: $crate::search::Search { $($($search: $value,)+)? ..$crate::search::Search::PLAIN },
                },)+
                $crate::matmul::schedule::Raster::KNOBS[0],
                $crate::matmul::schedule::Raster::KNOBS[1],
            ];

            /// The values of its knobs.
            pub fn codes(&self) -> impl Iterator<Item = u16> {
                use $crate::knob::KnobValue;
                [$(self.$knob.code(),)+ self.raster.order.code(), self.raster.group.code()].into_iter()
            }

            /// The schedule whose knobs have these values, if all of them can be had.
            pub fn from_codes(codes: &[u16]) -> Option<Self> {
                use $crate::knob::KnobValue;
                let mut codes = codes.iter().copied();
                let mut next = || codes.next();
                Some($name {
                    $($knob: <$ty as KnobValue>::from_code(next()?)?,)+
                    raster: $crate::matmul::schedule::Raster {
                        order: KnobValue::from_code(next()?)?,
                        group: KnobValue::from_code(next()?)?,
                    },
                })
            }
        }
    };
}

pub(crate) use schedule;
