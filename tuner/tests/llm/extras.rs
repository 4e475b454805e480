//! What a server is told beside the protocol, and replies in other forms than usual.

use serde_json::json;
use tuner::llm::{Extras, Message, Provider};

use crate::llm_support::{Act, Server, client, json_response, response, says};

fn ask(extras: Extras, act: Act) -> (String, Server) {
    let server = Server::start([act]);
    let (client, _) = client(&server.url);
    let reply = client.with(extras).complete(&[Message::user("Propose.")], None).unwrap();
    (reply.text, server)
}

#[test]
fn headers_query_and_temperature_go_into_the_request() {
    let extras = Extras {
        headers: vec!["x-team=kernels".parse().unwrap()],
        query: vec!["api-version=2024-10-21".to_owned()],
        temperature: Some(0.25),
        stream: false,
    };
    let (_, server) = ask(extras, says("yes"));
    let request = &server.requests()[0];
    assert!(request.head.contains("/chat/completions?api-version=2024-10-21 HTTP"), "{}", request.head);
    assert!(request.head.contains("x-team: kernels"), "{}", request.head);
    assert_eq!((&request.body["temperature"], request.body.get("stream")), (&json!(0.25), None));
}

#[test]
fn a_reply_in_pieces_is_read_whether_or_not_it_was_asked_for() {
    let pieces = "data: {\"choices\":[{\"delta\":{\"content\":\"He\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"llo\"}}]}\n\ndata: [DONE]\n\n";
    for stream in [true, false] {
        let extras = Extras { stream, ..Extras::default() };
        let (text, server) = ask(extras, response("200 OK", "Content-Type: text/event-stream\r\n", pieces));
        assert_eq!(text, "Hello");
        assert_eq!(server.requests()[0].body["stream"] == true, stream);
    }
}

#[test]
fn a_reply_that_came_to_its_limit_says_so() {
    for (finish, cut_short) in [("length", true), ("stop", false)] {
        let body = json!({ "choices": [{ "message": { "content": "{\"proposals\": [" }, "finish_reason": finish }] });
        let server = Server::start([json_response("200 OK", &body)]);
        let reply = client(&server.url).0.complete(&[Message::user("Propose.")], None).unwrap();
        assert_eq!(reply.cut_short, cut_short);
    }
}

#[test]
fn a_tool_call_is_an_answer() {
    let call = json!({ "function": { "name": "propose", "arguments": "{\"proposals\": []}" } });
    let body =
        json!({ "choices": [{ "message": { "content": null, "tool_calls": [call] }, "finish_reason": "tool_calls" }] });
    let (text, _) = ask(Extras::default(), json_response("200 OK", &body));
    assert_eq!(text, "{\"proposals\": []}");
}
