//! The tools as a provider's native tool calling takes them.

use serde_json::Value;

use super::{Extra, TABLE, lacking, schema, without};
use crate::model::Permissions;

/// A tool as a provider is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Native {
    /// Its name, of letters, digits, `_` and `-`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub parameters: Value,
}

/// Every tool that an agent with these permissions may use: the table's in its order, then the program's own.
#[must_use]
pub fn native(held: Permissions, extras: &[Extra]) -> Vec<Native> {
    let own = TABLE.iter().filter(|spec| lacking(spec.tool, held).is_none()).map(|spec| Native {
        name: spec.name.to_owned(),
        description: spec.help.to_owned(),
        parameters: schema(spec.tool),
    });
    let extras = extras.iter().filter(|extra| without(extra.permission, held).is_none()).map(|extra| Native {
        name: extra.name.clone(),
        description: extra.description.clone(),
        parameters: extra.parameters.clone(),
    });
    own.chain(extras).collect()
}
