//! The OpenAI provider against a real server with every fault a server can have.

use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant, SystemTime};

use crate::llm_support::{Act, Request, SECRET, Server, ask, client, completion, json_response, response, says};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tuner::llm::{JsonSchema, Key, Limits, LlmError, Message, OpenAi, Provider, Retry, Usage};

#[test]
fn an_answer_comes_back_with_its_model_and_its_cost() {
    let (reply, server, waits) = ask([says("hello")]);
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str()), ("hello", "test-model-2026"));
    assert_eq!(reply.usage, Usage { input_tokens: 100, output_tokens: 20 });
    assert!(waits.is_empty());
    let request = &server.requests()[0];
    assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", request.head);
    assert_eq!(request.body, json!({"model": "test-model", "messages": [{"role": "user", "content": "Propose."}]}));
}

#[test]
fn a_reply_that_unpacks_to_more_than_the_limit_is_refused() {
    let gzip = |bytes: &[u8]| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    };
    let act = |body: Vec<u8>| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        Act::Send([head.into_bytes(), body].concat())
    };
    let bomb = gzip(&vec![b' '; 16 << 20]);
    assert!(bomb.len() < 64 << 10, "smaller on the wire than the limit of the test's client");
    let error = ask([act(bomb)]).0.unwrap_err();
    assert!(matches!(error, LlmError::TooLarge { limit_bytes: 65536 }), "{error:?}");
    let reply = ask([act(gzip(completion("hello").to_string().as_bytes()))]).0.unwrap();
    assert_eq!(reply.text, "hello");
}

#[test]
fn an_answer_in_parts_is_put_together() {
    let body = json!({"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]}}]});
    let (reply, ..) = ask([json_response("200 OK", &body)]);
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str(), reply.usage), ("ab", "test-model", Usage::default()));
}

#[test]
fn a_refused_key_is_not_tried_again_and_the_remedy_names_its_variable() {
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let (result, server, waits) = ask([json_response(status, &json!({"error": {"message": "Incorrect API key"}}))]);
        let error = result.unwrap_err();
        assert!(matches!(error, LlmError::Unauthorized { .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.contains("Incorrect API key") && message.contains("check the key in TEST_KEY"), "{message}");
        assert_eq!((server.requests().len(), waits.len()), (1, 0));
    }
}

#[test]
fn without_a_key_the_remedy_is_to_set_one_and_no_header_is_sent() {
    let server = Server::start([response("401 Unauthorized", "", "")]);
    let client = OpenAi::new(&server.url, "m", None, Limits::default(), Retry::default()).unwrap();
    let message = client.complete(&[Message::user("Hi")], None).unwrap_err().to_string();
    assert!(message.contains("set OPENAI_API_KEY") && message.contains("--llm-key-env"), "{message}");
    assert!(!server.requests()[0].head.to_lowercase().contains("authorization"));
}

#[test]
fn a_limited_rate_is_waited_out_for_the_seconds_the_server_asks() {
    let limited = response("429 Too Many Requests", "Retry-After: 7\r\n", "slow down");
    let (reply, server, waits) = ask([limited, says("hello")]);
    assert_eq!(reply.unwrap().text, "hello");
    assert_eq!((waits, server.requests().len()), (vec![Duration::from_secs(7)], 2));
}

#[test]
fn a_limited_rate_is_waited_out_until_the_date_the_server_names() {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(40));
    let (reply, _, waits) =
        ask([response("429 Too Many Requests", &format!("Retry-After: {date}\r\n"), ""), says("x")]);
    reply.unwrap();
    assert!((Duration::from_secs(30)..=Duration::from_secs(40)).contains(&waits[0]), "{waits:?}");
}

#[test]
fn a_rate_that_stays_limited_ends_after_the_attempts_with_no_wait_beyond_the_cap() {
    let limited = || response("429 Too Many Requests", "Retry-After: 86400\r\n", r#"{"error": {"message": "tokens"}}"#);
    let (result, server, waits) = ask([limited(), limited(), limited()]);
    let error = result.unwrap_err();
    assert!(matches!(error, LlmError::RateLimited { .. }), "{error:?}");
    assert!(error.to_string().contains("(HTTP 429: tokens); wait a while"), "{error}");
    assert_eq!((waits, server.requests().len()), (vec![Duration::from_secs(60); 2], 3));
}

#[test]
fn a_spent_quota_is_not_waited_for() {
    let body = json!({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}});
    let (result, _, waits) = ask([json_response("429 Too Many Requests", &body)]);
    let error = result.unwrap_err();
    assert!(matches!(error, LlmError::OutOfQuota { .. }) && error.to_string().contains("add credit"), "{error}");
    assert!(waits.is_empty());
}

#[test]
fn a_server_that_fails_once_is_asked_again() {
    let (reply, server, waits) = ask([response("500 Internal Server Error", "", "oops"), says("hello")]);
    assert_eq!(reply.unwrap().text, "hello");
    assert_eq!((waits.len(), server.requests().len()), (1, 2));
}

#[test]
fn a_server_that_keeps_failing_is_given_up_with_its_own_words() {
    let (result, ..) = ask([(); 3].map(|()| response("503 Service Unavailable", "", "overloaded\r\nsorry")));
    let message = result.unwrap_err().to_string();
    assert!(message.contains("(HTTP 503: overloaded sorry); try again later"), "{message}");
}

#[test]
fn a_hung_socket_ends_at_the_time_limit() {
    let start = Instant::now();
    let (result, _, waits) = ask([Act::Hang, Act::Hang, Act::Hang]);
    let error = result.unwrap_err();
    assert!(matches!(error, LlmError::Timeout { .. }), "{error:?}");
    assert!(
        error.to_string().contains("did not finish within 0.6 s") && error.to_string().contains("raise"),
        "{error}"
    );
    assert_eq!(waits.len(), 2);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[test]
fn a_body_cut_short_is_asked_for_again() {
    let cut = || {
        let whole = completion("hello").to_string();
        let (head, length) = ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n", whole.len());
        Act::Send(format!("{head}Content-Length: {length}\r\n\r\n{}", &whole[..length / 2]).into_bytes())
    };
    let (reply, _, waits) = ask([cut(), says("hello")]);
    assert_eq!((reply.unwrap().text.as_str(), waits.len()), ("hello", 1));
    let (result, ..) = ask([cut(), cut(), cut()]);
    let error = result.unwrap_err();
    assert!(matches!(error, LlmError::TruncatedBody { .. }) && error.to_string().contains("try again"), "{error:?}");
}

#[test]
fn a_chunked_body_cut_short_and_json_that_stops_in_its_middle_count_as_cut() {
    let chunked =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{\"choices\": [";
    let (result, ..) = ask([(); 3].map(|()| Act::Send(chunked.into())));
    assert!(matches!(result.as_ref().unwrap_err(), LlmError::TruncatedBody { .. }), "{result:?}");
    let (result, ..) =
        ask([(); 3].map(|()| response("200 OK", "Content-Type: application/json\r\n", "{\"choices\": [")));
    assert!(matches!(result.as_ref().unwrap_err(), LlmError::TruncatedBody { .. }), "{result:?}");
}

#[test]
fn a_web_page_in_place_of_json_is_named_as_such() {
    let (result, _, waits) =
        ask([response("200 OK", "Content-Type: text/html\r\n", "<html><body>Welcome</body></html>")]);
    let error = result.unwrap_err();
    assert!(matches!(error, LlmError::NotJson { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("text/html") && message.contains("Welcome") && message.contains("/v1"), "{message}");
    assert!(waits.is_empty());
}

#[test]
fn json_that_is_no_completion_says_what_is_missing() {
    for (body, detail) in [
        (json!({}), "choices"),
        (json!({"choices": []}), "empty"),
        (json!({"choices": [{"message": 3}]}), "invalid type"),
        (json!({"error": {"message": "upstream gone"}}), "upstream gone"),
        (json!([1]), "invalid type"),
        (json!(null), "invalid type"),
    ] {
        let (result, ..) = ask([json_response("200 OK", &body)]);
        let error = result.unwrap_err();
        assert!(matches!(error, LlmError::Malformed { .. }), "{body}: {error:?}");
        assert!(error.to_string().contains(detail), "{body}: {error}");
    }
}

#[test]
fn a_valid_answer_that_says_nothing_is_an_error_with_its_reason() {
    for (message, reason) in [
        (json!({"content": ""}), "finish_reason length"),
        (json!({"content": null, "refusal": "I cannot"}), "I cannot"),
        (json!({"content": " \n"}), "finish_reason length"),
    ] {
        let body = json!({"choices": [{"message": message, "finish_reason": "length"}]});
        let (result, ..) = ask([json_response("200 OK", &body)]);
        let error = result.unwrap_err();
        assert!(error.is_slip() && error.to_string().contains(reason), "{error}");
        let is_refusal = matches!(error, LlmError::Refused { .. });
        assert_eq!(error.to_string().contains("output-token limit"), !is_refusal, "{error}");
    }
}

#[test]
fn a_huge_body_is_not_read_to_its_end() {
    let (result, _, waits) = ask([says(&"x".repeat(16 << 20))]);
    let error = result.unwrap_err();
    assert!(matches!(error, LlmError::TooLarge { limit_bytes: 65_536 }), "{error:?}");
    assert!(waits.is_empty());
}

#[test]
fn a_huge_error_page_still_counts_by_its_status() {
    let (result, ..) = ask([response("404 Not Found", "", &"x".repeat(1 << 20))]);
    assert!(matches!(result.as_ref().unwrap_err(), LlmError::Rejected { status: 404, .. }), "{result:?}");
}

#[test]
fn an_unknown_model_is_rejected_with_the_servers_words_and_not_tried_again() {
    for body in [
        json!({"error": {"message": "no such model"}}),
        json!({"error": "no such model"}),
        json!({"detail": "no such model"}),
        json!({"message": "no such model"}),
    ] {
        let (result, _, waits) = ask([json_response("404 Not Found", &body)]);
        let message = result.unwrap_err().to_string();
        assert!(message.contains("no such model); check the model name"), "{message}");
        assert!(waits.is_empty());
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let (result, server, _) = ask([response("302 Found", "Location: http://elsewhere.example/\r\n", "")]);
    let message = result.unwrap_err().to_string();
    assert!(message.contains("elsewhere.example") && message.contains("base URL"), "{message}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_key_that_a_server_repeats_in_its_headers_is_not_in_the_error() {
    let location = format!("Location: http://127.0.0.1/{SECRET}\r\n");
    let content_type = format!("Content-Type: text/{SECRET}\r\n");
    for act in [response("302 Found", &location, ""), response("200 OK", &content_type, "hello")] {
        let error = ask([act]).0.unwrap_err();
        assert!(error.to_string().contains("[redacted]") && !format!("{error} {error:?}").contains(SECRET), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_tried_again_and_then_named_as_unreachable() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (client, waits) = client(&format!("http://127.0.0.1:{port}/v1"));
    let error = client.complete(&[Message::user("Hi")], None).unwrap_err();
    assert!(
        matches!(error, LlmError::Transport { .. }) && error.to_string().contains("check the base URL"),
        "{error:?}"
    );
    assert_eq!(waits.lock().unwrap().len(), 2);
}

#[test]
fn bytes_that_are_no_http_are_an_error_and_not_a_crash() {
    let (result, ..) = ask([(); 3].map(|()| Act::Send(b"\x00\xffSSH-2.0-nope\r\n\r\n".to_vec())));
    assert!(result.unwrap_err().is_transient());
}

#[test]
fn a_schema_is_sent_where_it_is_accepted() {
    let server = Server::start([says("x")]);
    let wanted = JsonSchema { name: "proposals".into(), schema: json!({"type": "object"}) };
    client(&server.url).0.complete(&[Message::user("Hi")], Some(&wanted)).unwrap();
    let json_schema = json!({"name": "proposals", "strict": true, "schema": {"type": "object"}});
    let sent = &server.requests()[0].body["response_format"];
    assert_eq!(*sent, json!({"type": "json_schema", "json_schema": json_schema}));
}

#[test]
fn a_server_that_refuses_the_schema_is_asked_for_a_call_of_a_tool_then_for_any_json_and_then_for_nothing() {
    let refused = || json_response("400 Bad Request", &json!({"error": {"message": "response_format unsupported"}}));
    let refused_again = json_response("422 Unprocessable Entity", &json!({"detail": "json_object unsupported"}));
    let (no_schema, no_tool) = (refused(), refused());
    let acts = [no_schema, says("zero"), no_tool, says("one"), says("two"), refused_again, says("three"), says("four")];
    let server = Server::start(acts);
    let (client, waits) = client(&server.url);
    let wanted = JsonSchema { name: "proposals".into(), schema: json!({"type": "object"}) };
    for expected in ["zero", "one", "two", "three", "four"] {
        assert_eq!(client.complete(&[Message::user("Hi")], Some(&wanted)).unwrap().text, expected);
    }
    let requests = server.requests();
    let format = |request: &Request| match &request.body {
        body if body.get("tools").is_some() => "tool".to_owned(),
        body => body["response_format"]["type"].as_str().unwrap_or("plain").to_owned(),
    };
    let formats = requests.iter().map(format);
    let expected = ["json_schema", "tool", "tool", "json_object", "json_object", "json_object", "plain", "plain"]
        .map(str::to_owned);
    let function = json!({"name": "proposals", "parameters": {"type": "object"}});
    assert_eq!(requests[1].body["tools"], json!([{"type": "function", "function": function}]));
    assert_eq!(requests[1].body["tool_choice"]["function"]["name"], "proposals");
    assert_eq!(formats.collect::<Vec<_>>(), expected);
    assert!(waits.lock().unwrap().is_empty());
}

#[test]
fn a_base_url_that_cannot_be_used_is_refused_without_repeating_it() {
    for url in
        ["", "localhost", "ftp://host/v1", "https://user:hunter2@host/v1", "https://host/v1?key=hunter2", "http://"]
    {
        let result = OpenAi::new(url, "m", None::<Key>, Limits::default(), Retry::default());
        let message = result.unwrap_err().to_string();
        assert!(message.contains("give one like https://") && !message.contains("hunter2"), "{message}");
    }
}

#[test]
fn a_base_url_may_end_in_a_slash_or_in_the_whole_path() {
    for ending in ["/", "/chat/completions"] {
        let server = Server::start([says("x")]);
        client(&format!("{}{ending}", server.url)).0.complete(&[Message::user("Hi")], None).unwrap();
        assert!(server.requests()[0].head.starts_with("POST /v1/chat/completions "), "{ending}");
    }
}
