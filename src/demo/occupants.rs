//! Draws one rack with a letter for each pod, to tell who has which place.

use super::cluster::{Cluster, Node, ROOM};
use super::paint::Paint;
use super::workload::{ALPHA, BETA, Pod};

/// The rack, in one line.
pub fn draw(cluster: &Cluster, rack: &str, paint: Paint) -> String {
    let nodes: String = cluster.rack(rack).map(|node| places(node, paint)).collect();
    format!("{rack} {nodes}")
}

/// What the letters mean, in one line.
pub fn legend() -> String {
    format!("A {}  B {}  s a single pod  . a free place", ALPHA.app, BETA.app)
}

/// One node. The pods of one owner stand together, for their order means nothing.
fn places(node: &Node, paint: Paint) -> String {
    let mut letters: Vec<char> = node.pods.iter().map(letter).collect();
    letters.sort_unstable();
    letters.resize(ROOM.max(letters.len()), '.');
    let painted: String = letters.into_iter().map(|letter| paint.occupant(letter)).collect();
    format!("[{painted}]")
}

fn letter(pod: &Pod) -> char {
    match pod.workload.app {
        app if app == ALPHA.app => 'A',
        app if app == BETA.app => 'B',
        _ => 's',
    }
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::demo::cluster::Cluster;
    use crate::demo::paint::Paint;
    use crate::demo::workload::{ALPHA, BETA, CRON};

    #[test]
    fn each_place_shows_who_has_it() {
        let mut cluster = Cluster::built_in();
        let rack = cluster.grow();
        let pods = CRON.pods().take(1).chain(BETA.pods().take(1)).chain(ALPHA.pods().take(2));
        cluster.node_mut("node-a5-2").expect("a node").pods.extend(pods);
        assert_eq!(draw(&cluster, &rack, Paint::Plain), "rack-a5 [....][AABs][....][....][....]");
        assert!(draw(&cluster, &rack, Paint::Colour).contains('\x1b'));
    }
}
