//! As much of Rust's grammar as it takes to see which modules and crates a file uses.

/// A name that a file uses.
#[derive(Debug, PartialEq, Eq)]
pub struct Used {
    pub name: String,
    pub line: usize,
}

/// The words and marks of a file, without comments and literals, each with its line.
pub struct Tokens(Vec<(String, usize)>);

impl Tokens {
    pub fn of(source: &str) -> Self {
        let chars: Vec<char> = source.chars().collect();
        let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
        while at < chars.len() {
            let end = at + length(&chars[at..]);
            let text = &chars[at..end];
            if is_word(text[0]) || (text.len() <= 2 && !text[0].is_whitespace()) {
                tokens.push((text.iter().collect(), line));
            }
            line += text.iter().filter(|c| **c == '\n').count();
            at = end;
        }
        Self(tokens)
    }

    fn text(&self, at: usize) -> &str {
        self.0.get(at).map_or("", |(text, _)| text)
    }

    fn used(&self, at: usize) -> Used {
        Used { name: self.0[at].0.clone(), line: self.0[at].1 }
    }

    /// The modules that the file declares to lie in files of their own.
    pub fn modules_declared(&self) -> impl Iterator<Item = String> {
        let is_declaration = |at: &usize| self.text(*at) == "mod" && self.text(at + 2) == ";";
        (0..self.0.len()).filter(is_declaration).map(|at| self.text(at + 1).to_owned())
    }
}

/// The top-level modules that a file uses which lies `depth` modules deep: what follows `crate::`, and what follows
/// as many `super::` as lead to the root.
pub fn modules_used(tokens: &Tokens, depth: usize) -> Vec<Used> {
    let mut used = Vec::new();
    // At which depth of braces each module inside the file began.
    let (mut braces, mut inner) = (0_usize, Vec::new());
    let mut at = 0;
    while at < tokens.0.len() {
        match tokens.text(at) {
            "mod" if tokens.text(at + 2) == "{" => inner.push(braces),
            "{" => braces += 1,
            "}" => {
                braces = braces.saturating_sub(1);
                if inner.last() == Some(&braces) {
                    inner.pop();
                }
            }
            "crate" if tokens.text(at + 1) == "::" => used.extend(names_at(tokens, at + 2)),
            "super" if tokens.text(at + 1) == "::" => {
                let mut levels = 1;
                while tokens.text(at + 2 * levels) == "super" && tokens.text(at + 2 * levels + 1) == "::" {
                    levels += 1;
                }
                at += 2 * levels;
                if levels >= depth + inner.len() {
                    used.extend(names_at(tokens, at));
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    used
}

/// The name that stands here, or those that a group `{a, b::{c, d}, e}` begins its parts with.
fn names_at(tokens: &Tokens, start: usize) -> Vec<Used> {
    if tokens.text(start) != "{" {
        return vec![tokens.used(start)];
    }
    let (mut names, mut depth) = (Vec::new(), 0_usize);
    for at in start..tokens.0.len() {
        let begins_part = matches!(tokens.text(at.saturating_sub(1)), "{" | ",");
        match tokens.text(at) {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            _ if depth == 1 && begins_part => names.push(tokens.used(at)),
            _ => {}
        }
    }
    names
}

/// Which of these crates a file uses.
pub fn crates_used(tokens: &Tokens, crates: &[&str]) -> Vec<Used> {
    let is_use = |at: &usize| {
        let before = tokens.text(at.saturating_sub(1));
        crates.contains(&tokens.text(*at)) && (before == "use" || tokens.text(at + 1) == "::")
    };
    (0..tokens.0.len()).filter(is_use).map(|at| tokens.used(at)).collect()
}

/// Calls that start a task or a thread.
pub fn tasks_started(tokens: &Tokens) -> Vec<Used> {
    let is_call = |at: &usize| {
        tokens.text(*at).starts_with("spawn")
            && matches!(tokens.text(at.saturating_sub(1)), "::" | ".")
            && tokens.text(at + 1) == "("
    };
    (0..tokens.0.len()).filter(is_call).map(|at| tokens.used(at)).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How many characters belong to the token, comment or literal that begins here.
fn length(rest: &[char]) -> usize {
    let next = rest.get(1).copied().unwrap_or(' ');
    let until = |is_end: &dyn Fn(usize) -> bool| (1..rest.len()).find(|at| is_end(*at)).unwrap_or(rest.len());
    match rest[0] {
        '/' if next == '/' => until(&|at| rest[at] == '\n'),
        '/' if next == '*' => until(&|at| at > 3 && rest[at - 2] == '*' && rest[at - 1] == '/'),
        '"' => quoted(rest, '"'),
        'r' if next == '"' || (next == '#' && matches!(rest.get(2), Some('"' | '#'))) => {
            let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
            let closes = |at: usize| {
                at > hashes + 2
                    && rest[at - hashes - 1] == '"'
                    && rest[at - hashes..at].iter().all(|c| *c == '#')
            };
            until(&closes)
        }
        // A character, unless it is a lifetime.
        '\'' if next == '\\' || rest.get(2) == Some(&'\'') => quoted(rest, '\''),
        ':' if next == ':' => 2,
        c if is_word(c) => until(&|at| !is_word(rest[at])),
        _ => 1,
    }
}

/// The length of a literal that ends with the mark it begins with.
fn quoted(rest: &[char], mark: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != mark {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

#[test]
fn uses_are_found_wherever_they_stand() {
    let source = r##"
        //! [`crate::comment`] /* crate::also */
        use crate::one::{Thing, crate_like::Other};
        use crate::{two, three::{self, inner}, four as renamed};
        pub(crate) fn f<'a>(x: &'a str, c: char) -> super::super::five::Type {
            if c == '"' || c == '\'' { return crate::six::new("crate::text", r#"crate::"raw"#) }
            super::sibling::call()
        }
        mod tests {
            use super::super::super::seven;
            use super::super::{near, other};
            fn g() { super::f() }
        }
        fn h() { super::super::eight::call(); tokio::spawn(h()) }
        use prometheus;
    "##;
    let tokens = Tokens::of(source);
    let names: Vec<_> = modules_used(&tokens, 2).into_iter().map(|used| used.name).collect();
    assert_eq!(names, ["one", "two", "three", "four", "five", "six", "seven", "eight"]);
    let crates: Vec<_> = crates_used(&tokens, &["tokio", "prometheus", "hyper"]);
    assert_eq!(crates.iter().map(|used| used.name.as_str()).collect::<Vec<_>>(), ["tokio", "prometheus"]);
    assert_eq!(crates[0].line, 14);
    assert_eq!(tasks_started(&tokens), [Used { name: "spawn".to_owned(), line: 14 }]);
}
