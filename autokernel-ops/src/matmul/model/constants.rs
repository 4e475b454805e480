//! What a fit to recordings finds.

use autokernel_core::{Implausible, check_between};
use serde::{Deserialize, Serialize};

/// Declares the constants with their bounds, in the order in which a fit holds them.
macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $start:literal in $low:literal..$high:literal;)+) => {
        /// The constants of the model: shares of what a datasheet says, and latencies. Fitted to one GPU they carry over to
        /// its relatives, as far as the datasheets tell these apart.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct Constants {
            $($(#[$doc])* pub $name: f64,)+
        }

        impl Constants {
            /// How many there are.
            pub const COUNT: usize = [$(stringify!($name)),+].len();
            /// Where a fit begins, and what holds where nothing was fitted: about what an H200 showed at drawn shapes.
            pub const START: Constants = Constants { $($name: $start,)+ };
            /// Between which values each is looked for.
            pub const BOUNDS: [(f64, f64); Self::COUNT] = [$(($low, $high)),+];
            /// Their names.
            pub const NAMES: [&str; Self::COUNT] = [$(stringify!($name)),+];

            /// As a list, in order.
            pub fn to_array(self) -> [f64; Self::COUNT] {
                [$(self.$name),+]
            }

            /// From a list in the same order.
            pub fn from_array(values: [f64; Self::COUNT]) -> Self {
                let [$($name),+] = values;
                Constants { $($name),+ }
            }

            /// Refuses one that is no number within its bounds.
            ///
            /// # Errors
            /// The first of them.
            pub fn check(&self) -> Result<(), Implausible> {
                let named = Self::NAMES.into_iter().zip(self.to_array()).zip(Self::BOUNDS);
                named.into_iter().try_for_each(|((name, value), (low, high))| check_between(name, value, low, high))
            }
        }
    };
}

/// What a configuration has of a constant that was not known when it was written.
mod unknown {
    use super::Constants;

    pub fn h100_clusters_us() -> f64 {
        Constants::START.h100_clusters_us
    }

    pub fn h100_contention() -> f64 {
        Constants::START.h100_contention
    }
}

constants! {
    /// Share of the matrix units' datasheet rate that a main loop sustains.
    sustained = 1.11 in 0.5..1.5;
    /// What L2 gives each SM while all of them load, in GB/s.
    l2_gb_per_s = 124.0 in 30.0..500.0;
    /// Share of the memory's datasheet bandwidth that loads reach.
    memory = 0.86 in 0.5..1.2;
    /// From a load to its data, in microseconds.
    load_us = 0.48 in 0.1..3.0;
    /// What a stage takes to pass from the ring to those that multiply and back, in microseconds.
    pass_us = 0.042 in 0.001..0.3;
    /// What waiting for a cluster's other blocks multiplies the wait for data by.
    cluster_wait = 1.7 in 1.0..3.0;
    /// Share of the faster limits of a stage that the slowest does not hide.
    contention = 0.3 in 0.01..1.0;
    /// How well the longer of main loop and memory hides the shorter: the exponent of the norm that takes both. At 1 they
    /// follow one another.
    memory_norm = 3.6 in 1.0..12.0;
    /// The rate at which an SM stores a tile, over that at which L2 gives.
    store = 0.3 in 0.02..1.0;
    /// Share of the stores that ping-pong consumers do not hide.
    ping_pong_store = 0.02 in 0.01..1.0;
    /// What loads of rows along K that begin within a cache line cost, over those of rows that begin at one.
    straddling = 1.5 in 1.0..6.0;
    /// What rows past an operand's edge cost, which TMA fills with zeros, over rows that are there.
    padding = 3.4 in 1.0..20.0;
    /// The barriers of blocks that share a tile's sum, in microseconds a tile.
    split_us = 0.44 in 0.2..6.0;
    /// What such a block sends to its peers, in GB/s.
    peer_gb_per_s = 20.0 in 10.0..500.0;
    /// What each tile of a block costs beside its stages, in microseconds.
    tile_us = 0.05 in 0.01..3.0;
    /// A launch, and filling the pipeline, in microseconds.
    launch_us = 2.84 in 0.5..6.0;
    /// What a launch of clusters takes more on an H100 than on an H200, in microseconds.
    #[serde(default = "unknown::h100_clusters_us")]
    h100_clusters_us = 0.7 in 0.01..3.0;
    /// What `contention` is on an H100, whose memory is slower, over that on an H200.
    #[serde(default = "unknown::h100_contention")]
    h100_contention = 1.19 in 0.5..3.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_the_constants_is_in_the_order_of_their_names_and_bounds() {
        let start = Constants::START;
        assert_eq!(Constants::from_array(start.to_array()), start);
        assert_eq!(Constants::NAMES[Constants::COUNT - 1], "h100_contention");
        assert_eq!(start.to_array()[Constants::COUNT - 1], start.h100_contention);
        assert_eq!(start.check(), Ok(()));
        let message = Constants { load_us: -1.0, ..start }.check().unwrap_err().to_string();
        assert_eq!(message, "load_us is -1; it is from 0.1 to 3");
        assert!(Constants { sustained: f64::NAN, ..start }.check().is_err());
    }

    #[test]
    fn a_configuration_of_before_has_the_start_of_constants_that_came_later_and_lacks_no_other() {
        let before = Constants { launch_us: 3.0, ..Constants::START };
        let mut written = serde_json::to_value(before).unwrap();
        written.as_object_mut().unwrap().remove("h100_contention").unwrap();
        assert_eq!(serde_json::from_value::<Constants>(written.clone()).unwrap(), before);
        written.as_object_mut().unwrap().remove("launch_us").unwrap();
        assert!(serde_json::from_value::<Constants>(written).unwrap_err().to_string().contains("launch_us"));
    }
}
