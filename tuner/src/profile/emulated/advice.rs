//! What to try next, by what was counted and modelled.

use super::accesses::Access;
use super::document::Emulated;
use super::reuse::Reuse;

/// A share of all wavefronts or sectors that is worth a change.
const WORTH: f64 = 0.05;
/// So many times the least bytes from memory are worth another order.
const MUCH: f64 = 1.1;

/// What to try next, the most promising first.
pub fn next(emulated: &Emulated) -> Vec<String> {
    let conflicts = worst(&emulated.shared, |access| access.wavefronts, |access| access.bank_conflicts);
    let conflicts = conflicts.map(|(access, percent)| {
        let Access { instruction, source, bank_conflicts, wavefronts, .. } = access;
        format!(
            "another swizzle or padding of shared memory at {source}: {bank_conflicts} of the {wavefronts} wavefronts of \
             `{instruction}` are bank conflicts, {percent:.0} % of all"
        )
    });
    let wasted = worst(&emulated.global, |access| access.sectors, Access::wasted_sectors);
    let wasted = wasted.map(|(access, percent)| {
        let Access { instruction, source, sectors, .. } = access;
        format!(
            "rows that begin at multiples of 32 bytes, or wider accesses at {source}: `{instruction}` asks for {sectors} \
             sectors where its bytes fill {}; {percent:.0} % of all are beyond that",
            access.least_sectors()
        )
    });
    [emulated.reuse.as_ref().and_then(order), conflicts, wasted].into_iter().flatten().collect()
}

/// The access with the highest cost, if that is worth a change, and its share of all in percent.
fn worst(accesses: &[Access], all: fn(&Access) -> u64, cost: fn(&Access) -> u64) -> Option<(&Access, f64)> {
    let whole: u64 = accesses.iter().map(all).sum();
    let worst = accesses.iter().max_by_key(|access| cost(access))?;
    let share = cost(worst) as f64 / whole.max(1) as f64;
    (share >= WORTH).then_some((worst, 100.0 * share))
}

fn order(reuse: &Reuse) -> Option<String> {
    let Reuse { from_memory, from_memory_with_half, least, better, .. } = reuse;
    let better = better.as_ref().filter(|_| *from_memory_with_half > MUCH * least)?;
    Some(format!(
        "{}: by the model of L2 it reads {:.0} to {:.0} MB from memory, this order {:.0} to {:.0}",
        better.changes,
        better.from_memory / 1e6,
        better.from_memory_with_half / 1e6,
        from_memory / 1e6,
        from_memory_with_half / 1e6
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(source: &str, sectors: u64, bytes: u64) -> Access {
        Access {
            source: source.to_owned(),
            instruction: "st.global.b16".to_owned(),
            requests: 1,
            bytes,
            sectors,
            wavefronts: 0,
            bank_conflicts: 0,
        }
    }

    #[test]
    fn the_access_that_wastes_most_is_named_and_one_that_wastes_little_is_not() {
        let accesses = [access("a.cuh:1", 100, 3200), access("b.cuh:2", 100, 320)];
        let wasted = |accesses| worst(accesses, |access| access.sectors, Access::wasted_sectors);
        let (worst, percent) = wasted(&accesses).unwrap();
        assert_eq!((worst.source.as_str(), percent), ("b.cuh:2", 45.0));
        assert_eq!(wasted(&accesses[..1]), None);
    }
}
