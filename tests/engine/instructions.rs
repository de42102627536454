//! Tests of the instructions in prompts: their size, and every command line that they contain.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::sample_tree as play;

use loomtree::{
    arrow::ends_turn,
    context::{AssembledPrompt, ContextOptions, ContextRequest, ContextSection, assemble},
    exec::{ContinueRequest, DelegateRequest, Delegated, ExecRequest, Executor, Host},
    id::{NodeId, SessionId},
    ops::{Actor, NodeDraft},
    tokens::estimated_tokens,
    tools::{HostTool, ToolError, WebHit, WebSearch},
    types::{AuthorType, EdgeKind, Parent, Permission, Permissions, Prompt, TodoScope, ToolCallFields},
};
use play::Play;
use serde_json::{Value, json};

/// Maximum tokens of the collaborator's instructions, without and with the tools of a folder.
const MAX_TOKENS: u32 = 900;
const MAX_TOKENS_WITH_TOOLS: u32 = 1_300;

/// Host with models, an orchestrator, web search and two tools.
struct Services(Vec<HostTool>);

impl Services {
    fn new() -> Self {
        let text = json!({ "type": "string" });
        let parameters = json!({
            "type": "object",
            "properties": { "path": text, "from": { "type": "integer" }, "files": text },
            "required": ["path"],
        });
        let description = "Lists files of a folder. It is fast.".to_owned();
        let tool = HostTool {
            name: "list_files".into(),
            description,
            parameters,
            permission: Permission::DocRead,
            only_confirms: false,
        };
        let parameters = json!({
            "type": "object",
            "properties": { "path": text, "content": text },
            "required": ["path", "content"],
        });
        let writer = HostTool {
            name: "write_file".into(),
            description: "Writes a file.".into(),
            parameters,
            permission: Permission::DocWrite,
            only_confirms: true,
        };
        let tools = vec![tool, writer];
        assert_eq!(HostTool::check(&tools), Ok(()));
        Self(tools)
    }
}

impl Host for Services {
    fn generate(&self, actor: &Actor, asked: &ContinueRequest<'_>) -> Result<Vec<NodeId>, ToolError> {
        let draft = NodeDraft::text("She goes on.").keep_position(true);
        let append = |_| Ok(actor.append(Parent::Node(asked.from.id), draft.clone()).unwrap().nodes[0].id);
        (0..asked.n).map(append).collect()
    }

    fn delegate(&self, _: &Actor, asked: &DelegateRequest<'_>) -> Result<Delegated, ToolError> {
        assert_eq!((asked.goal, asked.context), ("goal", "what they have to know"));
        Ok(Delegated { node: "a7x2kq".try_into().unwrap(), text: "✓ done".to_owned() })
    }

    fn tools(&self) -> &[HostTool] {
        &self.0
    }

    fn call(&self, _: &str, _: &Value) -> Result<String, ToolError> {
        Ok("a.txt".to_owned())
    }

    fn search(&self, _: &WebSearch<'_>) -> Result<Vec<WebHit>, ToolError> {
        Ok(Vec::new())
    }
}

/// Turn of an agent at the end of the sample tree.
struct Asking<'a> {
    agent: &'a str,
    plans: bool,
    /// True for a worker of a delegation.
    works: bool,
    tools: &'a [HostTool],
}

fn assembled(play: &Play, asking: &Asking<'_>) -> AssembledPrompt {
    let agent = play.loom.agent(asking.agent).unwrap();
    let turn = TodoScope { session: play.session(asking.agent, play.nine), turn: 1 };
    let request = ContextRequest {
        agent: &agent,
        leaf: play.nine,
        versions: &[],
        context_start: asking.works.then_some(play.go_on),
        session: None,
        rounds: &[],
        scope: asking.plans.then_some(turn),
        input: None,
        instruction: None,
        host_tools: asking.tools,
        options: ContextOptions::default(),
        now: play.loom.now(),
    };
    assemble(&*play.loom.snapshot().unwrap(), &request).unwrap()
}

fn instructions(play: &Play, asking: &Asking<'_>) -> String {
    let Prompt::Chat(messages) = assembled(play, asking).prompt else { panic!("a dialogue is a chat") };
    messages[0].text()
}

fn tokens(play: &Play, asking: &Asking<'_>) -> u32 {
    let sections = assembled(play, asking).report.sections;
    sections.iter().find(|(section, _)| *section == ContextSection::Instructions).unwrap().1
}

/// Returns the commands in backticks.
fn quoted_lines(text: &str) -> Vec<String> {
    let parts = text.split('`').skip(1).step_by(2);
    // `→ done` ends a turn and is no command.
    parts.filter(|part| part.starts_with("→ ") && !ends_turn(part)).map(str::to_owned).collect()
}

/// Returns the lines of the list of commands, each alternative and each combination of options as a line of its own.
fn listed_lines(text: &str) -> Vec<String> {
    let list = text.split_once("separates alternatives.\n").unwrap().1;
    let list = list.split("\n\n").next().unwrap();
    let forms = list.lines().filter(|line| !line.ends_with(':')).flat_map(|line| line.split("; "));
    forms.flat_map(|form| expand(form.split(" — ").next().unwrap())).collect()
}

fn expand(form: &str) -> Vec<String> {
    if let Some((before, rest)) = form.split_once('[') {
        let (option, after) = rest.split_once(']').unwrap();
        let options = std::iter::once("").chain(option.split('|'));
        return options.flat_map(|option| expand(&format!("{before}{option}{after}"))).collect();
    }
    match form.split(' ').find(|word| word.contains('|')) {
        Some(word) => word.split('|').flat_map(|one| expand(&form.replacen(word, one, 1))).collect(),
        None => vec![form.split_whitespace().collect::<Vec<_>>().join(" ")],
    }
}

/// Sample tree with all that the command lines name, and an agent that may use every command.
struct Stage {
    play: Play,
    host: Services,
    long: NodeId,
    session: SessionId,
}

impl Stage {
    fn new() -> Self {
        let play = Play::new();
        play.agent("able", Permissions::all());
        let words = format!("Long words. {}", "The lighthouse was dark for years. ".repeat(12));
        let long = play.owner.append(Parent::Node(play.nine), NodeDraft::text(words)).unwrap().nodes[0].id;
        play.owner.create_document("D", "# S\n\nShe was nine.\n").unwrap();
        let session = play.session("able", long);
        let actor = play.loom.actor(&play.loom.agent("able").unwrap()).in_session(session);
        for turn in 1..=13 {
            let draft = NodeDraft::text(format!("the words of turn {turn}")).keep_position(true);
            actor.append_turn(draft).unwrap();
        }
        let result = NodeDraft::text("fn main() {}")
            .kind(EdgeKind::Tool)
            .author_type(AuthorType::Tool)
            .tool(ToolCallFields { name: Some("read_file".into()), ..ToolCallFields::default() })
            .keep_position(true);
        actor.append_turn(result).unwrap();
        Self { play, host: Services::new(), long, session }
    }

    fn executor(&self, turn: u64) -> Executor<'_> {
        let scope = TodoScope { session: self.session, turn };
        self.play.runner_with("able", self.session, &self.host).in_turn(scope)
    }

    /// Replaces the words that stand for nodes and names.
    fn line(&self, form: &str) -> String {
        let id = |node| self.play.id(node);
        let names = [
            ("from:ID", format!("from:{}", id(self.play.root))),
            ("pin:ID", format!("pin:{}", id(self.long))),
            ("a7x2kq", id(self.long)),
            ("NAME", "read_file".to_owned()),
            ("\"A\"", "\"subject\"".to_owned()),
            ("\"T\"", "\"Marie Character Study\"".to_owned()),
            (":…", ":1".to_owned()),
        ];
        let line = names.iter().fold(form.to_owned(), |line, (name, value)| line.replace(name, value));
        line.replacen("ID", &id(self.long), 1).replace("ID", &id(self.play.tired)).replace("think …", "think\nSo.\n")
    }
}

fn run(executor: &mut Executor<'_>, line: &str) -> String {
    let requests: Vec<ExecRequest> = if line.starts_with("think") {
        let thought = line.lines().nth(1).unwrap().to_owned();
        vec![ExecRequest::Command(loomtree::tools::Command::Think { content: Some(thought) })]
    } else {
        vec![executor.read(line)]
    };
    executor.run_batch(requests).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn instructions_stay_within_their_limits() {
    let play = Play::new();
    let held = play.loom.agent("collaborator").unwrap().profile.permissions;
    play.agent("alone", held.iter().filter(|held| *held != Permission::Delegate).collect());
    let asking = |agent| Asking { agent, plans: true, works: false, tools: &[] };
    let alone = tokens(&play, &asking("alone"));
    assert!(alone <= MAX_TOKENS, "{alone}: {}", instructions(&play, &asking("alone")));
    let plain = tokens(&play, &asking("collaborator"));
    assert!(plain <= MAX_TOKENS, "{plain}: {}", instructions(&play, &asking("collaborator")));
    #[cfg(all(feature = "workspace", unix))]
    {
        use loomtree::{
            session::Decision,
            workspace::{Workspace, WorkspaceSettings},
        };
        let folder = tempfile::tempdir().unwrap();
        let settings = WorkspaceSettings::new(std::sync::Arc::new(Decision::Yes));
        let workspace = Workspace::open(folder.path(), settings).unwrap();
        let tools: Vec<HostTool> = workspace.tools("collaborator").into_iter().map(|(tool, _)| tool).collect();
        let of = |agent: &str, works: bool| tokens(&play, &Asking { agent, plans: !works, works, tools: &tools });
        let with_tools = of("collaborator", false);
        let worker = of("collaborator", true);
        assert!(with_tools > plain && with_tools <= MAX_TOKENS_WITH_TOOLS, "{plain} {with_tools}");
        assert!(worker < with_tools * 2 / 3, "{worker}");
    }
}

#[test]
fn every_command_line_in_the_instructions_runs() {
    let stage = Stage::new();
    let all = Asking { agent: "able", plans: true, works: false, tools: &stage.host.0 };
    let all = instructions(&stage.play, &all);
    insta::assert_snapshot!(all);
    lines(&stage, "→ todo add \"left open\"", 1);
    let mut executor = stage.executor(2);
    let mut verbs: Vec<String> = Vec::new();
    let quoted = quoted_lines(&all);
    for form in &quoted {
        let line = stage.line(form);
        let reply = run(&mut executor, &line);
        let empty = ["✗", "nothing for", "no results"].iter().any(|word| reply.contains(word));
        assert!(!empty, "{line}: {reply}");
        verbs.extend(line.split(' ').nth(1).map(str::to_owned));
    }
    run(&mut executor, "switch to parent");
    let listed = listed_lines(&all);
    assert!(listed.len() > 100, "{listed:?}");
    let mut failed = Vec::new();
    for form in &listed {
        let line = stage.line(form);
        let reply = run(&mut executor, &line);
        if reply.starts_with('✗') || reply.contains("\n✗") {
            failed.push(format!("{line}: {reply}"));
        }
        let verb = line.split([' ', '\n']).next().unwrap().to_owned();
        // The next line changes the same nodes.
        if matches!(&*verb, "edit" | "merge" | "copy" | "move" | "split") || line.contains(" to doc:") {
            run(&mut executor, "undo");
        }
        verbs.push(verb);
    }
    assert!(failed.is_empty(), "{failed:#?}");
    for spec in loomtree::tools::TABLE {
        assert!(verbs.iter().any(|verb| verb == spec.name), "no line shows {}", spec.name);
    }
}

fn lines(stage: &Stage, line: &str, turn: u64) {
    assert!(!run(&mut stage.executor(turn), line).contains('✗'));
}

#[test]
fn an_agent_sees_only_the_commands_that_it_may_use() {
    let stage = Stage::new();
    for (name, held) in
        [("aware", vec![Permission::LoomAware]), ("reader", vec![Permission::LoomAware, Permission::DocRead])]
    {
        stage.play.agent(name, held.into_iter().collect());
        let asking = Asking { agent: name, plans: false, works: false, tools: &stage.host.0 };
        let text = instructions(&stage.play, &asking);
        assert!(!text.contains("todo") && !text.contains("delegate"), "{text}");
        for word in ["→ recall search", "recall turns:", "recall tool:", "window", "archive", "`Hint:`"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert_eq!(
            text.contains("list_files path:\"…\" [files:\"…\"] [from:…] — Lists files of a folder."),
            name == "reader"
        );
        assert_eq!(text.contains("list documents"), name == "reader");
        let session = stage.play.session(name, stage.long);
        let mut executor = stage.play.runner_with(name, session, &stage.host);
        for form in listed_lines(&text).iter().chain(&quoted_lines(&text)) {
            let reply = run(&mut executor, &stage.line(form));
            assert!(!reply.contains("PERMISSION_DENIED"), "{form}: {reply}");
        }
    }
}

#[test]
fn a_worker_gets_instructions_of_its_own() {
    let stage = Stage::new();
    let asking = Asking { agent: "able", plans: true, works: true, tools: &stage.host.0 };
    let text = instructions(&stage.play, &asking);
    assert!(text.starts_with("You do one part of a planned task."), "{text}");
    for absent in ["switch to", "todo", "delegate", "prune", "recall search"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    assert!(text.contains("list_files path") && text.contains("read doc:\"D\""), "{text}");
    assert!(estimated_tokens(&text) < 500, "{text}");
    let mut executor = stage.executor(1);
    for form in quoted_lines(&text).iter().chain(&listed_lines(&text)) {
        let reply = run(&mut executor, &stage.line(form));
        assert!(!reply.contains('✗') && !reply.contains("no results"), "{form}: {reply}");
    }
}
