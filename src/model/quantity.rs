//! Kubernetes quantities (`100m`, `1.5`, `128Gi`, `1e3`), with the very numbers that kube-scheduler makes of them.
//!
//! kube-scheduler keeps a quantity in one of two forms, and rounding and overflow depend on which it is. A pod that asks
//! for something absurd has to fit on the same nodes here and there, so both forms are kept apart here too:
//!
//! | | short | long |
//! |---|---|---|
//! | holds | 64 bits and a power of ten | any number of digits |
//! | rounds | away from zero | up, but see `long_scaled` |
//! | overflows to | the lowest 64 bits, or 0 | the lowest 64 bits |

mod parse;

use std::cmp::Ordering;

/// A quantity. Two are equal if they are written in the same form, not whenever they are the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity(Form);

/// The number is `value * 10^scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Short {
        value: i64,
        scale: i32,
    },
    Long {
        value: i128,
        scale: i32,
    },
    /// More digits than we care to keep: at least a hundred thousand million times what 64 bits hold. This is the one
    /// place where kube-scheduler computes something else, the lowest 64 bits of it.
    Beyond {
        negative: bool,
    },
}

const MILLI: i32 = -3;

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self(Form::Short { value: 0, scale: 0 });

    /// The quantity in units, fractions rounded away from zero.
    pub fn value(self) -> i64 {
        self.scaled(0)
    }

    /// The quantity in thousandths, fractions of them rounded away from zero.
    pub fn milli_value(self) -> i64 {
        self.scaled(MILLI)
    }

    /// The quantity in units; what has no room is as much as has.
    pub(crate) fn saturating_value(self) -> i64 {
        self.saturating(0)
    }

    /// The quantity in thousandths; what has no room is as much as has.
    pub(crate) fn saturating_milli_value(self) -> i64 {
        self.saturating(MILLI)
    }

    fn saturating(self, to: i32) -> i64 {
        let furthest = |negative: bool| if negative { i64::MIN } else { i64::MAX };
        let Some((value, scale)) = self.digits() else { return furthest(self.beyond() < 0) };
        let scaled = if scale < to {
            // Beyond that power nothing is left but the fraction.
            let divisor = 10i128.checked_pow(scale.abs_diff(to)).unwrap_or(i128::MAX);
            Some(value / divisor + i128::from(value % divisor > 0))
        } else {
            raise_long(value, scale, to)
        };
        scaled.and_then(|scaled| i64::try_from(scaled).ok()).unwrap_or_else(|| furthest(value < 0))
    }

    fn scaled(self, to: i32) -> i64 {
        match self.0 {
            Form::Short { value, scale } if scale < to => round_away(value, to - scale),
            Form::Short { value, scale } => multiply(value, scale.wrapping_sub(to)),
            Form::Long { value, scale } => long_scaled(value, i64::from(to) - i64::from(scale)),
            Form::Beyond { negative } => [i64::MAX, i64::MIN][usize::from(negative)],
        }
    }

    /// The sum, which is exact; it becomes long if it has to.
    pub(crate) fn plus(self, other: Self) -> Self {
        if let (Form::Short { value: a, scale: at }, Form::Short { value: b, scale: bt }) = (self.0, other.0)
        {
            if b == 0 {
                return self;
            }
            if a == 0 {
                return other;
            }
            let scale = at.min(bt);
            let sum = raise(a, at, scale).zip(raise(b, bt, scale)).and_then(|(a, b)| a.checked_add(b));
            if let Some(value) = sum {
                return Self(Form::Short { value, scale });
            }
        }
        let (Some((a, at)), Some((b, bt))) = (self.digits(), other.digits()) else {
            let beyond = if self.digits().is_none() { self } else { other };
            return beyond;
        };
        let scale = at.min(bt);
        let (long_a, long_b) = (raise_long(a, at, scale), raise_long(b, bt, scale));
        match long_a.zip(long_b).and_then(|(a, b)| a.checked_add(b)) {
            Some(value) => Self(Form::Long { value, scale }),
            None => Self(Form::Beyond { negative: if long_a.is_none() { a < 0 } else { b < 0 } }),
        }
    }

    /// The greater of the two; this one if they are equal. The other one becomes long if it is compared with a long one.
    pub fn max(self, other: Self) -> Self {
        if other.compare(self) != Ordering::Greater {
            return self;
        }
        match (self.0, other.0) {
            (Form::Short { .. }, _) => other,
            (_, Form::Short { value, scale }) => Self(Form::Long { value: value.into(), scale }),
            _ => other,
        }
    }

    fn compare(self, other: Self) -> Ordering {
        let (Some(a), Some(b)) = (self.digits(), other.digits()) else {
            return self.beyond().cmp(&other.beyond());
        };
        let scale = a.1.min(b.1);
        match (raise_long(a.0, a.1, scale), raise_long(b.0, b.1, scale)) {
            (Some(a), Some(b)) => a.cmp(&b),
            // What cannot be written at the scale of the other is further from zero than it.
            (None, _) => a.0.cmp(&0),
            (_, None) => 0.cmp(&b.0),
        }
    }

    fn digits(self) -> Option<(i128, i32)> {
        match self.0 {
            Form::Short { value, scale } => Some((value.into(), scale)),
            Form::Long { value, scale } => Some((value, scale)),
            Form::Beyond { .. } => None,
        }
    }

    /// On which side of all that can be written it lies.
    fn beyond(self) -> i8 {
        match self.0 {
            Form::Beyond { negative: true } => -1,
            Form::Beyond { negative: false } => 1,
            _ => 0,
        }
    }
}

/// `value * 10^(from - to)`, if it has room.
fn raise(value: i64, from: i32, to: i32) -> Option<i64> {
    raise_long(value.into(), from, to)?.try_into().ok()
}

fn raise_long(value: i128, from: i32, to: i32) -> Option<i128> {
    if value == 0 {
        return Some(0);
    }
    value.checked_mul(10i128.checked_pow(from.abs_diff(to))?)
}

/// `value / 10^by`, away from zero.
fn round_away(value: i64, by: i32) -> i64 {
    let divisor = 10i128.checked_pow(by.unsigned_abs()).unwrap_or(i128::MAX);
    let (quotient, rest) = (i128::from(value) / divisor, i128::from(value) % divisor);
    truncated(quotient + rest.signum())
}

/// `value * 10^by`. What has no room is cut off where kube-scheduler multiplies in one go, and is 0 where it takes
/// several steps.
fn multiply(value: i64, by: i32) -> i64 {
    match by {
        1 | 2 | 3 | 6 | 9 if value == i64::MIN => 0,
        1 | 2 | 3 | 6 | 9 => value.wrapping_mul(10i64.pow(by.unsigned_abs())),
        _ if by <= 0 => value,
        _ => raise(value, by, 0).unwrap_or_default(),
    }
}

/// `value / 10^by` as kube-scheduler computes it for long forms, which is the next integer up, with one exception: a
/// negative number of few digits is cut off first and then rounded up, so that -1.5 becomes 0.
fn long_scaled(value: i128, by: i64) -> i64 {
    let power = |by: i64| u32::try_from(by).ok().and_then(|by| 10i128.checked_pow(by));
    match by {
        0 => truncated(value),
        ..0 => {
            // A power that does not fit becomes the smallest number when Go turns it into an integer.
            let factor = power(-by).and_then(|factor| i64::try_from(factor).ok()).unwrap_or(i64::MIN);
            truncated(value).wrapping_mul(factor)
        }
        1..19 if value < i128::from(i64::MAX) => {
            let (value, divisor) = (i128::from(truncated(value)), power(by).unwrap_or(i128::MAX));
            truncated(value / divisor + i128::from(value % divisor != 0))
        }
        _ => {
            let divisor = power(by).unwrap_or(i128::MAX);
            truncated(value.div_euclid(divisor) + i128::from(value.rem_euclid(divisor) != 0))
        }
    }
}

/// The lowest 64 bits.
#[allow(clippy::cast_possible_truncation, reason = "that is what is asked for")]
fn truncated(value: i128) -> i64 {
    value as i64
}

#[cfg(test)]
mod tests;
