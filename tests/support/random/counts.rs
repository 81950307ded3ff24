//! How often random cases reach what they are made for.

use std::fmt;

/// Counts over many cases, a row for each thing looked for.
#[derive(Debug)]
pub struct Counts {
    cases: usize,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: &'static str,
    /// In how many of a thousand cases at least.
    least: usize,
    reached: usize,
}

impl Counts {
    /// Names, and in how many of a thousand cases each is to be reached at least.
    pub fn new(rows: impl IntoIterator<Item = (&'static str, usize)>) -> Self {
        let rows = rows.into_iter().map(|(name, least)| Row { name, least, reached: 0 }).collect();
        Self { cases: 0, rows }
    }

    /// Takes in one case: whether it reaches each row.
    pub fn count(&mut self, reached: impl IntoIterator<Item = bool>) {
        self.cases += 1;
        for (row, reached) in self.rows.iter_mut().zip(reached) {
            row.reached += usize::from(reached);
        }
    }

    /// Panics if something is reached too rarely.
    pub fn check(&self) {
        for Row { name, least, reached } in &self.rows {
            assert!(reached * 1_000 >= least * self.cases, "{name}: in less than {least} of 1,000 cases");
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "of {} cases", self.cases)?;
        for row in &self.rows {
            writeln!(f, "{:>5.1} % {}", row.reached as f64 * 100.0 / self.cases as f64, row.name)?;
        }
        Ok(())
    }
}
