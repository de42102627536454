//! Items of a plan: mere titles where nothing else is said of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::types::TodoDraft;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Item {
    Title(String),
    Whole(TodoDraft),
}

pub(super) fn serialize<S: Serializer>(items: &[TodoDraft], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(items.iter().map(|item| {
        let mere = TodoDraft { title: item.title.clone(), ..TodoDraft::default() };
        if mere == *item { Item::Title(mere.title) } else { Item::Whole(item.clone()) }
    }))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<TodoDraft>, D::Error> {
    let items = Vec::<Item>::deserialize(from)?;
    let whole = |item| match item {
        Item::Title(title) => TodoDraft { title, ..TodoDraft::default() },
        Item::Whole(item) => item,
    };
    Ok(items.into_iter().map(whole).collect())
}
