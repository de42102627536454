//! Imports of every format, each into a new database on a memory file system if there is one.

use std::{
    fs,
    path::Path,
    sync::{Arc, LazyLock},
};

use tempfile::TempDir;

use crate::{
    id::RandomIds,
    interchange::{self, Format, ImportOptions, Imported, InterchangeError, jsonl as own},
    ops::{Actor, Loom, OpsError},
    store::{ForeignDatabase, OpenOptions, StoreError, TreeFilter},
    types::{FixedClock, Timestamp},
};

/// Fields and values of both formats.
pub(super) const WORDS: &[&str] = &[
    "\n",
    "null",
    "true",
    "-1",
    "0",
    "18446744073709551616",
    "1e999",
    "[]",
    "{}",
    "\"\"",
    ",",
    ":",
    "{\"type\":\"node\",",
    "\"type\":",
    "\"id\":",
    "\"parent_id\":",
    "\"parentId\":",
    "\"tree_id\":",
    "\"kind\":",
    "\"version\"",
    "\"annotation\"",
    "\"version_of\":",
    "\"edited_from\":",
    "\"local_id\":",
    "\"author_type\":",
    "\"role\":",
    "\"purged_at\":1,",
    "\"pruned\":true,",
    "\"excluded\":true,",
    "\"bookmark\":\"x\",",
    "\"raw\":\"\",",
    "\"metadata\":{},",
    "\"hash\":",
    "\"session_id\":",
    "\"turn\":1,",
    "\"content\":",
    "01M808DA082EF3KV6DKNWQEFY6",
    "00000000000000000000000001",
    "\\u0000",
    "\\ud800",
    "\u{202e}",
    "toolResult",
    "toolCall",
    "thinking",
    "\"message\":",
    "\"timestamp\":",
    "\"parentUuid\":",
    "\"uuid\":",
    "\"sessionId\":",
    "\"isSidechain\":true,",
    "\"forkedFrom\":{\"messageUuid\":\"u-1\"},",
    "\"mapping\":",
    "\"current_node\":",
    "\"chat_messages\":",
    "\"parent_message_uuid\":",
    "\"$rewindTo\":",
    "\"$set\":",
    "\"num_turns\":99",
    "\"swipes\":[\"a\",\"b\"],",
    "\"swipe_id\":7,",
    "tool_use",
    "tool_result",
    "function_call_output",
    "toolRequest",
    "\"toolResult\":{\"value\":[]},",
    "\"userVisible\":false",
    "\"tool_results\":{\"t\":{}},",
    "\"bubbleId\":\"b1\",",
    "\"toolFormerData\":{\"status\":\"error\"},",
    "\n## User\n",
    "\n### owner · 2ef3kv\n",
    "\n```\n",
    "'), ('",
    "NULL, ",
    "X'28b52ffd', ",
];

/// Longest input in bytes: a longer one only costs time.
const MAX_INPUT_BYTES: usize = 64 << 10;

/// Imports the own format.
pub(super) fn jsonl(bytes: &[u8]) {
    import(Format::Loomtree, bytes);
}

/// Defines a target for each foreign format.
macro_rules! targets {
    ($($name:ident = $format:ident;)*) => {$(
        /// Imports a file of this format.
        pub(super) fn $name(bytes: &[u8]) {
            import(Format::$format, bytes);
        }
    )*};
}

targets! {
    pi = Pi;
    claude_code = ClaudeCode;
    codex = Codex;
    gemini = Gemini;
    chatgpt = ChatGpt;
    claude_ai = ClaudeAi;
    open_webui = OpenWebUi;
    silly_tavern = SillyTavern;
    openai_chat = OpenAiChat;
    librechat = LibreChat;
    llama_app = LlamaApp;
    loomsidian = Loomsidian;
    exoloom = Exoloom;
    pyloom = Pyloom;
    basemode = Basemode;
    goose = Goose;
    markdown = Markdown;
}

/// Imports the database that an SQL script makes, in the format of its tables.
pub(super) fn database(bytes: &[u8]) {
    let folder = folder();
    let path = folder.path().join("foreign.db");
    ForeignDatabase::create(&path, &String::from_utf8_lossy(bytes)).unwrap();
    // Mutations of the script reach every field; one byte of the file damages what SQLite reads.
    if let [.., at, value] = bytes
        && value % 4 == 0
    {
        let mut file = fs::read(&path).unwrap();
        let at = file.len() * usize::from(*at) / 256;
        if let Some(byte) = file.get_mut(at) {
            *byte ^= value | 1;
        }
        fs::write(&path, file).unwrap();
    }
    check_import(&|actor| interchange::import_database(actor, ImportOptions::default(), "made", &path));
}

/// Imports bytes in a format, and checks the laws of an import.
fn import(format: Format, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(MAX_INPUT_BYTES)];
    check_import(&|actor| interchange::import(actor, Some(format), "input", &mut &*bytes, &mut |_| {}));
}

/// An import reports malformed items, leaves a database without damage, adds nothing when repeated, and what it added
/// comes back from an export.
fn check_import(import: &dyn Fn(&Actor) -> Result<Imported, InterchangeError>) {
    let (_folder, owner) = new_database();
    let imported = match import(&owner) {
        Ok(imported) => imported,
        // The file is of another format or unreadable as a whole, so nothing of it is stored.
        Err(InterchangeError::Format(_) | InterchangeError::Ops(OpsError::Store(StoreError::CannotOpen { .. }))) => {
            assert!(owner.loom().snapshot().unwrap().trees(TreeFilter::default()).unwrap().is_empty());
            return;
        }
        Err(error) => panic!("the import failed: {error}"),
    };
    check(&owner);
    let repeated = import(&owner).unwrap();
    check(&owner);
    // An item that failed may succeed later: its tree or parent can stand behind it in the file.
    assert!(repeated.nodes == 0 || !imported.problems.is_empty(), "a repeated import added nodes");
    let exported = export(&owner);
    let (_other_folder, other) = new_database();
    let restored = interchange::import(&other, Some(Format::Loomtree), "input", &mut exported.as_slice(), &mut |_| {});
    assert_eq!(restored.unwrap().problems, Vec::<String>::new());
    check(&other);
    assert_eq!(String::from_utf8(export(&other)).unwrap(), String::from_utf8(exported).unwrap());
}

fn check(actor: &Actor) {
    assert_eq!(actor.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

fn export(actor: &Actor) -> Vec<u8> {
    let snapshot = actor.loom().snapshot().unwrap();
    let trees = snapshot.trees(TreeFilter::default()).unwrap();
    let mut out = Vec::new();
    own::export(snapshot.as_ref(), &trees.iter().map(|tree| tree.id).collect::<Vec<_>>(), &mut out).unwrap();
    out
}

/// Returns the owner of a new database, and its folder.
fn new_database() -> (TempDir, Actor) {
    static EMPTY: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let folder = folder();
        let copy = folder.path().join("copy.db");
        open(&folder.path().join("loom.db")).store().backup(&copy, &mut |_, _| {}).unwrap();
        fs::read(copy).unwrap()
    });
    let folder = folder();
    let path = folder.path().join("loom.db");
    fs::write(&path, &*EMPTY).unwrap();
    let loom = open(&path);
    let owner = loom.actor(&loom.agent("owner").unwrap());
    (folder, owner)
}

fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

fn open(path: &Path) -> Loom {
    let (clock, ids) =
        (Arc::new(FixedClock::at(Timestamp::from_millis(1_700_000_000_000))), Arc::new(RandomIds::seeded(1)));
    let store = OpenOptions::new(clock.clone(), ids.clone()).open(path).unwrap();
    Loom::new(Arc::new(store), clock, ids)
}
