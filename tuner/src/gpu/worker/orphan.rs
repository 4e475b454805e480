//! A worker ends with the tuner that started it, even in the middle of a kernel that hangs.

use std::time::Duration;

const POLL: Duration = Duration::from_secs(1);

/// Ends this process, as hard as the system can, once its parent is gone. Without it a worker whose kernel hangs would hold
/// the GPU after its tuner was killed: it reads the end of its input only between two requests.
pub fn end_with_parent() {
    #[cfg(unix)]
    {
        let parent = std::os::unix::process::parent_id();
        std::thread::spawn(move || {
            while std::os::unix::process::parent_id() == parent {
                std::thread::sleep(POLL);
            }
            // An ordinary exit would wait for the GPU.
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        });
    }
}
