// Schedules of Hopper's family beside the one that a kernel carries: read by the build script, which compiles them, and by the bench
// that times them.

/// Schedules that may lead at rows of `columns` elements, the default of that width first: one team, two and four, more
/// and fewer rows on their way, `Row`s that are kept and that are not, and reductions in one pass.
pub fn rings(
    class: &autokernel_codegen::rows::Class,
    columns: u32,
) -> Vec<autokernel_codegen::rows::Sm90Schedule> {
    use autokernel_codegen::rows::Sm90Schedule;
    let arch = autokernel_codegen::arch::Arch::SM_90A;
    let is_valid = |schedule: &Sm90Schedule| schedule.check(class, arch).is_ok() && schedule.held_columns() >= columns;
    let Some(carried) = Sm90Schedule::for_columns(class, columns, arch) else { return Vec::new() };
    // Teams, and vectors of a thread in the place of 4, with as many blocks as then hold a row.
    let laid_out = [(512, 2, 4), (256, 4, 4)];
    let mut found = vec![carried];
    for (threads_per_row, rows_per_block, vectors) in laid_out {
        let part = threads_per_row * vectors * carried.vector;
        let cluster = columns.div_ceil(part).next_power_of_two();
        let plain = Sm90Schedule { threads_per_row, rows_per_block, vectors, cluster, joins: false, ..carried };
        let staged = |keeps_rows| [4, 3, 2, 1].map(|stages| Sm90Schedule { stages, keeps_rows, ..plain }).into_iter();
        let [fullest, through_cache] = [carried.keeps_rows, false].map(|rows| staged(rows).find(is_valid));
        let fewest = fullest.map(|it| Sm90Schedule { stages: 1, ..it });
        let half = through_cache.map(|it| Sm90Schedule { stages: (it.stages / 2).max(1), ..it });
        let joined = fullest.map(|it| Sm90Schedule { joins: true, ..it });
        // Of other layouts the fullest alone.
        let more = if (vectors, carried.cluster) == (4, cluster) || rows_per_block == 1 { 4 } else { 0 };
        found.extend(fullest.into_iter().chain([fewest, through_cache, half, joined].into_iter().flatten().take(more)));
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|schedule| is_valid(schedule) && seen.insert(*schedule));
    found
}
