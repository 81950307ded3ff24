//! A difference, for a human.

use std::fmt::Write;
use std::path::Path;

use crate::case::Case;
use crate::outcome::Outcome;
use crate::reference::Reference;
use crate::subject;

/// Both sides of the smallest case that differs, and where the files are.
pub fn difference(origin: &str, reference: &Reference, case: &Case, small: &Case) -> String {
    let mut text = format!("{origin}: Berth and kube-scheduler differ\n");
    let answer = &reference.answer(std::slice::from_ref(small))[0];
    let expected = Outcome::expected(small, answer);
    let found = subject::decide(small);
    let line = |text: &mut String, cells: [&str; 7]| {
        let [node, wanted, got, score, berth, after, berth_after] = cells;
        write!(text, "  {node:<12} {wanted:<14} {got:<14} {score:>24} {berth:>6}").expect("memory");
        writeln!(text, "   {after:<14} {berth_after}").expect("memory");
    };
    let scores = "upstream raw/norm./score";
    line(&mut text, ["node", "upstream", "Berth", scores, "Berth", "victims gone:", "Berth"]);
    for (at, node) in small.candidates().iter().enumerate() {
        let raw = answer.score.raw.get(at).map_or("-".to_owned(), i64::to_string);
        let normalized = answer.score.normalized.get(at).map_or("-".to_owned(), i64::to_string);
        let (got, score, berth_after) = match &found {
            Ok(found) => {
                (found.verdicts[at].to_string(), found.scores[at].to_string(), fits(found.fits_after[at]))
            }
            Err(_) => ("-".to_owned(), "-".to_owned(), "-"),
        };
        let scores = format!("{raw}/{normalized}/{}", expected.scores[at]);
        let wanted = expected.verdicts[at].to_string();
        line(&mut text, [node, &wanted, &got, &scores, &score, fits(expected.fits_after[at]), berth_after]);
    }
    if let Err(error) = &found {
        writeln!(text, "  Berth: {error}").expect("memory");
    }
    writeln!(text, "  args: {}", small.0["args"]).expect("memory");
    writeln!(text, "  pod: {}", small.pod()).expect("memory");
    writeln!(text, "  victims: {}", small.0["victims"]).expect("memory");
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

fn fits(after: Option<bool>) -> &'static str {
    match after {
        None => "-",
        Some(true) => "fits",
        Some(false) => "does not",
    }
}
