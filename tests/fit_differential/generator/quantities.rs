//! Quantities as nobody would write them.

use crate::support::random::Rng;

const SUFFIXES: [&str; 16] =
    ["n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Read in a way of their own, or not at all.
const ODD: [&str; 34] = [
    "",
    "0",
    "+",
    "-",
    ".",
    "-.",
    "Ki",
    "-Ei",
    "Pi",
    ".Pi",
    "e5",
    "E",
    "e",
    "1e",
    "1E+",
    "1.2.3",
    "--1",
    "+-1",
    "1 ",
    " 1",
    "1Kii",
    "1ki",
    "1KI",
    "1e5m",
    "1ee5",
    "1m5",
    "0x1F",
    "1_000",
    "1e9223372036854775808",
    "1e4294967296",
    "-0",
    "007",
    "9223372036854775807",
    "-9223372036854775808",
];

/// Any text that could be taken for a quantity, at times wrongly.
pub fn any(rng: &mut Rng) -> String {
    match rng.below(100) {
        0..12 => rng.pick(&ODD).to_owned(),
        12..22 => spoil(rng),
        22..30 => {
            // So few digits that any exponent will do.
            let (digits, exponent) = (digits(rng, 6), rng.below(60));
            format!("{}{digits}e{}{exponent}", sign(rng), rng.pick(&["", "-", "+"]))
        }
        _ => well_formed(rng, Limits { whole: 24, fraction: 20, exponent: 4 }),
    }
}

/// A quantity that may be added up a few times, see the list of deviations.
pub fn bounded(rng: &mut Rng) -> String {
    // One digit at least, or it may be malformed.
    let text = well_formed(rng, Limits { whole: 16, fraction: 4, exponent: 4 });
    let at = usize::from(text.starts_with(['-', '+']));
    format!("{}{}{}", &text[..at], rng.below(10), &text[at..])
}

#[derive(Clone, Copy)]
struct Limits {
    whole: usize,
    fraction: usize,
    exponent: usize,
}

fn well_formed(rng: &mut Rng, limits: Limits) -> String {
    let whole = rng.below(limits.whole + 1);
    let whole = digits(rng, whole);
    let fraction = match rng.below(10) {
        0..5 => String::new(),
        5 => ".".to_owned(),
        _ => {
            let length = rng.below(limits.fraction + 1);
            format!(".{}", digits(rng, length))
        }
    };
    let suffix = if rng.chance(20) {
        let sign = rng.pick(&["", "-", "+"]);
        format!("{}{sign}{}", rng.pick(&["e", "E"]), rng.below(limits.exponent + 1))
    } else if whole.len() > 6 {
        // Large numbers of a large unit are more than anybody keeps, but for binary ones, which are capped.
        rng.pick(&["n", "u", "m", "", "k", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]).to_owned()
    } else {
        rng.pick(&SUFFIXES).to_owned()
    };
    format!("{}{whole}{fraction}{suffix}", sign(rng))
}

fn sign(rng: &mut Rng) -> &'static str {
    rng.weighted(&[(80, ""), (12, "-"), (8, "+")])
}

/// So many, often with zeros at either end.
fn digits(rng: &mut Rng, count: usize) -> String {
    let choices = rng.pick(&["0123456789", "0123456789", "09", "0", "000001"]);
    let choices: Vec<char> = choices.chars().collect();
    (0..count).map(|_| rng.pick(&choices)).collect()
}

/// With one character too many.
fn spoil(rng: &mut Rng) -> String {
    let mut text = well_formed(rng, Limits { whole: 5, fraction: 5, exponent: 9 });
    let at = rng.below(text.len() + 1);
    text.insert(at, rng.pick(&['.', '-', '+', 'e', 'E', 'i', 'K', 'm', 'x', ' ', '0', 'é', '\n']));
    text
}
