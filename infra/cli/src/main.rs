//! The command-line tool `sapwood`.

mod dev;

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
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { command: Command::Dev(arguments) } = Arguments::parse();
    match dev::run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sapwood: {error}");
            ExitCode::FAILURE
        }
    }
}
