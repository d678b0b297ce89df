//! The command-line tool `sapwood`.

fn main() -> std::process::ExitCode {
    sapwood_cli::main()
}
