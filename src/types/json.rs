//! Verbatim JSON: metadata and tool calls are returned byte for byte as they were received, on one line.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;

/// A valid JSON text on one line, stored verbatim. Line ends between its tokens become spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// Validates a JSON text.
    ///
    /// # Errors
    /// The error of the JSON parser, with line and column.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        serde_json::from_str::<serde::de::IgnoredAny>(&text)?;
        Ok(Self(match on_one_line(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(line) => line,
        }))
    }

    /// The JSON text, byte for byte.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the text into a JSON value.
    ///
    /// # Errors
    /// If a number is out of range for [`serde_json::Value`].
    pub fn value(&self) -> Result<serde_json::Value, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

/// Replaces line ends by spaces. In valid JSON they stand only between tokens.
fn on_one_line(text: &str) -> Cow<'_, str> {
    match text.contains(['\n', '\r']) {
        true => text.replace(['\n', '\r'], " ").into(),
        false => text.into(),
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A text of an older database may have several lines.
        <&RawValue>::deserialize(&mut serde_json::Deserializer::from_str(&on_one_line(&self.0)))
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer).map_err(D::Error::custom)?;
        Ok(Self(on_one_line(raw.get()).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comes_back_byte_for_byte() {
        let text = r#"{"b":1.0,"a":123456789012345678901234567890,"c":[]}"#;
        let json = Json::parse(text).unwrap();
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
        assert_eq!(serde_json::from_str::<Json>(text).unwrap(), json);
        assert!(Json::parse("{").is_err());
        let lines = "{\n\"a\":\r\n\"line\\nfeed\"}";
        let line = r#"{ "a":  "line\nfeed"}"#;
        assert_eq!(serde_json::to_string(&Json(lines.to_owned())).unwrap(), line);
        for json in [Json::parse(lines).unwrap(), serde_json::from_str(lines).unwrap()] {
            assert_eq!(json.as_str(), line);
        }
    }
}
