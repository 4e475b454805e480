//! From the table of operations to the enums that everything outside a room holds.

/// Declares the operations: the room, and its name in the enums. A room has a `Problem` that is an
/// [`Operation`](crate::Operation), and its `Class`.
macro_rules! operations {
    ($($(#[$gate:meta])* $room:ident: $operation:ident;)+) => {
        /// What must be computed: a problem of any operation, whose name is the tag `operation` in JSON.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "operation", rename_all = "snake_case")]
        pub enum Problem {
            $($(#[$gate])* #[doc = concat!("Of `", stringify!($room), "`.")] $operation(crate::$room::Problem),)+
        }

        /// Problems that are tuned together, of any operation, whose name is the tag `operation` in JSON.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", schemars(rename = "Class"))]
        #[serde(tag = "operation", rename_all = "snake_case")]
        pub enum Class {
            $($(#[$gate])* #[doc = concat!("Of `", stringify!($room), "`.")] $operation(crate::$room::Class),)+
        }

        /// The CUDA files of every room.
        const ROOM_HEADERS: &[&[Header]] =
            &[$($(#[$gate])* <crate::$room::Problem as Operation>::HEADERS,)+];

        /// The dimensions of every room's problems, in order.
        const ROOM_DIMS: &[&[Dim]] = &[$($(#[$gate])* <crate::$room::Problem as Operation>::DIMS,)+];

        /// The attributes of every room.
        const ROOM_ATTRIBUTES: &[&[Attribute]] = &[$($(#[$gate])* <crate::$room::Problem as Operation>::ATTRIBUTES,)+];

        impl Problem {
            /// The problem that `declaration` says; none if its attribute is no operation's.
            pub fn declare(declaration: &Declaration) -> Option<Result<Problem, Vec<Complaint>>> {
                let is_of = |attributes: &[Attribute]| attributes.iter().any(|of| of.name == declaration.attribute);
                $(
                    $(#[$gate])*
                    if is_of(<crate::$room::Problem as Operation>::ATTRIBUTES) {
                        return Some(crate::$room::Problem::declare(declaration).map(Problem::from));
                    }
                )+
                None
            }

            /// The operation's name.
            pub fn operation(&self) -> &'static str {
                match self { $($(#[$gate])* Problem::$operation(_) => <crate::$room::Problem as Operation>::NAME,)+ }
            }

            /// The class whose tuned entries serve this problem.
            pub fn class(&self) -> Class {
                match self { $($(#[$gate])* Problem::$operation(problem) => Operation::class(problem).into(),)+ }
            }

            /// The same problem for other extents: each dimension that is compiled in has its size there.
            #[must_use]
            pub fn resized(&self, extents: &Extents) -> Problem {
                match self { $($(#[$gate])* Problem::$operation(problem) => Operation::resized(problem, extents).into(),)+ }
            }

            /// The problems of every operation that options can name by their class.
            pub fn built_in() -> Vec<Problem> {
                let mut all = Vec::new();
                $($(#[$gate])* all.extend(crate::$room::Problem::built_in().into_iter().map(Problem::from));)+
                all
            }

            forward! {
                (Problem as (Operation): $($(#[$gate])* $operation,)+)

                /// What a kernel takes.
                fn signature(&self) -> Signature;

                /// The kernel that computes this problem by `schedule`, and its launch.
                ///
                /// # Errors
                /// The schedule is of another operation's family.
                fn emit(&self, schedule: &Schedule) -> Result<(KernelSource, LaunchPlan), OtherFamily>;

                /// A slow kernel for the same problem, and its launch. Its outputs are fp32.
                fn reference(&self) -> (KernelSource, LaunchPlan);

                /// What must be computed and moved at least.
                fn work(&self, extents: &Extents) -> Work;

                /// What must be computed and moved at least with a kernel each for what this one fuses.
                fn unfused_work(&self, extents: &Extents) -> Work;

                /// What tells it from other problems of its operation, in a few words.
                fn brief(&self) -> String;

                /// The task of finding a schedule at `extents`, as a model is told it.
                fn task(&self, extents: &Extents) -> String;

                /// The standard deviation of the normal numbers that the operand with that number is filled with.
                fn scale(&self, operand: usize, extents: &Extents) -> f32;

                /// A small shape beside `extents` on which a kernel is checked too: no extent is a multiple of any tile.
                fn ragged(&self, extents: &Extents) -> Extents;

                /// What its kernels are measured against, if there is anything.
                fn opponent(&self) -> Option<Opponent>;

                /// What predicts the launches of the image of `schedule` on a GPU; none if nothing does.
                fn forecast(&self, schedule: &Schedule, constants: Option<&str>, machine: Machine) -> Option<Box<dyn Forecast>>;

                /// What may be faster than a kernel whose registers go through memory.
                fn with_fewer_registers(&self) -> &'static str;

                /// Whether an element depends on the number of its row beside what is read there.
                fn counts_rows(&self) -> bool;

                /// How far a result may be from the reference's.
                fn tolerance(&self, extents: &Extents) -> Tolerance;
            }
        }

        impl Class {
            /// The operation's name.
            pub fn operation(&self) -> &'static str {
                match self { $($(#[$gate])* Class::$operation(_) => <crate::$room::Problem as Operation>::NAME,)+ }
            }

            /// [`Operation::roots_of`].
            pub fn roots(&self) -> Vec<&'static str> {
                match self { $($(#[$gate])* Class::$operation(class) => <crate::$room::Problem as Operation>::roots_of(class),)+ }
            }

            /// The names of its dimensions, in order: [`Operation::DIMS`] unless it tells others.
            pub fn dims(&self) -> &'static [Dim] {
                match self {
                    $($(#[$gate])* Class::$operation(class) => {
                        operation::Class::dims(class).unwrap_or(<crate::$room::Problem as Operation>::DIMS)
                    })+
                }
            }

            /// How far `other` is from this class, as a source of schedules: 0 is the class itself, none is unusable.
            pub fn distance(&self, other: &Class) -> Option<u32> {
                match (self, other) {
                    $($(#[$gate])* (Class::$operation(a), Class::$operation(b)) => operation::Class::distance(a, b),)+
                    #[allow(unreachable_patterns, reason = "reachable with more than one operation")]
                    _ => None,
                }
            }

            forward! {
                (Class as (operation::Class): $($(#[$gate])* $operation,)+)

                /// The class as one word, fit for file and symbol names.
                fn slug(&self) -> String;

                /// What tells it from other classes of its operation, in a few words.
                fn brief(&self) -> String;

                /// The attribute that declares problems of this class.
                fn attribute(&self) -> &'static str;

                /// What must be computed and moved at least.
                fn work(&self, extents: &Extents) -> Work;

                /// The type that its matrix units multiply; none where they have nothing to do.
                fn multiplies(&self) -> Option<Dtype>;

                /// The families that serve it on `arch`, best first.
                fn families(&self, arch: Arch) -> &'static [Family];

                /// What only Hopper has for it, as the end of a sentence, where no family serves it on other archs.
                fn missing_on_the_oldest(&self) -> Option<String>;

                /// Those of them whose schedules a search of a shape chooses from.
                fn searched_families(&self, arch: Arch) -> &'static [Family];

                /// The schedules of `family` that a search chooses from on `arch`: all valid, in a fixed order.
                fn schedules(&self, family: Family, arch: Arch) -> Vec<Schedule>;

                /// The schedule that is safe on `arch` when nothing was tuned.
                fn default_schedule(&self, arch: Arch) -> Schedule;

                /// Schedules that together serve any extents on `arch` where the config has none; may be none.
                fn portfolio(&self, arch: Arch) -> Vec<Schedule>;

                /// Schedules that are carried beside a portfolio of the config, and never without one; may be none.
                fn beside_portfolio(&self, arch: Arch) -> Vec<Schedule>;

                /// The GPUs on which [`portfolio`](Self::portfolio) was measured; none: estimates.
                fn measured_on(&self, arch: Arch) -> &'static [&'static str];

                /// What predicts the launches of the image of `schedule` on a GPU; none if nothing does.
                fn forecast(&self, schedule: &Schedule, constants: Option<&str>, machine: Machine) -> Option<Box<dyn Forecast>>;

                /// Whether `schedule` compiles without spills and runs for this class on `arch`.
                ///
                /// # Errors
                /// The first broken rule.
                fn check(&self, schedule: &Schedule, arch: Arch) -> Result<(), BrokenRule>;

                /// The launch of the kernel called `symbol` that computes problems of this class by `schedule`.
                ///
                /// # Errors
                /// The schedule is of another operation's family.
                fn plan(&self, schedule: &Schedule, symbol: String) -> Result<LaunchPlan, OtherFamily>;

                /// Small extents at which all that `schedule` does comes to pass, the most telling first.
                ///
                /// # Errors
                /// The schedule is of another operation's family.
                fn probes(&self, schedule: &Schedule) -> Result<Vec<Extents>, OtherFamily>;

                /// Where the part with that number lies along each axis of a grid of `parts`, in the order in which clusters
                /// take them.
                fn part(&self, schedule: &Schedule, number: u64, parts: &[u32]) -> Vec<u32>;
            }
        }

        impl fmt::Display for Problem {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $($(#[$gate])* Problem::$operation(problem) => fmt::Display::fmt(problem, f),)+ }
            }
        }

        impl fmt::Display for Class {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $($(#[$gate])* Class::$operation(class) => fmt::Display::fmt(class, f),)+ }
            }
        }

        $(
            $(#[$gate])*
            impl From<crate::$room::Problem> for Problem {
                fn from(problem: crate::$room::Problem) -> Self {
                    Problem::$operation(problem)
                }
            }

            $(#[$gate])*
            impl From<crate::$room::Class> for Class {
                fn from(class: crate::$room::Class) -> Self {
                    Class::$operation(class)
                }
            }
        )+
    };
}

pub(super) use operations;
