//! The command-line tool `sapwood`.

mod arguments;
mod audit;
mod backfill;
mod clock;
mod connect;
mod dev;
mod pace;
mod placed;
mod transfer;
mod tree;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Hierarchies and version history in one DynamoDB table, kept correct by its stream.
#[derive(Parser)]
#[command(name = "sapwood", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run DynamoDB, its stream and the stream handler in this process, as template.yaml configures them.
    Dev(dev::Arguments),
    Import(transfer::ImportArguments),
    Export(transfer::ExportArguments),
    Tree(tree::Arguments),
    Backfill(backfill::Arguments),
    Verify(audit::VerifyArguments),
    Repair(audit::RepairArguments),
}

/// The template: the same one that is deployed.
const TEMPLATE: &str = include_str!("../../../template.yaml");

/// The exit code of a command on a table that failed: 1 says that something is wrong in the table.
const FAILED: u8 = 4;

#[tokio::main]
async fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Dev(arguments) => match dev::run(arguments).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error, 1),
        },
        Command::Import(arguments) => transferred(transfer::import(arguments).await),
        Command::Export(arguments) => transferred(transfer::export(arguments).await),
        Command::Tree(arguments) => match tree::run(arguments).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error, if error.is_absent() { 1 } else { FAILED }),
        },
        Command::Backfill(arguments) => match backfill::run(arguments).await {
            Ok(is_whole) => ExitCode::from(u8::from(!is_whole)),
            Err(error) => failed(&error, FAILED),
        },
        Command::Verify(arguments) => ended(audit::verify(arguments).await),
        Command::Repair(arguments) => ended(audit::repair(arguments).await),
    }
}

fn ended(verdict: Result<audit::Verdict, audit::AuditError>) -> ExitCode {
    match verdict {
        Ok(verdict) => ExitCode::from(verdict as u8),
        Err(error) => failed(&error, FAILED),
    }
}

fn transferred(is_whole: Result<bool, transfer::TransferError>) -> ExitCode {
    match is_whole {
        Ok(is_whole) => ExitCode::from(u8::from(!is_whole)),
        Err(error) => failed(&error, FAILED),
    }
}

fn failed(error: &dyn std::error::Error, code: u8) -> ExitCode {
    eprintln!("sapwood: {error}");
    ExitCode::from(code)
}
