//! What is run of long lists: ordinarily a part, with `AUTOKERNEL_SOAK=1` (`cargo xtask soak`) all.

use autokernel_codegen::emit::all_headers;

use super::compile::Change;

/// Each `every`th of `all`, at each of as many turns others.
pub fn sample<T>(all: impl IntoIterator<Item = T>, every: usize, turn: usize) -> impl Iterator<Item = T> {
    let every = step(every);
    all.into_iter().skip(turn % every).step_by(every)
}

/// How much of `count`, which all come to, a sample of each `every`th comes to at least.
pub fn share(count: usize, every: usize) -> usize {
    count / step(every)
}

fn step(every: usize) -> usize {
    if std::env::var_os("AUTOKERNEL_SOAK").is_some() { 1 } else { every }
}

/// Each `every`th of `mutants`, of which each, run or not, has a text to `change`.
pub fn sample_mutants<'a, T>(
    mutants: impl IntoIterator<Item = T>,
    every: usize,
    change: impl Fn(&T) -> Change<'a>,
) -> impl Iterator<Item = T> {
    let mutants: Vec<T> = mutants.into_iter().collect();
    for change in mutants.iter().map(change) {
        let has_text = all_headers().any(|(path, text)| path == change.file && text.contains(change.before));
        assert!(has_text, "{change:?} changes nothing");
    }
    sample(mutants, every, 0)
}
