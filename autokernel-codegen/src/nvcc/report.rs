//! What ptxas says of a kernel (`-Xptxas -v`).

use serde::{Deserialize, Serialize};

/// The resources of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PtxasReport {
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory of a block, in bytes; a kernel's dynamic shared memory comes on top.
    pub static_shared_bytes: u32,
    /// Stack frame of a thread, in bytes.
    pub stack_bytes: u32,
    /// Registers stored to memory for want of room, in bytes.
    pub spill_store_bytes: u32,
    /// And loaded back, in bytes.
    pub spill_load_bytes: u32,
}

impl PtxasReport {
    /// The report of the kernel `symbol` among what nvcc wrote to its standard error.
    pub fn parse(log: &str, symbol: &str) -> Option<PtxasReport> {
        let entry = format!("Compiling entry function '{symbol}'");
        let (_, section) = log.split_once(&entry)?;
        let section = section.split("Compiling entry function").next().unwrap_or(section);
        let (_, properties) = section.split_once(&format!("Function properties for {symbol}")).unwrap_or(("", section));
        Some(PtxasReport {
            registers: number_before(section, " registers")?,
            static_shared_bytes: number_before(section, " bytes smem").unwrap_or(0),
            stack_bytes: number_before(properties, " bytes stack frame").unwrap_or(0),
            spill_store_bytes: number_before(properties, " bytes spill stores").unwrap_or(0),
            spill_load_bytes: number_before(properties, " bytes spill loads").unwrap_or(0),
        })
    }

    /// Whether registers were spilled to memory.
    pub fn spills(&self) -> bool {
        self.spill_store_bytes > 0 || self.spill_load_bytes > 0
    }
}

/// The number that stands right before the first `unit`.
pub(super) fn number_before(text: &str, unit: &str) -> Option<u32> {
    let (before, _) = text.split_once(unit)?;
    before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'pad' for 'sm_90a'
ptxas info    : Function properties for pad
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers
ptxas info    : Compiling entry function 'matmul' for 'sm_90a'
ptxas info    : Function properties for matmul
    32 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 1024 bytes smem
";

    #[test]
    fn the_report_of_each_kernel_is_its_own() {
        let matmul = PtxasReport::parse(LOG, "matmul").unwrap();
        let expected = PtxasReport {
            registers: 168,
            static_shared_bytes: 1024,
            stack_bytes: 32,
            spill_store_bytes: 8,
            spill_load_bytes: 16,
        };
        assert_eq!(matmul, expected);
        assert_eq!(PtxasReport::parse(LOG, "pad").unwrap(), PtxasReport { registers: 24, ..Default::default() });
    }

    #[test]
    fn a_number_may_stand_behind_any_letter() {
        assert_eq!(number_before("é8 bytes spill stores", " bytes spill stores"), Some(8));
        assert_eq!(number_before("é bytes spill stores", " bytes spill stores"), None);
    }

    #[test]
    fn any_text_may_stand_before_a_number() {
        assert_eq!(number_before("é24 registers", " registers"), Some(24));
        assert_eq!(number_before("24 registers", " registers"), Some(24));
        assert_eq!(number_before("→ registers", " registers"), None);
    }

    #[test]
    fn a_kernel_that_was_not_compiled_has_no_report() {
        assert_eq!(PtxasReport::parse(LOG, "softmax"), None);
    }
}
