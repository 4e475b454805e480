//! Replies that come in pieces, as server-sent events, put together into what would have come at once.

use serde_json::{Map, Value, json};

/// The reply that the events of `text` make up; none if they are no protocol's that is known.
///
/// OpenAI's pieces are in `choices[0].delta`, Anthropic's in blocks that begin, grow and end. An error among them is the reply.
pub fn assemble(text: &str) -> Option<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let events: Vec<Value> = data.filter_map(|data| serde_json::from_str(data).ok()).collect();
    if let Some(error) = events.iter().find(|event| event.get("error").is_some_and(|error| !error.is_null())) {
        return Some(error.clone());
    }
    let first = events.first()?;
    if first.get("choices").is_some() {
        Some(completion(&events))
    } else if first["type"] == "message_start" {
        Some(message(&events))
    } else {
        None
    }
}

fn completion(events: &[Value]) -> Value {
    let (mut content, mut arguments) = (String::new(), String::new());
    let (mut finish, mut usage) = (Value::Null, Value::Null);
    for event in events {
        let choice = &event["choices"][0];
        content += choice["delta"]["content"].as_str().unwrap_or_default();
        arguments += choice["delta"]["tool_calls"][0]["function"]["arguments"].as_str().unwrap_or_default();
        latest(&mut finish, &choice["finish_reason"]);
        latest(&mut usage, &event["usage"]);
    }
    let calls = (!arguments.is_empty()).then(|| json!([{ "function": { "arguments": arguments } }]));
    json!({
        "model": events[0]["model"],
        "choices": [{ "message": { "content": content, "tool_calls": calls }, "finish_reason": finish }],
        "usage": usage,
    })
}

fn message(events: &[Value]) -> Value {
    let start = &events[0]["message"];
    let mut usage = start["usage"].as_object().cloned().unwrap_or_else(Map::new);
    let mut blocks: Vec<Value> = Vec::new();
    let (mut input, mut reason) = (String::new(), Value::Null);
    for event in events {
        match event["type"].as_str().unwrap_or_default() {
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" => {
                input += event["delta"]["partial_json"].as_str().unwrap_or_default();
                let more = event["delta"]["text"].as_str().unwrap_or_default();
                if let Some(Value::String(text)) = blocks.last_mut().and_then(|block| block.get_mut("text")) {
                    *text += more;
                }
            }
            "content_block_stop" if !input.is_empty() => {
                let whole = serde_json::from_str(&std::mem::take(&mut input)).unwrap_or(Value::Null);
                if let Some(block) = blocks.last_mut() {
                    block["input"] = whole;
                }
            }
            "message_delta" => {
                latest(&mut reason, &event["delta"]["stop_reason"]);
                usage.extend(event["usage"].as_object().cloned().unwrap_or_default());
            }
            _ => {}
        }
    }
    json!({ "model": start["model"], "content": blocks, "stop_reason": reason, "usage": usage })
}

fn latest(known: &mut Value, told: &Value) {
    if !told.is_null() {
        *known = told.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_in_pieces_is_that_which_would_have_come_at_once() {
        let text = r#"
: a comment
data: {"model":"m","choices":[{"delta":{"role":"assistant","content":"Hel"}}]}

data: {"model":"m","choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}

data: {"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}

data: [DONE]
"#;
        let whole = assemble(text).unwrap();
        assert_eq!(whole["choices"][0]["message"]["content"], "Hello");
        assert_eq!(
            (&whole["choices"][0]["finish_reason"], &whole["usage"]["prompt_tokens"]),
            (&"stop".into(), &3.into())
        );
    }

    #[test]
    fn a_message_in_blocks_is_that_which_would_have_come_at_once() {
        let text = r#"
event: message_start
data: {"type":"message_start","message":{"model":"c","usage":{"input_tokens":9,"output_tokens":1}}}
data: {"type":"content_block_start","content_block":{"type":"text","text":""}}
data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"so"}}
data: {"type":"content_block_stop"}
data: {"type":"content_block_start","content_block":{"type":"tool_use","input":{}}}
data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}
data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"1}"}}
data: {"type":"content_block_stop"}
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}
"#;
        let whole = assemble(text).unwrap();
        assert_eq!(whole["content"][0]["text"], "so");
        assert_eq!(whole["content"][1]["input"]["a"], 1);
        assert_eq!((&whole["usage"]["input_tokens"], &whole["usage"]["output_tokens"]), (&9.into(), &7.into()));
    }

    #[test]
    fn an_error_among_the_events_is_the_reply_and_other_text_is_none() {
        assert_eq!(assemble("data: {\"error\":{\"message\":\"no\"}}\n").unwrap()["error"]["message"], "no");
        assert_eq!(assemble("hello"), None);
        assert_eq!(assemble("data: {\"ping\":1}"), None);
    }
}
