//! The Anthropic provider against a server that speaks its protocol, and misspeaks it.

use std::sync::Arc;
use std::time::Duration;

use crate::llm_support::{SECRET, Server, json_response, response};
use serde_json::{Value, json};
use tuner::llm::{Anthropic, JsonSchema, Key, Limits, LlmError, Message, Provider, Reply, Retry, Usage};

fn client(url: &str) -> Anthropic {
    let key = Key::from_lookup("ANTHROPIC_API_KEY", |_| Ok(SECRET.to_owned())).unwrap();
    let retry = Retry { attempts: 2, sleep: Arc::new(|_| ()), ..Retry::default() };
    let limits = Limits { whole: Duration::from_secs(2), ..Limits::default() };
    Anthropic::new(url, "claude-test", key, limits, retry).unwrap()
}

fn ask(client: &Anthropic) -> Result<Reply, LlmError> {
    let wanted = JsonSchema { name: "proposals".into(), schema: json!({"type": "object"}) };
    client.complete(&[Message::system("Be brief."), Message::user("Propose.")], Some(&wanted))
}

fn answer(content: &Value) -> Value {
    json!({
        "type": "message", "role": "assistant", "model": "claude-test-2026", "content": content,
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 100, "cache_read_input_tokens": 7, "output_tokens": 20},
    })
}

fn called() -> Value {
    answer(&json!([
        {"type": "text", "text": "Here you are."},
        {"type": "tool_use", "id": "t1", "name": "proposals", "input": {"proposals": []}},
    ]))
}

#[test]
fn a_forced_tool_call_is_asked_for_and_its_input_is_the_reply() {
    let server = Server::start([json_response("200 OK", &called())]);
    let reply = ask(&client(&server.url)).unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str()), (r#"{"proposals":[]}"#, "claude-test-2026"));
    assert_eq!(reply.usage, Usage { input_tokens: 107, output_tokens: 20 });
    let request = &server.requests()[0];
    let head = request.head.to_lowercase();
    assert!(head.starts_with("post /v1/messages "), "{head}");
    assert!(head.contains(&format!("x-api-key: {SECRET}")) && head.contains("anthropic-version: 2023-06-01"), "{head}");
    assert!(!head.contains("authorization"));
    let body = &request.body;
    assert_eq!((&body["system"], &body["model"]), (&json!("Be brief."), &json!("claude-test")));
    assert_eq!(body["messages"], json!([{"role": "user", "content": "Propose."}]));
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "proposals"}));
    assert_eq!(body["tools"][0]["input_schema"], json!({"type": "object"}));
    assert!(body["max_tokens"].as_u64().unwrap() > 1000);
}

#[test]
fn an_overloaded_and_a_limited_server_are_asked_again_and_the_reply_says_why() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    for (status, reason) in [("529 Overloaded", "HTTP 529: Overloaded"), ("429 Too Many Requests", "HTTP 429")] {
        let server = Server::start([json_response(status, &overloaded), json_response("200 OK", &called())]);
        let reply = ask(&client(&server.url)).unwrap();
        assert!(reply.retried.len() == 1 && reply.retried[0].contains(reason), "{:?}", reply.retried);
        let server = Server::start([json_response(status, &overloaded), json_response(status, &overloaded)]);
        let error = ask(&client(&server.url)).unwrap_err();
        assert!(error.is_transient() && error.to_string().contains("Overloaded"), "{error}");
    }
}

#[test]
fn a_model_that_refuses_a_forced_tool_call_is_asked_without_it_from_then_on() {
    let message = "tool_choice forces tool use, which is not compatible with thinking";
    let refused = json_response("400 Bad Request", &json!({"error": {"message": message}}));
    let said = || json_response("200 OK", &answer(&json!([{"type": "thinking"}, {"type": "text", "text": "{}"}])));
    let server = Server::start([refused, said(), said()]);
    let client = client(&server.url);
    assert_eq!([ask(&client).unwrap().text, ask(&client).unwrap().text], ["{}", "{}"]);
    let with_tool: Vec<bool> = server.requests().iter().map(|request| request.body.get("tools").is_some()).collect();
    assert_eq!(with_tool, [true, false, false]);
}

#[test]
fn the_key_is_in_no_error_and_the_remedies_name_its_variable() {
    let bodies = [
        ("401 Unauthorized", json!({"error": {"message": format!("invalid x-api-key {SECRET}")}})),
        ("400 Bad Request", json!({"error": {"message": SECRET}})),
        ("200 OK", json!({"content": SECRET})),
        ("200 OK", answer(&json!([]))),
    ];
    for (status, body) in bodies {
        let server = Server::start([json_response(status, &body)]);
        let client = client(&server.url);
        let error = ask(&client).unwrap_err();
        assert!(!format!("{error} {error:?} {client:?} {}", client.name()).contains(SECRET), "{error}");
        if status.starts_with("401") {
            assert!(error.to_string().contains("check the key in ANTHROPIC_API_KEY"), "{error}");
        }
    }
    let server = Server::start([response("401 Unauthorized", "", "")]);
    let without = Anthropic::new(&server.url, "m", None, Limits::default(), Retry::default()).unwrap();
    assert!(ask(&without).unwrap_err().to_string().contains("set ANTHROPIC_API_KEY"));
}
