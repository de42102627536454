//! Lines of an export in JSONL.

use std::io::Write;

use serde_json::Value;

use crate::interchange::InterchangeError;

/// Writes a JSON value as a line.
pub(super) fn write_line(out: &mut dyn Write, value: &Value) -> Result<(), InterchangeError> {
    serde_json::to_writer(&mut *out, value).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}
