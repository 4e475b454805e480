//! Where a study is, with the credentials that nobody prints.

use std::fmt;
use std::str::FromStr;

use clap::builder::ValueParserFactory;
use postgres::config::{Host, SslMode};
use postgres::{Config, config};
use secrecy::{ExposeSecret, SecretString};

use crate::options::Unrepeated;

/// The URL of a database, `postgres://user@host/database`. Printing it in any way leaves out user and password.
#[derive(Clone)]
pub struct StudyUrl {
    url: SecretString,
    config: Config,
}

/// The variable that holds the password where the URL has none, as in Postgres' own tools.
const PASSWORD: &str = "PGPASSWORD";

impl StudyUrl {
    /// How to connect: encrypted to another machine, unless the URL says otherwise.
    pub fn config(&self) -> Config {
        let mut config = self.config.clone();
        if config.get_password().is_none()
            && let Ok(password) = std::env::var(PASSWORD)
        {
            config.password(password);
        }
        let is_said = self.url.expose_secret().contains("sslmode=");
        if !is_said && !config.get_hosts().iter().all(is_here) {
            config.ssl_mode(SslMode::Require);
        }
        config
    }
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

impl FromStr for StudyUrl {
    type Err = &'static str;

    /// # Errors
    /// It is no URL of a Postgres database. The reason repeats nothing of it.
    fn from_str(url: &str) -> Result<Self, Self::Err> {
        if let Some(variable) = url.strip_prefix("env:") {
            let held = std::env::var(variable).map_err(|_| "the variable that env: names is not set")?;
            return if held.starts_with("env:") { Err("the variable holds no URL") } else { held.parse() };
        }
        const FORM: &str = "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for an @ in the password; the \
                            password may stand in PGPASSWORD instead";
        if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
            return Err(FORM);
        }
        let config: Config = url.parse().map_err(|_| FORM)?;
        if config.get_hosts().is_empty() || config.get_ssl_negotiation() == config::SslNegotiation::Direct {
            return Err(FORM);
        }
        Ok(StudyUrl { url: url.into(), config })
    }
}

impl ValueParserFactory for StudyUrl {
    type Parser = Unrepeated<StudyUrl>;

    fn value_parser() -> Unrepeated<StudyUrl> {
        Unrepeated::new()
    }
}

impl fmt::Display for StudyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        };
        let hosts: Vec<String> = self.config.get_hosts().iter().map(host).collect();
        let ports: Vec<String> = self.config.get_ports().iter().map(|port| format!(":{port}")).collect();
        let database = self.config.get_dbname().unwrap_or_default();
        write!(f, "postgres://{}{}/{database}", hosts.join(","), ports.join(","))
    }
}

impl fmt::Debug for StudyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_printed_without_user_and_password() {
        let url: StudyUrl = "postgres://ann:s3cret@db.example:5433/study?sslmode=require".parse().unwrap();
        assert_eq!(format!("{url} {url:?}"), "postgres://db.example:5433/study postgres://db.example:5433/study");
    }

    #[test]
    fn what_is_no_url_is_refused_without_repeating_it() {
        for url in ["mysql://ann:s3cret@h/d", "postgres://ann:s3cret@h:port/d", "ann:s3cret", "postgres:///d"] {
            let reason = url.parse::<StudyUrl>().unwrap_err();
            assert!(!reason.contains("s3cret") && !reason.contains("ann"), "{reason}");
        }
    }

    #[test]
    fn another_machine_is_spoken_to_encrypted_unless_the_url_says_otherwise() {
        let mode = |url: &str| url.parse::<StudyUrl>().unwrap().config().get_ssl_mode();
        assert_eq!(mode("postgres://u@db.example/s"), SslMode::Require);
        assert_eq!(mode("postgres://u@db.example/s?sslmode=disable"), SslMode::Disable);
        for here in ["localhost", "127.0.0.1", "%2Frun%2Fpostgresql"] {
            assert_eq!(mode(&format!("postgres://u@{here}/s")), SslMode::Prefer, "{here}");
        }
    }
}
