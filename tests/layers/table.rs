//! The table of who may know whom, as `docs/architecture.md` has it.

use std::collections::BTreeMap;

/// The rows: a module, and the modules it may use.
pub struct Table(BTreeMap<String, Vec<String>>);

impl Table {
    /// Reads the one table whose head ends with "may know". The first cell of a row names its module, the last what it
    /// may know; names stand in backticks.
    pub fn parse(page: &str) -> Self {
        let is_head = |line: &str| line.trim_end_matches(['|', ' ']).ends_with("| may know");
        Self(rows(page, is_head).into_iter().filter_map(row).collect())
    }

    /// Every module that has a row.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether one module may use another.
    pub fn allows(&self, module: &str, used: &str) -> bool {
        self.0.get(module).is_some_and(|known| known.iter().any(|name| name == used))
    }

    /// Names in the last column that have no row of their own.
    pub fn unknown_names(&self) -> Vec<String> {
        let named = self.0.iter().flat_map(|(module, known)| known.iter().map(move |name| (module, name)));
        let unknown = named.filter(|(_, name)| !self.0.contains_key(*name));
        unknown
            .map(|(module, name)| format!("the row of `{module}` names `{name}`, which has none"))
            .collect()
    }

    /// Modules that know each other in a circle, if there are any.
    pub fn circle(&self) -> Option<Vec<&str>> {
        self.modules().find_map(|module| self.circle_from(&mut vec![module]))
    }

    fn circle_from<'a>(&'a self, path: &mut Vec<&'a str>) -> Option<Vec<&'a str>> {
        let last = path.last()?;
        for next in self.0.get(*last).into_iter().flatten() {
            let seen = path.iter().position(|module| module == next);
            path.push(next);
            if let Some(start) = seen {
                return Some(path[start..].to_vec());
            }
            let circle = self.circle_from(path);
            if circle.is_some() {
                return circle;
            }
            path.pop();
        }
        None
    }
}

/// The files that may start tasks: the first column of the table that is headed "started in".
pub fn files_that_start_tasks(page: &str) -> Vec<String> {
    let rows = rows(page, |line| line.starts_with("| started in |"));
    rows.into_iter().filter_map(|line| row(line).map(|(file, _)| file)).collect()
}

/// The lines below the head and the rule of a table.
fn rows(page: &str, is_head: impl Fn(&str) -> bool) -> Vec<&str> {
    let table = page.lines().skip_while(|line| !(line.starts_with('|') && is_head(line)));
    let rows: Vec<_> = table.skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(!rows.is_empty(), "docs/architecture.md has the table");
    rows
}

fn row(line: &str) -> Option<(String, Vec<String>)> {
    let cells: Vec<_> = line.trim_matches('|').split('|').collect();
    let module = names(cells.first()?).into_iter().next()?;
    Some((module, names(cells.last()?)))
}

/// What stands in backticks.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn a_table_is_read_and_its_circle_found() {
    let page = "# Page\n\n| a | b |\n|---|---|\n| `x` | `y` |\n\n| folder | what | may know |\n|---|---|---|\n\
        | `low` | it is | nothing |\n| `mid` | it is | `low` |\n| `top` | it is | `low`, `mid` |\n\n| `no` | | `row` |\n";
    let table = Table::parse(page);
    assert_eq!(table.modules().collect::<Vec<_>>(), ["low", "mid", "top"]);
    assert!(table.allows("top", "mid") && !table.allows("mid", "top"));
    assert_eq!((table.circle(), table.unknown_names().len()), (None, 0));
    let table = Table::parse(&page.replace("nothing", "`top`, `none`"));
    assert_eq!(table.circle(), Some(vec!["low", "top", "low"]));
    assert_eq!(table.unknown_names(), ["the row of `low` names `none`, which has none"]);
}
