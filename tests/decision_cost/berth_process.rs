//! Berth as a process of its own, over a cluster in a file.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::dear_groups::list;
use crate::support::raw_http::{Answer, Connection, get, post};
use crate::support::small_cluster::CONFIG_HEAD;

/// Killed when dropped.
pub struct BerthProcess {
    child: Child,
    connection: Connection,
    _folder: TempDir,
}

/// An answer, and how long the whole call took.
pub struct Answered {
    pub body: Value,
    pub took: Duration,
}

impl BerthProcess {
    pub fn start(config: &str, objects: &[Value]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::File::create(&path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .expect("a file");
            path
        };
        let config = write("berth.yaml", &format!("{CONFIG_HEAD}{config}"));
        let cluster = write("cluster.json", &list(objects));
        let binary = std::env::var_os("BERTH_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_berth").into());
        let mut child = Command::new(binary)
            .arg("serve")
            .arg("--config")
            .arg(config)
            .arg("--snapshot")
            .arg(cluster)
            .args(["--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Berth starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let address = |name: &str| -> SocketAddr {
            let (_, behind) = line.split_once(&format!("{name}=")).expect("an address");
            behind.split_whitespace().next().and_then(|address| address.parse().ok()).expect("an address")
        };
        let mut admin = Connection::open(address("admin")).expect("a connection");
        let began = Instant::now();
        while admin.ask(get("/readyz")).expect("an answer").status != 200 {
            assert!(began.elapsed() < Duration::from_mins(1), "Berth does not become ready");
            std::thread::sleep(Duration::from_millis(20));
        }
        let connection = Connection::open(address("verbs")).expect("a connection");
        Self { child, connection, _folder: folder }
    }

    pub fn ask(&mut self, path: &str, body: &str) -> Answered {
        let request = post(path, body);
        let began = Instant::now();
        let Answer { status, body, .. } = self.connection.ask(request).expect("an answer");
        let took = began.elapsed();
        assert_eq!(status, 200, "{body}");
        Answered { body: serde_json::from_str(&body).expect("JSON"), took }
    }

    pub fn bind(&mut self, pod: &Value, node: &str) -> Answered {
        let metadata = &pod["metadata"];
        let order = json!({"PodName": metadata["name"], "PodNamespace": metadata["namespace"],
            "PodUID": metadata["uid"], "Node": node});
        let answer = self.ask("/bind", &order.to_string());
        assert_eq!(answer.body["Error"], "", "{}", answer.body);
        answer
    }

    /// Memory in use now, and at the most so far.
    pub fn memory(&self) -> (usize, usize) {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("Linux tells");
        let kilobytes = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).expect("a line");
            line.split_whitespace().nth(1).and_then(|number| number.parse::<usize>().ok()).expect("a number")
        };
        (kilobytes("VmRSS:") << 10, kilobytes("VmHWM:") << 10)
    }
}

impl Drop for BerthProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
