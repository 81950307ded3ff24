//! Just enough of an API server: lists in pages, watches that tests write to, and every way to misbehave.
//!
//! One thread per connection, one request per connection: simple, and every cut is a real one.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use berth::model::Kind;
use serde_json::{Value, json};

/// What a list says.
#[derive(Clone, Default)]
pub struct List {
    items: Vec<Value>,
    page: Option<usize>,
}

impl List {
    pub fn of(items: impl IntoIterator<Item = Value>) -> Self {
        Self { items: items.into_iter().collect(), page: None }
    }

    pub fn in_pages_of(mut self, size: usize) -> Self {
        self.page = Some(size);
        self
    }
}

pub fn node(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

pub fn pod(name: &str, node: Option<&str>) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "d", "uid": format!("uid-{name}")},
        "spec": {"nodeName": node},
    })
}

#[derive(Default)]
struct Served {
    list: List,
    lists: usize,
    /// Statuses for the next lists and the next watch, before anything works.
    failing_lists: Vec<u16>,
    refused_watch: Option<u16>,
    /// The status that every watch gets, while it is set.
    refused_watches: Option<u16>,
    /// How watches end that end as soon as they are opened.
    short: Option<&'static str>,
    watches: usize,
    watch: Option<TcpStream>,
    watched_from: Option<String>,
    /// The version in which an optional kind is installed.
    installed: Option<String>,
}

#[derive(Default)]
struct State {
    kinds: HashMap<Kind, Served>,
    /// The status that bindings get, and the last binding asked for.
    bindings: Option<u16>,
    bound: Option<Value>,
    /// Patches of statuses, with the name of the object.
    patches: Vec<(String, Value)>,
    /// The status that the second of them gets, if it fails.
    refused_patch: Option<u16>,
    /// The Events that were posted.
    events: Vec<Value>,
    away: bool,
}

type Shared = Arc<Mutex<State>>;

pub struct FakeApi {
    address: SocketAddr,
    state: Shared,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

impl FakeApi {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Shared::default();
        let accepting = Mutex::new(Some(accept(listener, state.clone())));
        Self { address, state, accepting }
    }

    pub fn url(&self) -> hyper::Uri {
        format!("http://{}", self.address).parse().expect("a URL")
    }

    pub fn serve(&self, kind: Kind, list: List) {
        self.with(kind, |served| served.list = list);
    }

    /// The Events that were posted so far.
    pub fn events(&self) -> Vec<Value> {
        lock(&self.state).events.clone()
    }

    pub fn install(&self, kind: Kind, version: &str) {
        self.with(kind, |served| served.installed = Some(version.to_owned()));
    }

    /// The next lists fail with this status.
    pub fn fail_lists(&self, kind: Kind, status: u16, times: usize) {
        self.with(kind, |served| served.failing_lists = vec![status; times]);
    }

    pub fn refuse_next_watch(&self, kind: Kind, status: u16) {
        self.with(kind, |served| served.refused_watch = Some(status));
    }

    /// Watches are refused with this status until that is taken back. One that is open stays so.
    pub fn refuse_watches(&self, kind: Kind, status: Option<u16>) {
        self.with(kind, |served| served.refused_watches = status);
    }

    /// From now on every watch says this and ends as soon as it is opened.
    pub fn end_watches_at_once(&self, kind: Kind, saying: &'static str) {
        self.with(kind, |served| served.short = Some(saying));
    }

    /// From now on bindings are answered with this status.
    pub fn answer_bindings_with(&self, status: u16) {
        lock(&self.state).bindings = Some(status);
    }

    /// The last binding asked for.
    pub fn last_binding(&self) -> Value {
        lock(&self.state).bound.clone().unwrap_or_default()
    }

    /// The second patch of a status fails with this status.
    pub fn refuse_second_patch(&self, status: u16) {
        lock(&self.state).refused_patch = Some(status);
    }

    /// The patches of statuses that were asked for, with the name of the object.
    pub fn patches(&self) -> Vec<(String, Value)> {
        lock(&self.state).patches.clone()
    }

    /// How many watches were opened.
    pub fn watches(&self, kind: Kind) -> usize {
        self.with(kind, |served| served.watches)
    }

    /// Says something on the open watch.
    pub fn event(&self, kind: Kind, what: &str, object: &Value) {
        let line = format!("{{\"type\":\"{what}\",\"object\":{object}}}\n");
        self.with(kind, |served| {
            let watch = served.watch.as_mut().expect("a watch");
            watch.write_all(chunk(&line).as_bytes()).expect("an event sent");
        });
    }

    /// Ends the watch because its version is too old.
    pub fn expire(&self, kind: Kind) {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "too old resource version", "reason": "Expired", "code": 410});
        crate::support::waiting::until_true("watched", || self.is_watched(kind));
        self.event(kind, "ERROR", &status);
        self.end_watch(kind);
    }

    /// Ends the watch in good order.
    pub fn end_watch(&self, kind: Kind) {
        self.with(kind, |served| {
            let mut watch = served.watch.take().expect("a watch");
            watch.write_all(b"0\r\n\r\n").expect("the end sent");
        });
    }

    /// Cuts every connection and takes no new ones.
    pub fn vanish(&self) {
        lock(&self.state).away = true;
        // Wakes the accepting thread, which then gives up its port.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = lock(&self.accepting).take() {
            accepting.join().expect("no panic while serving");
        }
        for served in lock(&self.state).kinds.values_mut() {
            if let Some(watch) = served.watch.take() {
                let _ = watch.shutdown(Shutdown::Both);
            }
        }
    }

    /// Is back on the same port.
    pub fn come_back(&self) {
        lock(&self.state).away = false;
        let listener =
            crate::support::waiting::until("the port again", || TcpListener::bind(self.address).ok());
        *lock(&self.accepting) = Some(accept(listener, self.state.clone()));
    }

    pub fn is_watched(&self, kind: Kind) -> bool {
        self.with(kind, |served| served.watch.is_some())
    }

    pub fn watched_from(&self, kind: Kind) -> Option<String> {
        self.with(kind, |served| served.watched_from.clone())
    }

    /// How many lists, or pages of one, were answered.
    pub fn lists(&self, kind: Kind) -> usize {
        self.with(kind, |served| served.lists)
    }

    fn with<R>(&self, kind: Kind, change: impl FnOnce(&mut Served) -> R) -> R {
        change(lock(&self.state).kinds.entry(kind).or_default())
    }
}

impl Drop for FakeApi {
    fn drop(&mut self) {
        self.vanish();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn accept(listener: TcpListener, state: Shared) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if lock(&state).away {
                return;
            }
            let state = state.clone();
            std::thread::spawn(move || {
                // A caller that hangs up is no failure of ours.
                let _ = answer(stream, &state);
            });
        }
    })
}

fn answer(mut stream: TcpStream, state: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header == "\r\n" {
            break;
        }
        let header = header.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let target = first.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parameter = |name: &str| {
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    };
    let mut state = lock(state);
    let last = path.rsplit('/').next().unwrap_or_default();
    if last == "binding" {
        state.bound = serde_json::from_slice(&body).ok();
        return match state.bindings.unwrap_or(201) {
            201 => reply(&mut stream, 201, &json!({"kind": "Status", "status": "Success"})),
            status => fail(&mut stream, status),
        };
    }
    if last == "status" {
        let name = path.rsplit('/').nth(1).unwrap_or_default().to_owned();
        let is_first = state.patches.is_empty();
        state.patches.push((name.clone(), serde_json::from_slice(&body).unwrap_or_default()));
        if let Some(status) = state.refused_patch.take_if(|_| !is_first) {
            return fail(&mut stream, status);
        }
        let metadata =
            json!({"name": name, "namespace": "d", "uid": format!("uid-{name}"), "resourceVersion": "7"});
        // As it was after the first patch; nobody looks at what a later one made of it.
        let pod = json!({"metadata": metadata, "status": state.patches[0].1["status"]});
        return reply(&mut stream, 200, &pod);
    }
    if last == "events" {
        state.events.extend(serde_json::from_slice::<Value>(&body));
        return reply(&mut stream, 201, &serde_json::from_slice(&body).unwrap_or_default());
    }
    if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.group() == last && !last.is_empty()) {
        let installed = state.kinds.entry(kind).or_default().installed.clone();
        return match installed {
            Some(version) => {
                let group = kind.group();
                let version = json!({"groupVersion": format!("{group}/{version}"), "version": version});
                reply(
                    &mut stream,
                    200,
                    &json!({"name": group, "versions": [version], "preferredVersion": version}),
                )
            }
            None => fail(&mut stream, 404),
        };
    }
    let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.plural() == last) else {
        return fail(&mut stream, 404);
    };
    let served = state.kinds.entry(kind).or_default();
    if parameter("watch").is_some() {
        if let Some(status) = served.refused_watch.take().or(served.refused_watches) {
            return fail(&mut stream, status);
        }
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        )?;
        served.watched_from = parameter("resourceVersion");
        served.watches += 1;
        if let Some(last_words) = served.short {
            let chunk = if last_words.is_empty() { String::new() } else { chunk(last_words) };
            return stream.write_all(format!("{chunk}0\r\n\r\n").as_bytes());
        }
        served.watch = Some(stream);
        return Ok(());
    }
    if let Some(status) = served.failing_lists.pop() {
        return fail(&mut stream, status);
    }
    served.lists += 1;
    let from = parameter("continue").and_then(|token| token.parse().ok()).unwrap_or(0);
    let size = served.list.page.unwrap_or(usize::MAX);
    let page: Vec<&Value> = served.list.items.iter().skip(from).take(size).collect();
    let end = from + page.len();
    let more = (end < served.list.items.len()).then(|| end.to_string());
    let body = json!({"metadata": {"resourceVersion": "1", "continue": more}, "items": page});
    reply(&mut stream, 200, &body)
}

fn fail(stream: &mut TcpStream, code: u16) -> std::io::Result<()> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "as told", "reason": "Test", "code": code});
    reply(stream, code, &status)
}

fn reply(stream: &mut TcpStream, status: u16, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}
