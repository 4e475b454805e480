//! Commands as text that a person can paste into a shell.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// `NAME=value program argument …`, quoted where a POSIX shell needs it. The program is shown
/// without its folder, and only the variables set on `command` itself, not those it inherits.
pub fn display(command: &Command) -> String {
    let variables =
        command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quoted(value?))));
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(program).chain(command.get_args()).map(quoted);
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displayed_command_can_be_pasted_into_a_shell() {
        let mut command = Command::new("/toolchain/bin/cargo");
        command.env("RUSTDOCFLAGS", "-D warnings").args(["doc", "it's"]);
        assert_eq!(display(&command), r"RUSTDOCFLAGS='-D warnings' cargo doc 'it'\''s'");
    }
}
