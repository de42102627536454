//! References to nodes in words: places (`the parent`, `..`), labels of bookmarks and positions of agents.
//!
//! A label and an agent's position have a form of their own, so they are folded into one token before anything else
//! reads the line. A place is a word of many uses (`next`, `back`), so it becomes a reference only among the arguments
//! of an operation that takes a node. A place beside another node (`the parent of a7x2`) has no reference, and the line
//! is refused.

mod agent_position;

use self::agent_position::{is_owner, is_position, position_of_agent, where_agent_is};
use super::{
    Relative,
    annotate_tokens::{AnnotatedToken, TokenKind},
    args::{self, Arg, ArgKind, Arguments},
    classify::Candidate,
    intent::{ClauseRole, Intent, is_finite},
    lex::Span,
    lexicon::{self, Entry, FunctionWord, Noun, Prep, Verb},
    option_name::OptionName,
};
use crate::tools::{TABLE, Tool};

/// Folds `bookmark:"label"`, `@agent` and `where the agent is` into one token each.
pub(super) fn fold_references(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let mut at = 0;
    while at < terms.len() {
        if let Some((kind, text, end)) = reference(line, terms, at) {
            let whole = Span { start: terms[at].whole.start, end: terms[end - 1].whole.end };
            // A symbol counts as its word.
            let entry = symbol(text.of(line)).map_or_else(Entry::default, |(word, _)| lexicon::look_up(word));
            terms.splice(at..end, [AnnotatedToken { kind, entry, text, whole, ..terms[at] }]);
        } else if at > 0 && terms[at].kind == TokenKind::OptionName(OptionName::Bookmark) {
            // `remove bookmark: a7x2`: the noun.
            (terms[at].kind, terms[at].entry) = (TokenKind::Word, lexicon::look_up(terms[at].text.of(line)));
        } else if at > 0 && terms[at].text.of(line) == "sibling" && is_beside(line, &terms[at - 1]) {
            // `the next sibling`: one node, not the list of siblings.
            terms[at].entry = lexicon::look_up("node");
        }
        at += 1;
    }
}

fn is_beside(line: &str, term: &AnnotatedToken) -> bool {
    matches!(term.text.of(line), "next" | "previous" | "prev")
}

/// True if the noun `bookmark` at `at` names the node that has the label behind it.
fn names_bookmark(terms: &[AnnotatedToken], at: usize) -> bool {
    let is_small = |term: &&AnnotatedToken| matches!(term.entry.func, Some(FunctionWord::Det | FunctionWord::Pad));
    let mut before = terms[..at].iter().rev().filter(|term| !is_small(term));
    let Some(last) = before.next() else { return false };
    // `the node with the bookmark "x"`
    let describes =
        last.entry.prep == Some(Prep::With) && before.next().is_some_and(|noun| noun.entry.noun == Some(Noun::Node));
    let before = last;
    let leads = matches!(before.entry.prep, Some(Prep::To | Prep::From | Prep::At | Prep::Of | Prep::On | Prep::Under))
        || matches!(before.kind, TokenKind::OptionName(OptionName::From | OptionName::Branch | OptionName::Node));
    let looks = matches!(
        before.entry.base(),
        Some(Verb::See | Verb::Go | Verb::Pin | Verb::Annotate | Verb::Copy | Verb::Move)
    );
    let compares = matches!(before.entry.verb, Some((Verb::Compare, _)));
    (leads || looks || compares || describes) && terms.get(at + 1).is_some_and(AnnotatedToken::is_text)
}

/// The reference that begins at `at`: its kind, the text of its value, and the index behind its end.
fn reference(line: &str, terms: &[AnnotatedToken], at: usize) -> Option<(TokenKind, Span, usize)> {
    let value = |bookmark: bool, at: usize| {
        let term = terms.get(at)?;
        let names = term.is_text() || matches!(term.kind, TokenKind::Word | TokenKind::Name);
        let escapes = term.kind == (TokenKind::Text { escapes: true });
        let kind = if bookmark { TokenKind::BookmarkLabel { escapes } } else { TokenKind::AgentPosition { escapes } };
        names.then_some((kind, term.text, at + 1))
    };
    let term = &terms[at];
    if let Some(end) = place_symbol(line, terms, at) {
        let path = Span { start: term.text.start, end: terms[end - 1].text.end };
        let kind = if symbol(path.of(line)).is_some() { TokenKind::Word } else { TokenKind::Name };
        return Some((kind, path, end));
    }
    let text = term.text.of(line);
    let joined = terms.get(at + 1).is_some_and(|next| !next.gap);
    match term.kind {
        TokenKind::OptionName(OptionName::Bookmark) if at > 0 => {
            let mark = terms.get(at + 1).is_some_and(|mark| mark.is(':') || mark.is('='));
            value(true, at + 1 + usize::from(mark))
        }
        // `to the bookmark "key decision"`
        TokenKind::Word if text == "bookmark" && names_bookmark(terms, at) => value(true, at + 1),
        TokenKind::Mark('@') if joined && (at == 0 || term.gap) => value(false, at + 1),
        // `copy a7x2 under planner's position`
        TokenKind::Name | TokenKind::Word if at > 0 && is_owner(line, term) && is_position(line, terms, at + 1) => {
            Some((TokenKind::AgentPosition { escapes: false }, term.text, at + 2))
        }
        // `to the position of the agent "editor"`
        TokenKind::Word if at > 0 && text == "position" => position_of_agent(terms, at),
        // `from:..`
        TokenKind::Name if at > 0 && symbol(text).is_some() => {
            matches!(terms[at - 1].kind, TokenKind::OptionName(_)).then_some((TokenKind::Word, term.text, at + 1))
        }
        // Behind a name: `from:bookmark:"label"`, `from:@agent`.
        TokenKind::Name if joined && text == "bookmark:" => value(true, at + 1),
        TokenKind::Name if joined && text == "@" => value(false, at + 1),
        TokenKind::Name if text.len() > 1 && text.starts_with('@') => Some((
            TokenKind::AgentPosition { escapes: false },
            Span { start: term.text.start + 1, end: term.text.end },
            at + 1,
        )),
        TokenKind::Word | TokenKind::Name if at > 0 && matches!(text, "where" | "wherever") => {
            where_agent_is(line, terms, at)
        }
        _ => None,
    }
}

/// The index behind the end of a path that stands alone, as a shell has them: `.`, `..`, `/`, or one that names no place, such
/// as `../..`. One point or stroke also ends a sentence or separates words, so it names a place only behind the operation's name, a
/// preposition or an option.
fn place_symbol(line: &str, terms: &[AnnotatedToken], at: usize) -> Option<usize> {
    let is_part = |term: &AnnotatedToken| term.is('.') || term.is('/');
    if !is_part(&terms[at]) || !line.get(..terms[at].text.start)?.ends_with(char::is_whitespace) {
        return None;
    }
    let more = terms[at + 1..].iter().take_while(|term| !term.gap && is_part(term)).count();
    let end = at + 1 + more;
    let before = &terms[at.checked_sub(1)?];
    let next = terms.get(end);
    let stands_alone = next.is_none_or(|next| next.gap);
    let leads = before.entry.base().is_some()
        || before.entry.prep.is_some_and(|prep| !matches!(prep, Prep::Up | Prep::Back | Prep::Before))
        || before.entry.func == Some(FunctionWord::And) && next.is_none_or(|next| next.kind != TokenKind::Word)
        || matches!(before.kind, TokenKind::OptionName(_))
        || matches!(before.text.of(line), "." | ".." | "/" | "me")
        // `mv a7x2 /`
        || before.is_id() && at == 2 && next.is_none() && matches!(terms[0].entry.base(), Some(Verb::Move | Verb::Copy));
    let is_path = match line.get(terms[at].text.start..terms[end - 1].text.end)? {
        "." | "/" => leads,
        text => text.starts_with("..") && !text.starts_with("...") && !matches!(before.kind, TokenKind::Number(_)),
    };
    (stands_alone && is_path).then_some(end)
}

/// The word and the place of a symbol.
fn symbol(text: &str) -> Option<(&'static str, Relative)> {
    match text {
        "." => Some(("here", Relative::Here)),
        ".." | "../" => Some(("parent", Relative::Parent)),
        "/" => Some(("root", Relative::Root)),
        _ => None,
    }
}

/// Turns places among the arguments into references.
///
/// # Errors
///
/// The span of a place that belongs to another node.
pub(super) fn promote_places(
    line: &str,
    terms: &mut [AnnotatedToken],
    intent: &Intent,
    arguments: &mut Arguments<'_>,
    candidate: &mut Candidate,
) -> Result<(), Span> {
    // `switch` reads the bare names of places itself.
    let switches = candidate.tool == Tool::Switch;
    if !takes_node(candidate.tool) && !switches || switches && arguments.items.iter().any(|arg| arg.kind == ArgKind::Id)
    {
        return Ok(());
    }
    // `the root needs a title, bookmark it`
    let has_node = arguments.items.iter().any(|arg| matches!(arg.kind, ArgKind::Id | ArgKind::IdRange { .. }));
    let points = !has_node && intent.points(terms);
    // `everything but the root is weak, prune it`, `the child of the root is weak, prune it`: another node.
    let related = |(term, zone): (&AnnotatedToken, &ClauseRole)| {
        *zone == ClauseRole::Before
            && (matches!(
                term.entry.noun,
                Some(
                    Noun::Continuation
                        | Noun::Sibling
                        | Noun::Annotation
                        | Noun::Version
                        | Noun::Copy
                        | Noun::Reply
                        | Noun::Leaf
                        | Noun::Branch
                )
            ) || term.entry.func == Some(FunctionWord::But)
                || term.entry.option == Some(OptionName::Exclude)
                || matches!(term.text.of(line), "unlike" | "than" | "beats"))
    };
    let is_related = points && terms.iter().zip(&intent.zones).any(related);
    let is_fronted = is_fronted(terms, intent);
    // `under the root, merge a7x2 and b3k9 "x"`: a merge has no place, so none is dropped.
    if is_fronted
        && has_node
        && matches!(candidate.tool, Tool::Merge | Tool::Diff)
        && let Some((first, _)) = terms.iter().zip(&intent.zones).find(|(_, zone)| **zone == ClauseRole::Before)
    {
        return Err(first.text);
    }
    let is_fronted = is_fronted && (!has_node || matches!(candidate.tool, Tool::Copy | Tool::Move));
    let mut at = 0;
    while at < terms.len() {
        let asked = match intent.zones.get(at) {
            Some(ClauseRole::Main | ClauseRole::Relative) => true,
            Some(ClauseRole::Before) => points || is_fronted,
            _ => false,
        };
        let place = place_at(line, terms, at, candidate).filter(|_| asked && at != candidate.verb);
        let is_symbol = symbol(terms[at].text.of(line)).is_some();
        let place =
            place.filter(|(place, length)| !switches || *length > 1 || is_symbol || *place == Relative::BranchPoint);
        let Some((place, length)) = place else {
            at += 1;
            continue;
        };
        let text = Span { start: terms[at].text.start, end: terms[at + length - 1].text.end };
        let before = intent.zones.get(at) == Some(&ClauseRole::Before);
        if belongs_to_other(line, terms, at, length) || before && is_related {
            return Err(text);
        }
        if !describes_id(terms, at, length, candidate.tool) {
            let (key, prep) = prefix(line, terms, at);
            arguments.items.retain(|arg| !(at..at + length).contains(&arg.at));
            let kind = ArgKind::Place(place);
            let arg = Arg { kind, text, key, prep, noun: None, unit: None, arrow: false, at };
            let index = arguments.items.iter().position(|arg| arg.at > at).unwrap_or(arguments.items.len());
            arguments.items.insert(index, arg);
            terms[at] = AnnotatedToken { kind: TokenKind::Place(place), entry: Entry::default(), ..terms[at] };
            candidate.features = candidate.features.with_node();
        }
        at += length;
    }
    Ok(())
}

/// `from the root, draw the tree`: what stands before the request is only where it applies.
fn is_fronted(terms: &[AnnotatedToken], intent: &Intent) -> bool {
    let mut before =
        terms.iter().zip(&intent.zones).filter(|(_, zone)| **zone == ClauseRole::Before).map(|(term, _)| term);
    let leads = |term: &AnnotatedToken| {
        matches!(term.entry.prep, Some(Prep::From | Prep::At | Prep::On | Prep::Under | Prep::To | Prep::For))
    };
    before.next().is_some_and(leads)
        && !before.any(|term| is_finite(term) || term.entry.func.is_some_and(starts_clause))
}

/// True for words of a clause of its own.
fn starts_clause(word: FunctionWord) -> bool {
    matches!(word, FunctionWord::Subject | FunctionWord::Sub | FunctionWord::What | FunctionWord::But)
}

/// Operations that take a node and give places no other meaning.
fn takes_node(tool: Tool) -> bool {
    tool.acts_on_nodes() || matches!(tool, Tool::Stash | Tool::Drop)
}

/// Operations on two nodes or more.
pub(super) const fn takes_two(tool: Tool) -> bool {
    matches!(tool, Tool::Diff | Tool::Merge | Tool::Copy | Tool::Move | Tool::Link | Tool::Unlink)
}

/// The place that the tokens from `at` on name, without their article, and how many tokens it has.
fn place_at(line: &str, terms: &[AnnotatedToken], at: usize, candidate: &Candidate) -> Option<(Relative, usize)> {
    let verb = candidate.verb;
    if terms[at].kind == TokenKind::Word
        && let Some((_, place)) = symbol(terms[at].text.of(line))
    {
        return Some((place, 1));
    }
    if !matches!(terms[at].kind, TokenKind::Word | TokenKind::Name | TokenKind::Number(_) | TokenKind::Id)
        || terms[at].bracketed
    {
        return None;
    }
    let next = terms.get(at + 1).filter(|next| next.kind == TokenKind::Word);
    if rises_by_one(line, terms, at) {
        return Some((Relative::Parent, 3));
    }
    let has_node = next.is_some_and(|next| matches!(next.entry.noun, Some(Noun::Node | Noun::Sibling)));
    let length = 1 + usize::from(has_node);
    let before = at.checked_sub(1).map(|before| &terms[before]);
    let after_name = before.is_some_and(|before| {
        matches!(before.kind, TokenKind::OptionName(_) | TokenKind::Flag | TokenKind::Mark(':' | '='))
    });
    let after_verb = at == verb + 1;
    let after_prep = before.is_some_and(|before| matches!(before.entry.prep, Some(Prep::From | Prep::To)));
    let beside_node = before.is_some_and(AnnotatedToken::is_id);
    // `next to a7x2`, `back into the context`, `from here on`: a particle.
    let ends = terms.get(at + 1).is_none_or(|next| match next.entry.prep {
        _ if names_place(line, terms, at + 1) => true,
        Some(Prep::To) => {
            let to = terms.get(at + 2);
            let names = to.is_some_and(|to| to.is_id() || matches!(to.kind, TokenKind::OptionName(_)));
            after_verb && (names || names_place(line, terms, at + 2))
        }
        Some(prep) => prep == Prep::From || after_verb && terms.get(at + 2).is_some_and(AnnotatedToken::is_text),
        None => !matches!(next.kind, TokenKind::Word | TokenKind::Name) || next.entry.option.is_some(),
    });
    // The canonical form has the node right behind the operation's name or an option's.
    let named = after_verb && TABLE.iter().any(|row| row.name == terms[verb].text.of(line));
    let particle = terms.get(at + 1).is_some_and(|next| next.entry.prep.is_some());
    let canonical = after_name || named && !particle;
    // `bring back a7x2`
    let follows = terms.get(at + 1).is_some_and(AnnotatedToken::is_id) && !takes_two(candidate.tool);
    let is_node = terms[at].entry.noun == Some(Noun::Node);
    // `the message above`, `the node before this one`
    if is_node
        && let Some(side) = next.map(|next| next.text.of(line)).filter(|side| matches!(*side, "above" | "before"))
    {
        let here = terms.get(at + 2).is_some_and(|here| matches!(here.text.of(line), "this" | "here" | "mine"));
        let noun = terms
            .get(at + 3)
            .is_some_and(|noun| noun.entry.func == Some(FunctionWord::One) || noun.entry.noun == Some(Noun::Node));
        match (side, here) {
            (_, true) => return Some((Relative::Parent, 3 + usize::from(noun))),
            ("above", false) => return Some((Relative::Parent, 2)),
            _ => {}
        }
    }
    let place = match terms[at].text.of(line).to_ascii_lowercase().as_str() {
        "parent" => Relative::Parent,
        "root" => Relative::Root,
        "leaf" => Relative::Leaf,
        "here" if !next.is_some_and(|next| matches!(next.entry.prep, Some(Prep::On | Prep::Onward))) => Relative::Here,
        "branch-point" | "branchpoint" => Relative::BranchPoint,
        "this" | "current" | "present" if has_node => Relative::Here,
        "first" | "opening" if has_node => Relative::Root,
        "last" | "latest" | "newest" | "final" if has_node => Relative::Leaf,
        "next" if has_node || ends || canonical => Relative::Next,
        "previous" | "prev" if has_node || ends || canonical => Relative::Previous,
        "back" if canonical && !follows || ends && !follows && (after_prep || beside_node || after_verb) => {
            Relative::Back
        }
        "branch" if next.is_some_and(|next| next.text.of(line) == "point") => return Some((Relative::BranchPoint, 2)),
        _ => return None,
    };
    Some((place, length))
}

/// True for `one level up`, unless it is counted from a node that the line names.
fn rises_by_one(line: &str, terms: &[AnnotatedToken], at: usize) -> bool {
    let is = |at: usize, words: &[&str]| {
        terms.get(at).is_some_and(|term| words.iter().any(|word| term.text.of(line).eq_ignore_ascii_case(word)))
    };
    let counted = terms.get(at + 3).is_some_and(|next| next.entry.prep.is_some());
    is(at, &["one", "a", "1"])
        && is(at + 1, &["level", "step", "node", "message", "generation"])
        && is(at + 2, &["up", "higher", "above"])
        && !counted
}

/// True if the word at `at` is the bare name of a place.
fn names_place(line: &str, terms: &[AnnotatedToken], at: usize) -> bool {
    terms.get(at).is_some_and(|term| {
        matches!(
            term.text.of(line),
            "parent" | "root" | "next" | "previous" | "leaf" | "back" | "here" | "branch-point"
        )
    })
}

/// True if the place belongs to a node that the line names: `the parent of a7x2`, `a7x2's parent`, `its root`.
fn belongs_to_other(line: &str, terms: &[AnnotatedToken], at: usize, length: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &terms[before]);
    // `my last message` is another one than the last message.
    let is_last = length > 1 && matches!(terms[at].text.of(line), "last" | "latest" | "newest" | "final");
    // `this node with its parent`
    let is_here = |term: &AnnotatedToken| term.kind == TokenKind::Place(Relative::Here);
    let of_here = terms[..at].iter().any(is_here) && !terms[..at].iter().any(|term| term.is_id() && !is_here(term));
    let owned = before.filter(|_| !of_here).is_some_and(|before| {
        matches!(before.text.of(line), "its" | "their" | "his" | "her")
            || is_last && matches!(before.text.of(line), "my" | "your")
            || before.kind == TokenKind::Id && !before.bracketed && before.whole.end > before.text.end
    });
    let joined = terms.get(at + length).is_some_and(|next| matches!(next.entry.prep, Some(Prep::Of | Prep::In)));
    owned || joined && terms[at + length..].iter().take(4).any(AnnotatedToken::is_id)
}

/// True if the place only describes the id beside it: `the root a7x2`, `a7x2, the last message`.
fn describes_id(terms: &[AnnotatedToken], at: usize, length: usize, tool: Tool) -> bool {
    let two = takes_two(tool);
    let separates = |term: &AnnotatedToken| matches!(term.kind, TokenKind::Mark(',' | '(' | ')'));
    let small = |term: &AnnotatedToken| term.entry.func == Some(FunctionWord::Det) || separates(term);
    let mut ahead = terms[at + length..].iter().skip_while(|term| separates(term));
    let mut behind = terms[..at].iter().rev().skip_while(|term| small(term));
    let id = |term: Option<&AnnotatedToken>| term.is_some_and(AnnotatedToken::is_id);
    !two && (id(ahead.next()) || id(behind.next()))
}

/// The option name and the preposition before a place and its article.
fn prefix(line: &str, terms: &[AnnotatedToken], at: usize) -> (Option<OptionName>, Option<Prep>) {
    let small = |term: &&AnnotatedToken| {
        matches!(term.entry.func, Some(FunctionWord::Det | FunctionWord::Adjective)) && term.entry.prep.is_none()
            || term.is(':')
            || term.is('=')
    };
    let Some(before) = terms[..at].iter().rev().find(|term| !small(term)) else { return (None, None) };
    let key = match before.kind {
        TokenKind::OptionName(key) => Some(key),
        TokenKind::Flag => args::flag(before.text.of(line)),
        _ => None,
    };
    (key, before.entry.prep)
}
