//! Counting while a kernel runs.

use std::collections::BTreeMap;

use crate::fault::Access;
use crate::ptx::Kernel;
use crate::report::{Counters, Executed, Memory, Report, Site};

/// How a request goes to memory, by which it costs.
#[derive(Clone, Copy)]
pub(super) enum Path {
    Shared,
    Global,
    /// From global to shared memory by `cp.async`.
    LaneCopy,
    Bulk,
}

impl Path {
    const fn memory(self) -> Memory {
        match self {
            Path::Shared => Memory::Shared,
            Path::Global | Path::LaneCopy => Memory::Global,
            Path::Bulk => Memory::Bulk,
        }
    }
}

pub(super) struct Tally {
    pub counters: Counters,
    /// Of each instruction: how often a warp ran it.
    pub executed: Vec<u64>,
    /// Of each instruction that touches memory.
    pub sites: Vec<Site>,
    /// Instructions that may still run.
    left: u64,
    pub budget: u64,
}

impl Tally {
    pub fn new(kernel: &Kernel, budget: u64) -> Self {
        let count = kernel.code.len();
        Tally {
            counters: Counters::default(),
            executed: vec![0; count],
            sites: vec![Site::default(); count],
            left: budget,
            budget,
        }
    }

    /// Counts an instruction; false when there have been too many.
    pub fn count(&mut self, pc: usize) -> bool {
        if let Some(executed) = self.executed.get_mut(pc) {
            *executed += 1;
        }
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    /// Counts a request for `bytes` at each of `addresses`; those of shared memory count from the block's window.
    pub fn request(&mut self, pc: u32, path: Path, access: Access, addresses: &[u64], bytes: u32) {
        let asked = addresses.len() as u64 * u64::from(bytes);
        let traffic = match path.memory() {
            Memory::Shared => &mut self.counters.shared,
            Memory::Global => &mut self.counters.global,
            Memory::Bulk => &mut self.counters.bulk,
        };
        match access {
            Access::Read => traffic.loaded += asked,
            Access::Write => traffic.stored += asked,
        }
        let Some(site) = self.sites.get_mut(pc as usize) else { return };
        site.memory = path.memory();
        site.requests += 1;
        site.bytes += asked;
        match path {
            Path::Shared => {
                let (passes, least) = wavefronts(addresses, bytes);
                site.wavefronts += passes;
                site.bank_conflicts += passes.saturating_sub(least);
            }
            Path::Global => site.sectors += sectors(addresses, bytes.into()),
            Path::LaneCopy => site.sectors += copied_sectors(addresses, bytes.into()),
            Path::Bulk => {}
        }
    }

    pub fn into_report(mut self, kernel: &Kernel) -> Report {
        let (mut sites, mut lines) = (BTreeMap::new(), BTreeMap::new());
        for ((instruction, executed), site) in kernel.code.iter().zip(self.executed).zip(self.sites) {
            let mnemonic = kernel.mnemonics.get(instruction.mnemonic as usize).map_or("", String::as_str);
            if executed == 0 {
                continue;
            }
            let root = mnemonic.split('.').next().unwrap_or_default();
            *self.counters.instructions.entry(root.to_owned()).or_default() += executed;
            let source = instruction.location.and_then(|at| kernel.locations.get(at as usize)).cloned();
            if site.requests > 0 {
                let site = Site { instruction: mnemonic.to_owned(), source: source.clone(), ..site };
                sites.insert(instruction.line, site);
            }
            lines.insert(instruction.line, Executed { instruction: mnemonic.to_owned(), source, warps: executed });
        }
        Report { counters: self.counters, executed: lines, sites }
    }
}

/// Wavefronts of a request to shared memory, and how few it could take: lanes are served in groups whose accesses
/// together are at most 128 bytes, and a group takes as many passes as its busiest bank has different words.
fn wavefronts(addresses: &[u64], bytes: u32) -> (u64, u64) {
    let bytes = u64::from(bytes);
    let lanes_a_pass = (128 / bytes.max(4)) as usize;
    let (mut passes, mut least) = (0, 0);
    for group in addresses.chunks(lanes_a_pass.max(1)) {
        let mut words: Vec<u64> =
            group.iter().flat_map(|&address| (address / 4..(address + bytes).div_ceil(4)).take(8)).collect();
        words.sort_unstable();
        words.dedup();
        let mut of_bank = [0u64; 32];
        for word in words {
            of_bank[(word % 32) as usize] += 1;
        }
        passes += of_bank.iter().copied().max().unwrap_or(0);
        least += 1;
    }
    (passes, least)
}

/// Bytes of a sector, in which memory is asked for, and of the line that four of them make.
const SECTOR: u64 = 32;
const LINE: u64 = 128;

/// Sectors that a request to global memory touches.
fn sectors(addresses: &[u64], bytes: u64) -> u64 {
    let mut sectors: Vec<u64> = addresses
        .iter()
        .flat_map(|&address| address / SECTOR..=address.saturating_add(bytes.max(1) - 1) / SECTOR)
        .collect();
    sectors.sort_unstable();
    sectors.dedup();
    sectors.len() as u64
}

/// Sectors that the hardware counts of a request of `cp.async`: lanes are served in groups of 128 bytes, and of each line
/// of 128 bytes a group asks for as many sectors as its bytes fill, wherever in the line they begin (measured on an H200,
/// with rows at odd multiples of 16 bytes).
fn copied_sectors(addresses: &[u64], bytes: u64) -> u64 {
    let bytes = bytes.max(1);
    let lanes_a_pass = usize::try_from(LINE / bytes).unwrap_or(1).max(1);
    let of_group = |group: &[u64]| {
        let mut of_line = BTreeMap::<u64, u64>::new();
        for &address in group {
            let inside = bytes.min(LINE - address % LINE);
            *of_line.entry(address / LINE).or_default() += inside;
            *of_line.entry(address / LINE + 1).or_default() += bytes - inside;
        }
        of_line.values().map(|bytes| bytes.div_ceil(SECTOR)).sum::<u64>()
    };
    addresses.chunks(lanes_a_pass).map(of_group).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: u64) -> Vec<u64> {
        (0..32).map(|lane| lane * stride).collect()
    }

    #[test]
    fn words_of_one_bank_take_a_pass_each() {
        assert_eq!(wavefronts(&strided(4), 4), (1, 1));
        assert_eq!(wavefronts(&strided(8), 4), (2, 1));
        assert_eq!(wavefronts(&strided(128), 4), (32, 1));
        assert_eq!(wavefronts(&strided(0), 4), (1, 1));
    }

    #[test]
    fn wide_accesses_are_served_in_groups() {
        assert_eq!(wavefronts(&strided(16), 16), (4, 4));
        assert_eq!(wavefronts(&strided(8), 8), (2, 2));
        assert_eq!(wavefronts(&strided(128), 16), (32, 4));
        assert_eq!(wavefronts(&strided(2), 2), (1, 1));
    }

    #[test]
    fn neighbouring_words_share_sectors() {
        let addresses = |stride: u64| (0..32).map(|lane| 4096 + lane * stride).collect::<Vec<_>>();
        assert_eq!(sectors(&addresses(4), 4), 4);
        assert_eq!(sectors(&addresses(16), 16), 16);
        assert_eq!(sectors(&addresses(256), 2), 32);
        assert_eq!(sectors(&[4090], 16), 2);
    }

    #[test]
    fn a_copy_asks_for_the_sectors_that_its_bytes_fill_of_each_line() {
        let row = |first: u64, lanes: u64| (0..lanes).map(|lane| 4096 + first + lane * 16).collect::<Vec<_>>();
        assert_eq!(copied_sectors(&row(0, 32), 16), 16);
        assert_eq!(copied_sectors(&row(16, 32), 16), 20, "each group crosses a line");
        assert_eq!(copied_sectors(&row(16, 4), 16), 2, "three sectors, half of two of them");
        assert_eq!(copied_sectors(&row(80, 4), 16), 3);
    }
}
