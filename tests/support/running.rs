//! Berth running inside the test, on free ports of the loopback interface.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use berth::app::{App, Options, Source};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::metrics_page;
use super::raw_http::{Answer, Connection, get, post};
use super::small_cluster::{CONFIG_HEAD, SNAPSHOT};

pub struct Running {
    pub verbs: SocketAddr,
    pub admin: SocketAddr,
    pub runtime: Runtime,
    pub app: Option<App>,
    /// Keeps the configuration for as long as Berth runs.
    pub directory: TempDir,
}

impl Running {
    /// The small cluster with this configuration, given without its first lines.
    pub fn start(config: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("berth.yaml");
        std::fs::write(&file, format!("{CONFIG_HEAD}{config}")).expect("a written configuration");
        Self::start_with(directory, file, Source::SnapshotText(SNAPSHOT.to_owned()))
    }

    pub fn start_with(directory: TempDir, config: PathBuf, source: Source) -> Self {
        Self::start_on(Ipv4Addr::LOCALHOST, directory, config, source)
    }

    /// With the admin port on another address than loopback's.
    pub fn start_open_to_all(config: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("berth.yaml");
        std::fs::write(&file, format!("{CONFIG_HEAD}{config}")).expect("a written configuration");
        Self::start_on(Ipv4Addr::UNSPECIFIED, directory, file, Source::SnapshotText(SNAPSHOT.to_owned()))
    }

    fn start_on(admin: Ipv4Addr, directory: TempDir, config: PathBuf, source: Source) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let [listen, admin_listen] = [Ipv4Addr::LOCALHOST, admin].map(|host| SocketAddr::from((host, 0)));
        let options = Options { config: Some(config), source, listen, admin_listen, admission_listen: None };
        let app = runtime.block_on(App::start(options, None)).expect("Berth starts");
        let admin = SocketAddr::from((Ipv4Addr::LOCALHOST, app.admin_address.port()));
        Self { verbs: app.verbs_address, admin, runtime, app: Some(app), directory }
    }

    /// A new connection to the verbs.
    pub fn connect(&self) -> Connection {
        Connection::open(self.verbs).expect("a connection")
    }

    /// One POST on a connection of its own.
    pub fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.connect().ask(post(path, body)).expect("an answer")
    }

    /// One GET on the admin port.
    pub fn admin(&self, path: &str) -> Answer {
        let mut connection = Connection::open(self.admin).expect("a connection");
        connection.ask(get(path)).expect("an answer")
    }

    /// One series of the metrics page as a count.
    pub fn count(&self, series: &str) -> u64 {
        metrics_page::count(&self.admin("/metrics").body, series)
    }

    /// How often requests were refused for this reason.
    pub fn refused(&self, verb: &str, reason: &str) -> u64 {
        self.count(&format!("berth_bad_requests_total{{reason=\"{reason}\",verb=\"{verb}\"}}"))
    }
}
