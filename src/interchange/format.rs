//! Formats that can be imported.

/// Declares the formats with their names on the command line.
macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// Import format.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $name,)*
        }

        impl Format {
            /// All formats, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name of the format.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

formats! {
    /// JSONL of loomtree itself.
    Loomtree = "loomtree";
    /// Session JSONL of Claude Code.
    ClaudeCode = "claude-code";
    /// Rollout JSONL of Codex CLI.
    Codex = "codex";
    /// Chats of Gemini CLI.
    Gemini = "gemini";
    /// Session JSONL of pi, versions 1 to 3.
    Pi = "pi";
    /// Export of ChatGPT, `conversations.json`.
    ChatGpt = "chatgpt";
    /// Export of Claude.ai, `conversations.json`.
    ClaudeAi = "claude-ai";
    /// Chat export of Open WebUI.
    OpenWebUi = "open-webui";
    /// Chat JSONL of SillyTavern.
    SillyTavern = "silly-tavern";
    /// Conversation export of LibreChat.
    LibreChat = "librechat";
    /// JSONL of llama.cpp's web interface.
    LlamaApp = "llama-app";
    /// Tree of loomsidian: one note, or a vault's `data.json`.
    Loomsidian = "loomsidian";
    /// Tree of exoloom.
    Exoloom = "exoloom";
    /// Tree of the original loom.
    Pyloom = "pyloom";
    /// Tree of basemode-loom: JSON export or database.
    Basemode = "basemode-loom";
    /// Database of `llm`, `logs.db`.
    Llm = "llm";
    /// Database of opencode, or the folder `storage` of its older versions.
    OpenCode = "opencode";
    /// Sessions of goose: database, JSONL or JSON export.
    Goose = "goose";
    /// Database of Zed's agent, `threads.db`.
    Zed = "zed";
    /// Database of Cursor's desktop application, `state.vscdb`.
    Cursor = "cursor";
    /// Chat messages in the form of OpenAI, Anthropic or ShareGPT, as JSON lines or one JSON document.
    OpenAiChat = "openai-chat";
    /// Markdown with a heading for each message: the own export of a path, and other chats.
    Markdown = "markdown";
}

impl Format {
    /// True if the format is a database only, which is imported by its path.
    #[must_use]
    pub const fn is_database(self) -> bool {
        matches!(self, Self::Llm | Self::OpenCode | Self::Zed | Self::Cursor)
    }

    /// Returns the names of all formats.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|format| format.as_str()).collect()
    }

    /// Returns the format of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.as_str() == name)
    }
}
