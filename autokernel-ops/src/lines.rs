//! Printing C++, line by line.

use std::fmt::Write;

/// Lines, each indented as deep as the braces around it.
#[derive(Default)]
pub(crate) struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    /// A line; one that ends with `{` or begins with `}` changes the depth.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if line.starts_with('}') {
            self.depth = self.depth.saturating_sub(1);
        }
        if line.is_empty() {
            self.text.push('\n');
        } else if line.starts_with('#') {
            writeln!(self.text, "{line}").expect("strings take any text");
        } else {
            writeln!(self.text, "{:1$}{line}", "", 2 * self.depth).expect("strings take any text");
        }
        if line.ends_with('{') {
            self.depth += 1;
        }
    }

    pub fn lines<L: AsRef<str>>(&mut self, lines: impl IntoIterator<Item = L>) {
        lines.into_iter().for_each(|line| self.line(line));
    }

    pub fn finish(self) -> String {
        self.text
    }
}
