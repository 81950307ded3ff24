//! JSON as a tree that may be broken: keys may repeat, and raw text may stand anywhere.

use std::fmt::Write;

use crate::support::random::Rng;

#[derive(Clone, Debug)]
pub enum Tree {
    Raw(String),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// How many levels the deepest inputs have.
const DEEP: usize = 100_000;

pub fn text(text: &str) -> Tree {
    Tree::Text(text.to_owned())
}

pub fn raw(raw: &str) -> Tree {
    Tree::Raw(raw.to_owned())
}

pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Tree)>) -> Tree {
    Tree::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

impl Tree {
    pub fn render(&self, out: &mut String, rng: &mut Rng) {
        let comma = |out: &mut String, at: usize| {
            if at > 0 {
                out.push(',');
            }
        };
        match self {
            Tree::Raw(raw) => out.push_str(raw),
            Tree::Text(text) => quote(text, out, rng),
            Tree::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    comma(out, at);
                    item.render(out, rng);
                }
                out.push(']');
            }
            Tree::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    comma(out, at);
                    quote(key, out, rng);
                    out.push_str(rng.pick(&[":", ":", ":", " : ", ":\n\t"]));
                    value.render(out, rng);
                }
                out.push('}');
            }
        }
    }

    /// Changes the letter case of some keys of this object, as other callers would.
    pub fn recase(&mut self, rng: &mut Rng) {
        if let Tree::Object(members) = self {
            for (key, _) in members {
                match rng.below(4) {
                    0 => *key = key.to_ascii_lowercase(),
                    1 => *key = key.to_ascii_uppercase(),
                    _ => {}
                }
            }
        }
    }

    /// Breaks something somewhere in the tree.
    pub fn mutate(&mut self, rng: &mut Rng) {
        let descend = !rng.one_in(4);
        match self {
            Tree::Object(members) if !members.is_empty() => {
                let at = rng.below(members.len());
                if descend {
                    return members[at].1.mutate(rng);
                }
                match rng.below(5) {
                    0 => drop(members.remove(at)),
                    1 => {
                        let twin = members[at].clone();
                        members.insert(rng.below(members.len() + 1), twin);
                    }
                    2 => members[at].0 = rng.pick(&["", "x", "items", "metadata", "Nodes"]).to_string(),
                    3 => self.recase(rng),
                    _ => members[at].1 = something_else(rng),
                }
            }
            Tree::List(items) if !items.is_empty() => {
                let at = rng.below(items.len());
                if descend {
                    return items[at].mutate(rng);
                }
                match rng.below(3) {
                    0 => drop(items.remove(at)),
                    1 => items.push(items[at].clone()),
                    _ => items[at] = something_else(rng),
                }
            }
            _ => *self = something_else(rng),
        }
    }
}

/// A value of another type than whatever it replaces.
fn something_else(rng: &mut Rng) -> Tree {
    if rng.one_in(400) {
        return deep(rng);
    }
    let odd = [
        "null",
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "1e999",
        "9223372036854775808",
        "123456789012345678901234567890",
        "\"\"",
        "\"text\"",
        "\"\\ud800\"",
        "\"\\u0000\"",
        "\"\\x\"",
        "[]",
        "[null]",
        "[[]]",
        "{}",
        "{\"\":null}",
        "{\"metadata\":null}",
        "{\"items\":null}",
        "nul",
        "",
        "NaN",
        "01",
    ];
    raw(rng.pick(&odd))
}

fn deep(rng: &mut Rng) -> Tree {
    Tree::Raw(match rng.below(4) {
        0 => "[".repeat(DEEP),
        1 => "[".repeat(DEEP) + &"]".repeat(DEEP),
        2 => "{\"a\":".repeat(DEEP),
        _ => "{\"a\":".repeat(DEEP) + "1" + &"}".repeat(DEEP),
    })
}

fn quote(text: &str, out: &mut String, rng: &mut Rng) {
    let escape_all = rng.one_in(16);
    out.push('"');
    for unit in text.chars() {
        if escape_all || unit < ' ' || unit == '"' || unit == '\\' {
            for half in unit.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{half:04x}");
            }
        } else {
            out.push(unit);
        }
    }
    out.push('"');
}
