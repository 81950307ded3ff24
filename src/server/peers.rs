//! How many places each peer has, so that none takes those of all others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places by the network they are taken from.
#[derive(Clone)]
pub(super) struct Peers {
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    most: usize,
}

/// One place of a peer, for as long as it is kept.
pub(super) struct Place {
    peers: Peers,
    network: IpAddr,
}

impl Peers {
    /// Lets every peer have so many.
    pub(super) fn with_most(most: usize) -> Self {
        Self { taken: Arc::default(), most }
    }

    /// One more place for a peer; `None` if it has too many.
    pub(super) fn place_for(&self, peer: IpAddr) -> Option<Place> {
        let network = network(peer);
        let mut taken = self.lock();
        let count = taken.entry(network).or_default();
        // Whoever has none may have one, so nothing is left behind under a peer that is turned away.
        if *count >= self.most.max(1) {
            return None;
        }
        *count += 1;
        Some(Place { peers: self.clone(), network })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Entry::Occupied(mut count) = self.peers.lock().entry(self.network) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// Who counts as one peer. A single host usually has a whole /64 of IPv6 addresses to choose from.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::Peers;

    #[test]
    fn a_peer_that_has_too_many_leaves_room_for_others() {
        let peers = Peers::with_most(2);
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let (greedy, mapped, other) =
            (address("192.0.2.1"), address("::ffff:192.0.2.1"), address("192.0.2.2"));
        let first = peers.place_for(greedy).expect("a first place");
        let second = peers.place_for(mapped).expect("a second place");
        assert!(peers.place_for(greedy).is_none(), "written one way or another, it is one peer");
        assert!(peers.place_for(other).is_some());
        drop(first);
        assert!(peers.place_for(greedy).is_some(), "a place is free again");
        drop(second);
        assert!(peers.lock().is_empty(), "nobody is remembered who has none");
    }
    #[test]
    fn a_host_with_many_ipv6_addresses_is_one_peer() {
        let peers = Peers::with_most(1);
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let _first = peers.place_for(address("2001:db8:0:1::1")).expect("a first place");
        assert!(peers.place_for(address("2001:db8:0:1:ffff:ffff:ffff:ffff")).is_none(), "it is the same /64");
        assert!(peers.place_for(address("2001:db8:0:2::1")).is_some(), "it is another one");
    }
}
