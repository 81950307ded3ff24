//! Which cases to run, and how to have one of them again.

use std::env;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use super::rng::Rng;

/// The seed of what is always the same.
const FIXED_SEED: u64 = 36;
/// Cases in the air at a time, where many are judged at once; bounds memory in long runs.
pub const BATCH: usize = 500;

/// Where the seeds come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// The same every time. For tests with a known gap: a case that falls into it is for who goes looking, not for who
    /// changes something else.
    Fixed,
    /// Half of the cases always the same, half of them new.
    HalfFresh,
    /// New every time.
    Fresh,
}

/// Everything about a case follows from these two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    pub seed: u64,
    pub number: u64,
}

impl Origin {
    pub fn rng(self) -> Rng {
        Rng::of(self.seed, self.number)
    }
}

/// The cases of a test.
#[derive(Clone, Debug)]
pub struct Cases {
    /// How the variables begin that choose other cases, if there are any.
    prefix: Option<&'static str>,
    parts: Vec<(u64, Range<u64>)>,
}

impl Cases {
    /// So many cases that nobody can choose: for what a generator has to reach.
    pub fn always(count: u64) -> Self {
        Self { prefix: None, parts: vec![(FIXED_SEED, 0..count)] }
    }

    /// So many cases, unless the environment says otherwise:
    ///
    /// | variable         | meaning                                                         |
    /// |------------------|-----------------------------------------------------------------|
    /// | `<prefix>_CASES` | how many                                                        |
    /// | `<prefix>_SEED`  | the seed instead of a fresh one, or where there is none, of all |
    /// | `<prefix>_CASE`  | only the one with this number                                   |
    pub fn new(prefix: &'static str, count: u64, seeds: Seeds) -> Self {
        let chosen = |variable: &str| number(&format!("{prefix}_{variable}"));
        let count = chosen("CASES").unwrap_or(count);
        let only = chosen("CASE");
        let repeated = seeds == Seeds::Fixed || only.is_some();
        let seed = chosen("SEED").unwrap_or_else(|| if repeated { FIXED_SEED } else { fresh_seed() });
        let parts = match (only, seeds) {
            (Some(number), _) => vec![(seed, number..number + 1)],
            (None, Seeds::HalfFresh) => vec![(FIXED_SEED, 0..count - count / 2), (seed, 0..count / 2)],
            (None, Seeds::Fixed | Seeds::Fresh) => vec![(seed, 0..count)],
        };
        let cases = Self { prefix: Some(prefix), parts };
        for (seed, numbers) in &cases.parts {
            println!("{} cases with {prefix}_SEED={seed}", numbers.end - numbers.start);
        }
        cases
    }

    /// One after the other.
    pub fn each(&self) -> impl Iterator<Item = Origin> {
        self.parts
            .iter()
            .flat_map(|(seed, numbers)| numbers.clone().map(|number| Origin { seed: *seed, number }))
    }

    /// The same, many at a time.
    pub fn batches(&self) -> Vec<Vec<Origin>> {
        let origins: Vec<Origin> = self.each().collect();
        origins.chunks(BATCH).map(<[Origin]>::to_vec).collect()
    }

    /// Which case it is, and how to run it alone.
    pub fn name(&self, Origin { seed, number }: Origin) -> String {
        let alone =
            self.prefix.map(|prefix| format!(" (alone: {prefix}_SEED={seed} {prefix}_CASE={number})"));
        format!("seed {seed}, case {number}{}", alone.unwrap_or_default())
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    u64::try_from(now.as_micros()).expect("a clock before the year 500000")
}
