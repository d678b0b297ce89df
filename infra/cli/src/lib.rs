//! The command-line tool `sapwood`.
//!
//! Without the feature `aws` it reaches this machine alone: sign-in, S3, Lambda, CloudWatch and TLS take as long to
//! compile as all the rest. The packages have the feature, and so have the tests.
#![cfg_attr(not(feature = "aws"), allow(dead_code, reason = "what only AWS needs isn't used"))]

mod arguments;
mod audit;
mod backfill;
mod catch_up;
mod changes;
mod clock;
mod compare;
mod connect;
mod cost;
mod dev;
mod doctor;
mod exit;
mod explore;
mod explorer;
mod help;
mod node;
mod placed;
mod printable;
mod recognised;
mod redrive;
mod replace;
mod say;
mod sdk_errors;
mod shell;
mod stop_signal;
mod stream;
#[cfg(test)]
mod tests;
mod transfer;
mod tree;
mod watch;

use std::process::ExitCode;

use clap::{FromArgMatches, Parser, Subcommand};

pub use crate::doctor::CHECKS;
use crate::exit::Exit;
pub use crate::help::{GROUPS, command};

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
    /// Run DynamoDB, the stream handler and the API in this process. They are configured as in template.yaml.
    Dev(dev::Arguments),
    Explore(explore::Arguments),
    CatchUp(catch_up::Arguments),
    Import(transfer::ImportArguments),
    Export(transfer::ExportArguments),
    Tree(tree::Arguments),
    Get(node::GetArguments),
    Put(node::PutArguments),
    Move(node::MoveArguments),
    Copy(node::CopyArguments),
    Rm(node::RmArguments),
    Trash(node::TrashArguments),
    History(node::HistoryArguments),
    Latest(node::LatestArguments),
    Links(node::LinksArguments),
    Inherited(node::InheritedArguments),
    Granted(node::GrantedArguments),
    Watch(watch::Arguments),
    Changes(changes::Arguments),
    Feed(changes::FeedArguments),
    Totals(node::TotalsArguments),
    Backfill(backfill::Arguments),
    Verify(audit::VerifyArguments),
    Repair(audit::RepairArguments),
    Redrive(redrive::Arguments),
    Doctor(doctor::Arguments),
    Cost(cost::Arguments),
    Completions(shell::CompletionsArguments),
    Man(shell::ManArguments),
}

/// The template: the same one that is deployed.
const TEMPLATE: &str = include_str!("../../../template.yaml");

/// Runs the command that the arguments of this process name.
#[tokio::main]
pub async fn main() -> ExitCode {
    let matches = help::command().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let exit = match arguments.command {
        Command::Dev(arguments) => Exit::of(dev::run(arguments).await),
        Command::Explore(arguments) => Exit::of(explore::run(arguments).await),
        Command::CatchUp(arguments) => Exit::of(catch_up::run(arguments).await),
        Command::Import(arguments) => Exit::of(transfer::import(arguments).await),
        Command::Export(arguments) => Exit::of(transfer::export(arguments).await),
        Command::Tree(arguments) => Exit::of(tree::run(arguments).await),
        Command::Get(arguments) => Exit::of(node::get(arguments).await),
        Command::History(arguments) => Exit::of(node::history(arguments).await),
        Command::Latest(arguments) => Exit::of(node::latest(arguments).await),
        Command::Links(arguments) => Exit::of(node::links(arguments).await),
        Command::Inherited(arguments) => Exit::of(node::inherited(arguments).await),
        Command::Granted(arguments) => Exit::of(node::granted(arguments).await),
        Command::Totals(arguments) => Exit::of(node::totals(arguments).await),
        Command::Put(arguments) => Exit::of(node::put(arguments).await),
        Command::Move(arguments) => Exit::of(node::relocate(arguments).await),
        Command::Copy(arguments) => Exit::of(node::copy(arguments).await),
        Command::Rm(arguments) => Exit::of(node::rm(arguments).await),
        Command::Trash(arguments) => Exit::of(node::trash(arguments).await),
        Command::Watch(arguments) => Exit::of(watch::run(arguments).await),
        Command::Changes(arguments) => Exit::of(changes::run(arguments).await),
        Command::Feed(arguments) => Exit::of(changes::feed(arguments).await),
        Command::Backfill(arguments) => Exit::of(backfill::run(arguments).await),
        Command::Verify(arguments) => Exit::of(audit::verify(arguments).await),
        Command::Repair(arguments) => Exit::of(audit::repair(arguments).await),
        Command::Redrive(arguments) => Exit::of(redrive::run(arguments).await),
        Command::Doctor(arguments) => Exit::of(doctor::run(arguments).await),
        Command::Cost(arguments) => Exit::of(cost::run(arguments).await),
        Command::Completions(arguments) => Exit::of(shell::completions(&arguments, help::command())),
        Command::Man(arguments) => Exit::of(shell::man(arguments, help::command())),
    };
    exit.into()
}
