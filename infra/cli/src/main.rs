//! The command-line tool `sapwood`.

mod arguments;
mod ask;
mod audit;
mod backfill;
mod clock;
mod connect;
mod dev;
mod doctor;
mod node;
mod placed;
mod printable;
mod rate_limit;
mod recognised;
mod redrive;
mod replace;
mod say;
mod sdk;
mod shell;
#[cfg(test)]
mod tests;
mod transfer;
mod tree;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Hierarchies and version history in one DynamoDB table, kept correct by its stream.
#[derive(Parser)]
#[command(name = "sapwood", version, arg_required_else_help = true)]
#[command(after_help = "Examples:
  sapwood dev --demo
  sapwood put D --set name=Drive --table sapwood --endpoint http://127.0.0.1:8000
  sapwood tree D --table sapwood --profile prod

Each command ends with 0 if all is well, 1 if something is wrong, absent or refused, 2 if its arguments are wrong, 3 if something isn't
finished yet, and 4 if it failed.")]
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
    Get(node::GetArguments),
    Put(node::PutArguments),
    Move(node::MoveArguments),
    Rm(node::RmArguments),
    History(node::HistoryArguments),
    Latest(node::LatestArguments),
    Links(node::LinksArguments),
    Backfill(backfill::Arguments),
    Verify(audit::VerifyArguments),
    Repair(audit::RepairArguments),
    Redrive(redrive::Arguments),
    Doctor(doctor::Arguments),
    Completions(shell::CompletionsArguments),
    Man(shell::ManArguments),
}

/// The template: the same one that is deployed.
const TEMPLATE: &str = include_str!("../../../template.yaml");

/// The exit code of a command that is refused, or that finds something wrong.
const WRONG: u8 = 1;

/// The exit code of a command whose arguments are wrong. It is clap's.
const USAGE: u8 = 2;

/// The exit code of a command that is done, and doesn't wait any longer for what follows from it.
const UNFINISHED: u8 = 3;

/// The exit code of a command on a table that failed: 1 says that something is wrong in the table.
const FAILED: u8 = 4;

#[tokio::main]
async fn main() -> ExitCode {
    ExitCode::from(match Arguments::parse().command {
        Command::Dev(arguments) => match dev::run(arguments).await {
            Ok(()) => 0,
            Err(error) => failed(&error, WRONG),
        },
        Command::Import(arguments) => transferred(transfer::import(arguments).await),
        Command::Export(arguments) => transferred(transfer::export(arguments).await),
        Command::Tree(arguments) => match tree::run(arguments).await {
            Ok(()) => 0,
            Err(error) => failed(&error, error.code()),
        },
        Command::Get(arguments) => read(node::get(arguments).await),
        Command::History(arguments) => read(node::history(arguments).await),
        Command::Latest(arguments) => read(node::latest(arguments).await),
        Command::Links(arguments) => read(node::links(arguments).await),
        Command::Put(arguments) => written(node::put(arguments).await),
        Command::Move(arguments) => written(node::relocate(arguments).await),
        Command::Rm(arguments) => match node::rm(arguments).await {
            Ok((false, _)) => WRONG,
            Ok((true, is_done)) => written(Ok(is_done)),
            Err(error) => written(Err(error)),
        },
        Command::Backfill(arguments) => looked(backfill::run(arguments).await),
        Command::Verify(arguments) => ended(audit::verify(arguments).await),
        Command::Repair(arguments) => ended(audit::repair(arguments).await),
        Command::Redrive(arguments) => looked(redrive::run(arguments).await),
        Command::Doctor(arguments) => looked(doctor::run(arguments).await),
        Command::Completions(arguments) => printed(shell::completions(&arguments, Arguments::command())),
        Command::Man(arguments) => printed(shell::man(arguments, Arguments::command())),
    })
}

fn ended(verdict: Result<audit::Verdict, audit::AuditError>) -> u8 {
    match verdict {
        Ok(verdict) => verdict as u8,
        Err(error) => failed(&error, error.code()),
    }
}

fn transferred(is_whole: Result<bool, transfer::TransferError>) -> u8 {
    match is_whole {
        Ok(is_whole) => {
            if is_whole {
                0
            } else {
                WRONG
            }
        }
        Err(error) => failed(&error, error.code()),
    }
}

fn read(done: Result<(), node::NodeError>) -> u8 {
    written(done.map(|()| true))
}

fn written(is_done: Result<bool, node::NodeError>) -> u8 {
    match is_done {
        Ok(is_done) => {
            if is_done {
                0
            } else {
                UNFINISHED
            }
        }
        Err(error) => failed(&error, error.code()),
    }
}

fn printed(done: Result<(), shell::ShellError>) -> u8 {
    match done {
        Ok(()) => 0,
        Err(error) => failed(&error, FAILED),
    }
}

/// Ends with 1 if something is wrong.
fn looked<E: std::error::Error>(is_right: Result<bool, E>) -> u8 {
    match is_right {
        Ok(is_right) => u8::from(!is_right),
        Err(error) => failed(&error, FAILED),
    }
}

fn failed(error: &dyn std::error::Error, code: u8) -> u8 {
    // An error can name what a table holds.
    eprintln!("sapwood: {}", printable::shown(&error.to_string()));
    code
}
