//! The configuration: a YAML file in which every field is optional. An error in it is reported as one sentence with
//! file and line. [`fields`] parses the text.
//!
//! The file holds no API keys. It names the environment variable or file that does.

pub(crate) mod fields;
mod load;
mod template;

pub(crate) use self::{
    fields::{Config, is_too_deep},
    load::{load, path},
    template::CONFIG_TEMPLATE,
};
