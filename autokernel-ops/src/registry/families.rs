//! From the table of kernel families to what each has.

/// Tells what each family has: the operation's room, and the typed schedule with its rules.
macro_rules! families {
    ($($(#[$gate:meta])* $room:ident: $family:ident, $($schedule:ident)::+, $rules:ident;)+) => {
        impl Family {
            /// The operation whose kernels it has.
            pub const fn operation(self) -> &'static str {
                match self { $($(#[$gate])* Family::$family => <crate::$room::Problem as Operation>::NAME,)+ }
            }

            /// Its knobs.
            pub fn knobs(self) -> &'static [Knob] {
                match self { $($(#[$gate])* Family::$family => <crate::$room::$($schedule)::+>::KNOBS,)+ }
            }

            /// How it works, in a paragraph.
            pub const fn about(self) -> &'static str {
                match self { $($(#[$gate])* Family::$family => <crate::$room::$($schedule)::+>::ABOUT,)+ }
            }

            /// Its rules, for people.
            pub fn rules(self) -> Vec<RuleText> {
                match self { $($(#[$gate])* Family::$family => crate::$room::$rules.iter().map(rule::Rule::text).collect(),)+ }
            }

            pub(super) fn registers(self, schedule: &Schedule) -> Result<u32, OtherFamily> {
                match self {
                    $($(#[$gate])* Family::$family => {
                        <crate::$room::$($schedule)::+>::try_from(schedule).map(|typed| typed.registers())
                    })+
                }
            }

            pub(crate) fn write(self, schedule: &Schedule, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[$gate])* Family::$family => match <crate::$room::$($schedule)::+>::try_from(schedule) {
                        Ok(typed) => fmt::Display::fmt(&typed, f),
                        Err(_) => fmt::Debug::fmt(schedule, f),
                    },)+
                }
            }
        }

        $(
            $(#[$gate])*
            impl From<crate::$room::$($schedule)::+> for Schedule {
                fn from(typed: crate::$room::$($schedule)::+) -> Self {
                    let schedule = Schedule::new(Family::$family, typed.codes());
                    schedule.expect("a typed schedule has a value for each knob of its family")
                }
            }

            $(#[$gate])*
            impl TryFrom<&Schedule> for crate::$room::$($schedule)::+ {
                type Error = OtherFamily;

                fn try_from(schedule: &Schedule) -> Result<Self, OtherFamily> {
                    let of_family = Some(schedule).filter(|schedule| schedule.family() == Family::$family);
                    of_family.and_then(|schedule| <crate::$room::$($schedule)::+>::from_codes(schedule.codes())).ok_or(OtherFamily)
                }
            }
        )+
    };
}

pub(super) use families;
