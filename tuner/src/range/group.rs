//! Which of the targets of a run are sizes of one problem.

use autokernel_core::Span;

use super::args::RangeArgs;
use super::meeting::Member;

/// The `members` that differ by their size alone, together and in the order of their sizes; each size once, as kernels of one class
/// may have been replayed from one recording. A shape without the range's dimension is alone.
pub fn groups(members: Vec<Member<'_>>, range: Span) -> Vec<Vec<Member<'_>>> {
    let mut groups: Vec<Vec<Member<'_>>> = Vec::new();
    for member in members {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| are_of_one(first, &member, range))) {
            Some(group) => group.push(member),
            None => groups.push(vec![member]),
        }
    }
    for group in &mut groups {
        group.sort_by_key(|member| member.target.shape.get(range.dim));
        group.dedup_by(|a, b| a.target == b.target);
    }
    groups
}

fn are_of_one(a: &Member<'_>, b: &Member<'_>, range: Span) -> bool {
    let others = |member: &Member<'_>| range.at(&member.target.shape, range.last);
    a.evaluator.about().environment == b.evaluator.about().environment
        && a.target.arch == b.target.arch
        && a.target.problem == b.target.problem
        && others(a).is_some_and(|of_a| others(b) == Some(of_a))
}

/// Whether a group was searched at every size that was asked for: an entry serves the whole range, and must not be chosen by a part.
///
/// # Errors
/// It was not; for people, with what to do.
pub fn complete(group: &[Member<'_>], args: &RangeArgs, range: Span) -> Result<(), String> {
    let asked = range.spread(args.range_sizes);
    let sizes: Vec<u32> = group.iter().filter_map(|member| member.target.shape.get(range.dim)).collect();
    if sizes == asked {
        return Ok(());
    }
    let of = group.first().map(|member| format!("{} at {}", member.target.problem, member.target.shape));
    let list = |sizes: &[u32]| sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let searched = match sizes.is_empty() {
        true => format!("it has no `{}`", range.dim),
        false => format!("it was searched at {} = {}, of {}", range.dim, list(&sizes), list(&asked)),
    };
    Err(format!(
        "{} gets no entry for {range}: {searched}; name a range whose sizes can all be searched here, or tune on a GPU",
        of.unwrap_or_default()
    ))
}
