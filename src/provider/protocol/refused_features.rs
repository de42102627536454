//! Features that a server refuses, such as a prefilled reply. They are learned from its errors and not sent again.

use crate::provider::ProviderError;

/// Optional features of a server; a feature that the server refuses is not sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// True if `stream_options` may be sent; a few servers refuse unknown fields.
    pub(crate) usage: bool,
    /// True if chats need `max_completion_tokens`; OpenAI's newer models refuse `max_tokens`.
    pub(crate) completion_tokens: bool,
    /// True if the last message may be a prefix of the model's reply; Anthropic's newer models refuse that.
    pub(crate) prefill: bool,
}

impl Capabilities {
    /// Updates the features from a refused request; returns whether any changed.
    pub(crate) fn learn(&mut self, error: &ProviderError) -> bool {
        let ProviderError::Http { status: 400 | 422, message, .. } = error else { return false };
        let before = *self;
        self.usage &= !message.contains("stream_options");
        self.completion_tokens |= message.contains("max_completion_tokens");
        self.prefill &= !message.contains("prefill");
        *self != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_changes_capabilities_once() {
        let refusal = |message: &str| ProviderError::Http {
            status: 400,
            code: None,
            message: message.to_owned(),
            retry_after: None,
        };
        let first = Capabilities { usage: true, completion_tokens: false, prefill: true };
        for message in ["unknown field stream_options", "use 'max_completion_tokens'", "does not support prefill"] {
            let mut capabilities = first;
            assert!(capabilities.learn(&refusal(message)) && capabilities != first, "{message}");
            assert!(!capabilities.learn(&refusal(message)), "{message}");
        }
        let mut capabilities = first;
        assert!(!capabilities.learn(&refusal("no")));
    }
}
