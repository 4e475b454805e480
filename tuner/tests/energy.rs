//! Searches that make a launch's energy small, on a machine whose worker and nvcc are shell scripts: the more stages a schedule has, the
//! longer it takes and the less energy.
#![cfg(unix)]

mod gpu_support;

use std::process::Output;

use autokernel_codegen::config::Config;
use gpu_support::Machine;
use serde_json::Value;

const METERED: &str = r#"
    *'"request":"evaluate"'*'"energy_ms":600.0'*)
        echo "{\"reply\":\"evaluated\",\"outcome\":{\"status\":\"measured\",\"median_ms\":1.$tenths$group,\"spread_pct\":0.4,\"samples\":12,\"energy_mj\":$((1000 - 50 * stage))},\"fatal\":false}";;
    *'"request":"final"'*'"energy_ms":600.0'*)
        text=
        for stage in $(echo "$line" | sed 's/"schedule"/\n"schedule"/g; s/"cublas"/\n"cublas"/g' | sed -n '
            s/^"schedule".*"stages":\([0-9]*\).*/\1/p
            s/^"cublas".*/0/p'); do
            text="$text${text:+,}{\"status\":\"timed\",\"round_ms\":[1.$stage,1.$stage,1.$stage],\"sm_clock_mhz\":1700,\"energy_mj\":$((1000 - 50 * stage))}"
        done
        echo "{\"reply\":\"finals\",\"finals\":[$text]}";;
"#;

const SEARCH: [&str; 6] = ["--strategy", "random", "--evaluations", "24", "--generations", "2"];

fn run(machine: &Machine, args: &[&str]) -> Output {
    machine.tuner(&[&SEARCH, args].concat()).output().unwrap()
}

fn told(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn stages(trial: &Value) -> u64 {
    trial["schedule"]["stages"].as_u64().unwrap()
}

#[test]
fn a_search_by_energy_takes_the_schedule_of_least_energy_and_keeps_its_trials_apart_from_those_by_time() {
    let machine = Machine::new(METERED);
    let output = run(&machine, &["--objective", "energy"]);
    assert!(output.status.success(), "{}", told(&output));
    let trials = machine.journal("tuner-out", "trial");
    assert_eq!(trials.len(), 24);
    for trial in &trials {
        assert_eq!(trial["environment"]["objective"], "energy", "{trial}");
        assert_eq!(trial["outcome"]["energy_mj"].as_f64(), Some(1000.0 - 50.0 * stages(trial) as f64), "{trial}");
    }
    let most = trials.iter().map(stages).max().unwrap();
    assert!(most > trials.iter().map(stages).min().unwrap());
    let least_mj = 1000 - 50 * most;
    assert!(told(&output).contains(&format!("{least_mj}.000 mJ a launch, of the whole board")), "{}", told(&output));
    let held = &machine.journal("tuner-out", "final")[0];
    assert!(held["reason"].as_str().unwrap().contains("by the board's counter"), "{held}");
    let config = Config::load(&machine.path("tuner-out/best_config.json")).unwrap();
    let [entry] = config.entries.as_slice() else { panic!("{held}") };
    assert_eq!(entry.schedule.value("stages").map(u64::from), Some(most));
    assert_eq!(entry.provenance.proposed_by, "random, by energy");
    let after_each = told(&output).lines().find(|line| line.contains("best after each")).map(str::to_owned).unwrap();
    assert!(after_each.ends_with(" mJ"), "{after_each}");

    let by_time = run(&machine, &[]);
    assert!(by_time.status.success(), "{}", told(&by_time));
    let all = machine.journal("tuner-out", "trial");
    assert_eq!(all.len(), 48, "none of them was answered by one that was made by energy");
    assert!(all[24..].iter().all(|trial| trial["environment"]["objective"].is_null()), "{:?}", all[24]);
    assert!(!told(&by_time).contains("mJ a launch"));
}

#[test]
fn a_gpu_that_tells_no_energy_is_named_with_the_reason_and_so_are_recordings() {
    let silent = r#"
    *'"request":"gpu"'*) echo "{\"reply\":\"gpu\",\"facts\":$facts,\"compute_capability\":[9,0],\"driver\":\"1.2\",\"no_energy\":\"Not Supported\"}";;
"#;
    let machine = Machine::new(silent);
    let output = run(&machine, &["--objective", "energy"]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("does not tell what energy it takes: Not Supported"), "{}", told(&output));
    assert!(run(&machine, &[]).status.success(), "its times are told");

    let spaces = concat!(env!("CARGO_MANIFEST_DIR"), "/spaces");
    let replay = std::process::Command::new(env!("CARGO_BIN_EXE_tuner"))
        .args(["--objective", "energy", "--spaces", spaces, "--out"])
        .arg(machine.path("replayed"))
        .output()
        .unwrap();
    assert_eq!(replay.status.code(), Some(1), "{}", told(&replay));
    assert!(told(&replay).contains("nothing that is recorded says what energy a launch took"), "{}", told(&replay));
}
