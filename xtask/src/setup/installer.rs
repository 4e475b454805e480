//! Which program installs Python wheels here: pip, or uv.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Installers in the order that they are tried: the program and its leading arguments.
const KNOWN: [&[&str]; 3] = [&["python3", "-m", "pip"], &["python", "-m", "pip"], &["uv", "pip"]];

/// A program that understands `install --target … --require-hashes -r …`.
pub struct Installer {
    words: Vec<String>,
}

impl Installer {
    /// The first of pip and uv that starts here.
    pub fn find() -> Result<Self> {
        first_that_starts(KNOWN.iter().map(|words| Self::new(words)))
    }

    pub fn new(words: &[&str]) -> Self {
        Self { words: words.iter().map(|&word| word.to_owned()).collect() }
    }

    /// Installs `pins` (pip's requirements format) into the folder `target`: these wheels, with
    /// these hashes, and nothing else.
    pub fn install(&self, pins: &str, target: &Path) -> Result<()> {
        let requirements = target.with_extension("requirements.txt");
        fs::write(&requirements, pins)?;
        let status = self
            .command()
            .args(["install", "--no-deps", "--require-hashes", "--only-binary", ":all:"])
            .arg("--target")
            .arg(target)
            .arg("--requirement")
            .arg(&requirements)
            // Settings for a person's own environments, which clash with --target.
            .env_remove("PIP_USER")
            .env("PIP_REQUIRE_VIRTUALENV", "0")
            .env("PIP_NO_INPUT", "1")
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .stdin(Stdio::null())
            .status()
            .with_context(|| format!("`{self}` does not start"))?;
        if !status.success() {
            bail!(
                "`{self} install` failed ({status}), see above. It needs the Python package index: check the \
                 network, HTTPS_PROXY and PIP_INDEX_URL, then run `cargo xtask setup` again; or install a \
                 CUDA toolkit (12.8 or newer) and name its nvcc in AUTOKERNEL_NVCC"
            );
        }
        Ok(())
    }

    fn starts(&self) -> bool {
        let status = self.command().arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    fn command(&self) -> Command {
        let mut words = self.words.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words);
        command
    }
}

impl fmt::Display for Installer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

fn first_that_starts(mut installers: impl Iterator<Item = Installer>) -> Result<Installer> {
    installers.find(Installer::starts).context(
        "setup needs pip or uv, and none of `python3 -m pip`, `python -m pip` and `uv pip` starts: install \
         one (Debian, Ubuntu: apt-get install python3-pip; Fedora: dnf install python3-pip), or install a \
         CUDA toolkit (12.8 or newer) and name its nvcc in AUTOKERNEL_NVCC",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_pip_and_uv_the_error_says_what_to_install() {
        let none = std::iter::once(Installer::new(&["/nonexistent/python3", "-m", "pip"]));
        let text = first_that_starts(none).err().unwrap().to_string();
        assert!(text.contains("apt-get install python3-pip"), "{text}");
        assert!(text.contains("AUTOKERNEL_NVCC"), "{text}");
    }

    #[test]
    fn the_first_installer_that_starts_is_taken() {
        let installers = [Installer::new(&["/nonexistent/uv"]), Installer::new(&["true"])];
        assert_eq!(first_that_starts(installers.into_iter()).unwrap().to_string(), "true");
    }

    #[test]
    fn an_installer_that_fails_names_itself_and_the_remedies() {
        let dir = tempfile::tempdir().unwrap();
        let error = Installer::new(&["false"]).install("", &dir.path().join("site"));
        let text = error.unwrap_err().to_string();
        assert!(text.contains("`false install` failed"), "{text}");
        assert!(text.contains("HTTPS_PROXY"), "{text}");
    }
}
