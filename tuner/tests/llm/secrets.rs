//! The key reaches the server and nothing else: no log at any level, no error, no reply, no transcript.

use std::io;
use std::sync::{Arc, Mutex};

use crate::common::Tuner;
use crate::llm_support::{Act, SECRET, Server, client, json_response, response, says};
use serde_json::json;
use tuner::llm::{Message, Provider, Recorder};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Servers that repeat the key in every kind of body.
fn indiscreet_servers() -> Vec<Vec<Act>> {
    let message = json!({"error": {"message": format!("bad key {SECRET}"), "code": SECRET}});
    let plain = format!("Bearer {SECRET}");
    let three = |act: &dyn Fn() -> Act| vec![act(), act(), act()];
    vec![
        vec![says(&format!("your key is {SECRET}"))],
        vec![json_response("401 Unauthorized", &message)],
        vec![json_response("400 Bad Request", &message)],
        three(&|| json_response("429 Too Many Requests", &message)),
        three(&|| response("500 Internal Server Error", "", &plain)),
        vec![response("200 OK", "Content-Type: text/html\r\n", &plain)],
        vec![json_response("200 OK", &message)],
        vec![json_response("200 OK", &json!({"choices": [{"message": {"refusal": plain, "content": null}}]}))],
        vec![json_response("200 OK", &json!({"choices": SECRET}))],
        vec![Act::Hang, Act::Hang, Act::Hang],
        three(&|| Act::Send(format!("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{SECRET}").into_bytes())),
        three(&|| Act::Send(SECRET.as_bytes().to_vec())),
    ]
}

#[test]
fn the_key_never_appears_in_logs_errors_or_replies() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone()).init();

    let folder = tempfile::tempdir().unwrap();
    let transcript = folder.path().join("transcript.jsonl");
    for (index, script) in indiscreet_servers().into_iter().enumerate() {
        let server = Server::start(script);
        let recorder = Recorder::new(Arc::new(client(&server.url).0), &transcript).unwrap();
        let result = recorder.complete(&[Message::user("Propose.")], None);
        let shown = match &result {
            Ok(reply) => format!("{reply:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!shown.contains(SECRET), "server {index}: {shown}");
        let head = &server.requests()[0].head;
        assert!(head.to_lowercase().contains(&format!("authorization: bearer {SECRET}")), "server {index}: {head}");
    }
    let (client, _) = client("http://127.0.0.1:9/v1");
    assert!(!format!("{client:?} {}", client.name()).contains(SECRET));

    let recorded = std::fs::read_to_string(&transcript).unwrap();
    assert_eq!(recorded.lines().count(), indiscreet_servers().len());
    assert!(recorded.contains("[redacted]") && !recorded.contains(SECRET), "{recorded}");

    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    // Both the client's own records and those of the HTTP library were captured.
    assert!(text.contains("asking the LLM again") && text.contains("ureq"), "{text}");
    let leak = text.lines().find(|line| line.contains(SECRET));
    assert_eq!(leak, None);
}

#[test]
fn the_command_warns_of_a_key_that_would_travel_unencrypted() {
    let tuner = Tuner::new();
    let of = |url: &str| {
        // The cap is reached before the first request, so nothing leaves this machine.
        let args = ["--llm", url, "--model", "m", "--llm-max-minutes", "0", "--evaluations", "5", "--fresh"];
        let output = tuner.command(&args).env("OPENAI_API_KEY", SECRET).output().unwrap();
        assert!(output.status.success());
        let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!told.contains(SECRET), "{told}");
        told.contains("the LLM key travels unencrypted")
    };
    assert!(of("http://llm.invalid/v1") && !of("https://llm.invalid/v1") && !of("http://localhost:1/v1"));
}
