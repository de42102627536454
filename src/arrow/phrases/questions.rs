//! Questions that a command answers.

use super::word;
use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        lexicon::{Form, FunctionWord, Noun, Prep, Verb},
    },
    tools::TABLE,
};

/// Nouns whose items a command lists.
const LISTED: [Noun; 13] = [
    Noun::Trace,
    Noun::Sibling,
    Noun::Continuation,
    Noun::Annotation,
    Noun::Link,
    Noun::Version,
    Noun::Bookmark,
    Noun::Memory,
    Noun::Stash,
    Noun::Todo,
    Noun::Plan,
    Noun::Difference,
    Noun::Delegation,
];

/// Words of a question about the difference between two nodes.
const DIFFERENCE_WORDS: &[&str] =
    &["differ", "different", "changed", "changes", "differs", "separates", "distinguishes", "compared", "new"];

/// Words of a question about what was said.
const SAYING: &[&str] = &[
    "say",
    "said",
    "come",
    "came",
    "appear",
    "appears",
    "occur",
    "occurs",
    "mention",
    "mentioned",
    "talk",
    "talked",
    "discuss",
    "discussed",
    "write",
    "wrote",
    "written",
    "contain",
    "contains",
    "hold",
    "holds",
];

/// The verb of the command that answers a question, if one does.
pub(in crate::arrow) fn question(line: &str, terms: &[AnnotatedToken]) -> Option<Verb> {
    let end = terms.iter().position(|term| term.is('?')).unwrap_or(terms.len());
    let question = Question::new(line, &terms[..end]);
    // `what a note on a7x2!`
    if matches!(word(line, question.terms, 1), "a" | "an") {
        return None;
    }
    question.by_subject().or_else(|| question.by_question_word())
}

/// A question up to its mark, with the features that decide its answer.
struct Question<'q> {
    line: &'q str,
    terms: &'q [AnnotatedToken],
    /// The first word, in lower case.
    first: String,
    ids: usize,
    names_tool: bool,
}

impl<'q> Question<'q> {
    fn new(line: &'q str, terms: &'q [AnnotatedToken]) -> Self {
        let is_tool = |term: &AnnotatedToken| TABLE.iter().any(|row| row.name.eq_ignore_ascii_case(term.text.of(line)));
        Self {
            line,
            terms,
            first: word(line, terms, 0).to_ascii_lowercase(),
            ids: terms.iter().filter(|term| term.is_id()).count(),
            names_tool: terms.iter().skip(1).any(is_tool),
        }
    }

    fn has_noun(&self, noun: Noun) -> bool {
        self.terms.iter().any(|term| term.entry.noun == Some(noun))
    }

    fn has_word(&self, words: &[&str]) -> bool {
        let is = |term: &AnnotatedToken, other: &str| {
            word(self.line, std::slice::from_ref(term), 0).eq_ignore_ascii_case(other)
        };
        self.terms.iter().any(|term| words.iter().any(|other| is(term, other)))
    }

    /// True if every word is known, and no condition, alternative or negation is among them.
    fn is_plain(&self) -> bool {
        let is_known = |term: &AnnotatedToken| {
            term.kind != TokenKind::Name || word(self.line, std::slice::from_ref(term), 0) == "many"
        };
        self.is_certain() && self.terms.iter().all(is_known)
    }

    /// True if no condition, alternative or negation is among its words.
    fn is_certain(&self) -> bool {
        let doubts = [FunctionWord::If, FunctionWord::Or, FunctionWord::Modal, FunctionWord::Not];
        !self.terms.iter().any(|term| term.entry.func.is_some_and(|func| doubts.contains(&func)))
    }

    /// True if a verb names an operation that is not among those which answer questions.
    fn names_other_operation(&self) -> bool {
        self.terms.iter().any(|term| {
            matches!(term.entry.verb, Some((verb, form)) if term.entry.noun.is_none() && form != Form::Third
                && !matches!(verb, Verb::Get | Verb::See | Verb::Respond | Verb::Read | Verb::Compare | Verb::Stash
                    | Verb::Go | Verb::Pin | Verb::Link | Verb::Bookmark | Verb::Leave | Verb::Keep | Verb::Put
                    | Verb::Add | Verb::Make | Verb::Carry | Verb::Write | Verb::Name))
        })
    }

    /// Answers questions whose subject decides: a tool, a file, two nodes, the tree, turns.
    fn by_subject(&self) -> Option<Verb> {
        let (first, ids) = (self.first.as_str(), self.ids);
        let is_what = matches!(first, "what" | "what's");
        let is_short = self.terms.len() <= 6;
        if is_what && ids == 0 && self.names_tool && !self.has_noun(Noun::Memory) {
            let means = |term: &AnnotatedToken| matches!(word(self.line, std::slice::from_ref(term), 0), "do" | "mean");
            if is_short && self.terms.iter().any(means) {
                return Some(Verb::Help);
            }
        }
        // `what's the usage of split?`
        if is_what && ids == 0 && self.names_tool && self.has_noun(Noun::Help) {
            return Some(Verb::Help);
        }
        let files = self.terms.iter().filter(|term| term.kind == TokenKind::File).count();
        if ids == 0 && is_what && self.asks_for_subject(files) {
            return Some(Verb::Summarise);
        }
        if files == 1 && ids == 0 && is_what && !self.names_other_operation() {
            return Some(Verb::See);
        }
        // `what was said around a7x2?`, `what was said before and after a7x2?`
        let beside = self.has_word(&["around"]) || self.has_word(&["before"]) && self.has_word(&["after"]);
        if ids == 1 && is_what && beside && self.is_plain() {
            return Some(Verb::Recall);
        }
        if ids == 2 && (is_what || first == "how") && self.has_word(DIFFERENCE_WORDS) {
            return Some(Verb::Compare);
        }
        // `how does a7x2 compare with the parent?`
        let is_place = |term: &AnnotatedToken| matches!(term.entry.noun, Some(Noun::Parent | Noun::Root));
        if ids == 1 && first == "how" && self.has_word(&["compare", "differ"]) && self.terms.iter().any(is_place) {
            return Some(Verb::Compare);
        }
        if let Some(verb) = self.by_status().filter(|_| ids == 0 && (is_what || first == "which")) {
            return Some(verb);
        }
        if ids == 0 && self.asks_for_kind(is_what) {
            return Some(Verb::List);
        }
        if let Some(verb) = self.by_text(is_what) {
            return Some(verb);
        }
        if matches!(first, "how" | "how's")
            && ids == 0
            && self.has_noun(Noun::Tree)
            && self.has_word(&["look", "looks", "looking", "does", "is"])
            && self.has_word(&["tree"])
            && !self.has_word(&["use", "draw", "call"])
        {
            return Some(Verb::See);
        }
        let counts = matches!(word(self.line, self.terms, 1), "many" | "much" | "long" | "often" | "big");
        if first == "how" && ids == 0 && self.names_tool && !counts {
            return Some(Verb::Help);
        }
        if ids == 2 && self.terms.iter().any(|term| term.entry.prep == Some(Prep::Between)) {
            return Some(Verb::Compare);
        }
        if first != "what" || ids != 0 {
            return None;
        }
        if self.asks_for_help() {
            return Some(Verb::Help);
        }
        let is_number = |term: &AnnotatedToken| matches!(term.kind, TokenKind::Number(_) | TokenKind::Range(..));
        if self.has_noun(Noun::Turn) && self.terms.iter().any(is_number) {
            return Some(Verb::Recall);
        }
        if self.has_noun(Noun::Tool) && self.has_noun(Noun::Result) && self.names_tool {
            return Some(Verb::Recall);
        }
        (self.has_noun(Noun::Tool) && self.has_word(&["are", "do", "can", "have"]) && is_short).then_some(Verb::Help)
    }

    /// True for a question for all of a kind: `which documents are there?`, `who are the agents here?`, `what's been pruned so far?`.
    fn asks_for_kind(&self, is_what: bool) -> bool {
        let exist =
            ["there", "exist", "have", "available", "here", "around", "active", "working", "use", "see", "made"];
        let first = self.first.as_str();
        // `which agents are in this tree?`
        let lies_here = self.has_word(&["in", "of", "on"]) && self.has_noun(Noun::Tree);
        let names_kind = super::asks_which(self.line, self.terms) && (self.has_word(&exist) || lies_here);
        let names_pruned =
            (is_what || first == "which") && self.has_word(&["pruned", "hidden"]) && self.terms.len() <= 8;
        let names_agents = matches!(first, "who" | "who's") && self.has_word(&["agents"]);
        (names_kind || names_pruned || names_agents) && self.is_plain()
    }

    /// True for `what is plan.md about?` and `what's the doc "cast" about?`.
    fn asks_for_subject(&self, files: usize) -> bool {
        let texts = self.terms.iter().filter(|term| term.is_text()).count();
        let is_document = files == 1 && texts == 0 || files == 0 && texts == 1 && self.has_noun(Noun::Doc);
        let about = self.terms.iter().rposition(|term| term.entry.prep == Some(Prep::About));
        let ends_in_about = about.is_some_and(|at| self.terms.get(at + 1).is_none_or(|next| next.is(',')));
        is_document && ends_in_about && self.is_certain()
    }

    /// True for `what can I do here?`.
    fn asks_for_help(&self) -> bool {
        let words = |at: usize| word(self.line, self.terms, at);
        let asks = words(1) == "can" && matches!(words(2), "i" | "I" | "we") && words(3) == "do";
        asks && (self.terms.len() == 4 || self.terms.len() == 5 && matches!(words(4), "here" | "now"))
    }

    /// Answers questions about the plan: `which todos are done?`, `what remains to be done?`.
    fn by_status(&self) -> Option<Verb> {
        let statuses = ["done", "completed", "finished", "progress", "pending", "cancelled", "underway"];
        let is_planned = self.has_noun(Noun::Todo) || self.has_noun(Noun::Plan);
        let remains = self.has_word(&["remains", "left", "remaining"]) && self.has_word(&["do", "done"]);
        match self.is_certain() {
            true if is_planned && self.has_word(&statuses) => Some(Verb::See),
            true if remains && self.terms.len() < 10 => Some(Verb::Todo),
            _ => None,
        }
    }

    /// Answers questions about a quoted text: where it was said, what a document has under it.
    fn by_text(&self, is_what: bool) -> Option<Verb> {
        let (first, ids) = (self.first.as_str(), self.ids);
        let texts = self.terms.iter().filter(|term| term.is_text()).count();
        let counts = first == "how" && matches!(word(self.line, self.terms, 1), "many" | "often");
        let is_open = (counts || !matches!(first, "how" | "why")) && !self.names_other_operation();
        // `what does the web say about "x"?`
        if is_what && texts == 1 && ids == 0 && self.has_noun(Noun::Web) && self.is_certain() {
            return Some(Verb::Search);
        }
        // `how many web_fetch calls failed?`, `what did the tool run_query return?`
        let is_tool = |at: &usize| {
            let term = &self.terms[*at];
            let named = *at > 0 && self.terms[at - 1].entry.noun == Some(Noun::Tool);
            term.kind == TokenKind::Name && (named || term.text.of(self.line).contains('_'))
        };
        let fails =
            matches!(first, "which" | "what") && self.has_word(&["failed", "fail"]) && self.has_noun(Noun::Result);
        let returns = is_what
            && self.has_noun(Noun::Tool)
            && (self.has_word(&["return", "returned", "print", "printed", "answer", "say"])
                || self.has_noun(Noun::Result) && self.has_word(&["were", "are"]));
        if ids == 0
            && (0..self.terms.len()).any(|at| is_tool(&at))
            && (fails || counts && (self.has_noun(Noun::Result) || self.has_noun(Noun::Tool)) || returns)
            && self.is_certain()
        {
            return Some(Verb::Recall);
        }
        // `what did Ada say about "x" below a7x2?`
        let is_scope = |at: usize| {
            let before = at.checked_sub(1).map(|before| self.terms[before].text.of(self.line));
            self.terms[at].is_id() && matches!(before, Some("below" | "under" | "beneath"))
                || at > 1 && before == Some("to") && self.terms[at - 2].text.of(self.line) == "path"
        };
        let scopes = (0..self.terms.len()).filter(|at| is_scope(*at)).count();
        if texts == 1
            && ids == scopes
            && is_open
            && self.has_word(SAYING)
            && !self.has_noun(Noun::Doc)
            && self.is_certain()
        {
            return Some(Verb::Recall);
        }
        // `what does the doc "cast" say under "minor roles"?`
        // `what does the section "Letters" of "sources" say?`
        let says = self.has_word(&["say", "says", "read", "contain"]);
        let is_document = self.has_noun(Noun::Doc) || self.has_noun(Noun::Section) && texts == 2;
        (is_what && texts > 0 && ids == 0 && is_document && says && self.is_certain()).then_some(Verb::Read)
    }

    /// Answers plain questions by their question word and the nouns that they list.
    fn by_question_word(&self) -> Option<Verb> {
        if !self.is_plain() || self.names_other_operation() {
            return None;
        }
        let (first, ids) = (self.first.as_str(), self.ids);
        let is_help = |term: &AnnotatedToken| matches!(term.entry.noun, Some(Noun::Help | Noun::Alternative));
        if first == "what" && self.names_tool && ids == 0 && self.terms.iter().any(is_help) {
            return Some(Verb::Help);
        }
        let lists = LISTED.iter().any(|noun| self.has_noun(*noun));
        let second = word(self.line, self.terms, 1);
        match first {
            "how" if second == "many" && lists => Some(Verb::See),
            // `where am I`
            "where" if ids == 0 && matches!(second, "am" | "are") && self.has_word(&["i", "we"]) => Some(Verb::Tree),
            "where" => {
                let compares = |term: &AnnotatedToken| matches!(term.entry.verb, Some((Verb::Compare, _)));
                (ids == 2 && self.terms.iter().any(compares)).then_some(Verb::Compare)
            }
            "what" | "which" | "who" | "what's" | "who's" if lists => Some(Verb::See),
            "what" | "what's" if ids == 1 => Some(Verb::See),
            "how" if ids == 2 => Some(Verb::Compare),
            _ => None,
        }
    }
}
