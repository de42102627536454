//! Comparison of a copy with its original by all that snapshots show.

use super::copy_tables::{FileNumbers, RankedNumbers};
use crate::{
    id::{AgentId, TreeId},
    store::{GenerationFilter, JournalFilter, Result, SessionFilter, Snapshot, TreeFilter},
    types::{Agent, Document, JournalEntry, Memory, Node, Session, SummarySubject, Tree},
};

/// Rows that are compared at once.
const PAGE_ROWS: u32 = 1_000;
/// Number of differences that are reported.
const MAX_DIFFERENCES: usize = 10;

/// One side of a comparison.
#[derive(Clone, Copy)]
pub(super) struct Compared<'s> {
    snapshot: &'s dyn Snapshot,
    /// The numbers that this side has in the other one.
    numbers: Option<&'s FileNumbers>,
}

impl<'s> Compared<'s> {
    /// A side whose numbers are compared as they are.
    pub(super) fn of(snapshot: &'s dyn Snapshot) -> Self {
        Self { snapshot, numbers: None }
    }

    /// A database whose nodes and entries a file numbers anew.
    pub(super) fn renumbered(snapshot: &'s dyn Snapshot, numbers: &'s FileNumbers) -> Self {
        Self { snapshot, numbers: Some(numbers) }
    }

    fn nodes_after(&self, tree: TreeId, after: u64) -> Result<Vec<Node>> {
        let numbers = self.numbers.map(|numbers| &numbers.nodes);
        let mut page = self.snapshot.nodes_after(tree, original(numbers, after), PAGE_ROWS)?;
        page.iter_mut().for_each(|node| renumber(numbers, &mut node.seq));
        Ok(page)
    }

    fn journal(&self, after: u64) -> Result<Vec<JournalEntry>> {
        let numbers = self.numbers.map(|numbers| &numbers.entries);
        let after = original(numbers, after);
        let filter = JournalFilter { after, limit: PAGE_ROWS, oldest_first: true, ..JournalFilter::default() };
        let mut page = self.snapshot.journal(filter)?;
        for entry in &mut page {
            let all = [&mut entry.seq, &mut entry.group].into_iter().chain(entry.target.as_mut());
            all.for_each(|number| renumber(numbers, number));
        }
        Ok(page)
    }

    fn memory(&self, agent: AgentId, tree: TreeId) -> Result<Memory> {
        let numbers = self.numbers.map(|numbers| &numbers.entries);
        let mut memory = self.snapshot.memory(agent, tree)?;
        memory.actions.iter_mut().for_each(|action| renumber(numbers, &mut action.after));
        Ok(memory)
    }
}

/// Replaces a number of a database by that of the file.
fn renumber(numbers: Option<&RankedNumbers>, number: &mut u64) {
    if let Some(numbers) = numbers {
        *number = numbers.rank(i64::try_from(*number).unwrap_or(i64::MAX)).unsigned_abs();
    }
}

/// The number in a database of a number of the file.
fn original(numbers: Option<&RankedNumbers>, number: u64) -> u64 {
    numbers.map_or(number, |numbers| numbers.at_rank(number).unsigned_abs())
}

/// Compares agents, documents, sessions, trees, nodes, journal, and what belongs to them. Returns the differences, at most ten.
pub(super) fn compare(ours: Compared<'_>, theirs: Compared<'_>) -> Result<Vec<String>> {
    let mut comparison = Comparison { ours, theirs, differences: Vec::new() };
    comparison.run()?;
    Ok(comparison.differences)
}

struct Comparison<'s> {
    ours: Compared<'s>,
    theirs: Compared<'s>,
    differences: Vec<String>,
}

impl Comparison<'_> {
    /// Compares the results of one question to both.
    fn check<T: PartialEq>(
        &mut self,
        what: impl FnOnce() -> String,
        ask: impl Fn(&dyn Snapshot) -> Result<T>,
    ) -> Result<T> {
        self.check_numbered(what, |side| ask(side.snapshot))
    }

    /// The same for an answer with numbers of nodes or entries. Returns it with the numbers of the copy.
    fn check_numbered<T: PartialEq>(
        &mut self,
        what: impl FnOnce() -> String,
        ask: impl Fn(&Compared<'_>) -> Result<T>,
    ) -> Result<T> {
        let answer = ask(&self.ours)?;
        if answer != ask(&self.theirs)? && self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(format!("{} differ", what()));
        }
        Ok(answer)
    }

    fn run(&mut self) -> Result<()> {
        let agents = self.check(|| "the agents".to_owned(), |s| s.agents())?;
        for document in self.check(|| "the documents".to_owned(), |s| s.documents())? {
            self.document(&document)?;
        }
        let all = SessionFilter { delegated: true, ..SessionFilter::default() };
        for session in self.check(|| "the sessions".to_owned(), |s| s.sessions(&all))? {
            self.session(&session)?;
        }
        let trees = TreeFilter { archived: true, limit: 0 };
        for tree in self.check(|| "the trees".to_owned(), |s| s.trees(trees))? {
            self.tree(&tree, &agents)?;
        }
        self.check(|| "the delegations".to_owned(), |s| s.delegations())?;
        self.check(|| "the envelopes of generated nodes".to_owned(), envelopes)?;
        let mut after = 0;
        loop {
            let page = self.check_numbered(|| "entries of the journal".to_owned(), |s| s.journal(after))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
        }
    }

    fn document(&mut self, document: &Document) -> Result<()> {
        let name = || format!("versions of the document {}", document.name);
        for version in 1..=document.version {
            self.check(name, |s| s.document_version(document.id, version))?;
        }
        self.check(|| format!("summaries of {}", document.name), |s| s.summary(SummarySubject::Document(document.id)))?;
        Ok(())
    }

    fn session(&mut self, session: &Session) -> Result<()> {
        let of = |what: &'static str| move || format!("{what} of session {}", session.id);
        self.check(of("states"), |s| s.session_state(session.id))?;
        self.check(of("records"), |s| s.records(session.id))?;
        self.check(of("todos"), |s| s.todos(session.id, None))?;
        self.check(of("received turns"), |s| s.received_turns(session.id, None))?;
        self.check(of("system prompts"), |s| s.system_prompt(session.id))?;
        Ok(())
    }

    fn tree(&mut self, tree: &Tree, agents: &[Agent]) -> Result<()> {
        let of = |what: &'static str| move || format!("{what} of {}", tree.title);
        self.check(of("summaries"), |s| s.summary(SummarySubject::Tree(tree.id)))?;
        for agent in agents {
            self.check_numbered(of("pins, stashes and actions"), |s| s.memory(agent.id(), tree.id))?;
        }
        let mut after = 0;
        loop {
            let page = self.check_numbered(of("nodes"), |s| s.nodes_after(tree.id, after))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            for node in page.iter().filter(|node| node.state.links > 0) {
                self.check(of("links"), |s| s.links(node.id))?;
            }
        }
    }
}

/// A checksum of all envelopes, which does not depend on their order.
fn envelopes(snapshot: &dyn Snapshot) -> Result<(u64, u64)> {
    let (mut count, mut sum) = (0, 0_u64);
    snapshot.generations(&GenerationFilter::default(), &mut |row| {
        let hash = blake3::hash(format!("{row:?}").as_bytes());
        let number = hash.as_bytes()[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        count += 1;
        sum = sum.wrapping_add(number);
    })?;
    Ok((count, sum))
}
