//! What was counted, by the lines of the CUDA source.

use std::collections::BTreeMap;

use autokernel_runtime::emulator::{Memory, Report};
use serde::Serialize;

/// Bytes of a sector, in which global memory is asked for.
const SECTOR: u64 = 32;
/// Hot lines that are told.
const HOT_LINES: usize = 8;

/// The accesses of one instruction at one line of the CUDA source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Access {
    /// The line, and where it was inlined; empty where the PTX does not tell.
    pub source: String,
    /// The opcode with its modifiers.
    pub instruction: String,
    /// Instructions of warps; for bulk copies, copies.
    pub requests: u64,
    /// Bytes that were asked for.
    pub bytes: u64,
    /// Sectors of 32 bytes of global memory.
    pub sectors: u64,
    /// Passes over the banks of shared memory.
    pub wavefronts: u64,
    /// Of them, those that other addresses would not have taken.
    pub bank_conflicts: u64,
}

impl Access {
    /// Sectors that its bytes fill: the fewest.
    pub fn least_sectors(&self) -> u64 {
        self.bytes.div_ceil(SECTOR)
    }

    /// Sectors beyond those.
    pub fn wasted_sectors(&self) -> u64 {
        self.sectors.saturating_sub(self.least_sectors())
    }
}

/// A line of the CUDA source, and how often its instructions ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HotLine {
    /// The line, and where it was inlined.
    pub source: String,
    /// Its most frequent instruction.
    pub instruction: String,
    /// Instructions of warps.
    pub warps: u64,
}

/// The accesses to `memory`, those with the most of what `cost` counts first.
pub fn accesses(report: &Report, memory: Memory, cost: fn(&Access) -> u64) -> Vec<Access> {
    let mut found = BTreeMap::<(String, &str), Access>::new();
    for site in report.sites.values().filter(|site| site.memory == memory) {
        let source = site.source.as_ref().map(ToString::to_string).unwrap_or_default();
        let access = found.entry((source.clone(), &site.instruction)).or_insert_with(|| Access {
            source,
            instruction: site.instruction.clone(),
            requests: 0,
            bytes: 0,
            sectors: 0,
            wavefronts: 0,
            bank_conflicts: 0,
        });
        access.requests += site.requests;
        access.bytes += site.bytes;
        access.sectors += site.sectors;
        access.wavefronts += site.wavefronts;
        access.bank_conflicts += site.bank_conflicts;
    }
    let mut found: Vec<Access> = found.into_values().collect();
    found.sort_by_key(|access| std::cmp::Reverse((cost(access), access.requests)));
    found
}

/// The instructions of `report` by their kind, the most frequent first.
pub fn instructions(report: &Report) -> Vec<(String, u64)> {
    let mut kinds: Vec<_> = report.counters.instructions.iter().map(|(root, count)| (root.clone(), *count)).collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds
}

/// The hottest lines of `report`.
pub fn hot_lines(report: &Report) -> Vec<HotLine> {
    let mut lines = BTreeMap::<String, BTreeMap<&str, u64>>::new();
    for executed in report.executed.values() {
        let source = executed.source.as_ref().map(ToString::to_string).unwrap_or_default();
        *lines.entry(source).or_default().entry(&executed.instruction).or_default() += executed.warps;
    }
    let line = |(source, kinds): (String, BTreeMap<&str, u64>)| {
        let warps = kinds.values().sum();
        let most = kinds.into_iter().max_by_key(|(_, warps)| *warps);
        HotLine { source, instruction: most.map_or_else(String::new, |(name, _)| name.to_owned()), warps }
    };
    let mut lines: Vec<HotLine> = lines.into_iter().map(line).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.warps));
    lines.truncate(HOT_LINES);
    lines
}
