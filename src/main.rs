//! The `loom` binary: the command-line front end of the `loomtree` library.

fn main() -> std::process::ExitCode {
    loomtree::cli::main()
}
