//! Tests of turns as lists of inputs and effects.

use super::*;
use crate::provider::{Finish, FinishReason, ProviderError, StreamError, ToolCall};

/// Formats an effect as a line.
fn format_effect(effect: &TurnEffect) -> String {
    match effect {
        TurnEffect::RequestModel { round } => format!("ask {round}"),
        TurnEffect::StopStream => "stop".to_owned(),
        TurnEffect::Emit(text) => format!("show {text:?}"),
        TurnEffect::Save(said) => {
            let raw = said.raw.as_ref().map_or(String::new(), |raw| format!(" of {raw:?}"));
            let cut = if said.interrupted { " interrupted" } else { "" };
            format!("save {:?}{raw}{cut}", said.text)
        }
        TurnEffect::RunCommands { requests, .. } => {
            let asked: Vec<String> = requests
                .iter()
                .map(|asked| match asked {
                    ToolRequest::Line { text, closed: true } => text.clone(),
                    ToolRequest::Line { text, closed: false } => format!("{text} (open)"),
                    ToolRequest::Thought(words) => format!("think {words:?}"),
                    ToolRequest::Call(call) => format!("call {} {}", call.name, call.arguments),
                })
                .collect();
            format!("run {}", asked.join(" | "))
        }
        TurnEffect::End(ending) => format!("end {ending:?}"),
    }
}

struct Played {
    turn: Turn,
    effects: Vec<String>,
}

impl Played {
    fn new(rules: TurnConfig) -> Self {
        let (turn, effects) = Turn::begin(rules);
        Self { turn, effects: effects.iter().map(format_effect).collect() }
    }

    fn then(mut self, input: TurnInput) -> Self {
        self.effects.extend(self.turn.step(input).iter().map(format_effect));
        self
    }

    fn text(self, text: &str) -> Self {
        self.then(TurnInput::Text(text.to_owned()))
    }

    fn ends(self) -> Self {
        self.then(TurnInput::StreamEnded(Finish::new(FinishReason::Stop)))
    }

    /// Asserts the effects since the last call.
    #[track_caller]
    fn did(mut self, expected: &[&str]) -> Self {
        assert_eq!(std::mem::take(&mut self.effects), expected);
        self
    }
}

#[test]
fn text_is_emitted_saved_and_the_turn_ends() {
    let turn = Played::new(TurnConfig::with_commands()).text("Once ").text("upon.").ends();
    let turn = turn.did(&["ask 1", "show \"Once \"", "show \"upon.\"", "save \"Once upon.\""]);
    let turn = turn.then(TurnInput::Saved).did(&["end Done"]);
    assert!(turn.turn.is_over());
}

#[test]
fn a_batch_stops_the_stream_and_later_text_is_only_raw() {
    let turn = Played::new(TurnConfig::with_commands())
        .text("Let me look.\n→ view a7x2\n→ list b3k9 links\n\n")
        .text("So it ");
    let turn = turn.did(&["ask 1", "show \"Let me look.\\n\"", "stop"]).text("says").did(&[]);
    let turn = turn
        .then(TurnInput::StreamFailed(ProviderError::Cancelled))
        .did(&["save \"Let me look.\" of \"Let me look.\\n→ view a7x2\\n→ list b3k9 links\\n\\nSo it says\""]);
    let turn = turn.then(TurnInput::Saved).did(&["run → view a7x2 | → list b3k9 links"]);
    let turn = turn
        .then(TurnInput::CommandsDone { open: false, outcome: BatchOutcome::Answered })
        .did(&["ask 2"])
        .text("It says so.")
        .ends();
    turn.did(&["show \"It says so.\"", "save \"It says so.\""]).then(TurnInput::Saved).did(&["end Done"]);
}

#[test]
fn a_batch_at_the_end_of_a_reply_runs_after_the_reply() {
    let turn = Played::new(TurnConfig::with_commands()).text("→ view a7x2").did(&["ask 1"]).ends();
    let turn = turn.did(&["save \"\" of \"→ view a7x2\""]).then(TurnInput::Saved).did(&["run → view a7x2"]);
    // A model may have nothing to add after command results.
    turn.then(TurnInput::CommandsDone { open: false, outcome: BatchOutcome::Answered })
        .ends()
        .did(&["ask 2", "end Done"]);
}

#[test]
fn an_empty_reply_is_a_failure_only_in_the_first_round() {
    Played::new(TurnConfig::with_commands()).ends().did(&["ask 1", "end Failed(Empty)"]);
}

#[test]
fn a_thought_is_stored_and_expects_no_result() {
    let turn = Played::new(TurnConfig::with_commands()).text("→ think\nhm\n←\nYes.").ends();
    let turn = turn.did(&["ask 1", "show \"Yes.\"", "save \"Yes.\" of \"→ think\\nhm\\n←\\nYes.\""]);
    turn.then(TurnInput::Saved)
        .then(TurnInput::CommandsDone { open: false, outcome: BatchOutcome::Answered })
        .did(&["run think \"hm\"", "end Done"]);
}

/// The last effect of a turn after a reply and its batch.
fn after_batch(text: &str, open: bool, outcome: BatchOutcome) -> String {
    let turn = Played::new(TurnConfig::with_commands()).text(text).ends().then(TurnInput::Saved);
    turn.then(TurnInput::CommandsDone { open, outcome }).effects.pop().unwrap()
}

#[test]
fn a_reply_that_closes_the_plan_with_text_ends_the_turn() {
    use BatchOutcome::{Changed, Recorded};
    let text = "All is marked.\n→ todo done 1 \"marked\"";
    assert_eq!(after_batch(text, false, Recorded), "end Done");
    for (text, open, outcome) in
        [(text, true, Recorded), (text, false, Changed), ("→ todo done 1 \"marked\"", false, Recorded)]
    {
        assert_eq!(after_batch(text, open, outcome), "ask 2", "{text}");
    }
}

#[test]
fn done_below_final_words_and_changes_ends_the_turn() {
    use BatchOutcome::{Answered, Changed, Recorded};
    let text = "It is marked.\n\n→ bookmark a7x2 \"joke\"\n→ done\n";
    let turn = Played::new(TurnConfig::with_commands()).text(text).ends();
    let turn = turn.did(&["ask 1", "show \"It is marked.\\n\\n\"", &format!("save \"It is marked.\" of {text:?}")]);
    let turn = turn.then(TurnInput::Saved).did(&["run → bookmark a7x2 \"joke\""]);
    turn.then(TurnInput::CommandsDone { open: false, outcome: Changed }).did(&["end Done"]);
    // Open todos stay open, as after a reply without commands.
    assert_eq!(after_batch(text, true, Recorded), "end Done");
    for (text, outcome) in [
        // A result has to be read.
        (text, Answered),
        ("It is marked.\n→ bookmark a7x2", Changed),
        // A turn does not end without words.
        ("→ bookmark a7x2\n→ done", Changed),
        ("It is marked.\n→ bookmark a7x2\n→ done 2 \"marked\"", Changed),
    ] {
        assert_eq!(after_batch(text, false, outcome), "ask 2", "{text}");
    }
    // Its place in the batch and its spelling do not matter.
    for end in ["→ Done.\n→ bookmark a7x2", "- `→ done`\n\n→ bookmark a7x2", "-> done\n→ bookmark a7x2\nMore."]
    {
        assert_eq!(after_batch(&format!("Marked.\n{end}"), false, Changed), "end Done", "{end}");
    }
}

#[test]
fn done_without_commands_is_no_text() {
    let turn = Played::new(TurnConfig::with_commands()).text("Yes.\n→ done").ends();
    let turn = turn.did(&["ask 1", "show \"Yes.\\n\"", "save \"Yes.\" of \"Yes.\\n→ done\""]);
    turn.then(TurnInput::Saved).did(&["end Done"]);
    let after = Played::new(TurnConfig::with_commands()).text("→ view a7x2").ends().then(TurnInput::Saved);
    let after = after.then(TurnInput::CommandsDone { open: false, outcome: BatchOutcome::Answered });
    assert_eq!(after.text("→ done").ends().effects.pop().unwrap(), "end Done");
    // A line that the length limit cut could go on.
    let cut = Played::new(TurnConfig::with_commands()).text("Marked.\n→ bookmark a7x2\n→ done");
    let cut = cut.then(TurnInput::StreamEnded(Finish::new(FinishReason::Length))).then(TurnInput::Saved);
    let cut = cut.then(TurnInput::CommandsDone { open: false, outcome: BatchOutcome::Changed });
    assert!(cut.effects.contains(&"run → bookmark a7x2".to_owned()), "{:?}", cut.effects);
    assert_eq!(cut.effects.last().unwrap(), "ask 2");
}

#[test]
fn an_incomplete_line_does_not_run() {
    let cut = || TurnInput::StreamEnded(Finish::new(FinishReason::Length));
    let turn =
        Played::new(TurnConfig::with_commands()).text("→ annotate a7x2 \"the beg").then(cut()).then(TurnInput::Saved);
    turn.did(&["ask 1", "save \"\" of \"→ annotate a7x2 \\\"the beg\"", "run → annotate a7x2 \"the beg (open)"]);
    let turn =
        Played::new(TurnConfig::with_commands()).text("→ view a7x2\n→ prune a7").then(cut()).then(TurnInput::Saved);
    turn.did(&["ask 1", "save \"\" of \"→ view a7x2\\n→ prune a7\"", "run → view a7x2 | → prune a7 (open)"]);
    let turn =
        Played::new(TurnConfig::with_commands()).text("→ view a7x2\n→ prune a7x2\n").then(cut()).then(TurnInput::Saved);
    turn.did(&["ask 1", "save \"\" of \"→ view a7x2\\n→ prune a7x2\\n\"", "run → view a7x2 | → prune a7x2"]);
}

#[test]
fn a_failed_stream_runs_nothing_and_saves_the_partial_reply() {
    let so_far = Box::new(Finish::new(FinishReason::Interrupted));
    let error = ProviderError::Interrupted { cause: StreamError::ClosedEarly, so_far };
    let turn = Played::new(TurnConfig::with_commands())
        .text("I'll see.\n→ prune a7x2\n")
        .then(TurnInput::StreamFailed(error.clone()));
    let turn = turn.did(&[
        "ask 1",
        "show \"I'll see.\\n\"",
        "save \"I'll see.\\n\" of \"I'll see.\\n→ prune a7x2\\n\" interrupted",
    ]);
    turn.then(TurnInput::Saved).did(&[&format!("end Failed(Model({error:?}))")]);
}

#[test]
fn cancelling_in_any_state_ends_the_turn_and_saves_the_reply() {
    // While text streams.
    let turn = Played::new(TurnConfig::with_commands()).text("One ").then(TurnInput::Cancelled);
    let turn = turn.then(TurnInput::StreamFailed(ProviderError::Cancelled)).then(TurnInput::Saved);
    turn.did(&["ask 1", "show \"One \"", "stop", "save \"One \" interrupted", "end Cancelled"]);
    // Before any text.
    let turn = Played::new(TurnConfig::with_commands())
        .then(TurnInput::Cancelled)
        .then(TurnInput::StreamFailed(ProviderError::Cancelled));
    turn.did(&["ask 1", "stop", "end Cancelled"]);
    // While the reply is saved: its commands do not run.
    let turn = Played::new(TurnConfig::with_commands())
        .text("→ prune a7x2\n")
        .ends()
        .then(TurnInput::Cancelled)
        .then(TurnInput::Saved);
    turn.did(&["ask 1", "save \"\" of \"→ prune a7x2\\n\"", "end Cancelled"]);
    // While commands run: the model gets no further request.
    let turn = Played::new(TurnConfig::with_commands())
        .text("→ view a7x2\n")
        .ends()
        .then(TurnInput::Saved)
        .then(TurnInput::Cancelled);
    let turn = turn.then(TurnInput::CommandsDone { open: false, outcome: BatchOutcome::Answered });
    turn.did(&["ask 1", "save \"\" of \"→ view a7x2\\n\"", "run → view a7x2", "end Cancelled"]);
    // After a batch stopped the stream.
    let turn = Played::new(TurnConfig::with_commands()).text("→ view a7x2\nSo").then(TurnInput::Cancelled);
    let turn = turn.then(TurnInput::StreamFailed(ProviderError::Cancelled)).then(TurnInput::Saved);
    turn.did(&["ask 1", "stop", "save \"\" of \"→ view a7x2\\nSo\" interrupted", "end Cancelled"]);
    // A reply that had already ended is complete.
    let turn =
        Played::new(TurnConfig::with_commands()).text("Yes.").then(TurnInput::Cancelled).ends().then(TurnInput::Saved);
    turn.did(&["ask 1", "show \"Yes.\"", "stop", "save \"Yes.\"", "end Done"]);
}

#[test]
fn an_echoed_header_is_raw_only() {
    let turn = Played::new(TurnConfig::with_commands()).text("[a7x2kq] model · 14:05\n---\nYes.").ends();
    turn.did(&["ask 1", "show \"Yes.\"", "save \"Yes.\" of \"[a7x2kq] model · 14:05\\n---\\nYes.\""]);
}

#[test]
fn rounds_are_limited_and_the_last_commands_still_run() {
    let mut turn = Played::new(TurnConfig { rounds: 3, ..TurnConfig::with_commands() });
    for _ in 0..3 {
        turn = turn
            .text("→ view a7x2\n")
            .ends()
            .then(TurnInput::Saved)
            .then(TurnInput::CommandsDone { open: false, outcome: BatchOutcome::Answered });
    }
    let runs = turn.effects.iter().filter(|effect| effect.starts_with("run")).count();
    assert_eq!((runs, turn.effects.last().map(String::as_str)), (3, Some("end RoundLimit")));
    assert!(turn.turn.is_over());
}

#[test]
fn open_items_of_a_plan_extend_the_rounds_up_to_a_limit() {
    let rounds = |open_for: u32| {
        let (mut turn, mut round) = (Played::new(TurnConfig { rounds: 3, ..TurnConfig::with_commands() }), 0);
        while !turn.turn.is_over() {
            round += 1;
            let answered = TurnInput::CommandsDone { open: round < open_for, outcome: BatchOutcome::Answered };
            turn = turn.text("→ view a7x2\n").ends().then(TurnInput::Saved).then(answered);
        }
        round
    };
    // After the last todo is done, one more round lets the model report.
    assert_eq!([rounds(0), rounds(3), rounds(8)], [3, 4, 9]);
    assert_eq!(rounds(u32::MAX), TurnConfig::MAX_ROUNDS);
}

#[test]
fn native_calls_run_after_the_text() {
    let call = ToolCall { id: "c1".into(), name: "view".into(), arguments: "{\"node\":\"a7x2\"}".into() };
    let finish = Finish { calls: vec![call], ..Finish::new(FinishReason::Calls) };
    let turn = Played::new(TurnConfig::with_commands())
        .text("I look.")
        .then(TurnInput::StreamEnded(finish))
        .then(TurnInput::Saved);
    turn.did(&["ask 1", "show \"I look.\"", "save \"I look.\"", "run call view {\"node\":\"a7x2\"}"]);
}

#[test]
fn without_commands_arrow_lines_are_text() {
    let turn = Played::new(TurnConfig::text_only()).text("→ prune a7x2\n").text("so").ends().then(TurnInput::Saved);
    let all = ["ask 1", "show \"→ prune a7x2\\n\"", "show \"so\"", "save \"→ prune a7x2\\nso\"", "end Done"];
    turn.did(&all);
}

#[test]
fn a_failed_effect_ends_the_turn() {
    Played::new(TurnConfig::with_commands()).then(TurnInput::EffectFailed).did(&["ask 1", "end Failed(EffectFailed)"]);
    let turn = Played::new(TurnConfig::with_commands()).text("a").ends().then(TurnInput::EffectFailed);
    turn.did(&["ask 1", "show \"a\"", "save \"a\"", "end Failed(EffectFailed)"]).then(TurnInput::Saved).did(&[]);
}

#[test]
fn the_turn_is_independent_of_chunk_boundaries() {
    let text = "Let me — see.\n\n→ annotate a7x2 \"two\nlines\"\n→ view a7x2\n\nAnd so on.";
    let whole = |cuts: &[usize]| {
        let (mut turn, mut from, mut shown) = (Played::new(TurnConfig::with_commands()), 0, String::new());
        for to in cuts.iter().copied().chain([text.len()]).filter(|to| text.is_char_boundary(*to)) {
            turn = turn.text(&text[from..to]);
            from = to;
        }
        turn = turn.then(TurnInput::StreamFailed(ProviderError::Cancelled)).then(TurnInput::Saved);
        turn.effects.retain(|effect| {
            if let Some(words) = effect.strip_prefix("show ") {
                shown.push_str(words.trim_matches('"'));
            }
            effect.starts_with("save") || effect.starts_with("run")
        });
        (turn.effects, shown)
    };
    let expected = whole(&[]);
    for cut in 1..text.len() {
        assert_eq!(whole(&[cut]), expected, "cut at {cut}");
    }
    assert_eq!(whole(&(1..text.len()).collect::<Vec<_>>()), expected);
}
