//! A compiler run that ends in time, with all the processes it started.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a running process is looked at.
const POLL: Duration = Duration::from_millis(10);

/// How a run ended.
pub enum Ended {
    /// By itself.
    Exited {
        /// Its exit status.
        status: ExitStatus,
        /// What it wrote to its standard error.
        stderr: String,
    },
    /// It was stopped at the limit.
    TimedOut,
}

/// Runs `command` with no input for at most `limit`.
pub fn run(mut command: Command, limit: Duration) -> std::io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    own_process_group(&mut command);
    let started = Instant::now();
    let mut child = command.spawn()?;

    let mut stderr = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stderr) = &mut stderr {
            // What could be read before a fault is still the best account of what happened.
            let _ = stderr.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Exited { status, stderr: reader.join().unwrap_or_default() });
        }
        if started.elapsed() > limit {
            stop(&mut child);
            return Ok(Ended::TimedOut);
        }
        std::thread::sleep(POLL);
    }
}

/// nvcc starts cicc and ptxas: in a group of their own, all of them can be stopped together.
fn own_process_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

fn stop(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        // The child was not waited for, so its number is still its own. A group that is gone needs no signal.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
