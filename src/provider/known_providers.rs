//! The providers that the program knows by name: their addresses, keys and default models.

/// One known provider.
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    pub(crate) base: &'static str,
    /// Environment variable that overrides the base URL.
    pub(crate) base_env: &'static str,
    /// Environment variable with the key, which is then required; `None` for servers without keys.
    pub(crate) key_env: Option<&'static str>,
    /// Default model; `None`: the first model that the server lists.
    pub(crate) model: Option<&'static str>,
    /// True for Anthropic's protocol, false for OpenAI's.
    pub(super) anthropic: bool,
}

impl Provider {
    const fn keyed(name: &'static str, base: &'static str, variables: [&'static str; 2], model: &'static str) -> Self {
        let [base_env, key] = variables;
        Provider { name, base, base_env, key_env: Some(key), model: Some(model), anthropic: false }
    }

    const fn local(name: &'static str, base: &'static str, base_env: &'static str) -> Self {
        Provider { name, base, base_env, key_env: None, model: None, anthropic: false }
    }
}

/// The known providers, in the order of discovery.
pub(crate) const PROVIDERS: &[Provider] = &[
    Provider::keyed("openai", "https://api.openai.com/v1", ["OPENAI_BASE_URL", "OPENAI_API_KEY"], "gpt-4o-mini"),
    Provider {
        anthropic: true,
        ..Provider::keyed(
            "anthropic",
            "https://api.anthropic.com/v1",
            ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"],
            "claude-haiku-4-5",
        )
    },
    Provider::keyed(
        "openrouter",
        "https://openrouter.ai/api/v1",
        ["OPENROUTER_BASE_URL", "OPENROUTER_API_KEY"],
        "openrouter/auto",
    ),
    Provider::local("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_HOST"),
    Provider::local("llamacpp", "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL"),
    Provider::local("lmstudio", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL"),
];

/// Returns the names of the known providers, in the order of discovery.
pub fn known_providers() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|provider| provider.name)
}
