//! The `loom` binary: the command-line front end of the `loomtree` library.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
