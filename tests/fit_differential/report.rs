//! A difference, for a human.

use std::fmt::{Debug, Write};
use std::path::Path;

use crate::case::Case;
use crate::reference::Reference;
use crate::subject;

/// What differs in the smallest case that does, and where the files are.
pub fn difference(origin: &str, reference: &Reference, case: &Case, small: &Case) -> String {
    let mut text = format!("{origin}: Berth and kube-scheduler differ\n");
    let expected = &reference.outcomes(std::slice::from_ref(small))[0];
    match subject::decide(small) {
        Err(error) => writeln!(text, "  Berth: {error}").expect("memory"),
        Ok(found) => {
            part(&mut text, "plugins", &expected.plugins, &found.plugins);
            part(&mut text, "all plugins", &expected.verdicts, &found.verdicts);
            part(&mut text, "requests", &expected.requests, &found.requests);
            part(&mut text, "allocated", &expected.allocated, &found.allocated);
            part(&mut text, "nodes", &expected.nodes, &found.nodes);
            let quantities = small.quantities();
            for (at, quantity) in quantities.iter().enumerate() {
                part(&mut text, quantity, &expected.quantities[at], &found.quantities[at]);
            }
            writeln!(text, "  reasons: {:?}", expected.reasons.0).expect("memory");
        }
    }
    writeln!(text, "  case: {}", small.0).expect("memory");
    for (name, case) in [("whole", case), ("small", small)] {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fit-difference-{name}.json"));
        match std::fs::write(&path, format!("{:#}\n", case.0)) {
            Ok(()) => writeln!(text, "  {name} case: BERTH_FIT_REPLAY={}", path.display()),
            Err(error) => writeln!(text, "  {name} case not written: {error}"),
        }
        .expect("memory");
    }
    text
}

fn part<T: Debug + PartialEq>(text: &mut String, name: &str, expected: &T, found: &T) {
    if expected != found {
        writeln!(text, "  {name}:\n    upstream {expected:?}\n    Berth    {found:?}").expect("memory");
    }
}
