//! Tool calls, joined from the pieces of a stream.

use crate::provider::ToolCall;

/// The next piece of a tool call.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ToolCallPiece {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) arguments: String,
}

/// Limit of tool calls per reply. Each piece searches all calls, so an unlimited number would take quadratic time.
const MAX_TOOL_CALLS: usize = 1_024;

/// Tool calls assembled from pieces.
///
/// Pieces are joined by index. Servers that send complete calls omit the index or repeat it; then a new id starts a new
/// call.
#[derive(Debug, Default)]
pub(crate) struct PartialToolCalls(Vec<(Option<u64>, ToolCall)>);

impl PartialToolCalls {
    /// Adds a piece; `Err` if the reply has too many calls.
    pub(crate) fn take(&mut self, piece: ToolCallPiece) -> Result<(), String> {
        let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (id, name) = (non_empty(piece.id), non_empty(piece.name));
        let at = match piece.index {
            Some(index) => self.0.iter().rposition(|(known, _)| *known == Some(index)),
            None if id.is_none() && name.is_none() => self.0.len().checked_sub(1),
            None => self.0.iter().rposition(|(_, call)| id.as_ref() == Some(&call.id)),
        };
        let other = |call: &ToolCall| !call.id.is_empty() && id.as_ref().is_some_and(|id| *id != call.id);
        let at = match at.filter(|at| !other(&self.0[*at].1)) {
            Some(at) => at,
            None if self.0.len() == MAX_TOOL_CALLS => return Err(format!("more than {MAX_TOOL_CALLS} tool calls")),
            None => {
                self.0
                    .push((piece.index, ToolCall { id: String::new(), name: String::new(), arguments: String::new() }));
                self.0.len() - 1
            }
        };
        let call = &mut self.0[at].1;
        if let Some(id) = id {
            call.id = id;
        }
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        call.arguments.push_str(&piece.arguments);
        Ok(())
    }

    /// Returns the calls. A missing id becomes `call_1`, `call_2` …; missing arguments become an empty object.
    pub(crate) fn finish(self) -> Vec<ToolCall> {
        let calls = self.0.into_iter().map(|(_, call)| call);
        calls
            .filter(|call| !call.name.is_empty() || !call.arguments.is_empty())
            .enumerate()
            .map(|(at, mut call)| {
                if call.id.is_empty() {
                    call.id = format!("call_{}", at + 1);
                }
                if call.arguments.trim().is_empty() {
                    call.arguments = "{}".to_owned();
                }
                call
            })
            .collect()
    }

    /// Returns the length of names and arguments in bytes.
    pub(crate) fn length(&self) -> usize {
        self.0.iter().map(|(_, call)| call.name.len() + call.arguments.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[(Option<u64>, &str, &str, &str)]) -> Vec<(String, String, String)> {
        let mut calls = PartialToolCalls::default();
        for (index, id, name, arguments) in pieces {
            let some = |text: &str| Some(text.to_owned());
            calls
                .take(ToolCallPiece {
                    index: *index,
                    id: some(id),
                    name: some(name),
                    arguments: (*arguments).to_owned(),
                })
                .unwrap();
        }
        calls.finish().into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.into(), name.into(), arguments.into())
    }

    #[test]
    fn tool_calls_are_joined_from_any_pieces() {
        let streamed = [
            (Some(0), "a", "look", ""),
            (Some(1), "b", "find", "{\"q\""),
            (Some(0), "", "", "{\"id\":"),
            (Some(1), "", "", ":1}"),
            (Some(0), "", "", "oops"),
        ];
        assert_eq!(joined(&streamed), [call("a", "look", "{\"id\":oops"), call("b", "find", "{\"q\":1}")]);
        let whole_with_one_index = [(Some(0), "a", "look", "{}"), (Some(0), "b", "look", "{}")];
        assert_eq!(joined(&whole_with_one_index), [call("a", "look", "{}"), call("b", "look", "{}")]);
        let without_index =
            [(None, "a", "look", "{"), (None, "", "", "}"), (None, "b", "find", ""), (None, "", "", "")];
        assert_eq!(joined(&without_index), [call("a", "look", "{}"), call("b", "find", "{}")]);
        let nameless = [(Some(3), "", "look", "1"), (Some(4), "", "look", "2"), (Some(5), "", "", "")];
        assert_eq!(joined(&nameless), [call("call_1", "look", "1"), call("call_2", "look", "2")]);
        let repeated = [(Some(0), "a", "look", "{"), (Some(0), "a", "look", "}")];
        assert_eq!(joined(&repeated), [call("a", "look", "{}")]);
    }

    #[test]
    fn the_number_of_tool_calls_is_limited() {
        let mut calls = PartialToolCalls::default();
        let mut take = |index| calls.take(ToolCallPiece { index: Some(index), ..ToolCallPiece::default() });
        assert!((0..1_024).chain(0..1_024).all(|index| take(index).is_ok()));
        assert!(take(1_024).is_err());
    }
}
