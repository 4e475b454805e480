//! JSON values anywhere in a text: bare, fenced, or amid prose; strict JSON first, JSON5 (single quotes, trailing
//! commas, comments) where that fails.

use serde_json::Value;

/// Deepest nesting that is read; a reply has five levels. Bounds the recursion of the JSON5 parser.
const MAX_DEPTH: usize = 32;
/// Most places where a value is looked for, and most bytes that are searched: bounds on the time of a hostile text.
const MAX_ATTEMPTS: usize = 512;
const MAX_BYTES: usize = 256 << 10;

/// The objects and arrays in `text`, outermost only, in order.
pub fn values(text: &str) -> Vec<Value> {
    let mut values = Vec::new();
    let mut rest = &text[..text.floor_char_boundary(MAX_BYTES)];
    for _ in 0..MAX_ATTEMPTS {
        let Some(start) = rest.find(['{', '[']) else { break };
        rest = &rest[start..];
        match strict(rest).or_else(|| json5(rest)) {
            Some((value, end)) => {
                values.push(value);
                rest = &rest[end..];
            }
            None => rest = &rest[1..],
        }
    }
    values
}

/// The JSON value that `text` begins with, and where it ends.
fn strict(text: &str) -> Option<(Value, usize)> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = stream.next()?.ok()?;
    Some((value, stream.byte_offset()))
}

fn json5(text: &str) -> Option<(Value, usize)> {
    let end = balanced(text)?;
    Some((json5::from_str(&text[..end]).ok()?, end))
}

/// Where the bracket that `text` begins with is closed, strings left aside.
fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (index, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth -= 1,
            (None, _) => {}
        }
        if depth > MAX_DEPTH {
            return None;
        }
        if depth == 0 {
            return Some(index + c.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_found_bare_fenced_and_amid_prose() {
        assert_eq!(values(r#"{"a":1}"#), [json!({"a": 1})]);
        assert_eq!(values("Sure!\n```json\n[1, {\"b\": \"]\"}]\n```\nDon't worry."), [json!([1, {"b": "]"}])]);
        assert_eq!(values("I [think] {\"a\":1} and {\"a\":2}"), [json!({"a": 1}), json!({"a": 2})]);
    }

    #[test]
    fn single_quotes_trailing_commas_and_comments_are_read() {
        assert_eq!(values("{'a': [1, 2,], /* why */ b: 'it\\'s',}"), [json!({"a": [1, 2], "b": "it's"})]);
    }

    #[test]
    fn what_was_cut_off_gives_the_whole_values_inside_it() {
        let text = r#"{"proposals":[{"schedule":{"a":1}},{"schedule":{"a":2}},{"sched"#;
        assert_eq!(values(text), [json!({"schedule": {"a": 1}}), json!({"schedule": {"a": 2}})]);
    }

    #[test]
    fn hostile_texts_are_read_quickly_and_without_a_crash() {
        for text in ["[".repeat(1 << 20), "{'".repeat(1 << 19), "{\"a\":".repeat(1 << 18), "{\"a ".repeat(1 << 18)] {
            assert!(values(&text).is_empty());
        }
    }
}
