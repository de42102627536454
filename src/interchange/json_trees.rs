//! Reading of JSON trees of other branching tools: documents of nodes, or nodes that contain their children.
//!
//! Trees of text have no roles: words without a known author are the importer's, a model's are its agent's.

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines, json_entries,
    nested_json::{self, NestedDocument},
    source_record::SourcePlace,
};

/// Reads the entries of one document.
type ReadEntry = fn(SourcePlace, Value, &str, &mut Importer<'_>) -> Result<(), InterchangeError>;

/// Reads the documents of a file.
pub(super) fn read(
    lines: &mut SourceLines<'_>,
    importer: &mut Importer<'_>,
    entry: ReadEntry,
) -> Result<(), InterchangeError> {
    let name = lines.name;
    json_entries::read_entries(lines, importer, &mut |place, value, importer| entry(place, value, name, importer))
}

/// Reads documents whose nodes contain their children in one of `lists`.
pub(super) fn read_nested(
    lines: &mut SourceLines<'_>,
    importer: &mut Importer<'_>,
    lists: &[&str],
    entry: fn(SourcePlace, NestedDocument, &str, &mut Importer<'_>) -> Result<(), InterchangeError>,
) -> Result<(), InterchangeError> {
    let text = json_entries::read_text(lines)?;
    let (documents, error) = nested_json::split(&text, lists);
    let end = documents.len() as u64 + 1;
    for (number, document) in (1..).zip(documents) {
        entry(SourcePlace::Entry(number), document, lines.name, importer)?;
    }
    if let Some(error) = error {
        importer.problem(SourcePlace::Entry(end), format!("the rest of the file cannot be read: {error}"));
    }
    Ok(())
}
