//! Links in Markdown.

use std::ops::Range;

/// The targets of a text's links, with the places where they stand: what is in brackets behind `](`, outside of blocks of code.
pub fn links(text: &str) -> Vec<(Range<usize>, &str)> {
    let mut found = Vec::new();
    let mut is_code = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.extend(targets(line).map(|at| (start + at.start..start + at.end, &line[at])));
        }
        start += line.len();
    }
    found
}

fn targets(line: &str) -> impl Iterator<Item = Range<usize>> {
    line.match_indices("](").filter_map(move |(at, opening)| {
        let start = at + opening.len();
        let len = line[start..].find(')')?;
        Some(start..start + len)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_where_they_stand_and_none_in_code() {
        let text = "A [page](a.md) and [one](b/c.md#d).\n```rust\nlet x = [f32](1);\n```\n[last](e)\n";
        let found: Vec<_> = links(text).into_iter().map(|(at, link)| (&text[at], link)).collect();
        assert_eq!(found, [("a.md", "a.md"), ("b/c.md#d", "b/c.md#d"), ("e", "e")]);
        assert!(links("[open](without end\n").is_empty());
    }
}
