//! `berth`: see `berth --help`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match berth::cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Some parsers draw pictures below their message; whoever reads logs wants the one line.
            let message = format!("{error:#}");
            eprintln!("berth: {}", message.lines().next().unwrap_or_default());
            ExitCode::FAILURE
        }
    }
}
