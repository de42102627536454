//! Chat templates: converts messages to the tokens that a model was trained on.
//!
//! A GGUF file contains its template as a Jinja program. It is not run; it only identifies one of the few templates in
//! use. Markup becomes control tokens and content never does, so content cannot end a message. That is possible where a
//! template joins texts before tokenization.

use candle_core::{Result, bail};

use super::{gguf::Gguf, tokenizer::LocalTokenizer};
use crate::provider::{Message, MessagePart, Role};

/// A chat template. `{role}` stands for the role and `{end}` for the end token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChatTemplate {
    /// Strings that identify the template in the file's Jinja program.
    marks: &'static [&'static str],
    /// Markup before a message.
    open: &'static str,
    /// Markup after a message.
    close: &'static str,
}

/// The known templates, in the order of detection.
const TEMPLATES: [ChatTemplate; 3] = [
    // ChatML: SmolLM2 and most fine-tunes.
    ChatTemplate { marks: &["<|im_start|>", "<|im_end|>"], open: "<|im_start|>{role}\n", close: "<|im_end|>\n" },
    // Llama 3.
    ChatTemplate {
        marks: &["<|start_header_id|>", "<|eot_id|>"],
        open: "<|start_header_id|>{role}<|end_header_id|>\n\n",
        close: "<|eot_id|>",
    },
    // Zephyr, TinyLlama.
    ChatTemplate { marks: &["<|user|>", "<|assistant|>"], open: "<|{role}|>\n", close: "{end}\n" },
];

impl ChatTemplate {
    /// Detects the template of a model; `None` if it is unknown.
    pub(super) fn find(gguf: &Gguf) -> Option<ChatTemplate> {
        let program = gguf.text("tokenizer.chat_template")?;
        TEMPLATES.into_iter().find(|known| known.marks.iter().all(|mark| program.contains(mark)))
    }

    /// Renders a chat up to the start of the model's reply. A final assistant message is left open to be continued.
    pub(super) fn render(&self, messages: &[Message], vocabulary: &LocalTokenizer) -> Result<Vec<u32>> {
        let mut prompt =
            TemplateInput { vocabulary, tokens: vocabulary.begin.into_iter().collect(), text: String::new() };
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.iter().enumerate() {
            let is_prefill = at == last && message.role == Role::Assistant;
            prompt.push_markup(self.open, message.role)?;
            prompt.text.push_str(&message_text(message));
            if is_prefill {
                return prompt.finish();
            }
            prompt.push_markup(self.close, message.role)?;
        }
        prompt.push_markup(self.open, Role::Assistant)?;
        prompt.finish()
    }
}

/// A prompt under construction. Text is buffered up to the next control token, so that it is tokenized as a whole.
struct TemplateInput<'v> {
    vocabulary: &'v LocalTokenizer,
    tokens: Vec<u32>,
    text: String,
}

impl TemplateInput<'_> {
    /// Appends markup; a name in angle brackets is a control token if the model has it.
    fn push_markup(&mut self, markup: &str, role: Role) -> Result<()> {
        let role = match role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let markup = markup.replace("{role}", role).replace("{end}", self.vocabulary.end_name().unwrap_or_default());
        let mut rest = markup.as_str();
        while let Some(start) = rest.find('<') {
            let Some(length) = rest[start..].find('>') else { break };
            let name = &rest[start..=start + length];
            self.text.push_str(&rest[..start]);
            match self.vocabulary.control(name) {
                Some(token) => {
                    self.flush()?;
                    self.tokens.push(token);
                }
                None => self.text.push_str(name),
            }
            rest = &rest[start + length + 1..];
        }
        self.text.push_str(rest);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.tokens.extend(self.vocabulary.encode(&std::mem::take(&mut self.text))?);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u32>> {
        self.flush()?;
        if self.tokens.is_empty() {
            bail!("the prompt is empty");
        }
        Ok(self.tokens)
    }
}

/// Returns a message as text, with tool calls and results, because these models have no native tool calls.
fn message_text(message: &Message) -> String {
    let part = |part: &MessagePart| match part {
        MessagePart::Call(call) => Some(format!("[call of {}] {}", call.name, call.arguments)),
        MessagePart::Result { text, .. } => Some(format!("[result]\n{text}")),
        other => other.text(),
    };
    message.parts.iter().filter_map(part).collect::<Vec<_>>().join("\n\n")
}
