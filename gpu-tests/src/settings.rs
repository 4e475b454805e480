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
