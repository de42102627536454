//! JSON documents whose nodes contain their children. Such a document is as deep as its tree, and a parser of JSON values
//! is recursive. The lists of children are therefore cut out of the text first: each node is parsed on its own.

use serde_json::Value;

/// Document without the lists of its nodes, which are null, and the nodes in the order of the text.
#[derive(Debug)]
pub(super) struct NestedDocument {
    pub(super) fields: Value,
    pub(super) nodes: Vec<NestedNode>,
}

/// Node of a [`NestedDocument`].
#[derive(Debug)]
pub(super) struct NestedNode {
    /// Index of the node that contains this one; `None`: the document itself does.
    pub(super) parent: Option<usize>,
    pub(super) fields: Value,
}

/// Splits a document, or an array of documents. `lists` names the fields that hold nodes: those of the document, of its
/// field `root`, and of the nodes. Returns the complete documents, and the error at which the text ends.
pub(super) fn split(text: &str, lists: &[&str]) -> (Vec<NestedDocument>, Option<String>) {
    let mut splitter =
        Splitter { text, at: 0, lists, frames: Vec::new(), node: None, open: None, documents: Vec::new() };
    let error = splitter.run().err();
    (splitter.documents, error)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// The array of documents.
    Documents,
    /// A list of nodes, with the node that contains it.
    Nodes(Option<usize>),
    /// An object; true if it may have lists of nodes.
    Object(bool),
    Array,
}

/// Texts of a document that is not complete.
#[derive(Default)]
struct OpenDocument {
    text: String,
    nodes: Vec<(Option<usize>, String)>,
}

struct Splitter<'a> {
    text: &'a str,
    at: usize,
    lists: &'a [&'a str],
    frames: Vec<Frame>,
    /// Node whose text is being copied; `None`: the document's own.
    node: Option<usize>,
    open: Option<OpenDocument>,
    documents: Vec<NestedDocument>,
}

impl Splitter<'_> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(byte) = self.peek() {
            let is_between = matches!(self.frames.last(), None | Some(Frame::Documents | Frame::Nodes(_)));
            match byte {
                b'{' => self.begin_object(),
                b'[' if self.frames.is_empty() && self.documents.is_empty() => {
                    self.frames.push(Frame::Documents);
                    self.at += 1;
                }
                b'[' if !is_between => {
                    self.frames.push(Frame::Array);
                    self.copy(1);
                }
                b'}' | b']' => self.end(byte)?,
                b',' | b' ' | b'\n' | b'\r' | b'\t' if is_between => self.at += 1,
                _ if is_between => return Err(self.unexpected()),
                b'"' => self.string()?,
                _ => {
                    let rest = &self.text.as_bytes()[self.at..];
                    let length = rest.iter().position(|byte| b"\"{}[]".contains(byte)).unwrap_or(rest.len());
                    self.copy(length);
                }
            }
        }
        if self.frames.is_empty() { Ok(()) } else { Err("it ends in the middle of a document".to_owned()) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn unexpected(&self) -> String {
        format!("byte {} is not expected", self.at + 1)
    }

    /// Copies a number of bytes to the text of the current node.
    fn copy(&mut self, length: usize) {
        let part = &self.text[self.at..self.at + length];
        self.at += length;
        self.write(part);
    }

    fn write(&mut self, part: &str) {
        let Some(open) = &mut self.open else { return };
        match self.node {
            Some(node) => open.nodes[node].1.push_str(part),
            None => open.text.push_str(part),
        }
    }

    fn begin_object(&mut self) {
        let has_lists = match self.frames.last() {
            None | Some(Frame::Documents) => {
                (self.open, self.node) = (Some(OpenDocument::default()), None);
                true
            }
            Some(Frame::Nodes(parent)) => {
                let nodes = self.open.as_mut().map(|open| &mut open.nodes);
                self.node = nodes.map(|nodes| {
                    nodes.push((*parent, String::new()));
                    nodes.len() - 1
                });
                true
            }
            _ => false,
        };
        self.frames.push(Frame::Object(has_lists));
        self.copy(1);
    }

    fn end(&mut self, byte: u8) -> Result<(), String> {
        let frame = self.frames.pop().ok_or_else(|| self.unexpected())?;
        if (byte == b'}') != matches!(frame, Frame::Object(_)) {
            return Err(self.unexpected());
        }
        match frame {
            Frame::Documents => self.at += 1,
            Frame::Nodes(parent) => {
                self.node = parent;
                self.at += 1;
            }
            _ => self.copy(1),
        }
        if matches!(self.frames.last(), None | Some(Frame::Documents))
            && let Some(open) = self.open.take()
        {
            self.documents.push(parsed(&open).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    /// Copies a string. If it names a list of nodes, the list is left to the nodes.
    fn string(&mut self) -> Result<(), String> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let mut length = 0;
        loop {
            match rest.get(length) {
                Some(b'"') => break,
                Some(b'\\') => length += 2,
                Some(_) => length += 1,
                None => return Err("a text has no end".to_owned()),
            }
        }
        let name = &self.text[self.at + 1..self.at + 1 + length];
        self.copy(length + 2);
        if self.frames.last() != Some(&Frame::Object(true)) {
            return Ok(());
        }
        if self.lists.contains(&name) && (self.skips_to(&[b":", b"[", b"{"]) || self.skips_to(&[b":", b"[", b"]"])) {
            // The bracket or brace at the end is left.
            self.at -= 1;
            self.write(":null");
            self.frames.push(Frame::Nodes(self.node));
        } else if name == "root" && self.frames.len() <= 2 && self.node.is_none() && self.skips_to(&[b":", b"{"]) {
            self.write(":{");
            self.frames.push(Frame::Object(true));
        }
        Ok(())
    }

    /// Skips these bytes and the space between them. Returns false, and skips nothing, if other bytes follow.
    fn skips_to(&mut self, tokens: &[&[u8]]) -> bool {
        let mut at = self.at;
        let bytes = self.text.as_bytes();
        for token in tokens {
            at += bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            if !bytes[at..].starts_with(token) {
                return false;
            }
            at += token.len();
        }
        self.at = at;
        true
    }
}

fn parsed(open: &OpenDocument) -> serde_json::Result<NestedDocument> {
    let nodes =
        open.nodes.iter().map(|(parent, text)| Ok(NestedNode { parent: *parent, fields: serde_json::from_str(text)? }));
    Ok(NestedDocument { fields: serde_json::from_str(&open.text)?, nodes: nodes.collect::<serde_json::Result<_>>()? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_nodes_are_cut_out() {
        let text = json!({
            "root": {"text": "a \"[{", "children": [{"text": "b", "children": []}, {"text": "c", "tags": [{"children": [{}]}]}]},
            "other": {"children": [{"text": "no node"}]}, "children": ["no list of nodes"],
        });
        let (documents, error) = split(&format!("[{text} , {text}]\n"), &["children"]);
        assert_eq!((documents.len(), error), (2, None));
        let document = &documents[1];
        let mut fields = text.clone();
        fields["root"]["children"] = Value::Null;
        assert_eq!(document.fields, fields);
        let nodes: Vec<_> = document.nodes.iter().map(|node| (node.parent, node.fields["text"].as_str())).collect();
        assert_eq!(nodes, [(None, Some("b")), (None, Some("c"))]);
        assert_eq!(document.nodes[1].fields["tags"], json!([{"children": [{}]}]));
    }

    #[test]
    fn a_deep_tree_is_read_without_recursion() {
        const DEPTH: usize = 100_000;
        let text = format!("{}{}", r#"{"children":["#.repeat(DEPTH), "]}".repeat(DEPTH));
        let (documents, error) = split(&text, &["children"]);
        assert_eq!(error, None);
        let nodes = &documents[0].nodes;
        assert_eq!((nodes.len(), nodes[DEPTH - 2].parent), (DEPTH - 1, Some(DEPTH - 3)));
    }

    #[test]
    fn a_malformed_end_keeps_the_documents_before_it() {
        for end in
            ["{\"a\":", "}", "]]", "1", "{\"children\":[1]}x", "{\"a", "{\"children\":[{}}]}", "{\"a\":1,}", "{\"a\\"]
        {
            let (documents, error) = split(&format!("[{{\"children\":[{{}}]}},{end}"), &["children"]);
            assert_eq!((documents.is_empty(), error.is_some()), (false, true), "{end}");
        }
        assert!(split("{} {}", &[]).1.is_none());
    }
}
