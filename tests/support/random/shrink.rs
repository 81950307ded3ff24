//! Makes failing cases small enough to read.

use std::iter;

use super::cases::BATCH;

/// So many questions are enough.
const QUESTIONS: usize = 3_000;

/// What can be made smaller.
pub trait Shrink: Clone {
    /// Smaller ones of its kind, the most daring first. None of them may lead back to this one.
    fn smaller(&self) -> impl Iterator<Item = Self>;
}

/// The smallest case found that still fails.
pub fn shrink<T: Shrink>(case: T, mut fails: impl FnMut(&T) -> bool) -> T {
    descend(case, 1, |cases| cases.iter().position(&mut fails))
}

/// The same where it takes long to ask and many cases can be asked about at once: which is the first that fails?
pub fn shrink_in_batches<T: Shrink>(case: T, first_failing: impl FnMut(&[T]) -> Option<usize>) -> T {
    descend(case, BATCH, first_failing)
}

/// Takes the first smaller case that still fails in place of the case, until there is none.
fn descend<T: Shrink>(case: T, batch: usize, mut first_failing: impl FnMut(&[T]) -> Option<usize>) -> T {
    let mut smallest = case;
    let mut start = 0;
    let mut questions = 0;
    loop {
        // What came before the last success was tried on a case that was nearly the same: it comes last now.
        let numbered = || smallest.smaller().enumerate();
        let mut candidates = numbered().skip(start).chain(numbered().take(start));
        let found = loop {
            let (numbers, mut cases): (Vec<usize>, Vec<T>) = candidates.by_ref().take(batch).unzip();
            if cases.is_empty() || questions == QUESTIONS {
                break None;
            }
            questions += 1;
            if let Some(at) = first_failing(&cases) {
                break Some((numbers[at], cases.swap_remove(at)));
            }
        };
        drop(candidates);
        match found {
            Some((number, case)) => (start, smallest) = (number, case),
            None => return smallest,
        }
    }
}

/// The list without one of its pieces: without everything, halves, quarters, and so on to single items.
pub fn without_pieces<T: Clone>(list: &[T]) -> impl Iterator<Item = Vec<T>> {
    let lengths = iter::successors(Some(list.len()), |length| Some(length / 2));
    lengths.take_while(|length| *length > 0).flat_map(move |length| {
        let without = move |at: usize| [&list[..at], &list[list.len().min(at + length)..]].concat();
        (0..list.len()).step_by(length).map(without)
    })
}

/// The list with one of its items made smaller.
pub fn with_smaller_items<T: Shrink>(list: &[T]) -> impl Iterator<Item = Vec<T>> {
    list.iter().enumerate().flat_map(move |(at, item)| {
        item.smaller().map(move |smaller| {
            let mut list = list.to_vec();
            list[at] = smaller;
            list
        })
    })
}

impl<T: Shrink> Shrink for Vec<T> {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        without_pieces(self).chain(with_smaller_items(self))
    }
}

impl Shrink for usize {
    fn smaller(&self) -> impl Iterator<Item = Self> {
        let steps = iter::successors(Some(*self), |step| Some(step / 2));
        steps.take_while(|step| *step > 0).map(move |step| self - step)
    }
}
