//! A schedule in one line.

use std::fmt;

use super::Sm90Schedule;
use crate::knob::{Kind, Knob};

impl fmt::Display for Sm90Schedule {
    /// One short line: `sm90 128x256 s4 c2 cooperative cluster 2x1 along_m/8`, with `swap_ab` and `split_k 4`
    /// before the raster where they are used, of an image that splits nothing `splits`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sm90Schedule { tile_m, tile_n, stages, consumers, mode, cluster_m, cluster_n, .. } = self;
        write!(f, "sm90 {tile_m}x{tile_n} s{stages} c{consumers} {} ", mode.name())?;
        write!(f, "cluster {cluster_m}x{cluster_n} ")?;
        let told = |knob: &Knob| knob.told_by == Some("split_k") && self.split_k > 1;
        for (knob, value) in Sm90Schedule::KNOBS.iter().zip(self.codes()).filter(|(knob, _)| !told(knob)) {
            write_if_used(knob, value, f)?;
        }
        write!(f, "{}", self.raster)
    }
}

/// A knob that older schedules did without, where this one does not.
fn write_if_used(knob: &Knob, value: u16, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match knob.kind {
        _ if knob.absent.is_none_or(|absent| absent == value) => Ok(()),
        Kind::Flag => write!(f, "{} ", knob.name),
        Kind::Number => write!(f, "{} {value} ", knob.name),
        Kind::Choice(choices) => write!(f, "{} {} ", knob.name, choices[usize::from(value)].name),
    }
}
