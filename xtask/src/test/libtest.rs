//! What Rust's test harness prints, read back.

/// Totals over all test binaries and doc tests of one `cargo test`.
#[derive(Debug, Default, PartialEq)]
pub struct Tests {
    pub binaries: usize,
    pub passed: usize,
    pub failed: usize,
    pub ignored: usize,
    /// The names of failed tests, in the order in which they failed.
    pub failures: Vec<String>,
}

impl Tests {
    /// Takes in one line of a test binary's output; other lines change nothing.
    pub fn read_line(&mut self, line: &str) {
        let line = line.trim_end();
        if let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) {
            self.read_counts(counts);
        } else if let Some(name) = failed_test(line) {
            self.failures.push(name.to_owned());
        }
    }

    /// "3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s"
    fn read_counts(&mut self, counts: &str) {
        self.binaries += 1;
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// "test NAME ... FAILED" → NAME.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> Tests {
        let mut tests = Tests::default();
        output.lines().for_each(|line| tests.read_line(line));
        tests
    }

    #[test]
    fn counts_of_several_binaries_add_up() {
        let tests = read(
            "\
running 3 tests
test a ... ok
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 1.02s
",
        );
        let expected = Tests { binaries: 2, passed: 8, ignored: 1, ..Tests::default() };
        assert_eq!(tests, expected);
    }

    #[test]
    fn failed_tests_are_counted_and_named() {
        let tests = read(
            "\
test emit::a_tile_is_named ... FAILED
test src/lib.rs - launch (line 12) ... FAILED
test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
",
        );
        assert_eq!((tests.passed, tests.failed), (3, 2));
        assert_eq!(tests.failures, ["emit::a_tile_is_named", "src/lib.rs - launch (line 12)"]);
    }

    #[test]
    fn output_without_a_result_counts_no_binary() {
        assert_eq!(read("   Compiling x\ntest result\ntest result: ok.\n"), Tests::default());
    }
}
