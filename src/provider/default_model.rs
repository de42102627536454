//! The model of a server that is used if none is named.

use super::model_list::RemoteModel;

/// Returns the first model whose id does not look like an embedding model, else the first.
pub(crate) fn default_model(listed: &[RemoteModel]) -> Option<&RemoteModel> {
    listed.iter().find(|model| !model.id.to_lowercase().contains("embed")).or(listed.first())
}
