//! How often the cases reach what they are made for.

mod contest;
mod spreading;

use std::fmt;

use crate::variants::Seen;

/// What is looked for, and in how many of a thousand cases at least.
type Row = (&'static str, usize, fn(&Seen<'_>) -> bool);

/// Counts over many cases.
#[derive(Debug, Default)]
pub struct Tally {
    cases: usize,
    reached: [usize; spreading::ROWS.len() + contest::ROWS.len()],
}

fn rows() -> impl Iterator<Item = Row> {
    spreading::ROWS.into_iter().chain(contest::ROWS)
}

impl Tally {
    pub fn count(&mut self, seen: &Seen<'_>) {
        self.cases += 1;
        for (reached, (_, _, reaches)) in self.reached.iter_mut().zip(rows()) {
            *reached += usize::from(reaches(seen));
        }
    }

    /// Panics if something is reached too rarely.
    pub fn check(&self) {
        for (reached, (name, least, _)) in self.reached.iter().zip(rows()) {
            assert!(reached * 1_000 >= least * self.cases, "{name}: in less than {least} of 1,000 cases");
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "of {} cases", self.cases)?;
        for (reached, (name, ..)) in self.reached.iter().zip(rows()) {
            writeln!(f, "{:>5.1} % {name}", *reached as f64 * 100.0 / self.cases as f64)?;
        }
        Ok(())
    }
}
