//! Which GPUs of this machine measure.

use std::collections::BTreeSet;
use std::str::FromStr;

use autokernel_runtime::Device;

/// GPUs of this machine, as the driver counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// Every one.
    All,
    /// These, in this order.
    These(Vec<usize>),
}

impl Devices {
    /// One GPU.
    pub fn one(ordinal: usize) -> Self {
        Devices::These(vec![ordinal])
    }

    /// Their numbers, at least one.
    ///
    /// # Errors
    /// The driver is missing, or has no GPU, where it must be asked.
    pub fn ordinals(&self) -> Result<Vec<usize>, String> {
        match self {
            Devices::These(ordinals) => Ok(ordinals.clone()),
            Devices::All => match Device::gpu_count() {
                Ok(0) => Err("the driver knows no GPU".to_owned()),
                Ok(count) => Ok((0..count).collect()),
                Err(error) => Err(error.to_string()),
            },
        }
    }
}

impl FromStr for Devices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Devices::All);
        }
        let refused = |_| "write `all`, or the numbers of GPUs as in 0,1,2".to_owned();
        let ordinals = text.split(',').map(|word| word.trim().parse()).collect::<Result<Vec<usize>, _>>();
        let ordinals = ordinals.map_err(refused)?;
        let mut seen = BTreeSet::new();
        match ordinals.iter().find(|&ordinal| !seen.insert(*ordinal)) {
            Some(twice) => Err(format!("GPU {twice} is named twice")),
            None => Ok(Devices::These(ordinals)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_all_or_a_list_without_repetitions() {
        assert_eq!("all".parse(), Ok(Devices::All));
        assert_eq!("0".parse(), Ok(Devices::one(0)));
        assert_eq!("2, 0".parse(), Ok(Devices::These(vec![2, 0])));
        for wrong in ["", "a", "0,", "-1", "1,1"] {
            assert!(wrong.parse::<Devices>().is_err(), "{wrong}");
        }
        assert_eq!("1,1".parse::<Devices>().unwrap_err(), "GPU 1 is named twice");
    }
}
