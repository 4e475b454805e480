//! Settings of the tests that come from the environment.

/// A number from the environment, or its default.
///
/// # Panics
/// The variable is set and is no number.
pub fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number; write one, such as {default}")),
        Err(_) => default,
    }
}

/// Of a long list a test takes one of so many: ordinarily of `every`, with `AUTOKERNEL_SOAK=1` (`cargo xtask soak`) each.
pub fn one_of(every: usize) -> usize {
    if std::env::var_os("AUTOKERNEL_SOAK").is_some() { 1 } else { every }
}

/// The shapes that the environment lists under `name`, as `16x8192x8192,4096x4096x4096`; none where it says nothing.
///
/// # Panics
/// One of them is no shape.
pub fn shapes(name: &str) -> Option<Vec<(u32, u32, u32)>> {
    let shape = |text: &str| match text.split('x').map(str::parse).collect::<Result<Vec<u32>, _>>().as_deref() {
        Ok(&[m, n, k]) => (m, n, k),
        _ => panic!("{name} holds {text:?}, which is no shape; write 16x8192x8192,4096x4096x4096"),
    };
    Some(std::env::var(name).ok()?.split(',').map(shape).collect())
}

/// Whether this process takes a problem: every `AUTOKERNEL_PROCESSES`th from number `AUTOKERNEL_PROCESS` on, so that several processes
/// share what one would take.
///
/// # Panics
/// A variable is set and is no number.
pub fn is_of_this_process(problem: u64) -> bool {
    let processes = number("AUTOKERNEL_PROCESSES", 1).max(1);
    problem % processes == number("AUTOKERNEL_PROCESS", 0) % processes
}
