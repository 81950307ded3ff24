//! How many connections each peer has open, so that none takes the places of all others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Open connections by the address they come from.
#[derive(Clone)]
pub(super) struct Peers {
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    most: usize,
}

/// One connection of a peer, for as long as it is kept.
pub(super) struct Place {
    peers: Peers,
    peer: IpAddr,
}

impl Peers {
    /// Lets every peer have so many.
    pub(super) fn with_most(most: usize) -> Self {
        Self { open: Arc::default(), most }
    }

    /// One more connection of a peer; `None` if it has too many.
    pub(super) fn place_for(&self, peer: IpAddr) -> Option<Place> {
        let peer = peer.to_canonical();
        let mut open = self.lock();
        let count = open.entry(peer).or_default();
        // Whoever has none may have one, so nothing is left behind under a peer that is turned away.
        if *count >= self.most.max(1) {
            return None;
        }
        *count += 1;
        Some(Place { peers: self.clone(), peer })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Entry::Occupied(mut count) = self.peers.lock().entry(self.peer) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
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
}
