//! What a measurement, and what is fitted to some, can say. Files are edited, disks fail: a time of zero would be divided by, and one that is
//! negative would win.

/// A figure that cannot have been measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {}; it is from {} to {}", plain(*given), plain(*least), plain(*most))]
pub struct Implausible {
    what: &'static str,
    given: f64,
    least: f64,
    most: f64,
}

/// Refuses a duration, in milliseconds, shorter than a nanosecond or longer than eleven days.
pub fn check_ms(what: &'static str, ms: f64) -> Result<(), Implausible> {
    check_between(what, ms, 1e-6, 1e9)
}

/// Refuses a share in percent, or a rate, that is negative or not finite.
pub fn check_amount(what: &'static str, amount: f64) -> Result<(), Implausible> {
    check_between(what, amount, 0.0, 1e9)
}

/// Refuses a count of more than a million: nobody makes as many, and loops would take long to reach it.
pub fn check_count(what: &'static str, count: u32) -> Result<(), Implausible> {
    check_between(what, f64::from(count), 0.0, 1e6)
}

/// Refuses a number that is not from `least` to `most`.
pub fn check_between(what: &'static str, given: f64, least: f64, most: f64) -> Result<(), Implausible> {
    if (least..=most).contains(&given) { Ok(()) } else { Err(Implausible { what, given, least, most }) }
}

/// In digits where these are few.
fn plain(number: f64) -> String {
    let has_few = number == 0.0 || (1e-4..1e6).contains(&number.abs());
    if has_few { number.to_string() } else { format!("{number:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_clock_can_show_is_refused() {
        for ms in [0.0, -1.0, 1e-300, 1e300, f64::NAN, f64::INFINITY] {
            let message = check_ms("median_ms", ms).unwrap_err().to_string();
            assert!(message.starts_with("median_ms is ") && message.contains("1e-6"), "{message}");
        }
        assert_eq!(check_ms("median_ms", 0.0052), Ok(()));
        let message = check_amount("tflops", 1e300).unwrap_err().to_string();
        assert_eq!(message, "tflops is 1e300; it is from 0 to 1e9");
        assert!(check_amount("spread_pct", -0.1).is_err());
        assert_eq!(check_amount("spread_pct", 0.0), Ok(()));
    }
}
