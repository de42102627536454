//! `loom` alone: the tree of this folder, or what the program is and how to begin.

use std::io::Write as _;

use super::tree;
use crate::cli::{
    args::Globals,
    desk::{self, Desk},
    error::Result,
    out::{BOLD, DIM, Out, paint},
};

const FIRST: [(&str, &str); 4] = [
    ("loom demo", "walks and grows a sample tree"),
    ("loom new \"Once upon a time\"", "starts a tree with its first words"),
    ("loom continue", "has a model write three ways to go on"),
    ("loom tree", "draws what there is; `loom switch ID` goes there"),
];

/// Shows the tree if there is one, else how to begin. Makes no database.
pub(crate) fn run(globals: &Globals, out: &mut Out) -> Result<()> {
    if desk::db_path(globals)?.exists() {
        let mut desk = Desk::open(globals, out, false)?;
        if desk.find_here()?.is_some() {
            return tree::run(&tree::Args::default(), &mut desk);
        }
    }
    writeln!(
        out,
        "{} keeps conversations that branch: nothing said is lost, every way on stays.\n",
        paint(BOLD, "loom")
    )?;
    for (command, what) in FIRST {
        writeln!(out, "  {command:<30}  {}", paint(DIM, what))?;
    }
    writeln!(out, "\n`loom --help` lists all commands.")?;
    Ok(())
}
