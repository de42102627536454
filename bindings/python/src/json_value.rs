//! JSON texts as Python objects, without Python's module `json`: strings and dictionaries are created while the text is
//! parsed. A text with a number that is no 64-bit integer goes to `json`, as does one that is nested too deeply here.

use std::{cell::RefCell, fmt};

use pyo3::{
    prelude::*,
    types::{PyBool, PyDict, PyList, PyString},
};
use serde::{
    Deserializer as _,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::convert::loads;

/// Maximum number of remembered keys. Records have few, and look-ups go through all.
const MAX_KEYS: usize = 32;

/// Parses JSON texts of the same kind, whose dictionaries share their keys.
pub(crate) struct JsonReader<'py> {
    py: Python<'py>,
    keys: RefCell<Vec<(Box<str>, Bound<'py, PyString>)>>,
}

impl<'py> JsonReader<'py> {
    pub(crate) fn new(py: Python<'py>) -> Self {
        Self { py, keys: RefCell::default() }
    }

    /// Returns the value of a key of an object; `None` if the text is no object or has no such key.
    pub(crate) fn field(&self, text: &str, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut parser = serde_json::Deserializer::from_str(text);
        match parser.deserialize_any(FieldVisitor { reader: self, key }) {
            Ok(value) if parser.end().is_ok() => Ok(value),
            _ => match loads(self.py, text)?.cast_into::<PyDict>() {
                Ok(object) => object.get_item(key),
                Err(_) => Ok(None),
            },
        }
    }

    fn key(&self, text: &str) -> Bound<'py, PyString> {
        let mut keys = self.keys.borrow_mut();
        if let Some((_, known)) = keys.iter().find(|(known, _)| **known == *text) {
            return known.clone();
        }
        let key = PyString::new(self.py, text);
        if keys.len() < MAX_KEYS {
            keys.push((text.into(), key.clone()));
        }
        key
    }
}

/// Reads one field of an object.
struct FieldVisitor<'r, 'py> {
    reader: &'r JsonReader<'py>,
    key: &'r str,
}

impl<'de, 'py> Visitor<'de> for FieldVisitor<'_, 'py> {
    type Value = Option<Bound<'py, PyAny>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_field) = map.next_key_seed(KeyIs(self.key))? {
            if is_field {
                found = Some(map.next_value_seed(Value(self.reader))?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Compares a key with a name.
struct KeyIs<'r>(&'r str);

impl<'de> DeserializeSeed<'de> for KeyIs<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyIs<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// Reads a key of a dictionary.
struct Key<'r, 'py>(&'r JsonReader<'py>);

impl<'de, 'py> DeserializeSeed<'de> for Key<'_, 'py> {
    type Value = Bound<'py, PyString>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'py> Visitor<'_> for Key<'_, 'py> {
    type Value = Bound<'py, PyString>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.key(key))
    }
}

/// Reads any value.
struct Value<'r, 'py>(&'r JsonReader<'py>);

impl<'de, 'py> DeserializeSeed<'de> for Value<'_, 'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'py> Visitor<'de> for Value<'_, 'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without fractions")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(self.0.py.None().into_bound(self.0.py))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(PyBool::new(self.0.py, value).to_owned().into_any())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        value.into_pyobject(self.0.py).map(Bound::into_any).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        value.into_pyobject(self.0.py).map(Bound::into_any).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(PyString::new(self.0.py, value).into_any())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        let list = PyList::empty(self.0.py);
        while let Some(value) = values.next_element_seed(Value(self.0))? {
            list.append(value).map_err(A::Error::custom)?;
        }
        Ok(list.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let object = PyDict::new(self.0.py);
        while let Some(key) = fields.next_key_seed(Key(self.0))? {
            object.set_item(key, fields.next_value_seed(Value(self.0))?).map_err(A::Error::custom)?;
        }
        Ok(object.into_any())
    }
}
