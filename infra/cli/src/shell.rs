//! `sapwood completions` and `sapwood man`: made from the description that parses the arguments.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Error, Result, anyhow};
use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::help::command;

const NAME: &str = "sapwood";

/// Print the completions for a shell.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood completions bash > ~/.local/share/bash-completion/completions/sapwood
  sapwood completions zsh > ~/.zfunc/_sapwood
  sapwood completions fish > ~/.config/fish/completions/sapwood.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell.
    shell: Shell,
}

/// Print the man page, or write those of all commands.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood man | man -l -
  sapwood man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// Write the pages into this directory, which is created if need be. Each command has a page of its own, such as
    /// sapwood-verify.1.
    #[arg(long, value_name = "DIRECTORY")]
    dir: Option<PathBuf>,
}

pub(crate) async fn completions(arguments: CompletionsArguments) -> Result<()> {
    // `generate` would panic at a standard output whose reader has gone.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), NAME, &mut script);
    print(&script)
}

pub(crate) async fn man(arguments: ManArguments) -> Result<()> {
    if let Some(directory) = arguments.dir {
        let written =
            std::fs::create_dir_all(&directory).and_then(|()| clap_mangen::generate_to(command(), &directory));
        return written.map_err(|source| unwritten(&directory.display().to_string(), &source));
    }
    let mut page = Vec::new();
    Man::new(command()).render(&mut page).map_err(stdout)?;
    print(&page)
}

/// Prints a text. A reader that goes away, such as `head`, has had what it wanted.
fn print(text: &[u8]) -> Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(stdout),
    }
}

fn stdout(source: io::Error) -> Error {
    unwritten("the standard output", &source)
}

fn unwritten(place: &str, source: &io::Error) -> Error {
    anyhow!("{place} can't be written: {source}")
}
