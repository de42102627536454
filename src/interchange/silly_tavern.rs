//! Reader of SillyTavern's chats: JSON lines, the first of which describes the chat.
//!
//! Messages have no ids. A message is identified by the one before it, its author and its time, so a branch file, which
//! repeats the beginning of its main chat, becomes a branch of that chat's tree, and an edited message, which keeps its
//! time, a version. Times of older chats have no seconds; there the text identifies the message, so an edit is a branch.
//! Swipes are siblings; the conversation continues from the chosen one. `is_system` hides any message from the model; only
//! those of the application are notes.

use std::path::Path;

use jiff::{civil::DateTime, tz::TimeZone};
use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{TakeField as _, id_of, model_of, text_of, time_of},
    source_record::{SourceConversation, SourceMessage, SourcePlace, SourceRole},
};
use crate::types::Timestamp;

/// Types of messages that the application writes.
const SYSTEM_TYPES: &[&str] = &[
    "help",
    "welcome",
    "welcome_prompt",
    "group",
    "empty",
    "generic",
    "comment",
    "slash_commands",
    "formatting",
    "hotkeys",
    "macros",
    "assistant_note",
    "bookmark_created",
    "bookmark_back",
];
/// Author of messages of the application that have no type.
const SYSTEM_NAME: &str = "SillyTavern System";

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut has_begun = false;
    let mut last: Option<String> = None;
    while let Some(line) = lines.next()? {
        let place = SourcePlace::Line(line.number);
        let value: Value = match serde_json::from_str(&line.text) {
            Ok(value) => value,
            Err(error) => {
                importer.problem(place, error);
                continue;
            }
        };
        if !has_begun {
            has_begun = true;
            let stem = Path::new(lines.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let main = id_of(&value["chat_metadata"]["main_chat"]);
            let names = [&value["character_name"], &value["user_name"]].map(|name| name.as_str().unwrap_or(""));
            importer.conversation(SourceConversation {
                id: format!("{}/{}", names[0], main.or(stem).unwrap_or_default()),
                title: text_of(&value["character_name"]).filter(|name| name != "unused"),
                started_at: date_of(&value["create_date"]),
                rest: value.clone(),
                ..SourceConversation::default()
            })?;
            if value["mes"].is_null() {
                continue;
            }
        }
        last = Some(read_message(place, value, last, importer)?);
    }
    Ok(())
}

/// Imports a message and its swipes. Returns the id of the chosen one.
fn read_message(
    place: SourcePlace,
    mut source: Value,
    parent: Option<String>,
    importer: &mut Importer<'_>,
) -> Result<String, InterchangeError> {
    let text = source["mes"].as_str().or_else(|| source["mes"]["message"].as_str()).unwrap_or("").to_owned();
    let swipes = source.take_field("swipes");
    let infos = source.take_field("swipe_info");
    let chosen = source["swipe_id"].as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or(0);
    if let Some(fields) = source.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "mes" | "swipes" | "swipe_info"));
    }
    let name = source["name"].as_str().unwrap_or("").to_owned();
    let is_system = source["is_system"] == true;
    let role = match source["extra"]["type"].as_str() {
        _ if source["is_user"] == true => SourceRole::User,
        Some(kind) if is_system && SYSTEM_TYPES.contains(&kind) => SourceRole::Note,
        None if is_system && name == SYSTEM_NAME => SourceRole::Note,
        _ => SourceRole::Model,
    };
    let is_hidden = is_system && role != SourceRole::Note;
    let dates: Vec<&Value> = infos.as_array().into_iter().flatten().map(|info| &info["send_date"]).collect();
    let swipe_count = swipes.as_array().map_or(0, Vec::len);
    let are_dated = swipe_count <= 1 || dates.len() >= swipe_count && dates.iter().all(|date| is_precise(date));
    let id_of_swipe = |index: usize, text: &str, own_date: &Value| {
        let date = dates.get(index).copied().filter(|date| is_precise(date)).unwrap_or(own_date);
        let mut hash = blake3::Hasher::new();
        let mut add = |part: &str| {
            hash.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        };
        add(parent.as_deref().unwrap_or(""));
        add(&name);
        if are_dated && is_precise(date) {
            add(&date.to_string());
            // Swipes that were made in the same second.
            let same = dates.iter().take(index).filter(|other| **other == date).count();
            add(&same.to_string());
        } else {
            add(text);
        }
        // The place in the chat first: keys in the order of the file keep the table of sources in few pages.
        format!("{:06}{}", place_of(parent.as_deref()), &hash.finalize().to_hex()[..24])
    };
    let id = id_of_swipe(chosen, &text, &source["send_date"]);
    let mut write = |id: String, text: String, rest: Value, info: &Value| {
        let extra = if info["extra"].is_object() { &info["extra"] } else { &rest["extra"] };
        let model = text_of(&extra["model"]).filter(|_| role == SourceRole::Model);
        let message = SourceMessage {
            id,
            parent: parent.clone().into(),
            role,
            is_hidden,
            model: model.map(|model| model_of(None, &model)),
            thoughts: text_of(&extra["reasoning"]).into_iter().collect(),
            bookmark: text_of(&extra["bookmark_link"]),
            at: date_of(&info["send_date"]).or_else(|| date_of(&rest["send_date"])),
            text,
            rest,
            ..SourceMessage::default()
        };
        importer.message(place, message)
    };
    for (index, swipe) in swipes.as_array().into_iter().flatten().enumerate() {
        let swipe = swipe.as_str().unwrap_or("");
        // The message's own text is newer than its swipe.
        if index != chosen && swipe != text && !swipe.is_empty() {
            write(id_of_swipe(index, swipe, &Value::Null), swipe.to_owned(), Value::Null, &infos[index])?;
        }
    }
    write(id.clone(), text, source, &infos[chosen])?;
    Ok(id)
}

/// Returns the place in the chat of a message with this parent, with which its id begins.
fn place_of(parent: Option<&str>) -> u32 {
    parent.and_then(|parent| parent.get(..6)?.parse::<u32>().ok()).map_or(0, |place| (place + 1).min(999_999))
}

/// True for a time with seconds.
fn is_precise(date: &Value) -> bool {
    match date {
        Value::String(text) => {
            time_of(date).is_some() || text.contains('@') && text.ends_with('s') || text.parse::<u64>().is_ok()
        }
        Value::Number(_) => true,
        _ => false,
    }
}

/// Parses a date in one of the spellings of the application's versions.
fn date_of(value: &Value) -> Option<Timestamp> {
    time_of(value).or_else(|| {
        let text = value.as_str()?.trim();
        if let Ok(millis) = text.parse::<u64>() {
            return time_of(&millis.into());
        }
        let formats = ["%B %d, %Y %I:%M%p", "%Y-%m-%d@%Hh%Mm%Ss", "%Y-%m-%d @%Hh %Mm %Ss"];
        let text = text.split("ms").next()?.trim();
        let upper = text.replace("am", "AM").replace("pm", "PM");
        let date = formats.iter().find_map(|format| {
            // Milliseconds may follow: `2024-6-1 @03h 04m 05s 678ms`.
            let text = if format.contains('@') { text.split_inclusive('s').next()? } else { &upper };
            DateTime::strptime(format, text).ok()
        })?;
        let moment = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
        Some(Timestamp::from_millis(moment.as_millisecond()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_their_spellings() {
        let millis = |text: &str| date_of(&Value::from(text)).map(Timestamp::as_millis);
        assert_eq!(millis("2024-06-01T15:04:00.000Z"), Some(1_717_254_240_000));
        assert_eq!(millis("June 1, 2024 3:04pm"), Some(1_717_254_240_000));
        assert_eq!(millis("2024-6-1@15h04m05s"), Some(1_717_254_245_000));
        assert_eq!(millis("2024-6-1 @15h 04m 05s 678ms"), Some(1_717_254_245_000));
        assert_eq!(millis("1717254245678"), Some(1_717_254_245_678));
        assert_eq!(millis("soon"), None);
    }
}
