//! The batch scripts by Slurm itself, in a cluster of this machine's own that runs nothing.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::files;
use crate::skip::skip;

/// A controller of nodes that are never started: enough for `sbatch --test-only`.
struct Controller {
    folder: tempfile::TempDir,
    process: Child,
}

impl Controller {
    /// None where there is no Slurm or it does not start, which the test says then.
    fn start(test: &str) -> Option<Controller> {
        let programs = ["slurmctld", "sbatch", "sinfo"];
        if programs.iter().any(|program| Command::new(program).arg("--version").output().is_err()) {
            skip(test, "there is no Slurm here (apt-get install slurm-wlm)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let text = |command: &str, args: &[&str]| {
            String::from_utf8(Command::new(command).args(args).output().unwrap().stdout).unwrap().trim().to_owned()
        };
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "ClusterName=tests\nSlurmctldHost={}(127.0.0.1)\nAuthType=auth/none\nCredType=cred/none\nSlurmUser={}\n\
             StateSaveLocation={at}/state\nSlurmctldPidFile={at}/pid\nSlurmctldLogFile={at}/log\nSlurmctldPort={}\n\
             SlurmdPort={}\nProctrackType=proctrack/linuxproc\nSwitchType=switch/none\nMpiDefault=none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nGresTypes=gpu\n\
             SuspendProgram=/bin/true\nResumeProgram=/bin/true\nSuspendTime=300\n\
             NodeName=node[1-4] CPUs=64 RealMemory=262144 Gres=gpu:h200:8 State=CLOUD\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            text("uname", &["-n"]),
            text("id", &["-un"]),
            free(),
            free(),
            at = folder.path().display(),
        );
        std::fs::create_dir(folder.path().join("state")).unwrap();
        let file = folder.path().join("slurm.conf");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new("slurmctld");
        command.arg("-D").arg("-f").arg(&file).env("SLURM_CONF", &file);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let controller = Controller { folder, process };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !controller.command("sinfo", &[]).status.success() {
            if Instant::now() >= deadline {
                let log = std::fs::read_to_string(controller.folder.path().join("log")).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(3).collect();
                skip(test, &format!("Slurm's controller does not answer; its log ends with {last:?}"));
                return None;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Some(controller)
    }

    fn command(&self, program: &str, args: &[&str]) -> Output {
        Command::new(program).args(args).env("SLURM_CONF", self.folder.path().join("slurm.conf")).output().unwrap()
    }

    /// What `sbatch --test-only` says of a script, if it would run.
    fn test(&self, script: &Path, more: &[&str]) -> Result<String, String> {
        let output = self.command("sbatch", &[&["--test-only"], more, &[script.to_str().unwrap()]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(said) } else { Err(said) }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn slurm_would_run_every_script_as_its_head_says() {
    let Some(controller) = Controller::start("slurm_would_run_every_script_as_its_head_says") else { return };
    for (path, text) in files("slurm", ".sbatch") {
        // The options that stand in the head of the script.
        let line = text.lines().find_map(|line| line.strip_prefix("#   sbatch ")).unwrap();
        let options: Vec<&str> =
            line.split(' ').filter(|word| word.starts_with("--gpus") || word.starts_with("--array")).collect();
        let said = controller.test(&path, &options).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
        assert!(said.contains("to start at"), "{said}");
    }
}

#[test]
fn slurm_refuses_an_option_that_it_does_not_know_and_more_cores_than_a_node_has() {
    let test = "slurm_refuses_an_option_that_it_does_not_know_and_more_cores_than_a_node_has";
    let Some(controller) = Controller::start(test) else { return };
    let (_, text) = files("slurm", "work.sbatch").remove(0);
    let file = controller.folder.path().join("wrong.sbatch");
    for (right, wrong) in [("--cpus-per-task=8", "--cpus-per-tasks=8"), ("--cpus-per-task=8", "--cpus-per-task=800")] {
        assert!(text.contains(right));
        std::fs::write(&file, text.replace(right, wrong)).unwrap();
        assert!(controller.test(&file, &[]).is_err(), "{wrong} is not refused");
    }
}

#[test]
fn a_script_refuses_a_file_of_secrets_that_others_may_read() {
    for (path, _) in files("slurm", ".sbatch") {
        let folder = tempfile::tempdir().unwrap();
        let secrets = folder.path().join("study");
        std::fs::write(&secrets, "STUDY=postgres://ann:s3cret@db.example/tuning\n").unwrap();
        // A tuner that says what it was started with, and what it finds in its environment.
        let tuner = folder.path().join("tuner");
        std::fs::write(&tuner, "#!/bin/sh\necho \"$@\"\necho \"$STUDY\"\n").unwrap();
        let run = |mode: &str| {
            let both = |mode: &str, file: &Path| Command::new("chmod").arg(mode).arg(file).status().unwrap();
            assert!(both("755", &tuner).success() && both(mode, &secrets).success());
            let places = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
            let mut command = Command::new("bash");
            command.arg(&path).env("PATH", places).env("AUTOKERNEL_SECRETS", &secrets).env("HOME", folder.path());
            command.env("SLURM_CPUS_PER_TASK", "8").env("SLURM_JOB_ID", "7").output().unwrap()
        };
        let refused = run("644");
        assert!(!refused.status.success() && refused.stdout.is_empty());
        assert!(String::from_utf8_lossy(&refused.stderr).contains("chmod 600"));
        let said = String::from_utf8(run("600").stdout).unwrap();
        let (command, url) = said.trim().split_once('\n').unwrap();
        assert!(command.starts_with("work --study env:STUDY") && !command.contains("s3cret"), "{said}");
        assert_eq!(url, "postgres://ann:s3cret@db.example/tuning");
    }
}
