//! What a check found.

use std::fmt;

use serde::Serialize;

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should be.
    Ok,
    /// It works, with a reservation.
    Warn,
    /// It is not there; what needs it is left out.
    Missing,
    /// It is there and does not work.
    Broken,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Missing => "missing",
            Status::Broken => "broken",
        })
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked.
    pub name: &'static str,
    /// How it went.
    pub status: Status,
    /// What was found.
    pub found: String,
    /// What to do about it; none where nothing need be done.
    pub remedy: Option<String>,
}

impl Check {
    /// All is well.
    pub fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Check { name, status: Status::Ok, found: found.into(), remedy: None }
    }

    /// Something to do.
    pub fn new(name: &'static str, status: Status, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Check { name, status, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// An error of this project, whose message ends with its remedy after the last semicolon.
    pub fn of_error(name: &'static str, status: Status, error: &dyn fmt::Display) -> Self {
        let text = error.to_string();
        match text.rsplit_once("; ") {
            Some((found, remedy)) => Check::new(name, status, found, remedy),
            None => Check { name, status, found: text, remedy: None },
        }
    }
}

/// All checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// In the order in which they were made.
    pub checks: Vec<Check>,
}

impl Diagnosis {
    /// Whether something is there and does not work.
    pub fn is_broken(&self) -> bool {
        self.count(Status::Broken) > 0
    }

    fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }

    /// The diagnosis as JSON.
    pub fn to_json(&self) -> String {
        let document = serde_json::json!({ "version": 1, "broken": self.is_broken(), "checks": self.checks });
        serde_json::to_string_pretty(&document).expect("a diagnosis has only string keys")
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Check { name, status, found, remedy } in &self.checks {
            writeln!(f, "{status:<8} {name:<15} {found}")?;
            if let Some(remedy) = remedy {
                writeln!(f, "{:<24} → {remedy}", "")?;
            }
        }
        let [ok, warn, missing, broken] =
            [Status::Ok, Status::Warn, Status::Missing, Status::Broken].map(|status| self.count(status));
        writeln!(f, "\n{ok} ok, {warn} warnings, {missing} missing, {broken} broken")
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_diagnosis_has_a_line_a_check_and_its_remedy_below() {
        let checks = vec![
            Check::ok("nvcc", "13.0.88"),
            Check::new("driver", Status::Missing, "no NVIDIA driver", "install one to measure"),
        ];
        expect![[r#"
            ok       nvcc            13.0.88
            missing  driver          no NVIDIA driver
                                     → install one to measure

            1 ok, 0 warnings, 1 missing, 0 broken
        "#]]
        .assert_eq(&Diagnosis { checks }.to_string());
    }

    #[test]
    fn only_what_is_broken_makes_a_diagnosis_broken() {
        let of = |status| Diagnosis { checks: vec![Check::new("x", status, "", "")] };
        assert!(of(Status::Broken).is_broken());
        assert!(![Status::Ok, Status::Warn, Status::Missing].into_iter().any(|status| of(status).is_broken()));
    }

    #[test]
    fn the_remedy_of_an_error_is_what_follows_its_last_semicolon() {
        let check = Check::of_error("x", Status::Broken, &"a; b happened; do c");
        assert_eq!((check.found.as_str(), check.remedy.as_deref()), ("a; b happened", Some("do c")));
    }
}
