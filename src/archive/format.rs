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
    /// Lossless JSONL of loomtree.
    Loomtree = "loomtree";
    /// Session JSONL of Claude Code.
    ClaudeCode = "claude-code";
    /// Session JSONL of pi, versions 1 to 3.
    Pi = "pi";
    /// JSONL of chat messages in OpenAI's form, one conversation a line.
    OpenAiChat = "openai-chat";
}

impl Format {
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
