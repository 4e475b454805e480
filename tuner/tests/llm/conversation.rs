//! Rounds with a model, from the task to proposals and back.

use std::sync::{LazyLock, Mutex};

use crate::llm_support::{Server, client, json_response, says};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::space::Space;
use autokernel_codegen::schedule::{Family, Schedule};
use autokernel_core::{Limiter, Occupancy, Placement};
use serde_json::{Value, json};
use tuner::GpuFacts;
use tuner::evaluate::Measurable;
use tuner::group_sizes::GroupSizes;
use tuner::known::Known;
use tuner::llm::{
    Candidates, Conversation, Feedback, Figures, JsonSchema, Left, LlmError, Message, Proposals, Provider, Rejected,
    Rejection, Reply, Resources, RooflineFacts, Task, Tried, Usage,
};
use tuner::outcome::{Failure, Measurement, Outcome};

/// A model that says its lines and keeps what it was asked.
struct Actor {
    lines: Mutex<Vec<String>>,
    asked: Mutex<Vec<Vec<Message>>>,
}

impl Actor {
    fn new<const N: usize>(mut lines: [&str; N]) -> Self {
        lines.reverse();
        Actor { lines: Mutex::new(lines.map(str::to_owned).into()), asked: Mutex::default() }
    }

    fn last_prompt(&self) -> String {
        self.asked.lock().unwrap().last().unwrap().last().unwrap().content.clone()
    }

    fn rounds(&self) -> Vec<usize> {
        self.asked.lock().unwrap().iter().map(Vec::len).collect()
    }
}

impl Provider for Actor {
    fn name(&self) -> String {
        "actor".into()
    }

    fn complete(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        assert!(wanted.is_some());
        self.asked.lock().unwrap().push(messages.to_vec());
        let text = self.lines.lock().unwrap().pop().expect("no line is left");
        let usage = Usage { input_tokens: 10, output_tokens: 1 };
        Ok(Reply { text, model: "actor".into(), usage, retried: vec![], cut_short: false })
    }
}

static TASK: LazyLock<Task> = LazyLock::new(|| {
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nn, Epilogue::builtin("leaky_relu", None).unwrap());
    let class = problem.class();
    let schedules = [Family::Sm90, Family::Sm80].map(|family| Space::new(family, &class, Arch::SM_90A));
    let schedules = schedules.iter().flat_map(|space| space.schedules().iter().copied());
    let gpu = GpuFacts {
        name: "NVIDIA H200".into(),
        sm_count: 132,
        shared_bytes_per_block: 232_448,
        shared_bytes_per_sm: 233_472,
        registers_per_sm: 65_536,
        l2_bytes: 50 << 20,
        memory_gb_per_s: 4000.0,
        matrix_tflops: 800.0,
    };
    let roofline = RooflineFacts {
        intensity_flops_per_byte: 1365.3,
        ridge_flops_per_byte: 200.0,
        limit_tflops: 800.0,
        limit_ms: 0.1718,
        compute_ms: 0.1718,
        memory_ms: 0.0252,
    };
    let default = class.default_schedule(Arch::SM_90A);
    Task {
        problem,
        shape: extents(4096, 4096, 4096),
        group_sizes: Default::default(),
        gpu,
        roofline: Some(roofline),
        cublas_ms: Some(0.25),
        candidates: Candidates::new(class, Arch::SM_90A, schedules),
        known_good: vec![Known { schedule: default, origin: "default for sm_90a".into() }],
        left: left(3),
    }
});

fn task() -> Task {
    TASK.clone()
}

fn left(rounds: u32) -> Left {
    Left { evaluations: 60, rounds, proposals_per_round: 15 }
}

/// The schedule of the default with some knobs changed.
fn schedule(changes: &Value) -> Value {
    let mut schedule = serde_json::to_value(TASK.known_good[0].schedule).unwrap();
    for (knob, value) in changes.as_object().unwrap() {
        schedule[knob] = value.clone();
    }
    schedule
}

fn typed(changes: &Value) -> Schedule {
    serde_json::from_value(schedule(changes)).unwrap()
}

fn reply(schedules: &[Value]) -> String {
    let proposals: Vec<Value> = schedules.iter().map(|s| json!({"why": "a test", "schedule": s})).collect();
    json!({ "proposals": proposals }).to_string()
}

fn untried(_: &Schedule) -> bool {
    false
}

fn propose<const N: usize>(lines: [&str; N]) -> (Result<Proposals, LlmError>, Actor) {
    let actor = Actor::new(lines);
    let result = Conversation::new(&task()).propose(&actor, None, &untried);
    (result, actor)
}

fn reasons(proposals: &Proposals) -> Vec<String> {
    proposals.rejected.iter().map(|rejected| rejected.reason.to_string()).collect()
}

#[test]
fn valid_proposals_come_back_in_order_with_their_reasons() {
    let (proposals, actor) = propose([&reply(&[schedule(&json!({"tile_n": 256})), schedule(&json!({"stages": 5}))])]);
    let proposals = proposals.unwrap();
    let found: Vec<Schedule> = proposals.valid.iter().map(|proposal| proposal.schedule).collect();
    assert_eq!(found, [typed(&json!({"tile_n": 256})), typed(&json!({"stages": 5}))]);
    assert_eq!(proposals.valid[0].why, "a test");
    assert_eq!((proposals.repaired, proposals.rejected.len(), actor.rounds()), (false, 0, vec![2]));
}

#[test]
fn proposals_are_found_however_they_are_wrapped() {
    let one = schedule(&json!({"stages": 5})).to_string();
    let single_quotes = one.replace('"', "'").replace('}', ",}");
    for text in [
        one.clone(),
        format!("[{one}]"),
        format!("Here's what I'd try:\n```json\n{{\"proposals\": [{{\"schedule\": {one}}}]}}\n```\nIt's fast."),
        format!("{{\"result\": {{\"configs\": [{{\"schedule\": {single_quotes}, \"why\": 'it fits',}},]}}}}"),
        format!("<think>Maybe {{\"schedule\": {{\"family\": \"sm90\"}}}}?</think>{{\"schedule\": {one}}}"),
        format!("{{\"proposals\": [{{\"schedule\": {one}}}, {{\"schedule\": {{\"fam"),
    ] {
        let proposals = propose([&text]).0.unwrap();
        assert_eq!(proposals.valid.len(), 1, "{text}");
        assert_eq!(proposals.valid[0].schedule, typed(&json!({"stages": 5})), "{text}");
        assert!(proposals.rejected.is_empty(), "{text}: {:?}", proposals.rejected);
    }
}

#[test]
fn each_unusable_proposal_says_why() {
    let changes = [
        (json!({"stages": 1}), "rule `stages_two_to_sixteen`"),
        (json!({"tile_m": 256, "tile_n": 256}), "rule `accumulators_fit_registers`"),
        (json!({"stages": 2}), "stages = 2 is not one of its legal values: 3, 4"),
        (json!({"raster_group": 7}), "raster_group = 7 is not one of its legal values: 1, 2"),
        (json!({"slices_k": 2}), "no knob `slices_k`"),
        (json!({"stages": "4"}), "the rules allow 2 … 16"),
        (json!({"stages": -4}), "not a schedule"),
        (json!({"family": "sm100"}), "family = \"sm100\" cannot be tried here; it is sm90 or sm80"),
        (json!({"family": null}), "`family` is missing"),
    ];
    let mut schedules: Vec<Value> = changes.iter().map(|(change, _)| schedule(change)).collect();
    schedules.extend([json!("fast"), json!([]), schedule(&json!({})), schedule(&json!({}))]);
    let proposals = propose([&reply(&schedules)]).0.unwrap();
    assert_eq!(proposals.valid.len(), 1);
    let reasons = reasons(&proposals);
    assert_eq!(reasons.len(), schedules.len() - 1);
    let expected =
        changes.iter().map(|(_, reason)| *reason).chain(["`family` is missing", "`family` is missing", "twice"]);
    for (reason, expected) in reasons.iter().zip(expected) {
        assert!(reason.contains(expected), "{reason:?} lacks {expected:?}");
    }
}

#[test]
fn a_schedule_outside_a_recorded_space_is_refused() {
    let (one, other) = (typed(&json!({"stages": 3, "tile_n": 64})), typed(&json!({"stages": 5})));
    let candidates = Candidates::new(task().problem.class(), Arch::SM_90A, [one, other, one]);
    assert_eq!(candidates.len(), 2);
    let actor = Actor::new([&reply(&[schedule(&json!({"stages": 3})), schedule(&json!({"stages": 5}))])]);
    let proposals = Conversation::new(&Task { candidates, ..task() }).propose(&actor, None, &untried).unwrap();
    assert_eq!(proposals.valid.len(), 1);
    assert!(reasons(&proposals)[0].contains("combination is not among"), "{:?}", proposals.rejected);
}

#[test]
fn a_gpu_admits_a_legal_combination_that_is_not_listed_and_still_refuses_what_breaks_a_rule() {
    let listed = [json!({"stages": 3, "tile_m": 256, "tile_n": 64}), json!({"stages": 4, "tile_n": 256})];
    let listed = listed.each_ref().map(typed);
    let candidates = Candidates::new(task().problem.class(), Arch::SM_90A, listed).measurable(Measurable::Legal);
    let proposed = [
        json!({"stages": 3, "tile_n": 256}),
        json!({"stages": 3, "tile_m": 256, "tile_n": 256}),
        json!({"stages": 5, "tile_n": 64}),
    ];
    let actor = Actor::new([&reply(&proposed.each_ref().map(schedule))]);
    let mut conversation = Conversation::new(&Task { candidates, ..task() });
    let proposals = conversation.propose(&actor, None, &untried).unwrap();
    let valid: Vec<Schedule> = proposals.valid.iter().map(|proposal| proposal.schedule).collect();
    assert_eq!(valid, [typed(&proposed[0])], "{:?}", proposals.rejected);
    let reasons = reasons(&proposals);
    assert!(reasons[0].contains("rule `accumulators_fit_registers`"), "{reasons:?}");
    assert!(reasons[1].contains("stages = 5 is not one of its legal values: 3, 4"), "{reasons:?}");
}

#[test]
fn only_the_prompt_of_a_replay_says_that_other_combinations_cannot_be_tried() {
    let prompt = |measurable| {
        let task = Task { candidates: task().candidates.measurable(measurable), ..task() };
        Conversation::new(&task).messages(None)[1].content.clone()
    };
    let told = "only combinations that were recorded can be tried";
    assert!(prompt(Measurable::Space).contains(told));
    assert!(!prompt(Measurable::Legal).contains(told));
}

#[test]
fn a_reply_in_prose_is_mended_once() {
    let (proposals, actor) = propose(["I would try larger tiles.", &reply(&[schedule(&json!({}))])]);
    let proposals = proposals.unwrap();
    assert_eq!((proposals.valid.len(), proposals.repaired), (1, true));
    assert_eq!(proposals.usage, Usage { input_tokens: 20, output_tokens: 2 });
    assert_eq!(actor.rounds(), [2, 4]);
    assert!(actor.last_prompt().contains("no proposal that could be read"));
}

#[test]
fn prose_twice_is_an_error_that_begins_with_the_prose_and_ends_with_its_remedy() {
    let (result, _) = propose(["Larger tiles.", "As I said, larger tiles."]);
    let error = result.unwrap_err();
    assert!(matches!(error, LlmError::Prose { .. }), "{error:?}");
    let message = error.to_string();
    assert!(
        message.contains("As I said") && message.ends_with("choose a model that follows instructions"),
        "{message}"
    );
}

/// A list that has no end was once called prose of a model that does not follow instructions.
#[test]
fn a_list_that_was_cut_short_is_no_prose() {
    let cut = r#"{"proposals": [{"schedule": {"family": "sm"#;
    let body = json!({ "choices": [{ "message": { "content": cut }, "finish_reason": "length" }] });
    let server = Server::start([json_response("200 OK", &body), json_response("200 OK", &body)]);
    let error = Conversation::new(&task()).propose(&client(&server.url).0, None, &untried).unwrap_err();
    assert!(matches!(error, LlmError::CutShort { .. }), "{error:?}");
    assert!(error.to_string().contains("output-token limit"), "{error}");
}

#[test]
fn proposals_that_all_fail_are_sent_back_with_their_reasons() {
    let bad = reply(&[schedule(&json!({"stages": 1}))]);
    let (proposals, actor) = propose([&bad, &reply(&[schedule(&json!({}))])]);
    assert_eq!(proposals.unwrap().valid.len(), 1);
    assert!(actor.last_prompt().contains("stages_two_to_sixteen"), "{}", actor.last_prompt());

    let proposals = propose([&bad, "I give up."]).0.unwrap();
    assert_eq!((proposals.valid.len(), proposals.rejected.len(), proposals.repaired), (0, 1, true));
}

#[test]
fn a_model_with_nothing_more_to_propose_is_no_error() {
    let proposals = propose([r#"{"proposals": []}"#, r#"{"proposals": []}"#]).0.unwrap();
    assert_eq!((proposals.valid.len(), proposals.rejected.len()), (0, 0));
}

#[test]
fn schedules_that_were_tried_are_not_proposed_again() {
    let tried = typed(&json!({}));
    let actor = Actor::new([&reply(&[schedule(&json!({})), schedule(&json!({"stages": 3}))])]);
    let proposals = Conversation::new(&task()).propose(&actor, None, &|schedule| *schedule == tried).unwrap();
    assert_eq!((proposals.valid.len(), reasons(&proposals)), (1, vec!["duplicate: already tried".to_owned()]));
}

#[test]
fn the_first_prompt_tells_all_that_decides() {
    let messages = Conversation::new(&task()).messages(None);
    assert_eq!(messages.len(), 2);
    let text = &messages[1].content;
    for part in [
        "leaky_relu(0.01)(A[m, k] · B) with m = 4096, n = 4096, k = 4096",
        "layout nn",
        "132 SMs",
        "232448 bytes a block",
        "0.1718 ms (800.0 TFLOP/s)",
        "compute bound. The arithmetic alone takes 0.1718 ms at the matrix units' ceiling, the least memory traffic 0.02520",
        "0.2500 ms, 549.8 TFLOP/s, 68.7 % of the roofline",
        "waves, the last",
        "# Kernel family sm90",
        "# Kernel family sm80",
        "- `raster_group` (1, 2, 4, 8, 16, 32)",
        "`shared_memory_fits`",
        "\"anyOf\"",
        "default for sm_90a): not measured for this shape",
        "60 evaluations are left in all, and 3 rounds with you",
        "Propose 15 distinct schedules",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn the_schema_keeps_to_what_strict_servers_accept() {
    let server = Server::start([says(&reply(&[schedule(&json!({}))]))]);
    Conversation::new(&task()).propose(&client(&server.url).0, None, &untried).unwrap();
    let schema = server.requests()[0].body["response_format"]["json_schema"]["schema"].clone();
    check_strict(&schema);
    let sm90 = &schema["properties"]["proposals"]["items"]["properties"]["schedule"]["anyOf"][0];
    assert_eq!(sm90["properties"]["family"], json!({"type": "string", "enum": ["sm90"]}));
    assert_eq!(sm90["properties"]["stages"], json!({"type": "integer", "enum": [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}));
    assert_eq!(sm90["properties"]["raster_order"], json!({"type": "string", "enum": ["along_m", "along_n"]}));
}

fn check_strict(schema: &Value) {
    let keywords = ["type", "enum", "anyOf", "items", "properties", "required", "additionalProperties"];
    let members = schema.as_object().unwrap();
    assert!(members.keys().all(|keyword| keywords.contains(&keyword.as_str())), "{schema}");
    if let Some(properties) = schema["properties"].as_object() {
        let mut required: Vec<&str> = schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        required.sort_unstable();
        assert!(required.iter().eq(properties.keys()), "{schema}");
        assert_eq!(schema["additionalProperties"], false);
        properties.values().for_each(check_strict);
    }
    members.get("items").into_iter().for_each(check_strict);
    members.get("anyOf").and_then(Value::as_array).into_iter().flatten().for_each(check_strict);
    if let Some(values) = members.get("enum").and_then(Value::as_array) {
        assert!(!values.is_empty());
    }
}

fn measured(changes: &Value, median_ms: f64) -> Tried {
    let occupancy = Occupancy { blocks_per_sm: 1, warps_per_sm: 12, percent: 18.75, limiter: Limiter::SharedMemory };
    let placement = Placement { tiles: 1024, slots: 132, waves: 7.7576, tail_pct: 75.76, utilization_pct: 96.97 };
    let resources =
        Resources { registers: Some(168), shared_bytes: 197_632, spill_bytes: 0, occupancy: Some(occupancy) };
    let figures = Figures {
        measurement: Measurement::new(median_ms, 0.4, 10),
        tflops: 137.438_953 / median_ms,
        roofline_pct: Some(17.18 / median_ms),
        times_cublas: Some(0.98),
        resources,
        placement: Some(placement),
    };
    Tried { schedule: typed(changes), became: Ok(figures) }
}

fn failed(changes: &Value, failure: Failure) -> Tried {
    Tried { schedule: typed(changes), became: Err(failure) }
}

fn feedback() -> Feedback {
    let better = json!({"tile_n": 256, "cluster_m": 2});
    Feedback {
        top: vec![measured(&better, 0.2), measured(&json!({"tile_n": 256}), 0.21)],
        anchors: vec![
            (TASK.known_good[0].clone(), Some(measured(&json!({}), 0.3).became)),
            (Known { schedule: typed(&better), origin: "tuned for 8192x8192x8192, 1.7 ms there".into() }, None),
        ],
        proposed: vec![
            measured(&better, 0.2),
            failed(&json!({"tile_n": 256, "stages": 3}), Failure::Compile { log: "ptxas error\n : too many".into() }),
            failed(&json!({"tile_n": 128}), Failure::WrongResult { detail: "C[3, 5] = NaN, want 1.5".into() }),
            failed(&json!({"tile_n": 64}), Failure::Timeout { limit_s: 30.0 }),
            failed(&json!({"stages": 6}), Failure::Crash { detail: "CUDA_ERROR_ILLEGAL_ADDRESS".into() }),
            failed(
                &json!({"stages": 8}),
                Failure::BrokenRule { rule: "shared_memory_fits".into(), detail: "9 > 8".into() },
            ),
        ],
        others: vec![
            measured(&json!({"tile_n": 192}), 0.31),
            failed(&json!({"tile_m": 64}), Failure::Crash { detail: "sticky".into() }),
        ],
        rejected: vec![
            Rejected { text: "{\"stages\":1}".into(), reason: "rule broken".into() },
            Rejected {
                text: "{\"stages\":5}".into(),
                reason: Rejection::AlreadyTried {
                    schedule: typed(&json!({"stages": 5})),
                    became: Some(Outcome::Measured(Measurement::new(0.25, 0.4, 10)).into()),
                },
            },
        ],
        left: left(1),
    }
}

#[test]
fn the_next_prompt_tells_what_became_of_every_proposal() {
    let actor = Actor::new([&reply(&[schedule(&json!({}))]), &reply(&[schedule(&json!({"stages": 3}))])]);
    let mut conversation = Conversation::new(&task());
    conversation.propose(&actor, None, &untried).unwrap();
    conversation.propose(&actor, Some(&feedback()), &untried).unwrap();
    assert_eq!(actor.rounds(), [2, 4]);
    let text = actor.last_prompt();
    for part in [
        "0.2000 ms ±0.4 %, 687.2 TFLOP/s, 85.9 % of the roofline, 0.980 x cuBLAS, 168 registers, 197632 bytes of shared memory",
        "an SM holds 1 blocks (12 warps, 19 %), limited by shared memory, 1024 tiles in 7.76 waves, the last 76 % full",
        "(default for sm_90a): 0.3000 ms ±0.4 % (+50.0 % on the best)",
        "(tuned for 8192x8192x8192, 1.7 ms there): not tried yet",
        "- cluster_m 2 → 1: 0.2100 ms ±0.4 % (+5.0 % on the best)",
        "- the best itself: 0.2000 ms",
        "did not compile: ptxas error | : too many",
        "wrong result: C[3, 5] = NaN, want 1.5",
        "timed out: run not finished after 30 s",
        "crashed: CUDA_ERROR_ILLEGAL_ADDRESS",
        "- {\"stages\":5}: duplicate: already tried: 0.2500 ms",
        "breaks rule `shared_memory_fits`: 9 > 8",
        "# Also tried, as differences from the best\n- tile_n 256 → 192, cluster_m 2 → 1: 0.3100 ms\n",
        "crashed: sticky",
        "- {\"stages\":1}: rule broken",
        "this is your last round",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn a_request_does_not_grow_from_round_to_round() {
    let line = reply(&[schedule(&json!({}))]);
    let actor = Actor::new([line.as_str(); 5]);
    let mut conversation = Conversation::new(&task());
    for round in 0..5 {
        let feedback = feedback();
        conversation.propose(&actor, (round > 0).then_some(&feedback), &untried).unwrap();
    }
    assert_eq!(actor.rounds(), [2, 4, 4, 4, 4]);
}

#[test]
fn a_round_runs_over_http_with_a_model_that_first_answers_prose() {
    let server = Server::start([says("Let me think."), says(&reply(&[schedule(&json!({"stages": 5}))]))]);
    let (client, _) = client(&server.url);
    let proposals = Conversation::new(&task()).propose(&client, None, &untried).unwrap();
    assert_eq!((proposals.valid[0].schedule, proposals.repaired), (typed(&json!({"stages": 5})), true));
    let roles: Vec<Value> =
        server.requests()[1].body["messages"].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
}

#[test]
fn a_fault_leaves_the_conversation_able_to_go_on() {
    let mut conversation = Conversation::new(&task());
    conversation.propose(&Actor::new(["prose", "prose"]), None, &untried).unwrap_err();
    let actor = Actor::new([&reply(&[schedule(&json!({}))])]);
    assert_eq!(conversation.propose(&actor, None, &untried).unwrap().valid.len(), 1);
}

#[test]
fn the_model_is_told_of_which_groups_schedules_are_timed_on() {
    let text = "fn experts(x: &Matrix<bf16>, w: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) { out = dot(x, w.t()); }";
    let problem = Problem::from(autokernel_codegen::product::problem(&syn::parse_str(text).unwrap()).unwrap());
    let class = problem.class();
    let schedules = [class.default_schedule(Arch::SM_90A)];
    let told = |group_sizes| {
        let shape = autokernel_codegen::matmul::grouped_extents(64, 8192, 2048, 7168);
        let candidates = Candidates::new(class.clone(), Arch::SM_90A, schedules);
        let task = Task { problem: problem.clone(), shape, group_sizes, candidates, known_good: Vec::new(), ..task() };
        let prompt = Conversation::new(&task).messages(None)[1].content.clone();
        prompt.split("\n\n").next().unwrap().to_owned()
    };
    let zipf = "# Problem\n\
        C[m, n], computed from A[m, k] · B element by element (dot(x, w), offsets: Index -> out: Matrix<bf16>), with m = 8192, n = 2048, k = 7168: 2.4052e11 FLOP.\n\
        A[m, k] and C are row-major, B stored as [n, k] row-major, multiplied transposed (layout nt). A and B are bf16, C is bf16, \
        accumulation is f32. The rows of A lie in 64 groups, of sizes that only the device knows, each with a B of its own; tiles of a \
        group follow one after the other. Schedules are timed on groups of sizes by Zipf's law, one in eight empty. Target sm_90a.";
    assert_eq!(told(GroupSizes::Zipf), zipf);
    assert!(told(GroupSizes::Even).contains("timed on groups of even sizes. Target"));
}
