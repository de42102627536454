//! Asides of a line: what is not meant, why, and what is known of a thing anyway.

use std::ops::Range;

use super::IntentParser;
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lexicon::{Form, FunctionWord, Noun, Prep, Verb},
};

impl IntentParser<'_> {
    /// A clause on what it is for, or on what follows: `…, so that I can quote from it`, `…, then we pick one`.
    pub(super) fn sequel(&self, at: usize) -> Option<Range<usize>> {
        let end = self.clause_end(at);
        let knows = self.is_word(at + 1, &["i", "we", "you"])
            && self.is_word(at + 2, &["know", "can", "have", "see", "understand", "remember", "get"]);
        let purpose = self.is_word(at, &["so"]) && (self.is_word(at + 1, &["that"]) || knows);
        let picks =
            (at + 2..end).any(|at| self.is_word(at, &["pick", "choose", "see", "decide", "talk", "look", "rest"]));
        // `mark a7x2 so that I find it again, under the name "x"`
        let between = purpose
            && self.is_word(at + 1, &["that"])
            && at > 1
            && self.terms[at - 1].is_id()
            && !self.terms[at..end]
                .iter()
                .any(|term| matches!(term.entry.noun, Some(Noun::Root | Noun::Parent | Noun::Leaf)))
            && self.terms.get(end).is_some_and(|mark| mark.is(','))
            && !self.terms[at..end].iter().any(AnnotatedToken::is_concrete)
            && !(at..end).any(|at| self.is_word(at, &["only", "nobody", "none", "never", "alone", "not"]));
        if between {
            return Some(at..end);
        }
        let later =
            picks && self.is_word(at, &["then"]) && self.is_word(at + 1, &["we", "i", "you"]) && !self.has_object(at);
        let names = |term: &AnnotatedToken| term.is_id() || term.is_text() || term.kind == TokenKind::File;
        let is_idle = (purpose || later)
            && at > 1
            && self.terms[at - 1].is(',')
            && self.is_last(end)
            && !self.terms[at..end].iter().any(names)
            // `…, so that only I see it`
            && !(at..end).any(|at| self.is_word(at, &["only", "nobody", "no-one", "none", "never", "alone"]))
            && !(at..end).any(|at| {
                matches!(self.terms[at].kind, TokenKind::Number(_)) && !self.is_word(at, &["twice", "one", "first"])
            });
        is_idle.then(|| at - 1..end)
    }

    /// An aside that says what is not meant or does not do: `rather than a drawing, …`, `…, not just its opening`,
    /// `…, no longer needed`, `…, as excerpts will not do`.
    pub(super) fn set_against(&self, at: usize) -> Option<Range<usize>> {
        let end = self.clause_end(at);
        let will = if self.is_word(at, &["not"]) { at.checked_sub(1) } else { Some(at) };
        let falls_short =
            will.is_some_and(|will| self.is_word(will, &["will", "won't"])) && self.is_word(at + 1, &["do", "suffice"]);
        let idle = self.is_word(at, &["no"]) && self.is_word(at + 1, &["longer"]);
        if falls_short || idle {
            let begin = if idle { at } else { self.clause_begin(at) };
            let comma = begin.checked_sub(1).filter(|before| *before > 0 && self.terms[*before].is(','))?;
            return (!self.has_concrete(begin..end)).then_some(comma..end);
        }
        let instead = self.is_word(at, &["rather"]) && self.is_word(at + 1, &["than"])
            || self.is_word(at, &["instead"]) && self.is_word(at + 1, &["of"]);
        let not_only = self.is_word(at, &["not"]) && self.is_word(at + 1, &["just", "only", "merely", "simply"]);
        if !(instead || not_only) || self.has_concrete(at..end) {
            return None;
        }
        if at == 0 {
            return (instead && self.terms.get(end).is_some_and(|mark| mark.is(','))).then_some(0..end + 1);
        }
        let joined = at - usize::from(self.func_at(at - 1) == Some(FunctionWord::And));
        let begin = joined.checked_sub(1).filter(|before| self.terms[*before].is(','));
        begin.or(instead.then_some(at)).map(|begin| begin..end)
    }

    /// The words before a limit of length: `…, keep it to about 90 words`.
    pub(super) fn limit(&self, at: usize) -> Option<Range<usize>> {
        let bounds = ["to", "under", "below", "within", "around", "at", "in"];
        let number = |at: usize| matches!(self.terms.get(at).map(|term| term.kind), Some(TokenKind::Number(_)));
        let is_limit = self.is_word(at + 1, &["it"]) && self.is_word(at + 2, &bounds) && (at + 3..at + 6).any(number);
        let before = at.checked_sub(1).filter(|before| *before > 0)?;
        let joined = self.func_at(before) == Some(FunctionWord::And);
        (is_limit && (joined || self.terms[before].is(','))).then(|| at - usize::from(joined)..at + 2)
    }

    /// A clause on what the speaker does not know, before the request: `I'm not sure which commands there are, so …`.
    pub(super) fn ignorance(&self, at: usize) -> Option<Range<usize>> {
        let end = self.clause_end(at);
        let unsure = self.is_word(at, &["i'm", "we're"]) && self.is_word(at + 1, &["not"])
            || self.is_word(at, &["i", "we"])
                && (self.is_word(at + 1, &["don't", "can't"]) || self.is_word(at + 2, &["not"]))
                && (at + 2..at + 4)
                    .any(|at| self.is_word(at, &["know", "remember", "recall", "tell", "see", "sure", "certain"]));
        let is_led = at == 0 && unsure && self.terms.get(end).is_some_and(|mark| mark.is(','));
        // `I don't remember how annotate works, help please`
        let names = || (at..end).any(|at| self.names_tool(at));
        // `I've lost my bearings, so a summary of the tree would do`
        let so = at == 0 && self.is_word(end + 1, &["so"]) && self.is_word(end + 2, &["a", "an", "some"]);
        let skipped = if so { end + 2 } else { end + 1 };
        ((so || is_led && !names()) && !self.has_concrete(at..end)).then_some(at..skipped)
    }

    /// `, where I am` behind words that name the position already: `note here, where I am: "…"`.
    pub(super) fn position(&self, at: usize) -> Option<Range<usize>> {
        let comma = at.checked_sub(1).filter(|before| self.terms[*before].is(','))?;
        let end = self.clause_end(at);
        let stands = self.is_word(at + 1, &["i", "we"]) && self.is_word(at + 2, &["am", "are", "stand", "sit"]);
        let here = self.terms[..comma].iter().any(|term| term.entry.noun == Some(Noun::Here))
            || self.is_word(comma.saturating_sub(2), &["this"]);
        (stands && here && end == at + 3).then_some(comma..end)
    }

    /// `we have` behind the thing that is listed: `all the documents we have`.
    pub(super) fn possession(&self, at: usize) -> Option<Range<usize>> {
        let listed = self.terms[at - 1].entry.noun.is_some() && self.terms[at - 1].entry.verb.is_none();
        let owns = match self.is_word(at, &["there"]) {
            true => self.is_word(at + 1, &["is", "are"]),
            false => self.is_word(at + 1, &["have", "own", "hold"]),
        };
        let so_far = if self.is_word(at + 2, &["so"]) && self.is_word(at + 3, &["far"]) { 2 } else { 0 };
        (listed && owns && self.is_last(at + 2 + so_far)).then_some(at..at + 2 + so_far)
    }

    /// A relative clause between commas that names nothing: `a7x2, which was pruned too soon, …`.
    pub(super) fn relative(&self, at: usize) -> Option<Range<usize>> {
        let begin = at.checked_sub(1).filter(|before| *before > 0 && self.terms[*before].is(','))?;
        let end = self.clause_end(at);
        let is_aside = self.is_word(at, &["which", "who", "whose"])
            && self.terms.get(end).is_some_and(|mark| mark.is(','))
            && !self.has_concrete(at..end);
        is_aside.then_some(begin..end + 1)
    }

    /// `that have been` in `a list of the nodes that have been pruned`.
    pub(super) fn passive_relative(&self, at: usize) -> Option<Range<usize>> {
        let names = matches!(self.func_at(0), Some(FunctionWord::Det | FunctionWord::Pad)) || self.polite;
        if !names || at == 0 || !self.is_word(at, &["that", "which"]) || self.terms[at - 1].entry.noun.is_none() {
            return None;
        }
        let auxiliaries = ["have", "has", "been", "are", "were", "is", "was"];
        let verb = (at + 1..self.terms.len()).find(|at| !self.is_word(*at, &auxiliaries))?;
        let is_past = self.verb_at(verb).is_some_and(|(_, form)| form == Form::Past);
        (verb > at + 1 && is_past).then_some(at..verb)
    }

    /// `that … has` in `the link that a7x2 has to b3k9`: what it belongs to follows from the order.
    pub(super) fn possessive(&mut self, at: usize) -> Option<Range<usize>> {
        let described = at.checked_sub(1).is_some_and(|noun| {
            matches!(
                self.terms[noun].entry.noun,
                Some(Noun::Version | Noun::Annotation | Noun::Link | Noun::Continuation | Noun::Bookmark | Noun::Pin)
            )
        });
        let has = described
            && self.is_word(at, &["that", "which"])
            && self.terms.get(at + 1).is_some_and(AnnotatedToken::is_id)
            && self.is_word(at + 2, &["has", "have"]);
        if has {
            self.remove(at + 2..at + 3);
        }
        has.then_some(at..at + 1)
    }

    /// A clause on what comes later, behind an argument: `stash a7x2 as "x" before the context fills up`.
    pub(super) fn deadline(&self, at: usize) -> Option<Range<usize>> {
        let behind_argument = at > 1 && (self.terms[at - 1].is_id() || self.terms[at - 1].is_text());
        let end = self.clause_end(at);
        let has_subject = matches!(self.func_at(at + 1), Some(FunctionWord::Det | FunctionWord::Subject));
        let recalls = self.terms.iter().take(4).any(|term| term.entry.base() == Some(Verb::Recall));
        let is_idle = !recalls && self.is_last(end) && !self.has_concrete(at..end) && end > at + 3;
        (behind_argument && is_idle && has_subject && !self.ends_in_place(at + 1)).then_some(at..end)
    }

    /// A clause on what the speaker does next, before the request: `before I add another one, list the links of a7x2`.
    pub(super) fn preliminary(&self, at: usize) -> Option<Range<usize>> {
        let is_own = self.is_word(at + 1, &["i", "we", "i'm", "we're"]);
        (is_own && self.is_led_off(at)).then(|| at..self.clause_end(at) + 1)
    }

    /// A purpose before the request: `to be sure that nothing is lost, list what is pruned`.
    pub(super) fn purpose(&self, at: usize) -> Option<Range<usize>> {
        let acts = self.verb_at(at + 1).is_some_and(|(verb, _)| {
            !matches!(verb, Verb::Find | Verb::See | Verb::Check | Verb::Compare | Verb::Decide)
        }) && !self.is_word(at + 1, &["keep", "get", "make", "have", "answer"]);
        // `to the root, please add a note`
        let is_place = self.func_at(at + 1) == Some(FunctionWord::Det)
            || self.terms.get(at + 1).is_some_and(|next| next.entry.noun.is_some() && next.entry.verb.is_none());
        (!acts && !is_place && self.is_led_off(at)).then(|| at..self.clause_end(at) + 1)
    }

    /// True if a clause at `at` that names nothing ends in a comma or a colon, behind which a request begins.
    fn is_led_off(&self, at: usize) -> bool {
        let end = self.clause_end(at);
        let marked = self.terms.get(end).is_some_and(|mark| mark.is(',') || mark.is(':'));
        let asks = matches!(self.verb_at(end + 1), Some((_, Form::Base)))
            || self.is_word(end + 1, &["please", "let", "let's", "i'd", "we'd", "could", "would", "can", "kindly"]);
        let open =
            |at: usize| matches!(self.func_at(at), Some(FunctionWord::If | FunctionWord::Or | FunctionWord::Doubt));
        end > at + 2 && marked && asks && !self.has_concrete(at..end) && !(at..end).any(open)
    }

    /// True if the line ends with a place of at most three words: `the root`, `the last node`.
    pub(super) fn ends_in_place(&self, at: usize) -> bool {
        let last = self.terms.len() - 1;
        let places = [Noun::Root, Noun::Parent, Noun::Leaf, Noun::Node];
        (at..at + 3).contains(&last) && self.terms[last].entry.noun.is_some_and(|noun| places.contains(&noun))
    }

    /// `what follows` before an id: `three takes on what follows a7x2`.
    pub(super) fn follows(&self, at: usize) -> Option<Range<usize>> {
        let goes_on = at > 0
            && self.is_word(at, &["what"])
            && self.is_word(at + 1, &["follows"])
            && self.terms.get(at + 2).is_some_and(AnnotatedToken::is_id);
        let joined = goes_on && matches!(self.terms[at - 1].entry.prep, Some(Prep::On | Prep::Of | Prep::For));
        joined.then_some(at..at + 2)
    }

    /// `whatever has been said` in a recall: what is recalled was said.
    pub(super) fn said(&self, at: usize) -> Option<Range<usize>> {
        let recalls = self.terms.iter().take(4).any(|term| term.entry.base() == Some(Verb::Recall));
        if !recalls || !self.is_word(at, &["what", "whatever", "everything", "anything", "all"]) {
            return None;
        }
        let auxiliaries =
            ["that", "has", "have", "had", "been", "was", "were", "is", "ever", "once", "already", "we", "i"];
        let verb = (at + 1..self.terms.len()).find(|at| !self.is_word(*at, &auxiliaries))?;
        let tells = self.is_word(verb, &["said", "mentioned", "discussed", "written", "wrote", "raised", "noted"]);
        (verb > at + 1 && tells).then_some(at..verb + 1)
    }

    /// `what stands` before the place where it stands: `replace what stands under "Costs" in plan.md`.
    pub(super) fn stands(&self, at: usize) -> Option<Range<usize>> {
        let place = match () {
            _ if self.is_word(at, &["what's"]) => at + 1,
            _ if self.is_word(at, &["what", "whatever"])
                && self.is_word(at + 1, &["stands", "is", "comes", "sits", "appears"]) =>
            {
                at + 2
            }
            _ => return None,
        };
        let around = self.is_word(place, &["around"]) && self.terms[0].entry.base() == Some(Verb::Recall);
        let stands = around
            || self.is_word(place, &["under", "below", "beneath", "in"])
                && self.terms.iter().any(|term| term.kind == TokenKind::File || term.entry.noun == Some(Noun::Doc));
        stands.then_some(at..place)
    }
}
