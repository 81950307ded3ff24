//! `berth`: see `berth --help`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match berth::cli::Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            for line in berth::cli::complaints(&error) {
                eprintln!("berth: {line}");
            }
            ExitCode::FAILURE
        }
    }
}
