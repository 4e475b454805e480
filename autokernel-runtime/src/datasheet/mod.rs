//! What NVIDIA publishes of GPUs: enough to reason about a kernel without the GPU.

mod peak;
mod sheet;
mod table;

pub use peak::Peak;
pub use sheet::Datasheet;

use crate::ComputeCapability;

impl Datasheet {
    /// Every GPU that is known here, oldest first.
    pub const ALL: &'static [Datasheet] = table::ALL;

    /// The datasheet that stands for GPUs of that compute capability, of its whole generation, or of a generation that is not known
    /// here: of these an H100's.
    pub(crate) fn like(capability: ComputeCapability) -> &'static Self {
        let key = match (capability.major, capability.minor) {
            (8, 0 | 7) => "a100",
            (8, 9) => "rtx4090",
            (8, _) => "rtx3090",
            (10 | 11, _) => "b200",
            (12, _) => "rtx5090",
            _ => "h100",
        };
        Self::ALL.iter().find(|sheet| sheet.key == key).expect("these have rows")
    }

    /// The datasheet of the GPU that the driver calls `name`.
    pub fn of_driver_name(name: &str) -> Option<&'static Self> {
        // The longest name first: "NVIDIA A100 80GB PCIe" also begins with "NVIDIA A10".
        let found = Self::ALL.iter().filter(|sheet| is_part(sheet.name, name));
        found.max_by_key(|sheet| sheet.name.len())
    }

    /// The datasheet that a person means by `name`: its key, or a driver's name, whatever the case and the blanks.
    pub fn find(name: &str) -> Option<&'static Self> {
        let plain = |text: &str| text.to_lowercase().replace([' ', '-', '_'], "");
        let wanted = plain(name);
        Self::ALL.iter().find(|sheet| plain(sheet.key) == wanted).or_else(|| Self::of_driver_name(name))
    }
}

/// Whether `part` stands in `text` as whole words.
fn is_part(part: &str, text: &str) -> bool {
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
    text.match_indices(part)
        .any(|(at, _)| boundary(text[..at].chars().next_back()) && boundary(text[at + part.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    /// Dense 16-bit FLOP with f32 sums of one multiprocessor in one clock: the architecture whitepapers.
    fn flop_per_clock(sheet: &Datasheet) -> f64 {
        let capability = (sheet.capability.major, sheet.capability.minor);
        match (capability, sheet.key.starts_with("rtx")) {
            ((7, 0), _) => 1024.0,
            ((8, 6 | 9) | (12, 0), true) => 512.0,
            ((8, 6 | 9) | (12, 0), false) => 1024.0,
            ((8, 0), _) => 2048.0,
            ((9, 0), _) => 4096.0,
            _ => 8192.0,
        }
    }

    #[test]
    fn every_peak_is_what_its_multiprocessors_do_at_its_clock() {
        for sheet in Datasheet::ALL {
            let computed = f64::from(sheet.sm_count) * flop_per_clock(sheet) * sheet.clock_mhz / 1e6;
            let ratio = sheet.peak.f16_tflops / computed;
            assert!((0.98..1.02).contains(&ratio), "{}: {} against {computed}", sheet.name, sheet.peak.f16_tflops);
        }
    }

    #[test]
    fn tf32_runs_at_half_the_16_bit_rate() {
        for sheet in Datasheet::ALL {
            let Some(tf32) = sheet.peak.of(Dtype::F32) else { continue };
            assert!((sheet.peak.f16_tflops / tf32 - 2.0).abs() < 0.05, "{}", sheet.name);
        }
    }

    #[test]
    fn a_driver_name_finds_its_own_sheet_and_not_that_of_a_shorter_name() {
        let key = |name| Datasheet::of_driver_name(name).map(|sheet| sheet.key);
        assert_eq!(key("NVIDIA A10"), Some("a10"));
        assert_eq!(key("NVIDIA A100-SXM4-80GB"), Some("a100"));
        assert_eq!(key("NVIDIA L4"), Some("l4"));
        assert_eq!(key("NVIDIA L40S"), Some("l40s"));
        assert_eq!(key("NVIDIA H100 80GB HBM3"), Some("h100"));
        assert_eq!(key("NVIDIA H100 PCIe"), Some("h100-pcie"));
        assert_eq!(key("NVIDIA H100 NVL"), Some("h100-nvl"));
        assert_eq!(key("NVIDIA GH200 480GB"), Some("gh200"));
        assert_eq!(key("NVIDIA RTX 6000 Ada Generation"), Some("6000-ada"));
        assert_eq!(key("NVIDIA GeForce RTX 5090"), Some("rtx5090"));
        assert_eq!(key("NVIDIA RTX PRO 6000 Blackwell Server Edition"), Some("pro6000"));
        assert_eq!(key("NVIDIA H20"), None);
        assert_eq!(key("NVIDIA A10G"), None);
        assert_eq!(key("NVIDIA L40"), None);
        assert_eq!(key("Quadro K2000"), None);
    }

    #[test]
    fn a_person_may_type_a_key_or_a_name_in_any_case() {
        for name in ["rtx4090", "RTX 4090", "rtx-4090", "NVIDIA GeForce RTX 4090"] {
            assert_eq!(Datasheet::find(name).map(|sheet| sheet.key), Some("rtx4090"), "{name}");
        }
        assert_eq!(Datasheet::find("rtx"), None);
    }

    #[test]
    fn every_capability_has_a_gpu_of_its_generation_that_stands_for_it() {
        for sheet in Datasheet::ALL.iter().filter(|sheet| sheet.capability >= ComputeCapability::new(8, 0)) {
            assert_eq!(Datasheet::like(sheet.capability).capability, sheet.capability, "{}", sheet.key);
        }
        assert_eq!(Datasheet::like(ComputeCapability::new(9, 0)).key, "h100");
        assert_eq!(Datasheet::like(ComputeCapability::new(13, 0)).key, "h100");
    }

    #[test]
    fn volta_takes_no_bf16() {
        let v100 = Datasheet::find("v100").unwrap();
        assert_eq!(v100.roofline(Dtype::Bf16), None);
        assert!((v100.roofline(Dtype::F16).unwrap().ridge() - 138.9).abs() < 0.1);
    }
}
