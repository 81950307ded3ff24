//! What an alert looks at, without the comparison that keeps it silent.

use anyhow::{Result, anyhow};
use promql_parser::parser::{self, Expr};

/// The parts of an alert's expression that have a value in the good state too: both sides of `and`, `or` and `unless`, the
/// side of a comparison that is no constant, and that of which `absent` asks whether it is there.
pub fn of(alert: &str) -> Result<Vec<String>> {
    let expr = parser::parse(alert).map_err(|error| anyhow!("{alert}: {error}"))?;
    let mut found = Vec::new();
    split(&expr, &mut found);
    Ok(found)
}

fn split(expr: &Expr, found: &mut Vec<String>) {
    match expr {
        Expr::Paren(paren) => split(&paren.expr, found),
        Expr::Binary(binary) if binary.op.is_comparison_operator() || binary.op.is_set_operator() => {
            split(&binary.lhs, found);
            split(&binary.rhs, found);
        }
        Expr::Call(call) if call.func.name == "absent" => {
            call.args.args.iter().for_each(|argument| split(argument, found));
        }
        constant if super::promql::selectors(constant).is_empty() => {}
        value => found.push(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn comparisons_are_taken_off_and_nothing_else() {
        let split = |alert: &str| of(alert).expect("PromQL");
        assert_eq!(split("a > 3"), ["a"]);
        assert_eq!(split("absent(a)"), ["a"]);
        assert_eq!(split("(a > 2 * 0.1 and b > 1) or (c - time() < 5)"), ["a", "b", "c - time()"]);
        assert_eq!(split("sum(a > 0) == 0 unless on (x) b"), ["sum(a > 0)", "b"]);
    }
}
