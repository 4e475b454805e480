//! What a person is told of proposals that cannot be tried.

use crate::llm::Rejected;

/// Reasons that one line has room for.
const REASONS: usize = 2;

/// How many there are, and what is wrong with most of them.
pub fn told(rejected: &[Rejected]) -> String {
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for Rejected { reason, .. } in rejected {
        let reason = reason.to_string();
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = reasons.len().saturating_sub(REASONS);
    let mut words: Vec<String> =
        reasons.into_iter().take(REASONS).map(|(reason, count)| format!("{count} × {reason}")).collect();
    words.extend(Some(format!("{more} more in the transcript")).filter(|_| more > 0));
    let (count, s) = (rejected.len(), if rejected.len() == 1 { "" } else { "s" });
    format!("{count} proposal{s} of the model cannot be tried: {}", words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_are_told_the_most_frequent_first() {
        let rejected = |reason: &str| Rejected { text: String::new(), reason: reason.into() };
        assert_eq!(told(&[rejected("no JSON")]), "1 proposal of the model cannot be tried: 1 × no JSON");
        let many = ["a", "b", "b", "c"].map(rejected);
        let words = told(&many);
        assert_eq!(words, "4 proposals of the model cannot be tried: 2 × b; 1 × a; 1 more in the transcript");
    }
}
