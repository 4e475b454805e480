//! The listing for people.

use std::fmt;

use super::finding::Sources;
use super::listing::{Listing, Missing, Row};

/// Commands that are written out; the rest is counted.
const COMMANDS: usize = 3;

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut heading = String::new();
        for row in &self.entries {
            let own = heading_of(row);
            if own != heading {
                let gap = if heading.is_empty() { "" } else { "\n" };
                writeln!(f, "{gap}{own}")?;
                heading = own;
            }
            line(f, row)?;
        }
        if self.entries.is_empty() {
            writeln!(f, "no entry passes the filters")?;
        }
        let stale = self.entries.iter().filter(|row| row.stale).count();
        writeln!(f, "\n{} entries, {stale} stale", self.entries.len())?;
        let of = |sources: Sources| self.entries.iter().filter(|row| row.sources == sources).count();
        let (changed, unknown) = (of(Sources::Changed), of(Sources::Unknown));
        if changed + unknown > 0 {
            writeln!(
                f,
                "{changed} were timed with other CUDA files than this build's, {unknown} with unknown ones: they serve as before, and only a \
                 measurement tells whether their times hold"
            )?;
        }
        if let Some(row) = self.entries.iter().find(|row| row.stale) {
            let command = command(&row.problem.slug(), &row.shape.to_string());
            writeln!(f, "next: on the {}, {command} --fresh --write", row.provenance.gpu)?;
        }
        missing(f, &self.missing)
    }
}

fn heading_of(row: &Row) -> String {
    let provenance = &row.provenance;
    let (gpu, driver, nvcc) = (&provenance.gpu, &provenance.driver, &provenance.nvcc);
    format!("{} · {} · {gpu}, driver {driver}, nvcc {nvcc}", row.problem.slug(), row.arch)
}

fn line(f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
    let provenance = &row.provenance;
    let age = match row.age_days {
        Some(days) if days <= 0 => "today".to_owned(),
        Some(1) => "1 day old".to_owned(),
        Some(days) => format!("{days} days old"),
        None => format!("of {}", provenance.date),
    };
    writeln!(
        f,
        "  {:<17} {:>9.4} ms {:>7.1} TFLOP/s ± {:>4.1} %  {age:<12}  sources {:<7}  {}",
        row.shape.to_string(),
        provenance.median_ms,
        provenance.tflops,
        provenance.spread_pct,
        row.sources,
        row.schedule
    )?;
    if let Some(range) = row.range {
        writeln!(f, "    for {range}")?;
    }
    row.findings.iter().try_for_each(|finding| writeln!(f, "    stale: {finding}"))
}

fn missing(f: &mut fmt::Formatter<'_>, missing: &[Missing]) -> fmt::Result {
    if missing.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nnot tuned, though others are or it is recorded: {}", missing.len())?;
    for Missing { problem, arch, shape } in missing.iter().take(COMMANDS) {
        writeln!(f, "  {} --arch {arch}", command(&problem.slug(), &shape.to_string()))?;
    }
    match missing.len().saturating_sub(COMMANDS) {
        0 => Ok(()),
        more => writeln!(f, "  and {more} more, all in --json"),
    }
}

fn command(problem: &str, shape: &str) -> String {
    format!("tuner --problem {problem} --shape {shape}")
}
