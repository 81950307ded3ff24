//! `berth`: see `berth --help`.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match berth::cli::Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            let mut out = std::io::stderr().lock();
            for line in berth::cli::complaints(&error) {
                // Where nobody reads it, there is nobody to tell.
                let _ = writeln!(out, "berth: {line}");
            }
            ExitCode::FAILURE
        }
    }
}
