//! A difference, for a human.

use std::fmt::Write;
use std::path::Path;

use crate::case::Case;
use crate::outcome::Outcome;
use crate::reference::Reference;
use crate::subject;

/// Both sides of the smallest case that differs, and where the files are.
pub fn difference(origin: &str, reference: &Reference, case: &Case, small: &Case) -> String {
    let mut text = format!("{origin}, case {}: Berth and kube-scheduler differ\n", case.id());
    let answer = &reference.answer(std::slice::from_ref(small))[0];
    let expected = Outcome::expected(small, answer);
    let found = subject::decide(small);
    let line = |text: &mut String, cells: [&str; 5]| {
        let [node, wanted, got, score, berth] = cells;
        writeln!(text, "  {node:<12} {wanted:<14} {got:<14} {score:>24} {berth:>6}").expect("memory");
    };
    line(&mut text, ["node", "upstream", "Berth", "upstream raw/norm./score", "Berth"]);
    for (at, node) in small.candidates().iter().enumerate() {
        let raw = answer.score.raw.get(at).map_or("-".to_owned(), i64::to_string);
        let normalized = answer.score.normalized.get(at).map_or("-".to_owned(), i64::to_string);
        let (got, score) = match &found {
            Ok(found) => (found.verdicts[at].to_string(), found.scores[at].to_string()),
            Err(_) => ("-".to_owned(), "-".to_owned()),
        };
        let scores = format!("{raw}/{normalized}/{}", expected.scores[at]);
        line(&mut text, [node, &expected.verdicts[at].to_string(), &got, &scores, &score]);
    }
    if let Err(error) = &found {
        writeln!(text, "  Berth: {error}").expect("memory");
    }
    writeln!(text, "  args: {}", small.0["args"]).expect("memory");
    writeln!(text, "  pod: {}", small.pod()).expect("memory");
    for (name, case) in [("whole", case), ("small", small)] {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("spread-difference-{name}.json"));
        match std::fs::write(&path, format!("{:#}\n", case.0)) {
            Ok(()) => writeln!(text, "  {name} case: BERTH_SPREAD_REPLAY={}", path.display()),
            Err(error) => writeln!(text, "  {name} case not written: {error}"),
        }
        .expect("memory");
    }
    text
}
