//! Files of the web page, and its modules joined into one script. The server sends that script, and the HTML export contains
//! it, so both are the same code. The modules are plain JavaScript with types in comments, without a build step.
//!
//! Joining relies on how the modules are written: an import is one line that begins with `import`, an export begins a line,
//! nothing is exported that changes, and no import leads back.

use std::fmt::Write as _;

/// File of the page.
pub(crate) struct PageFile {
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! page_files {
    ($($path:literal),* $(,)?) => {
        &[$(PageFile { path: $path, text: include_str!(concat!("serve/page/", $path)) }),*]
    };
}

/// Files of the page besides `index.html`, sorted.
pub(crate) const FILES: &[PageFile] = page_files![
    "actions.js",
    "api.js",
    "approvals.js",
    "buffer-editor.js",
    "buffer-text.js",
    "clipboard.js",
    "completion.js",
    "composer.js",
    "data-dialogs.js",
    "dialogs.js",
    "diff.js",
    "draft-store.js",
    "drafts.js",
    "drag.js",
    "elements.js",
    "frame.js",
    "generations.js",
    "highlight.js",
    "import.js",
    "keys.js",
    "list-dialogs.js",
    "live.js",
    "long-press.js",
    "main.js",
    "map-data.js",
    "map-gestures.js",
    "map-paint.js",
    "map-view.js",
    "map.js",
    "markdown-source.js",
    "markdown.js",
    "marked-nodes.js",
    "menu.js",
    "merge-split.js",
    "navigation.js",
    "notices.js",
    "offline-map.js",
    "offline-tree.js",
    "offline.js",
    "outline.js",
    "picker.js",
    "prose-save.js",
    "reading.js",
    "sessions.js",
    "signals.js",
    "state.js",
    "style/base.css",
    "style/map.css",
    "style/outline.css",
    "style/panels.css",
    "style/reading.css",
    "text-dialog.js",
    "type-ahead.js",
    "vendor/htm.js",
    "vendor/preact.js",
    "vendor/signals-core.js",
];

/// Returns all styles.
pub(crate) fn styles() -> String {
    FILES.iter().filter(|file| file.path.ends_with(".css")).map(|file| file.text).collect()
}

/// Joins a module and all modules that it imports into one script.
pub(crate) fn script(entry: &str) -> String {
    let mut script = ScriptWriter { text: "const modules = Object.create(null);\n".to_owned(), done: Vec::new() };
    script.add(entry);
    script.text
}

struct ScriptWriter {
    text: String,
    done: Vec<String>,
}

impl ScriptWriter {
    /// Adds a module after those that it imports. Its top level becomes a function that returns the exports.
    fn add(&mut self, path: &str) {
        if self.done.iter().any(|done| done == path) {
            return;
        }
        self.done.push(path.to_owned());
        let Some(file) = FILES.iter().find(|file| file.path == path) else { return };
        let mut body = String::with_capacity(file.text.len());
        let mut exports = Vec::new();
        for line in file.text.lines() {
            if let Some((names, from)) = import(line) {
                self.add(&from);
                _ = writeln!(body, "const {names} = modules[\"{from}\"];");
            } else if let Some(list) = line.strip_prefix("export { ").and_then(|rest| rest.strip_suffix(" };")) {
                exports.extend(list.split(", ").map(str::to_owned));
            } else if let Some(declaration) = line.strip_prefix("export ") {
                exports.extend(declared(declaration));
                body += declaration;
                body.push('\n');
            } else if path.starts_with("vendor/") {
                add_vendored(line, &mut body, &mut exports);
            } else {
                body += line;
                body.push('\n');
            }
        }
        _ = writeln!(self.text, "modules[\"{path}\"] = (() => {{\n{body}return {{ {} }};\n}})();", exports.join(", "));
    }
}

/// Parses an import: the names as a pattern, and the path of the module.
fn import(line: &str) -> Option<(String, String)> {
    let (names, from) = line.strip_prefix("import ")?.strip_suffix("\";")?.split_once(" from \"./")?;
    let pattern = match names.strip_prefix("* as ") {
        Some(name) => name.to_owned(),
        None if names.starts_with('{') => names.replace(" as ", ": "),
        None => format!("{{ default: {names} }}"),
    };
    Some((pattern, from.to_owned()))
}

/// Name that a declaration declares.
fn declared(declaration: &str) -> Option<String> {
    let mut words = declaration.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    words.find(|word| !["", "async", "class", "const", "function"].contains(word)).map(str::to_owned)
}

/// Adds a line of a published module, which may hold an export anywhere.
fn add_vendored(line: &str, body: &mut String, exports: &mut Vec<String>) {
    if line.starts_with("//# sourceMappingURL") {
        return;
    }
    if let Some((before, rest)) = line.split_once("export default ") {
        exports.push("default: exported".to_owned());
        _ = writeln!(body, "{before}const exported = {rest}");
    } else if let Some((before, list)) =
        line.split_once("export{").and_then(|(before, rest)| Some((before, rest.split_once('}')?.0)))
    {
        for name in list.split(',') {
            let (own, public) = name.split_once(" as ").unwrap_or((name, name));
            exports.push(format!("{public}: {own}"));
        }
        body.push_str(before);
        body.push('\n');
    } else {
        body.push_str(line);
        body.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    fn walk(folder: &Path, found: &mut BTreeSet<String>) {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page"));
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|end| end == "js" || end == "css") {
                found.insert(path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_listed() {
        let mut found = BTreeSet::new();
        walk(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page")), &mut found);
        let listed: Vec<_> = FILES.iter().map(|file| file.path.to_owned()).collect();
        assert_eq!(listed, found.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn modules_are_small_and_never_write_markup() {
        for file in FILES.iter().filter(|file| !file.path.starts_with("vendor/")) {
            assert!(file.text.lines().count() <= 400, "{} is long", file.path);
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySet", "document.write", "eval("] {
                assert!(!file.text.contains(word), "{} contains {word}", file.path);
            }
        }
    }

    #[test]
    fn a_script_holds_every_module_once_after_those_that_it_imports() {
        for entry in ["main.js", "offline.js"] {
            let script = script(entry);
            let mut known = Vec::new();
            for line in script.lines() {
                assert!(!line.starts_with("import ") && !line.starts_with("export"), "{line}");
                let named =
                    line.split_once("modules[\"").and_then(|(before, rest)| Some((before, rest.split_once("\"]")?.0)));
                match named {
                    Some(("", path)) => {
                        assert!(!known.contains(&path), "{path} twice");
                        known.push(path);
                    }
                    Some((_, path)) => assert!(known.contains(&path), "{path} before its definition"),
                    None => {}
                }
            }
            assert!(known.len() > 25 && known.last() == Some(&entry), "{known:?}");
            assert!(known.iter().all(|path| FILES.iter().any(|file| file.path == *path)));
            // An export contains it in an element.
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
    }

    #[test]
    fn imports_and_exports_become_objects() {
        let pattern = |line| import(line).map(|(names, from)| format!("{names} {from}"));
        assert_eq!(pattern("import { a, b as c } from \"./x.js\";").unwrap(), "{ a, b: c } x.js");
        assert_eq!(pattern("import * as state from \"./state.js\";").unwrap(), "state state.js");
        assert_eq!(pattern("import htm from \"./vendor/htm.js\";").unwrap(), "{ default: htm } vendor/htm.js");
        assert_eq!(declared("async function send(a) {").unwrap(), "send");
        assert_eq!(declared("const get = (path) => 1;").unwrap(), "get");
        let (mut body, mut exports) = (String::new(), Vec::new());
        add_vendored("let t=1;export{t as a,u};//# sourceMappingURL=x", &mut body, &mut exports);
        assert_eq!((body.as_str(), exports), ("let t=1;\n", vec!["a: t".to_owned(), "u: u".to_owned()]));
    }
}
