//! The whole command against a real OpenAI-compatible server: LiteLLM's proxy with canned replies.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Tuner;
use serde_json::{Value, json};

/// The key that the server asks for.
const KEY: &str = "sk-litellm-1c0ffee2";
/// Starting it takes seconds of importing on a slow machine.
const START_LIMIT: Duration = Duration::from_secs(120);

/// LiteLLM's proxy, ended with the test.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// A server whose model `canned` always says `reply`.
    fn start(site: &std::path::Path, tuner: &Tuner, reply: &str) -> Server {
        let config = tuner.folder().join("litellm.yaml");
        // JSON is YAML.
        let model = json!({ "model": "openai/canned", "api_key": "none", "mock_response": reply });
        let models = json!([{ "model_name": "canned", "litellm_params": model }]);
        let text = json!({ "model_list": models, "general_settings": { "master_key": KEY } });
        std::fs::write(&config, text.to_string()).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = std::fs::File::create(tuner.folder().join("litellm.log")).unwrap();
        let process = Command::new("python3")
            .args(["-m", "litellm.proxy.proxy_cli", "--host", "127.0.0.1", "--port", &port.to_string(), "--config"])
            .arg(&config)
            .current_dir(tuner.folder())
            .env("PYTHONPATH", site)
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut server = Server { process, port };
        server.wait(tuner);
        server
    }

    fn wait(&mut self, tuner: &Tuner) {
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.process.try_wait().unwrap();
            let log = || std::fs::read_to_string(tuner.folder().join("litellm.log")).unwrap_or_default();
            assert!(ended.is_none() && begin.elapsed() < START_LIMIT, "LiteLLM does not start:\n{}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_run_led_by_a_model_behind_litellm_ends_with_its_trials_in_the_journal() {
    let Some(site) = crate::python::site("a_run_led_by_a_model_behind_litellm_ends_with_its_trials_in_the_journal")
    else {
        return;
    };
    let schedule = |stages: u32, group: u32| {
        json!({ "why": "wide tiles reuse B", "schedule": {
            "family": "sm90", "tile_m": 128, "tile_n": 256, "stages": stages, "consumers": 2, "mode": "cooperative",
            "cluster_m": 2, "cluster_n": 1, "raster": { "order": "along_m", "group": group }
        } })
    };
    let reply = json!({ "proposals": [schedule(3, 8), schedule(4, 8), schedule(4, 16), schedule(4, 4)] }).to_string();
    let tuner = Tuner::new();
    let server = Server::start(&site, &tuner, &reply);
    let url = format!("http://127.0.0.1:{}/v1", server.port);

    let args = [
        "--shape",
        "4096x4096x4096",
        "--strategy",
        "llm",
        "--llm",
        &url,
        "--model",
        "canned",
        "--llm-key-env",
        "SOME_KEY",
    ];
    let budget = ["--evaluations", "8", "--generations", "2"];
    let mut command = tuner.command(&[args.as_slice(), &budget].concat());
    let output = command.env("SOME_KEY", KEY).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));

    let text = std::fs::read_to_string(tuner.out("history.jsonl")).unwrap();
    let trials = tuner.journaled();
    let by_model = format!("llm canned at {url}");
    assert_eq!(trials.iter().filter(|trial| trial["proposed_by"] == by_model.as_str()).count(), 4);
    assert_eq!(trials.iter().filter(|trial| trial["why"] == "wide tiles reuse B").count(), 4);
    // It says the same again, is asked to mend that once, and the built-in search stands in.
    assert_eq!(trials.len(), 8);

    let transcript = std::fs::read_to_string(tuner.out("transcript.jsonl")).unwrap();
    let exchanges: Vec<Value> = transcript.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(exchanges.iter().map(|exchange| &exchange["repair"]).collect::<Vec<_>>(), [false, false, true]);
    assert!(exchanges.iter().all(|exchange| exchange["reply"] == reply.as_str() && exchange["error"].is_null()));
    assert!(exchanges.iter().all(|exchange| exchange["usage"]["output_tokens"].as_u64().unwrap() > 0));
    for (name, text) in [("journal", text), ("transcript", transcript)] {
        assert!(!text.contains(KEY), "the key is in the {name}");
    }

    // Another key is refused by the server, and the run goes on without the model.
    let refused = tuner.command(&[args.as_slice(), &budget, &["--out", "refused"]].concat());
    let output = { refused }.env("SOME_KEY", "sk-wrong").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("for the rest of this search") && !told.contains("sk-wrong"), "{told}");
}
