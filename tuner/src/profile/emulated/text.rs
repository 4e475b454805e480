//! What was counted and modelled, for people.

use std::fmt::{Formatter, Result};

use super::accesses::{Access, HotLine};
use super::document::{Bytes, Emulated};
use super::reuse::Reuse;
use super::sample::Sample;
use crate::profile::line::line;

/// Lines of a list.
const SHOWN: usize = 4;

impl Emulated {
    /// The lines of a profile, below those of the kernel.
    pub fn write(&self, f: &mut Formatter<'_>) -> Result {
        let Emulated { sample, realigning_kernels, instructions, hot_lines, bytes, .. } = self;
        line(f, "emulated", &sample.words())?;
        if *realigning_kernels > 0 {
            line(f, "", "operands were copied to aligned memory before, by kernels that are not counted here")?;
        }
        let all: u64 = instructions.iter().map(|(_, count)| count).sum();
        let percent = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
        let kinds = instructions.iter().take(2 * SHOWN).map(|(root, count)| format!("{:.0} % {root}", percent(*count)));
        line(f, "instrs", &format!("{all} of warps: {}", kinds.collect::<Vec<_>>().join(", ")))?;
        for HotLine { source, instruction, warps } in hot_lines.iter().take(SHOWN) {
            line(f, "", &format!("{:.0} % of {}, mostly `{instruction}`", percent(*warps), place(source)))?;
        }
        line(f, "bytes", &bytes.words())?;
        list(f, "shared", &self.shared, |access| {
            format!(
                "{:.2} of {:.2} wavefronts are conflicts",
                per(access, access.bank_conflicts),
                per(access, access.wavefronts)
            )
        })?;
        list(f, "global", &self.global, |access| {
            let least = access.least_sectors();
            format!("{:.2} sectors, its bytes fill {:.2}", per(access, access.sectors), per(access, least))
        })?;
        list(f, "bulk", &self.bulk, |access| format!("{:.0} bytes", per(access, access.bytes)))?;
        self.reuse.as_ref().map_or(Ok(()), |reuse| reuse.write(f))
    }
}

impl Sample {
    fn words(&self) -> String {
        let Sample { shape, parts, of, tiles_of_a_part, blocks } = self;
        let tiles = |parts: &u64| parts * u64::from(*tiles_of_a_part);
        format!(
            "{} of {} tiles, as {shape} with dense rows, by {blocks} blocks: every access was checked, none was wrong",
            tiles(parts),
            tiles(of)
        )
    }
}

impl Bytes {
    fn words(&self) -> String {
        let kb = |bytes: u64| format!("{:.0}", bytes as f64 / 1e3);
        let pair = |space: &str, read: u64, written: u64| format!("{space} {} / {}", kb(read), kb(written));
        let spaces = [
            pair("global", self.global_loaded, self.global_stored),
            pair("shared", self.shared_loaded, self.shared_stored),
            pair("bulk and TMA", self.bulk_loaded, self.bulk_stored),
        ];
        format!("kB read / written of the sample: {}", spaces.join(", "))
    }
}

impl Reuse {
    fn write(&self, f: &mut Formatter<'_>) -> Result {
        let mb = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
        let Reuse { requested, from_memory, from_memory_with_half, least, widest_wave, l2_bytes, .. } = self;
        let hits = 100.0 * (1.0 - from_memory / requested.max(1.0));
        line(
            f,
            "L2 (model)",
            &format!(
                "of {} that clusters ask for, {} come from memory ({hits:.0} % hits; the least is {}), {} with half of the \
                 cache",
                mb(*requested),
                mb(*from_memory),
                mb(*least),
                mb(*from_memory_with_half)
            ),
        )?;
        line(f, "", &format!("a wave touches up to {} of {}", mb(*widest_wave), mb(*l2_bytes as f64)))
    }
}

/// A figure of one request.
fn per(access: &Access, count: u64) -> f64 {
    count as f64 / access.requests.max(1) as f64
}

fn place(source: &str) -> &str {
    if source.is_empty() { "no line" } else { source }
}

fn list(f: &mut Formatter<'_>, label: &str, accesses: &[Access], words: impl Fn(&Access) -> String) -> Result {
    for (number, access) in accesses.iter().take(SHOWN).enumerate() {
        let Access { source, instruction, requests, .. } = access;
        let words = format!("a request {}: {requests} of `{instruction}` at {}", words(access), place(source));
        line(f, if number == 0 { label } else { "" }, &words)?;
    }
    if accesses.len() > SHOWN {
        line(f, "", &format!("and {} more, no worse; --json has all", accesses.len() - SHOWN))?;
    }
    Ok(())
}
