//! A real HTTP server on loopback that answers by script, with every fault a server can have.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tuner::llm::{Key, Limits, LlmError, Message, OpenAi, Provider, Reply, Retry};

/// A key that occurs nowhere else.
pub const SECRET: &str = "sk-test-4f1c9b7e2d";

/// What the server does with one connection.
pub enum Act {
    /// Sends these bytes and closes.
    Send(Vec<u8>),
    /// Says nothing and keeps the connection open.
    Hang,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Request {
    /// Request line and headers.
    pub head: String,
    /// The JSON body.
    pub body: Value,
}

/// A server that plays a script, one connection an act.
pub struct Server {
    /// The base URL to give to a client.
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub fn start(script: impl IntoIterator<Item = Act> + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        let script: Vec<Act> = script.into_iter().collect();
        thread::spawn(move || {
            let mut kept_open = Vec::new();
            for act in script {
                let (mut stream, _) = listener.accept().unwrap();
                noted.lock().unwrap().push(read_request(&stream));
                match act {
                    // The client may have hung up already, for example over a body that is too large.
                    Act::Send(bytes) => drop(stream.write_all(&bytes)),
                    Act::Hang => kept_open.push(stream),
                }
            }
            if !kept_open.is_empty() {
                thread::sleep(Duration::from_secs(30));
            }
        });
        Server { url, requests }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_request(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Request { head, body: serde_json::from_slice(&body).unwrap() }
}

/// A response of `status` with `headers` (each ending in `\r\n`) and `body`.
pub fn response(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    Act::Send(
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
            .into_bytes(),
    )
}

pub fn json_response(status: &str, body: &Value) -> Act {
    response(status, "Content-Type: application/json\r\n", &body.to_string())
}

/// A success whose model says `text`.
pub fn says(text: &str) -> Act {
    json_response("200 OK", &completion(text))
}

pub fn completion(text: &str) -> Value {
    json!({
        "model": "test-model-2026",
        "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 20 },
    })
}

/// The waits that a client asked for, none of them really waited.
pub type Waits = Arc<Mutex<Vec<Duration>>>;

/// A client of `url` with the test's key and limits in milliseconds.
pub fn client(url: &str) -> (OpenAi, Waits) {
    let waits = Waits::default();
    let noted = Arc::clone(&waits);
    let sleep = Arc::new(move |wait| noted.lock().unwrap().push(wait));
    let retry = Retry { attempts: 3, sleep, ..Retry::default() };
    let limits =
        Limits { connect: Duration::from_millis(300), whole: Duration::from_millis(600), body_bytes: 64 << 10 };
    let key = Key::from_lookup("TEST_KEY", |_| Ok(SECRET.to_owned())).unwrap();
    (OpenAi::new(url, "test-model", key, limits, retry).unwrap(), waits)
}

/// What a client makes of `script`.
pub fn ask(script: impl IntoIterator<Item = Act> + Send + 'static) -> (Result<Reply, LlmError>, Server, Vec<Duration>) {
    let server = Server::start(script);
    let (client, waits) = client(&server.url);
    let result = client.complete(&[Message::user("Propose.")], None);
    let waits = waits.lock().unwrap().clone();
    (result, server, waits)
}
