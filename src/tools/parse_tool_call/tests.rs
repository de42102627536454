use serde_json::json;

use super::*;
use crate::tools;

fn called(tool: Tool, arguments: &str) -> Result<Command, ToolError> {
    command(tool, object(arguments))
}

fn read(tool: &str, arguments: Value) -> Result<String, String> {
    let tool = Tool::named(tool).expect("it is one");
    called(tool, &arguments.to_string()).map(|command| command.to_string()).map_err(|failure| failure.message)
}

#[test]
fn sloppy_forms_are_taken() {
    let same = [
        ("view", json!({ "node": "[A7X2KQ]" }), "view a7x2kq"),
        (
            "view",
            json!({ "node": " `a7x2kq` ", "branch": null, "full": "yes", "annotations": false }),
            "view a7x2kq full",
        ),
        ("view", json!({ "node": 7242, "as": "" }), "view [7242]"),
        ("view", json!({ "branch": "b3k9", "as": "Prose" }), "view branch:b3k9 as:prose"),
        ("view", json!({ "Node": "parent", "FULL": true }), "view parent full"),
        ("stash", json!({ "label": "x", "contentOf": "root" }), "stash \"x\" content-of:root"),
        ("continue", json!({ "n": "3", "tokens": 200.0 }), "continue n:3 tokens:200"),
        ("diff", json!({ "nodes": "a7x2, b3k9" }), "diff a7x2 b3k9"),
        ("link", json!({ "node": "a7x2", "to": "b3k9" }), "link a7x2 to b3k9"),
        ("link", json!({ "to": { "doc": "x", "node": "", "tree": null } }), "link to doc:\"x\""),
        ("unlink", json!({ "from": { "node": "[b3k9]" } }), "unlink from b3k9"),
        ("read", json!({ "doc": "x", "lines": 7 }), "read doc:\"x\" lines:7-7"),
        ("write", json!({ "doc": "x", "content": "y" }), "write doc:\"x\" append \"y\""),
        ("write", json!({ "doc": "x", "content": "y", "append": false, "at": "3" }), "write doc:\"x\" at:3 \"y\""),
        ("stash", json!({ "label": "x", "summary_of": "[A7X2]-[b3k9]" }), "stash \"x\" summary-of:a7x2-b3k9"),
        ("drop", json!({ "pin": "[a7x2]" }), "drop pin:\"a7x2\""),
        ("todo", json!({ "add": "one", "done": null }), "todo add \"one\""),
        ("delegate", json!({ "goal": "x", "wait": "no" }), "delegate \"x\" wait:no"),
        ("search", json!({ "query": "x", "include": ["a.org", ""] }), "search \"x\" include:a.org"),
    ];
    for (tool, arguments, line) in same {
        assert_eq!(read(tool, arguments.clone()), Ok(line.to_owned()), "{arguments}");
    }
    for nothing in ["", "  ", "null", "{}"] {
        assert_eq!(called(Tool::Tree, nothing).map(|command| command.to_string()), Ok("tree".to_owned()));
    }
}

#[test]
fn what_is_not_the_tools_is_refused_by_name() {
    let wrong = [
        ("annotate", json!({ "text": "x" }), "annotate: there is no argument \"text\""),
        ("annotate", json!({ "node": "a7x2" }), "annotate: content is missing"),
        ("annotate", json!({ "content": " \n" }), "annotate: content is missing"),
        ("annotate", json!({ "content": 3 }), "annotate: content has the wrong form; expected: text"),
        ("view", json!({ "node": "a7x2", "branch": "b3k9" }), "view: node and branch exclude each other"),
        ("view", json!({ "node": "a 7" }), "view: node has the wrong form; expected: id"),
        ("view", json!({ "node": ["a7x2"] }), "view: node has the wrong form; expected: id"),
        ("view", json!({ "node": "a7x2", "as": "prose" }), "view: as goes with branch"),
        ("view", json!({ "full": 1 }), "view: full has the wrong form; expected: flag"),
        ("view", json!({ "op": "view" }), "view: there is no argument \"op\""),
        ("continue", json!({ "n": 0 }), "continue: n has the wrong form; expected: number, at most 10"),
        ("continue", json!({ "n": -1 }), "continue: n has the wrong form; expected: number, at most 10"),
        ("continue", json!({ "n": 1.5 }), "continue: n has the wrong form; expected: number, at most 10"),
        ("diff", json!({ "nodes": ["a7x2"] }), "diff: nodes must be two"),
        ("merge", json!({ "nodes": ["a7x2"], "content": "x" }), "merge: nodes must be two or more"),
        ("switch", json!({}), "switch: one of these is missing: node, relative, tree"),
        ("split", json!({ "at": 3, "after": "x" }), "split: at and after exclude each other"),
        (
            "write",
            json!({ "doc": "x", "content": "y", "append": true, "replace": "z" }),
            "write: append and replace exclude each other",
        ),
        ("pin", json!({ "section": "x" }), "pin: section goes with doc"),
        ("stash", json!({ "label": "x" }), "stash: one of these is missing: content, content_of, summary_of"),
        (
            "recall",
            json!({ "limit": 3 }),
            "recall: one of these is missing: label, search, turns, tool, summary, around",
        ),
        ("read", json!({ "doc": "x", "lines": "9-2" }), "read: lines has the wrong form; expected: range such as 5-10"),
        ("todo", json!({ "outcome": "x" }), "todo: outcome goes with done or cancel"),
        (
            "list",
            json!({ "what": "things" }),
            "list: what has the wrong form; expected: continuations, annotations, links, versions, siblings, bookmarks, pruned, \
             documents, trees, agents, changes",
        ),
    ];
    for (tool, arguments, message) in wrong {
        assert_eq!(read(tool, arguments.clone()), Err(message.to_owned()), "{arguments}");
    }
    for end in [json!({}), json!({ "doc": "x", "node": "a7x2" }), json!({ "what": "x" }), json!(["a7x2"])] {
        assert!(read("link", json!({ "to": end })).is_err());
    }
    for broken in ["[]", "\"x\"", "{", "{\"a\":}", "3"] {
        let failure = called(Tool::View, broken).expect_err("it is no object");
        assert_eq!(failure.code, ErrorCode::InvalidSyntax);
        assert!(failure.message.starts_with("view: the arguments are no JSON"), "{failure}");
    }
    let failure = called(Tool::List, "{}").expect_err("it needs what");
    let all = "arguments: node (id) · what (required; continuations, annotations, links, versions, siblings, bookmarks, \
               pruned, documents, trees, agents, changes)";
    assert_eq!(failure.hint.as_deref(), Some(all));
}

#[test]
fn what_is_over_a_limit_is_left_to_the_door() {
    assert_eq!(read("continue", json!({ "n": 11 })), Ok("continue n:11".to_owned()));
    assert_eq!(read("tree", json!({ "depth": u64::MAX })), Ok(format!("tree depth:{}", u32::MAX)));
}

#[test]
fn every_argument_of_every_schema_is_taken_and_no_other() {
    for tool in Tool::ALL {
        let schema = tools::schema(*tool);
        for (name, field) in schema["properties"].as_object().expect("it is an object") {
            let failure =
                called(*tool, &json!({ name: { "not": "this" } }).to_string()).expect_err("an object fits none");
            assert!(
                failure.message.contains(&format!("{name} has the wrong form")),
                "{} {name}: {failure}",
                tool.name()
            );
            assert!(failure.hint.is_some_and(|hint| hint.contains(name.as_str())) && field.is_object());
        }
        let failure = called(*tool, "{\"nothing_of_it\":1}").expect_err("it is not there");
        assert_eq!(failure.message, format!("{}: there is no argument \"nothing_of_it\"", tool.name()));
    }
}
