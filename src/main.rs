//! The program `loom`: conversations that branch, from the command line. Everything it does is in the library
//! `loomtree`; this is one of its faces.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
