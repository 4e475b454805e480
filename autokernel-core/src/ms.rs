//! Times as people read them.

use std::fmt;

/// A time in milliseconds, with at least four digits that tell something: the fourth decimal of a kernel of 6 µs is 2 % of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ms(pub f64);

/// Digits of a time, and the fewest decimals.
const DIGITS: i32 = 4;

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.abs().log10().floor();
        let leading = if magnitude.is_finite() { (-magnitude as i32 - 1).clamp(0, DIGITS) } else { 0 };
        write!(f, "{:.*} ms", (DIGITS + leading) as usize, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_four_digits_that_tell_something() {
        let written = |ms: f64| Ms(ms).to_string();
        assert_eq!(written(1.5307), "1.5307 ms");
        assert_eq!(written(0.17714), "0.1771 ms");
        assert_eq!(written(0.037_618), "0.03762 ms");
        assert_eq!(written(0.006_123_4), "0.006123 ms");
        assert_eq!(written(0.000_000_1), "0.00000010 ms");
        assert_eq!([written(0.0), written(f64::INFINITY)], ["0.0000 ms", "inf ms"]);
    }
}
