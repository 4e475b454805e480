//! A temporary crate that depends on this one, and the toolkits it is built with.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A crate in a temporary folder. All of them share one target folder, so that dependencies are built once.
pub struct Consumer {
    root: TempDir,
    name: &'static str,
    target: PathBuf,
}

impl Consumer {
    /// A crate that depends on this checkout.
    pub fn new(name: &'static str, program: &str) -> Self {
        let autokernel = Path::new(env!("CARGO_MANIFEST_DIR"));
        let codegen = autokernel.join("autokernel-codegen");
        let dependencies = format!(
            "[dependencies]\nautokernel-cuda = {{ path = {autokernel:?} }}\n\n\
             [build-dependencies]\nautokernel-codegen = {{ path = {codegen:?} }}\n"
        );
        Self::with(name, &dependencies, "fn main() { autokernel_codegen::Build::new().run(); }", program)
    }

    /// A crate with this text of its dependencies, build script and program.
    pub fn with(name: &'static str, dependencies: &str, build: &str, program: &str) -> Self {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("consumers");
        let consumer = Consumer { root: tempfile::tempdir().unwrap(), name, target };
        let package = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n");
        consumer.write("Cargo.toml", &format!("{package}\n{dependencies}\n[workspace]\n"));
        consumer.write("build.rs", build);
        consumer.write("src/main.rs", program);
        // The versions that the workspace was tested with, and so those that are downloaded already.
        std::fs::copy(workspace.join("Cargo.lock"), consumer.root.path().join("Cargo.lock")).unwrap();
        consumer
    }

    /// With a target folder of its own, in which nothing was built yet.
    pub fn alone(mut self) -> Self {
        self.target = self.root.path().join("target");
        self
    }

    /// Depends on the crate under another name.
    pub fn rename_dependency(&self, name: &str) {
        let path = self.root.path().join("Cargo.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let renamed = format!("{name} = {{ package = \"autokernel-cuda\", ");
        self.write("Cargo.toml", &text.replace("autokernel-cuda = { ", &renamed));
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Builds and runs the program; gives what it printed.
    pub fn run(&self, toolkit: &Toolkit) -> String {
        self.run_with(&[], toolkit)
    }

    /// The same with these options of `cargo run`.
    pub fn run_with(&self, options: &[&str], toolkit: &Toolkit) -> String {
        let output = self.cargo("run", toolkit).args(options).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} does not build or run:\n{errors}", self.name);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Where the program lies that a dev or a release build made.
    pub fn program(&self, is_release: bool) -> PathBuf {
        self.target.join(if is_release { "release" } else { "debug" }).join(self.name)
    }

    /// Builds a program that must not build; gives the messages.
    pub fn refused(&self, toolkit: &Toolkit) -> String {
        let output = self.cargo("run", toolkit).output().unwrap();
        assert!(!output.status.success(), "{} builds", self.name);
        String::from_utf8(output.stderr).unwrap()
    }

    /// `cargo check`, as an editor calls it.
    pub fn check(&self, toolkit: &Toolkit, environment: &[(&str, &str)]) {
        let output = self.cargo("check", toolkit).envs(environment.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn cargo(&self, verb: &str, toolkit: &Toolkit) -> Command {
        let mut command = Command::new(env!("CARGO"));
        command
            .args([verb, "--quiet", "--offline"])
            .current_dir(self.root.path())
            .env("CARGO_TARGET_DIR", &self.target)
            .env("AUTOKERNEL_CACHE_DIR", self.root.path().join("cache"));
        toolkit.apply(&mut command);
        command
    }
}

/// The nvcc that a consumer is built with.
pub struct Toolkit {
    /// Holds the stand-in and its log.
    folder: TempDir,
    nvcc: Option<PathBuf>,
}

impl Toolkit {
    /// The real nvcc behind a script that notes each run; none, with a note, where there is no nvcc.
    pub fn counting(test: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
        match autokernel_codegen::nvcc::Nvcc::locate(workspace, folder.path()) {
            Ok(nvcc) => {
                let log = folder.path().join("runs");
                let script = format!("echo run >> {}\nexec {} \"$@\"", log.display(), nvcc.path.display());
                Some(Toolkit::script(folder, &script))
            }
            Err(reason) => {
                skip(test, &reason.to_string());
                None
            }
        }
    }

    /// An nvcc that prints its version, and otherwise `message` and fails.
    pub fn failing(message: &str) -> Self {
        let script = format!(
            "if [ \"$1\" = --version ]; then echo 'release 13.0, V13.0.0'; exit 0; fi\necho '{message}' >&2\nexit 1"
        );
        Toolkit::script(tempfile::tempdir().unwrap(), &script)
    }

    /// No nvcc at all; none, with a note, where one is installed in the place that no variable hides.
    pub fn none(test: &str) -> Option<Self> {
        if Path::new("/usr/local/cuda/bin/nvcc").is_file() {
            skip(test, "/usr/local/cuda is installed, and would be found");
            return None;
        }
        Some(Toolkit { folder: tempfile::tempdir().unwrap(), nvcc: None })
    }

    fn script(folder: TempDir, body: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let nvcc = folder.path().join("nvcc");
        std::fs::write(&nvcc, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).unwrap();
        Toolkit { folder, nvcc: Some(nvcc) }
    }

    /// How often nvcc was asked to compile or for its version.
    pub fn runs(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("runs")).map_or(0, |log| log.lines().count())
    }

    fn apply(&self, command: &mut Command) {
        for name in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "AUTOKERNEL_NVCC", "AUTOKERNEL_ARCHS"] {
            command.env_remove(name);
        }
        match &self.nvcc {
            Some(nvcc) => command.env("AUTOKERNEL_NVCC", nvcc),
            None => command.env("PATH", path_without_nvcc()),
        };
    }
}

fn path_without_nvcc() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join("nvcc").is_file());
    std::env::join_paths(folders).unwrap()
}

/// Notes a test that could not run, for the summary of `cargo xtask test`.
fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    eprint!("{line}");
    if let Some(log) = std::env::var_os("AUTOKERNEL_SKIP_LOG") {
        use std::io::Write;
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        log.write_all(line.as_bytes()).unwrap();
    }
}
