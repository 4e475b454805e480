//! torch as the opponent: a Python process that times a round whenever it is asked, so that both are timed in the same rounds.

use std::io::{BufRead, BufReader, Error, Result, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A Python program that answers each line with a line.
pub struct Torch {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// What it times, in the order of its answers.
    pub contenders: Vec<String>,
}

impl Torch {
    /// Starts `script` by `AUTOKERNEL_PYTHON`, or `python3`.
    ///
    /// # Errors
    /// There is no such program.
    pub fn start(script: &str) -> Result<Self> {
        let python = std::env::var_os("AUTOKERNEL_PYTHON").unwrap_or_else(|| "python3".into());
        let mut command = Command::new(python);
        command.args(["-u", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let piped = process.stdin.take().zip(process.stdout.take());
        let (questions, answers) = piped.ok_or_else(|| Error::other("the process has no pipes"))?;
        let (questions, answers) = (Some(questions), BufReader::new(answers));
        Ok(Self { process, questions, answers, contenders: Vec::new() })
    }

    /// Tells it what to time from now on: numbers that its script reads.
    ///
    /// # Errors
    /// It has ended; what it printed before says why.
    pub fn prepare(&mut self, numbers: &[i64]) -> Result<()> {
        let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let answer = self.ask(&format!("prepare {}", numbers.join(" ")))?;
        self.contenders = answer.split_whitespace().map(str::to_owned).collect();
        Ok(())
    }

    /// Milliseconds of a launch of each contender, in a round.
    ///
    /// # Errors
    /// It has ended, or answered something else.
    pub fn round_ms(&mut self) -> Result<Vec<f64>> {
        let answer = self.ask("round")?;
        let times: Option<Vec<f64>> = answer.split_whitespace().map(|time| time.parse().ok()).collect();
        let times = times.filter(|times| times.len() == self.contenders.len());
        times.ok_or_else(|| Error::other(format!("`{answer}` are not the times of {:?}", self.contenders)))
    }

    fn ask(&mut self, question: &str) -> Result<String> {
        let questions = self.questions.as_mut().ok_or_else(|| Error::other("the process has ended"))?;
        writeln!(questions, "{question}")?;
        let mut answer = String::new();
        match self.answers.read_line(&mut answer)? {
            0 => {
                Err(Error::other(format!("the process ended at `{}`", question.split(' ').next().unwrap_or_default())))
            }
            _ => Ok(answer.trim().to_owned()),
        }
    }
}

impl Drop for Torch {
    fn drop(&mut self) {
        self.questions = None; // it reads no more lines, and ends
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECHO: &str = "import sys\nfor line in sys.stdin:\n  words = line.split()\n  \
                        print(*(words[1:] if words[0] == 'prepare' else [0.5, 1.5]))";

    #[test]
    fn rounds_have_a_time_for_each_contender_or_are_refused() {
        let Ok(mut torch) = Torch::start(ECHO) else { return eprintln!("skipped: there is no Python") };
        torch.prepare(&[7, 8]).unwrap();
        assert_eq!(torch.contenders, ["7", "8"]);
        assert_eq!(torch.round_ms().unwrap(), [0.5, 1.5]);
        torch.prepare(&[7]).unwrap();
        assert!(torch.round_ms().unwrap_err().to_string().contains("are not the times of"));
    }

    #[test]
    fn an_opponent_that_ends_is_told() {
        let Ok(mut torch) = Torch::start("pass") else { return eprintln!("skipped: there is no Python") };
        assert!(torch.prepare(&[1]).is_err());
    }
}
