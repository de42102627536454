//! Template of the configuration file, with all fields as comments.

/// The file that `loom config init` writes.
pub(crate) const CONFIG_TEMPLATE: &str = "\
# loomtree's configuration. Every line is optional; remove the # in front of those you want.

# The default model: a name from the list below, or provider:model, or a URL.
# Default: LOOM_MODEL, then keys in the environment, then servers on this machine.
# model: ollama:llama3.2

# A small model that summarizes long texts. Without it, summaries are first sentences.
# summaries: ollama:llama3.2:1b

# An embedding model: recall then also finds texts of similar meaning. `none` turns it off.
# Default: local:minilm, if `loom models fetch minilm` downloaded it.
# embeddings: ollama:nomic-embed-text

# Models by name. API keys are not written here: key_env names a variable, key_file a file.
# models:
#   fast:
#     provider: openai
#     model: gpt-4o-mini
#     temperature: 0.7
#   home:
#     base_url: http://192.168.1.4:8080/v1
#     key_env: HOME_KEY

# Prices per million tokens, for `loom stats`. A * matches the rest of a model's name.
# prices:
#   gpt-4o-mini*: { input: 0.15, cached: 0.075, output: 0.6, currency: USD }

# The number of continuations that `loom continue` requests.
# continuations: 3

# Sampling, for models that do not set it.
# temperature: 1.0
# max_tokens: 500

# The context window of models, in tokens. Nodes that do not fit are omitted.
# window: 32768

# The strategy for a full window: rolling_window, middle or stop.
# strategy: rolling_window

# Prompt rendering: stable repeats the last prompt's prefix, for providers' caches; live shows the present state.
# rendering: stable

# Offer the commands to models as native tools of the provider too.
# native: true

# The web search service for agents with that permission: tavily, brave, or a searxng server of your own.
# Default: a key in TAVILY_API_KEY or BRAVE_API_KEY, or an address in SEARXNG_URL.
# search: { service: searxng, base_url: 'http://127.0.0.1:8888' }

# The theme of the screen: dark, light or none. Default: detected. Key bindings are in keys.yaml in this folder.
# theme: dark

# Commands and file changes that agents may make in the workspace without approval, with `loom chat --tools`.
# workspace:
#   allow: ['cargo test*', 'git status']
#   write: ['docs/**']
#   pass: [GITHUB_TOKEN]
#   seconds: 120

# Delegated work: who verifies and who retries failed subtasks; concurrent subtasks; attempts a subtask; plans without approval.
# delegate:
#   judge: anthropic:claude-sonnet-4-5
#   stronger: anthropic:claude-opus-4-1
#   parallel: 4
#   attempts: 2
#   allow: true

# Conversations of work items, for `loom serve`: expiry, interval of the archiving of expired ones, limits of a prompt.
# A project that is false has a new conversation at each dispatch.
# conversation:
#   session_expiration: 24h
#   cleanup_interval: 1h
#   token_strategy: sliding_window
#   max_tokens: 100000
#   keep_recent_messages: 10
#   projects: { sandbox: false }

# The wait for other programs that write to the database, in seconds.
# wait_seconds: 10
";
