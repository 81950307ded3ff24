use std::cmp::Ordering::{Equal, Greater, Less};

use super::Quantity;

fn numbers(text: &str) -> Option<(i64, i64)> {
    Quantity::parse(text).map(|quantity| (quantity.value(), quantity.milli_value()))
}

/// Every row is what the API machinery says; `tests/fit_differential` asks it about thousands more.
#[test]
fn quantities_of_every_shape() {
    for (text, expected) in [
        ("0", Some((0, 0))),
        ("100m", Some((1, 100))),
        ("1.5", Some((2, 1_500))),
        ("128Gi", Some((137_438_953_472, 137_438_953_472_000))),
        ("1e3", Some((1_000, 1_000_000))),
        ("1E-1", Some((1, 100))),
        ("0.1", Some((1, 100))),
        ("5u", Some((1, 1))),
        ("1n", Some((1, 1))),
        ("-1.5", Some((-2, -1_500))),
        ("+2k", Some((2_000, 2_000_000))),
        ("1.5Gi", Some((1_610_612_736, 1_610_612_736_000))),
        ("0.0000000001", Some((1, 1))),
        // Accepted, whatever it may mean.
        ("+", Some((0, 0))),
        (".", Some((0, 0))),
        ("Ki", Some((0, 0))),
        ("7.", Some((7, 7_000))),
        // Overflow.
        ("12E", Some((0, 0))),
        ("10Ei", Some((i64::MAX, -1_000))),
        ("-10Ei", Some((-i64::MAX, 1_000))),
        ("9223372036854775807", Some((i64::MAX, -1_000))),
        ("1e40", Some((0, 0))),
        // A negative number in long form.
        ("-1.5Ki", Some((-1_536, -1_536_000))),
        ("-0.0001Ki", Some((1, -101))),
        // Malformed.
        ("", None),
        ("1 Gi", None),
        ("1gi", None),
        ("1Kii", None),
        ("e", None),
        ("1e", None),
        ("1.2.3", None),
        ("Pi", None),
        ("--1", None),
        ("1e5m", None),
        ("0x10", None),
        ("1e9223372036854775808", None),
    ] {
        assert_eq!(numbers(text), expected, "{text:?}");
    }
}

#[test]
fn sums_and_maxima_are_exact() {
    let sum = |texts: &[&str]| {
        let quantities = texts.iter().filter_map(|text| Quantity::parse(text));
        quantities.fold(Quantity::ZERO, Quantity::plus)
    };
    for (texts, expected) in [
        (&["100m", "100m"][..], (1, 200)),
        (&["1Gi", "1"], (1_073_741_825, 1_073_741_825_000)),
        (&["0.5Ki", "0.1"], (513, 512_100)),
        (&["1n", "1n"], (1, 1)),
        (&["9E", "9E"], (0, 0)),
        (&["9223372036854775807", "1"], (i64::MIN, 0)),
        (&["1e60", "1e-9"], (i64::MAX, i64::MAX)),
    ] {
        let sum = sum(texts);
        assert_eq!((sum.value(), sum.milli_value()), expected, "{texts:?}");
    }
    for (less, more) in [("999m", "1"), ("1", "1Ki"), ("9e59", "1e60"), ("-1e60", "-1"), ("1e-5", "1e50")] {
        let parse = |text| Quantity::parse(text).expect("well-formed");
        let (a, b) = (parse(less), parse(more));
        assert_eq!((a.compare(b), b.compare(a)), (Less, Greater), "{less} {more}");
    }
    // The short form of 91100T has no thousandths, and in the long form they are cut off.
    let compared = Quantity::parse("603706351766Ki").zip(Quantity::parse("91100T")).map(|(a, b)| a.max(b));
    assert_eq!(compared.map(Quantity::milli_value), Some(-1_133_720_368_547_758_080));
    let equal = Quantity::parse("1k").zip(Quantity::parse("1e3"));
    assert_eq!(equal.map(|(a, b)| a.compare(b)), Some(Equal));
}

#[test]
fn what_has_no_room_is_as_much_as_has() {
    for (text, expected) in [
        ("1500m", (2, 1_500)),
        ("3Ki", (3_072, 3_072_000)),
        ("1n", (1, 1)),
        ("9e18", (9_000_000_000_000_000_000, i64::MAX)),
        ("1e40", (i64::MAX, i64::MAX)),
        ("-1e60", (i64::MIN, i64::MIN)),
        ("0", (0, 0)),
    ] {
        let quantity = Quantity::parse(text).expect("well-formed");
        assert_eq!((quantity.saturating_value(), quantity.saturating_milli_value()), expected, "{text}");
    }
}
