//! A Postgres of a test's own, from the programs of the system.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::common::skip;

/// A server in a folder of its own, which ends with the test.
pub struct Server {
    folder: tempfile::TempDir,
    programs: PathBuf,
    pub port: u16,
}

const USER: &str = "ann";
pub const PASSWORD: &str = "s3cret-of-the-tests";
/// Whose account runs the server where the test is root: Postgres refuses to be.
const ACCOUNT: &str = "postgres";

impl Server {
    /// A running server; without the programs the test says that it was skipped.
    pub fn start(test: &str) -> Option<Server> {
        let Some(programs) = programs() else {
            skip(test, "there is no Postgres here (apt-get install postgresql)");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Server { folder: tempfile::tempdir().unwrap(), programs, port };
        let password = server.folder.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        if rustix::process::geteuid().is_root() {
            succeed(Command::new("chown").args(["-R", ACCOUNT]).arg(server.folder.path()));
        }
        let data = server.data();
        succeed(
            server
                .command("initdb")
                .args(["-U", USER, "--auth=scram-sha-256", "--encoding=UTF8", "-D"])
                .arg(&data)
                .arg("--pwfile")
                .arg(&password),
        );
        server.control("start");
        Some(server)
    }

    /// Lets it speak TLS, with a certificate for this machine; the file of the authority that signed it.
    pub fn with_tls(&self) -> PathBuf {
        let file = |name: &str| self.folder.path().join(name);
        std::fs::write(file("names"), "subjectAltName=IP:127.0.0.1").unwrap();
        let openssl = |words: &str| {
            succeed(Command::new("openssl").args(words.split(' ')).current_dir(self.folder.path()));
        };
        openssl("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=tests -days 2");
        openssl("req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=server");
        openssl(
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 -extfile names",
        );
        if rustix::process::geteuid().is_root() {
            succeed(Command::new("chown").arg(ACCOUNT).args([file("server.key"), file("server.pem")]));
        }
        let (certificate, key) = (file("server.pem").display().to_string(), file("server.key").display().to_string());
        let lines = format!("ssl = on\nssl_cert_file = '{certificate}'\nssl_key_file = '{key}'\n");
        let config = self.data().join("postgresql.conf");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text + &lines).unwrap();
        self.restart("fast");
        file("ca.pem")
    }

    /// Where it is, for the tuner.
    pub fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// Where it is, by way of another port.
    pub fn url_at(&self, port: u16) -> String {
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{port}/postgres")
    }

    /// Ends it in the way of that name (`fast`, or `immediate`, which is a crash), and starts it again.
    pub fn restart(&self, how: &str) {
        succeed(self.command("pg_ctl").args(["stop", "-w", "-m", how, "-D"]).arg(self.data()));
        self.control("start");
    }

    /// What it answers to a query.
    pub fn query(&self, query: &str) -> Vec<postgres::Row> {
        let mut client = postgres::Client::connect(&self.url(), postgres::NoTls).unwrap();
        client.query(query, &[]).unwrap()
    }

    /// The one number that a query gives.
    pub fn count(&self, query: &str) -> i64 {
        self.query(query)[0].get(0)
    }

    /// Waits until a query counts that many.
    pub fn wait_for(&self, query: &str, many: i64) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while self.count(query) < many {
            assert!(Instant::now() < deadline, "{query} stays below {many}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn control(&self, verb: &str) {
        let options = format!("-p {} -h 127.0.0.1 -k {}", self.port, self.folder.path().display());
        let log = self.folder.path().join("log");
        succeed(
            self.command("pg_ctl").arg(verb).args(["-w", "-o", &options, "-l"]).arg(log).arg("-D").arg(self.data()),
        );
    }

    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.folder.path());
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.command("pg_ctl").args(["stop", "-m", "immediate", "-D"]).arg(self.data()).output();
    }
}

fn succeed(command: &mut Command) -> Output {
    // A server that is started keeps its starter's pipes: it gets none.
    let (out, err) = (tempfile::tempfile().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let status = command.stdout(out).stderr(err.reopen().unwrap()).status().unwrap();
    assert!(status.success(), "{command:?}: {}", std::fs::read_to_string(err.path()).unwrap_or_default());
    Output { status, stdout: Vec::new(), stderr: Vec::new() }
}

/// The folder of initdb: of the newest version that Debian's packages have installed, or on the path.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).collect::<Vec<_>>();
    let has = |folder: &Path| folder.join("initdb").is_file();
    folders.into_iter().rev().map(|(_, folder)| folder).chain(on_path).find(|folder| has(folder))
}
