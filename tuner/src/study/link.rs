//! A connection that outlives restarts of the server.

use std::time::{Duration, Instant};

use postgres::Client;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{Kind, StudyError, is_restarting, kind, reason};
use super::url::StudyUrl;
use crate::stop::Stop;

/// How long a server that went away is waited for.
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two attempts to reach it: at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// For one attempt to connect, and for the server to acknowledge what was sent.
const CONNECT: Duration = Duration::from_secs(10);
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// A connection to the database, made again whenever it is lost.
pub struct Link {
    url: StudyUrl,
    client: Option<Client>,
    stop: Stop,
}

impl Link {
    /// Connects, at once or not at all; a server that says that it is starting or stopping is waited for.
    ///
    /// # Errors
    /// The database cannot be reached, or does not let this user in.
    pub fn open(url: &StudyUrl, stop: &Stop) -> Result<Self, StudyError> {
        let mut link = Link { url: url.clone(), client: None, stop: stop.clone() };
        match connect(url) {
            Ok(client) => link.client = Some(client),
            Err(error) if is_restarting(&error) => link.run(|_| Ok(()))?,
            Err(error) => return Err(link.error(&error)),
        }
        Ok(link)
    }

    /// Another connection to the same database, which is made when it is first used.
    pub fn another(&self) -> Self {
        Link { url: self.url.clone(), client: None, stop: self.stop.clone() }
    }

    /// Where it leads, without credentials.
    pub fn place(&self) -> String {
        self.url.to_string()
    }

    /// Does `what`, and again on a new connection if the server went away meanwhile: it must be of one statement that may be
    /// repeated, or a transaction.
    ///
    /// # Errors
    /// The server refuses, or stays away for ten minutes.
    pub fn run<T>(&mut self, mut what: impl FnMut(&mut Client) -> Result<T, postgres::Error>) -> Result<T, StudyError> {
        let begun = Instant::now();
        let mut pause = PAUSES.0;
        loop {
            let client = match self.client.take() {
                Some(client) if !client.is_closed() => Ok(client),
                _ => connect(&self.url),
            };
            let error = match client {
                Ok(mut client) => match what(&mut client) {
                    Ok(done) => {
                        self.client = Some(client);
                        return Ok(done);
                    }
                    Err(error) => error,
                },
                Err(error) => error,
            };
            if kind(&error) != Kind::Transient || begun.elapsed() > PATIENCE {
                return Err(self.error(&error));
            }
            if pause == PAUSES.0 {
                errln!("{}: {}; trying again", self.url, reason(&error));
            }
            if self.stop.is_requested() {
                return Err(StudyError::Interrupted { place: self.place() });
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(PAUSES.1);
        }
    }

    fn error(&self, error: &postgres::Error) -> StudyError {
        let place = self.place();
        match kind(error) {
            Kind::Transient => StudyError::Unreachable { place, reason: reason(error) },
            Kind::Credentials => StudyError::Refused { place },
            Kind::NoStudy => StudyError::NoStudy { place },
            Kind::Exists => StudyError::Exists { place },
            Kind::Other => StudyError::Database { place, reason: reason(error) },
        }
    }
}

fn connect(url: &StudyUrl) -> Result<Client, postgres::Error> {
    let mut config = url.config();
    config.application_name("autokernel tuner").connect_timeout(CONNECT).tcp_user_timeout(UNACKNOWLEDGED);
    config.connect(tls())
}

/// TLS by the roots that the system trusts, and those of `SSL_CERT_FILE`.
fn tls() -> MakeRustlsConnect {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the default versions of TLS");
    MakeRustlsConnect::new(config.with_root_certificates(roots).with_no_client_auth())
}
