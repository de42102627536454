//! Pairs of tool calls and results in a prompt: a call without a result, a result without its call.

use crate::types::{Message, MessagePart, Role};

/// Pairs tool calls and results as providers require: the message after a call answers it, and each result has a call.
///
/// A context window that starts or ends within a command round breaks these rules. A call without a result gets a failed
/// result with a note; a result without a call becomes text.
pub(crate) fn pair_tool_results(messages: &[Message]) -> Vec<Message> {
    let mut paired: Vec<Message> = Vec::with_capacity(messages.len());
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        let mut message = message.clone();
        let mut answers = Vec::new();
        message.parts = std::mem::take(&mut message.parts)
            .into_iter()
            .filter_map(|part| match part {
                MessagePart::Result { call, text, failed } if message.role == Role::User => {
                    match open.iter().position(|id| *id == call) {
                        Some(at) => {
                            open.remove(at);
                            answers.push(MessagePart::Result { call, text, failed });
                            None
                        }
                        None => Some(MessagePart::Text(format!("[result of an earlier call]\n{text}"))),
                    }
                }
                MessagePart::Result { text, .. } => Some(MessagePart::Text(text)),
                MessagePart::Call(call) if message.role != Role::Assistant => {
                    Some(MessagePart::Text(format!("[call of {}] {}", call.name, call.arguments)))
                }
                part => Some(part),
            })
            .collect();
        // Results may come in several messages, if only user messages without other parts are between them.
        if !open.is_empty() && (message.role != Role::User || !message.parts.is_empty()) {
            answers.extend(missing_results(&mut open));
        }
        let calls = message.parts.iter().filter_map(|part| match part {
            MessagePart::Call(call) => Some(call.id.clone()),
            _ => None,
        });
        let calls: Vec<String> = calls.collect();
        if message.role == Role::User {
            message.parts.splice(0..0, answers);
        } else if !answers.is_empty() {
            paired.push(Message { role: Role::User, parts: answers, cache: false });
        }
        open.extend(calls);
        paired.push(message);
    }
    if !open.is_empty() {
        paired.push(Message { role: Role::User, parts: missing_results(&mut open).collect(), cache: false });
    }
    paired
}

fn missing_results(open: &mut Vec<String>) -> impl Iterator<Item = MessagePart> + '_ {
    open.drain(..).map(|call| MessagePart::Result { call, text: "(result unknown)".to_owned(), failed: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ToolCall;

    fn call(id: &str) -> MessagePart {
        MessagePart::Call(ToolCall { id: id.into(), name: "look".into(), arguments: "{}".into() })
    }

    fn result(id: &str) -> MessagePart {
        MessagePart::Result { call: id.into(), text: "seen".into(), failed: false }
    }

    fn user(parts: Vec<MessagePart>) -> Message {
        Message { role: Role::User, parts, cache: false }
    }

    #[test]
    fn paired_calls_and_results_are_unchanged() {
        let requested = Message::assistant("let me see").with(call("a")).with(call("b"));
        for whole in [
            vec![
                Message::user("go"),
                requested.clone(),
                user(vec![result("b"), result("a"), MessagePart::Text("and?".into())]),
            ],
            vec![
                Message::user("go"),
                requested.clone(),
                user(vec![result("a")]),
                user(vec![result("b")]),
                requested.clone(),
            ],
        ] {
            let mut expected = whole.clone();
            if expected.len() == 5 {
                let missing =
                    |id: &str| MessagePart::Result { call: id.into(), text: "(result unknown)".into(), failed: true };
                expected.push(user(vec![missing("a"), missing("b")]));
            }
            assert_eq!(pair_tool_results(&whole), expected);
        }
    }

    #[test]
    fn a_window_cut_between_a_call_and_its_result_is_repaired() {
        let repaired = pair_tool_results(&[
            user(vec![result("gone")]),
            Message::assistant("").with(call("a")),
            Message::user("so"),
        ]);
        assert_eq!(repaired[0].text(), "[result of an earlier call]\nseen");
        let MessagePart::Result { call: call_id, failed: true, .. } = &repaired[2].parts[0] else {
            panic!("{repaired:?}")
        };
        assert_eq!((call_id.as_str(), repaired[2].text().as_str(), repaired.len()), ("a", "so", 3));
        let repaired = pair_tool_results(&[Message::assistant("").with(call("a")), Message::assistant("on")]);
        assert_eq!((repaired.len(), repaired[1].role), (3, Role::User));
    }
}
