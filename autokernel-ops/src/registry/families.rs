//! From the table of kernel families to their enum and the schedules of each.

/// Declares the families: the operation's room, the name, and the typed schedule with its rules.
macro_rules! families {
    ($($(#[$gate:meta])* $room:ident: $family:ident = $name:literal, $schedule:path, $rules:path;)+) => {
        /// A kernel family: CUDA files, a table of knobs and one of rules, and the archs that it serves.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Family {
            $(
                $(#[$gate])*
                #[doc = concat!("`", $name, "` of `", stringify!($room), "`")]
                #[serde(rename = $name)]
                $family,
            )+
        }

        impl Family {
            /// Every family.
            pub const ALL: &[Family] = &[$($(#[$gate])* Family::$family,)+];

            /// Its name, in JSON and as the CUDA namespace.
            pub const fn name(self) -> &'static str {
                match self { $($(#[$gate])* Family::$family => $name,)+ }
            }

            /// The operation whose kernels it has.
            pub const fn operation(self) -> &'static str {
                match self { $($(#[$gate])* Family::$family => <$room::Problem as Operation>::NAME,)+ }
            }

            /// Its knobs.
            pub fn knobs(self) -> &'static [Knob] {
                match self { $($(#[$gate])* Family::$family => <$schedule>::KNOBS,)+ }
            }

            /// How it works, in a paragraph.
            pub const fn about(self) -> &'static str {
                match self { $($(#[$gate])* Family::$family => <$schedule>::ABOUT,)+ }
            }

            /// Its rules, for people.
            pub fn rules(self) -> Vec<RuleText> {
                match self { $($(#[$gate])* Family::$family => $rules.iter().map(rule::Rule::text).collect(),)+ }
            }

            pub(super) fn registers(self, schedule: &Schedule) -> Result<u32, OtherFamily> {
                match self {
                    $($(#[$gate])* Family::$family => {
                        <$schedule>::try_from(schedule).map(|typed| typed.registers())
                    })+
                }
            }

            pub(crate) fn write(self, schedule: &Schedule, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[$gate])* Family::$family => match <$schedule>::try_from(schedule) {
                        Ok(typed) => fmt::Display::fmt(&$room::Schedule::from(typed), f),
                        Err(_) => fmt::Debug::fmt(schedule, f),
                    },)+
                }
            }
        }

        $(
            $(#[$gate])*
            impl From<$schedule> for Schedule {
                fn from(typed: $schedule) -> Self {
                    let schedule = Schedule::new(Family::$family, typed.codes());
                    schedule.expect("a typed schedule has a value for each knob of its family")
                }
            }

            $(#[$gate])*
            impl TryFrom<&Schedule> for $schedule {
                type Error = OtherFamily;

                fn try_from(schedule: &Schedule) -> Result<Self, OtherFamily> {
                    let of_family = Some(schedule).filter(|schedule| schedule.family() == Family::$family);
                    of_family.and_then(|schedule| <$schedule>::from_codes(schedule.codes())).ok_or(OtherFamily)
                }
            }
        )+
    };
}

pub(super) use families;
