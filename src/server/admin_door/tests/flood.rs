//! Whoever sends tokens at random keeps nobody else out.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;

use super::super::AdminDoor;
use super::super::reviews::{AT_ONCE, OF_ONE_PEER, WAITING};
use super::{FakeApi, ask_from, peer, refused, reviewed};
use crate::metrics::Registry;
use crate::server::listener::{ConnectionMetrics, Listening, bind, serve};

async fn metrics_for(door: &AdminDoor, peer: IpAddr, token: &str) -> u16 {
    ask_from(peer, door, &Method::GET, "/metrics", Some(&format!("Bearer {token}"))).await.status
}

#[tokio::test]
async fn many_tokens_at_once_make_few_reviews_at_once() {
    let api = Arc::new(FakeApi { slow: Some(Duration::from_millis(5)), ..FakeApi::default() });
    let door = reviewed(&api);
    let strangers = (0..WAITING + 36).map(|number| {
        let door = door.clone();
        let from = peer(u8::try_from(number / OF_ONE_PEER).expect("few"));
        async move { metrics_for(&door, from, &format!("stranger-{number}")).await }
    });
    let statuses = futures::future::join_all(strangers).await;
    let counted = |status: u16| statuses.iter().filter(|answered| **answered == status).count();
    assert_eq!((counted(401), counted(503)), (WAITING, 36), "who finds no place is told at once");
    assert_eq!(api.most_under_way.load(Ordering::SeqCst), AT_ONCE);

    let same = (0..OF_ONE_PEER).map(|_| metrics_for(&door, peer(1), "scraper"));
    let before = api.asked().len();
    assert!(futures::future::join_all(same).await.iter().all(|status| *status == 200));
    assert!(api.asked().len() - before <= 2 * AT_ONCE, "who waited for the same answer does not ask again");
}

/// The door behind a listener on every address of the machine.
async fn listening(door: Arc<AdminDoor>) -> (SocketAddr, watch::Sender<bool>) {
    let socket = bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).await.expect("a port");
    let address = socket.local_addr().expect("an address");
    let listening = Listening {
        name: "admin",
        encryption: None,
        idle: Duration::from_mins(1),
        max_connections: 4096,
        max_of_one_peer: 256,
        drain: Duration::ZERO,
    };
    let metrics = ConnectionMetrics::register(&Registry::new().expect("a registry"), &["admin"]);
    let (stop, stopped) = watch::channel(false);
    let answer = move |request, peer| {
        let door = door.clone();
        async move { door.handle(request, peer).await }
    };
    tokio::spawn(serve(socket, listening, answer, metrics.expect("metrics"), stopped));
    (SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())), stop)
}

async fn connect(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from((from, 0))).expect("an address of this machine");
    socket.connect(to).await.expect("a connection")
}

async fn send(stream: &mut TcpStream, token: &str) {
    let request = format!("GET /metrics HTTP/1.1\r\nHost: berth\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
}

async fn status(stream: &mut TcpStream) -> String {
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.expect("an answer");
    String::from_utf8_lossy(&line).into_owned()
}

#[tokio::test]
async fn a_peer_that_floods_the_door_leaves_a_review_for_another() {
    let api = Arc::new(FakeApi { slow: Some(Duration::from_secs(1)), ..FakeApi::default() });
    let door = reviewed(&api);
    let (address, _stop) = listening(door.clone()).await;
    let mut flood = Vec::new();
    for number in 0..2 * WAITING {
        let mut stream = connect([127, 0, 0, 1], address).await;
        send(&mut stream, &format!("random-{number}")).await;
        flood.push(stream);
    }
    // All but the few that wait are told at once.
    let waiting = u64::try_from(WAITING).expect("few");
    while refused(&door)[3] < waiting {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut prometheus = connect([127, 0, 0, 2], address).await;
    send(&mut prometheus, "scraper").await;
    assert_eq!(status(&mut prometheus).await, "HTTP/1.1 200");
}
