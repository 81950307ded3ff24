//! Queries, taken apart.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::{self, Expr, VectorSelector};

/// What stands for a variable that is a duration: so long that nobody writes it by hand.
const DURATIONS: [(&str, &str); 3] =
    [("$__rate_interval", "11111s"), ("$__range", "22222s"), ("$__interval", "33333s")];

/// What `$__rate_interval` becomes.
pub const RATE_INTERVAL: Duration = Duration::from_secs(11_111);

/// One selector of a query, and where it stands.
#[derive(Clone, Debug)]
pub struct Selector {
    /// The metric, if a single one is named.
    pub metric: Option<String>,
    /// All its matchers, `__name__` aside.
    pub matchers: Vec<Matcher>,
    /// The range in brackets, if there is one.
    pub range: Option<Duration>,
    /// The function of which it is an argument itself.
    pub function: Option<&'static str>,
}

impl Selector {
    /// Whether it has exactly this regular expression for a label, and nothing else about it.
    pub fn has_exactly(&self, label: &str, pattern: &str) -> bool {
        let about: Vec<_> = self.matchers.iter().filter(|matcher| matcher.name == label).collect();
        matches!(&about[..], [only] if matches!(only.op, MatchOp::Re(_)) && only.value == pattern)
    }
}

/// Parses a query in which variables stand.
pub fn parse(query: &str) -> Result<Expr, String> {
    let plain = DURATIONS.iter().fold(query.to_owned(), |query, (name, value)| query.replace(name, value));
    parser::parse(&plain)
}

/// Every selector of a query.
pub fn selectors(query: &Expr) -> Vec<Selector> {
    let mut found = Vec::new();
    walk(query, None, &mut found);
    found
}

fn walk(expr: &Expr, function: Option<&'static str>, found: &mut Vec<Selector>) {
    match expr {
        Expr::VectorSelector(selector) => found.push(read(selector, None, function)),
        Expr::MatrixSelector(matrix) => found.push(read(&matrix.vs, Some(matrix.range), function)),
        Expr::Call(call) => {
            call.args.args.iter().for_each(|argument| walk(argument, Some(call.func.name), found));
        }
        Expr::Aggregate(aggregate) => {
            walk(&aggregate.expr, None, found);
            aggregate.param.iter().for_each(|parameter| walk(parameter, None, found));
        }
        Expr::Binary(binary) => {
            for side in [&binary.lhs, &binary.rhs] {
                walk(side, None, found);
            }
        }
        Expr::Unary(unary) => walk(&unary.expr, None, found),
        Expr::Paren(paren) => walk(&paren.expr, function, found),
        Expr::Subquery(subquery) => walk(&subquery.expr, None, found),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => {}
    }
}

fn read(selector: &VectorSelector, range: Option<Duration>, function: Option<&'static str>) -> Selector {
    let of_or = selector.matchers.or_matchers.iter().flatten();
    let matchers: Vec<Matcher> = selector.matchers.matchers.iter().chain(of_or).cloned().collect();
    let named = matchers.iter().find(|matcher| matcher.name == "__name__" && matcher.op == MatchOp::Equal);
    let metric = selector.name.clone().or_else(|| named.map(|matcher| matcher.value.clone()));
    let matchers = matchers.into_iter().filter(|matcher| matcher.name != "__name__").collect();
    Selector { metric, matchers, range, function }
}

#[cfg(test)]
mod tests {
    use super::{RATE_INTERVAL, parse, selectors};

    #[test]
    fn every_selector_is_found_where_it_stands() {
        let query = r#"histogram_quantile(0.9, sum by (le) (rate(a_bucket{job=~"$job"}[$__rate_interval])))
            / on (job) (b{job="x", job=~"$job"} unless c) > max_over_time(rate(d_total[5m])[$__range:1m])"#;
        let found = selectors(&parse(query).expect("PromQL"));
        let seen: Vec<_> = found
            .iter()
            .map(|selector| {
                (selector.metric.as_deref().unwrap_or_default(), selector.function, selector.range.is_some())
            })
            .collect();
        let expected = [
            ("a_bucket", Some("rate"), true),
            ("b", None, false),
            ("c", None, false),
            ("d_total", Some("rate"), true),
        ];
        assert_eq!(seen, expected);
        assert_eq!(found[0].range, Some(RATE_INTERVAL));
        assert!(found[0].has_exactly("job", "$job"));
        assert!(!found[1].has_exactly("job", "$job") && !found[2].has_exactly("job", "$job"));
        assert!(parse("sum by (").is_err());
    }
}
