//! What is said to the agent.

use serde::Deserialize;

/// What is said to the agent. In each, `{word}` stands for a word that nobody could guess.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prompts {
    /// Asks the agent to remember the word; answered in a few words.
    pub remember: String,
    /// Asks for the word.
    pub recall: String,
    /// Asks for an answer that takes ten seconds or more, and comes in pieces.
    pub long: String,
    /// Asks for the file `rejoin-check.txt` in the session's folder, by a tool.
    pub tool: String,
}

/// The file that [`Prompts::tool`] asks for.
pub(crate) const TOOL_FILE: &str = "rejoin-check.txt";

impl Default for Prompts {
    fn default() -> Self {
        Self {
            remember: "Please remember the word {word}. Answer with ok and nothing else.".to_owned(),
            recall: "I told you a word before. In one short sentence: what is the word?".to_owned(),
            long: "Count from one to three hundred in words, one number a line,\nslowly, and leave none out."
                .to_owned(),
            tool: format!("Use your tools to write the file {TOOL_FILE} with the text hello in the working folder."),
        }
    }
}

impl Prompts {
    /// `prompt` about `word`.
    pub(crate) fn about(prompt: &str, word: &str) -> String {
        prompt.replace("{word}", word)
    }
}
