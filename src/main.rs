//! `berth`: see `berth --help`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match berth::cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("berth: {error:#}");
            ExitCode::FAILURE
        }
    }
}
