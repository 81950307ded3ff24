//! Reading quantities.
//!
//! Accepts whatever the API machinery accepts, which is more than its documentation says: `+`, `.` and `Ki` are nothing.

use super::{Form, Quantity};

/// Nothing finer is kept.
const NANO: i32 = -9;
/// As many decimal digits always have room in 64 bits.
const SHORT_DIGITS: usize = 18;

/// A text, taken apart.
struct Parts<'a> {
    negative: bool,
    /// Without leading zeros.
    whole: &'a str,
    fraction: &'a str,
    suffix: Suffix,
    /// Whether there is any digit at all.
    has_digits: bool,
}

enum Suffix {
    PowerOfTen(i32),
    PowerOfTwo(u32),
}

impl Quantity {
    /// Reads a quantity; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let parts = take_apart(text)?;
        short(&parts).or_else(|| long(&parts))
    }
}

fn take_apart(text: &str) -> Option<Parts<'_>> {
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, rest) = leading_digits(unsigned);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), leading_digits);
    Some(Parts {
        negative,
        whole: whole.trim_start_matches('0'),
        fraction,
        suffix: suffix(rest)?,
        has_digits: !(whole.is_empty() && fraction.is_empty()),
    })
}

fn leading_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn suffix(text: &str) -> Option<Suffix> {
    Some(match text {
        "n" => Suffix::PowerOfTen(NANO),
        "u" => Suffix::PowerOfTen(-6),
        "m" => Suffix::PowerOfTen(-3),
        "" => Suffix::PowerOfTen(0),
        "k" => Suffix::PowerOfTen(3),
        "M" => Suffix::PowerOfTen(6),
        "G" => Suffix::PowerOfTen(9),
        "T" => Suffix::PowerOfTen(12),
        "P" => Suffix::PowerOfTen(15),
        "E" => Suffix::PowerOfTen(18),
        "Ki" => Suffix::PowerOfTwo(10),
        "Mi" => Suffix::PowerOfTwo(20),
        "Gi" => Suffix::PowerOfTwo(30),
        "Ti" => Suffix::PowerOfTwo(40),
        "Pi" => Suffix::PowerOfTwo(50),
        "Ei" => Suffix::PowerOfTwo(60),
        _ => {
            let exponent: i64 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
            // An exponent of more than 32 bits is cut off, not refused.
            #[allow(clippy::cast_possible_truncation, reason = "as said")]
            let exponent = exponent as i32;
            Suffix::PowerOfTen(exponent)
        }
    })
}

/// The short form, for those that kube-scheduler keeps in it: not all that would have room.
fn short(parts: &Parts<'_>) -> Option<Quantity> {
    let digits = parts.whole.len().max(1) + parts.fraction.len();
    let (factor, exponent, fits) = match parts.suffix {
        Suffix::PowerOfTen(exponent) => (1, exponent, digits <= SHORT_DIGITS),
        Suffix::PowerOfTwo(exponent) => {
            // Every ten bits are taken for three digits.
            let room = 14usize.checked_sub(usize::try_from(exponent).ok()? / 10 * 3);
            (1i64 << exponent, 0, parts.fraction.is_empty() && room.is_some_and(|room| digits <= room))
        }
    };
    let scale = exponent.wrapping_sub(i32::try_from(parts.fraction.len()).ok()?);
    if !fits || scale < NANO {
        return None;
    }
    let digits = parts.whole.bytes().chain(parts.fraction.bytes());
    let number = digits.fold(0i64, |number, digit| 10 * number + i64::from(digit - b'0'));
    let value = number.checked_mul(factor)?;
    Some(Quantity(Form::Short { value: if parts.negative { -value } else { value }, scale }))
}

fn long(parts: &Parts<'_>) -> Option<Quantity> {
    if !parts.has_digits {
        return None;
    }
    let mut digits: Vec<u8> = parts.whole.bytes().chain(parts.fraction.bytes()).map(|d| d - b'0').collect();
    let decimals = i32::try_from(parts.fraction.len()).ok()?;
    let (doublings, exponent) = match parts.suffix {
        Suffix::PowerOfTen(exponent) => (0, exponent),
        Suffix::PowerOfTwo(exponent) => (exponent, 0),
    };
    let scale = exponent.wrapping_sub(decimals);
    if digits.iter().all(|digit| *digit == 0) {
        return Some(Quantity(Form::Long { value: 0, scale }));
    }
    for _ in 0..doublings {
        double(&mut digits);
    }
    let negative = parts.negative;
    let signed = |value: i128| if negative { -value } else { value };
    let amount = at_nano(&digits, scale);
    // The cap is for binary suffixes only.
    let cap = i128::from(i64::MAX) * 1_000_000_000;
    let capped = doublings > 0 && amount.is_none_or(|amount| amount > cap);
    Some(Quantity(match amount {
        _ if capped => Form::Long { value: signed(i64::MAX.into()), scale: 0 },
        Some(amount) => Form::Long { value: signed(amount), scale: NANO },
        None => Form::Beyond { negative },
    }))
}

fn double(digits: &mut Vec<u8>) {
    let mut carry = 0;
    for digit in digits.iter_mut().rev() {
        let doubled = *digit * 2 + carry;
        *digit = doubled % 10;
        carry = doubled / 10;
    }
    if carry > 0 {
        digits.insert(0, carry);
    }
}

/// The number in thousand millionths, rounded up; `None` if it has no room.
fn at_nano(digits: &[u8], scale: i32) -> Option<i128> {
    let shift = i64::from(scale) - i64::from(NANO);
    let surplus = usize::try_from(-shift).unwrap_or(0).min(digits.len());
    let (kept, lost) = digits.split_at(digits.len() - surplus);
    let mut number: i128 = 0;
    for digit in kept {
        number = number.checked_mul(10)?.checked_add(i128::from(*digit))?;
    }
    let more = shift < 0 && lost.iter().any(|digit| *digit != 0);
    let zeros = u32::try_from(shift.max(0)).ok()?;
    (number + i128::from(more)).checked_mul(10i128.checked_pow(zeros)?)
}
