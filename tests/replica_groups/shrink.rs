//! Makes a failing history small.

use crate::scenario::Scenario;

/// So many attempts are enough.
const ATTEMPTS: usize = 3_000;

/// The smallest history found that still fails as the given one does.
pub fn shrink(scenario: &Scenario, fails: impl Fn(&Scenario) -> bool) -> Scenario {
    let mut small = scenario.clone();
    let mut left = ATTEMPTS;
    loop {
        let size = small.steps.len() + small.nodes.len();
        small = without_some(small, &mut left, &fails, |scenario| &mut scenario.steps);
        small = without_some(small, &mut left, &fails, |scenario| &mut scenario.nodes);
        if left == 0 || small.steps.len() + small.nodes.len() == size {
            return small;
        }
    }
}

/// Takes out pieces of a list, long ones first.
fn without_some<T>(
    mut small: Scenario,
    left: &mut usize,
    fails: &impl Fn(&Scenario) -> bool,
    list: impl Fn(&mut Scenario) -> &mut Vec<T>,
) -> Scenario {
    let mut piece = list(&mut small).len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < list(&mut small).len() && *left > 0 {
            let mut smaller = small.clone();
            let end = list(&mut smaller).len().min(at + piece);
            list(&mut smaller).drain(at..end);
            *left -= 1;
            if !smaller.nodes.is_empty() && fails(&smaller) {
                small = smaller;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    small
}
