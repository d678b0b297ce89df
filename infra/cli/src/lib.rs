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
mod handler_wait;
mod help;
mod node;
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

/// Declares the commands, each with its arguments and what runs it.
macro_rules! commands {
    ($($(#[$of:meta])* $command:ident($arguments:ty) => $run:expr,)*) => {
        #[derive(Subcommand)]
        enum Command {
            $($(#[$of])* $command($arguments),)*
        }

        impl Command {
            async fn run(self) -> Exit {
                match self {
                    $(Self::$command(arguments) => Exit::of($run(arguments).await),)*
                }
            }
        }
    };
}

commands! {
    /// Run DynamoDB, the stream handler and the API in this process. They are configured as in template.yaml.
    Dev(dev::Arguments) => dev::run,
    Explore(explore::Arguments) => explore::run,
    CatchUp(catch_up::Arguments) => catch_up::run,
    Import(transfer::import::Arguments) => transfer::import::run,
    Export(transfer::export::Arguments) => transfer::export::run,
    Tree(tree::Arguments) => tree::run,
    Get(node::get::Arguments) => node::get::run,
    Put(node::put::Arguments) => node::put::run,
    Move(node::moves::Arguments) => node::moves::run,
    Copy(node::copy::Arguments) => node::copy::run,
    Rm(node::rm::Arguments) => node::rm::run,
    Trash(node::trash::Arguments) => node::trash::run,
    History(node::history::Arguments) => node::history::run,
    Latest(node::latest::Arguments) => node::latest::run,
    Links(node::links::Arguments) => node::links::run,
    Inherited(node::inherited::Arguments) => node::inherited::run,
    Granted(node::granted::Arguments) => node::granted::run,
    Watch(watch::Arguments) => watch::run,
    Changes(changes::Arguments) => changes::run,
    Feed(changes::FeedArguments) => changes::feed,
    Totals(node::totals::Arguments) => node::totals::run,
    Backfill(backfill::Arguments) => backfill::run,
    Verify(audit::verify::Arguments) => audit::verify::run,
    Repair(audit::repair::Arguments) => audit::repair::run,
    Redrive(redrive::Arguments) => redrive::run,
    Doctor(doctor::Arguments) => doctor::run,
    Cost(cost::Arguments) => cost::run,
    Completions(shell::CompletionsArguments) => shell::completions,
    Man(shell::ManArguments) => shell::man,
}

/// The template: the same one that is deployed.
const TEMPLATE: &str = include_str!("../../../template.yaml");

/// Runs the command that the arguments of this process name.
#[tokio::main]
pub async fn main() -> ExitCode {
    let matches = help::command().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    arguments.command.run().await.into()
}
