//! The frame of a chat, in the tokens that a model was trained on.
//!
//! A GGUF brings its frame as a program in a template language. It is not run: it is only looked at, to find out which of
//! the few frames that are in use it is. So content can never become a part of the frame, as it can where a template
//! joins texts that are cut into tokens afterwards.

use candle_core::{Result, bail};

use super::{gguf::Gguf, tokenizer::LocalTokenizer};
use crate::provider::{Message, MessagePart, Role};

/// One way to frame messages. In the texts `{role}` is who speaks and `{end}` the token that ends a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChatTemplate {
    /// What is found in the file's template if it is this one.
    marks: &'static [&'static str],
    /// What stands before a message.
    open: &'static str,
    /// What stands after it.
    close: &'static str,
}

/// The known ways, to be tried in this order.
const KNOWN: [ChatTemplate; 3] = [
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
    /// Recognises the frame of a model.
    pub(super) fn find(gguf: &Gguf) -> Option<ChatTemplate> {
        let program = gguf.text("tokenizer.chat_template")?;
        KNOWN.into_iter().find(|known| known.marks.iter().all(|mark| program.contains(mark)))
    }

    /// The tokens of a chat, up to where the model is to go on. If it spoke last, it goes on with its own words.
    pub(super) fn frame(&self, messages: &[Message], vocabulary: &LocalTokenizer) -> Result<Vec<u32>> {
        let mut prompt =
            TemplateInput { vocabulary, tokens: vocabulary.begin.into_iter().collect(), text: String::new() };
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.iter().enumerate() {
            let goes_on = at == last && message.role == Role::Assistant;
            prompt.frame(self.open, message.role)?;
            prompt.text.push_str(&said(message));
            if goes_on {
                return prompt.end();
            }
            prompt.frame(self.close, message.role)?;
        }
        prompt.frame(self.open, Role::Assistant)?;
        prompt.end()
    }
}

/// A prompt that is being put together. Text is kept until a control token comes, to be cut into tokens as a whole.
struct TemplateInput<'v> {
    vocabulary: &'v LocalTokenizer,
    tokens: Vec<u32>,
    text: String,
}

impl TemplateInput<'_> {
    /// Adds a part of the frame: what stands in `<|…|>`, or is `{end}`, is a control token if the model has it.
    fn frame(&mut self, frame: &str, role: Role) -> Result<()> {
        let role = match role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let frame = frame.replace("{role}", role).replace("{end}", self.vocabulary.end_name().unwrap_or_default());
        let mut rest = frame.as_str();
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
        self.tokens.extend(self.vocabulary.tokens(&std::mem::take(&mut self.text))?);
        Ok(())
    }

    fn end(mut self) -> Result<Vec<u32>> {
        self.flush()?;
        if self.tokens.is_empty() {
            bail!("the prompt is empty");
        }
        Ok(self.tokens)
    }
}

/// A message as text: such a model has no way of its own to call tools.
fn said(message: &Message) -> String {
    let part = |part: &MessagePart| match part {
        MessagePart::Call(call) => Some(format!("[call of {}] {}", call.name, call.arguments)),
        MessagePart::Result { text, .. } => Some(format!("[result]\n{text}")),
        other => other.text(),
    };
    message.parts.iter().filter_map(part).collect::<Vec<_>>().join("\n\n")
}
