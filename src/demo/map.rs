//! Draws the cluster: zones side by side, a line per rack, a square per node.

use super::cluster::{Cluster, Node, ROOM};
use super::paint::Paint;

/// Between zones, and before the first.
const GAP: &str = "  ";

/// The map, line by line; at most 80 columns wide.
pub fn draw(cluster: &Cluster, paint: Paint) -> Vec<String> {
    let zones: Vec<Vec<String>> =
        cluster.nodes.chunk_by(|a, b| a.zone == b.zone).map(|zone| block(zone, paint)).collect();
    let height = zones.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| -> String {
        zones.iter().filter_map(|zone| zone.get(at)).flat_map(|part| [GAP, part]).collect()
    };
    (0..height).map(line).collect()
}

/// What the squares mean, in one line.
pub fn legend(paint: Paint) -> String {
    let squares: Vec<_> = (0..=ROOM).map(|pods| paint.square(pods, ROOM)).collect();
    format!("{GAP}{}  pods on a node; {ROOM} is full", squares.join(" "))
}

fn block(zone: &[Node], paint: Paint) -> Vec<String> {
    let racks: Vec<&[Node]> = zone.chunk_by(|a, b| a.rack == b.rack).collect();
    let name = zone.first().map(|node| node.zone.as_str()).unwrap_or_default();
    let taken: usize = zone.iter().map(|node| node.pods.len()).sum();
    let label = racks.iter().filter_map(|rack| rack.first()).map(|node| node.rack.len()).max().unwrap_or(0);
    let squares = racks.iter().map(|rack| 3 * rack.len()).max().unwrap_or(0);
    let room = format!("{taken} of {}", ROOM * zone.len());
    let width = (label + 1 + squares).max(name.len() + 1 + room.len());
    let blank = " ".repeat(width - name.len() - room.len());
    let mut lines = vec![format!("{}{blank}{}", paint.heading(name), paint.faint(&room))];
    lines.extend(racks.iter().map(|rack| {
        let name = rack.first().map(|node| node.rack.as_str()).unwrap_or_default();
        let squares: String = rack.iter().map(|node| paint.square(node.pods.len(), ROOM)).collect();
        // Padded by what is seen: escape codes take no room on the screen.
        let blank = " ".repeat(width - label - 1 - 3 * rack.len());
        format!("{name:label$} {squares}{blank}")
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::{draw, legend};
    use crate::demo::cluster::Cluster;
    use crate::demo::paint::Paint;

    fn without_escapes(line: &str) -> String {
        let mut parts = line.split('\x1b');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |seen, part| seen + part.split_once('m').expect("a colour ends in m").1)
    }

    #[test]
    fn plain_squares_show_the_pods_of_each_node() {
        let lines = draw(&Cluster::built_in(), Paint::Plain);
        assert_eq!(
            lines[..3],
            [
                "  zone-a          8 of 80  zone-b          3 of 80  zone-c          1 of 80",
                "  rack-a1 [4][3][.][.][.]  rack-b1 [2][.][.][.][.]  rack-c1 [.][.][.][.][.]",
                "  rack-a2 [.][.][.][1][.]  rack-b2 [.][.][.][.][.]  rack-c2 [.][.][.][.][.]",
            ]
        );
        assert_eq!(lines.len(), 5);
        assert_eq!(legend(Paint::Plain), "  [.] [1] [2] [3] [4]  pods on a node; 4 is full");
    }

    #[test]
    fn colours_change_nothing_but_the_colours() {
        let cluster = Cluster::built_in();
        let plain = draw(&cluster, Paint::Plain);
        for (coloured, plain) in draw(&cluster, Paint::Colour).iter().zip(plain) {
            assert_eq!(without_escapes(coloured), plain.replace(['[', ']'], " "));
            assert!(plain.len() <= 80 && !plain.contains('\x1b'), "{plain}");
            assert!(coloured.contains('\x1b'), "{coloured}");
        }
    }

    #[test]
    fn fuller_nodes_have_other_colours_and_a_full_one_the_last() {
        let colours: Vec<_> = (0..=4).map(|pods| Paint::Colour.square(pods, 4)).collect();
        let mut distinct: Vec<_> = colours.iter().map(|square| square.split('m').next()).collect();
        distinct.dedup();
        assert_eq!(distinct.len(), 5, "{colours:?}");
        let background = |square: &str| square.split(';').nth(2).map(str::to_owned);
        assert_eq!(background(&Paint::Colour.square(9, 4)), background(&colours[4]), "more than full");
        assert_eq!(background(&Paint::Colour.square(1, 99)), background(&colours[1]), "hardly used");
    }
}
