//! Tells the program which commit and which compiler it is made with.
//!
//! The commit is taken from `BERTH_COMMIT`, else from git, else it is `unknown`. Cargo runs this again only when that variable or git's
//! head changes. Debug builds do not ask git: a commit would make all tests compile anew.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=BERTH_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let given = env::var("BERTH_COMMIT").ok().map(|commit| commit.trim().to_owned());
    let commit = given
        .filter(|commit| !commit.is_empty())
        .or_else(from_git_if_release)
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=BERTH_COMMIT={commit}");
    let compiler = env::var("RUSTC").ok().and_then(|rustc| output(&rustc, &["--version"]));
    // `rustc 1.95.0 (hash date)`
    let version = compiler.and_then(|text| text.split(' ').nth(1).map(str::to_owned));
    println!("cargo::rustc-env=BERTH_RUST={}", version.unwrap_or_else(|| "unknown".to_owned()));
}

fn from_git_if_release() -> Option<String> {
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") { from_git() } else { None }
}

fn from_git() -> Option<String> {
    // A directory that lies inside somebody else's repository is none of ours.
    let top = output("git", &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()?
        != Path::new(&env::var("CARGO_MANIFEST_DIR").ok()?).canonicalize().ok()?
    {
        return None;
    }
    let branch = output("git", &["symbolic-ref", "--quiet", "HEAD"]);
    // Where a commit moves the head: in the branch's own file, or in the list of packed ones. Cargo takes a file that does not
    // exist for one that has changed, so only those that do are named.
    let files = ["HEAD", "packed-refs"].into_iter().map(str::to_owned).chain(branch);
    for path in files.filter_map(|file| output("git", &["rev-parse", "--git-path", &file])) {
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    output("git", &["rev-parse", "--short=12", "HEAD"])
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}
