//! Keys: where they come from, and that nobody sees them.
//!
//! A key is held in memory only, and no text that is made here holds one.

use std::fmt;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::Mutex;

use super::ModelError;

/// So long a command may take to say a key.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// `text`, without the blanks around it, which no key has.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The text, for the one it is meant for.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// `text` without this.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "…") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// There is none.
    None,
    /// It is this.
    Given(Secret),
    /// A program says it, with its arguments: the first line of its output.
    Command(Vec<String>),
}

/// The key of a provider.
#[derive(Debug)]
pub(super) struct Key {
    source: KeySource,
    /// What a command has said.
    said: Mutex<Option<Secret>>,
}

impl Key {
    pub(super) fn new(source: KeySource) -> Self {
        Self { source, said: Mutex::default() }
    }

    /// Whether there is one, or a command that may say one.
    pub(super) fn is_there(&self) -> bool {
        self.source != KeySource::None
    }

    /// The key, if there is one. A command is asked once.
    pub(super) async fn get(&self) -> Result<Option<Secret>, ModelError> {
        let words = match &self.source {
            KeySource::None => return Ok(None),
            KeySource::Given(secret) => return Ok(Some(secret.clone())),
            KeySource::Command(words) => words,
        };
        let mut said = self.said.lock().await;
        if said.is_none() {
            *said = Some(ask(words).await.map_err(ModelError::Auth)?);
        }
        Ok(said.clone())
    }

    /// The key was refused: a command is asked again next time.
    pub(super) async fn refused(&self) {
        *self.said.lock().await = None;
    }
}

/// What the command `words` says. The error names the program, and nothing that it wrote.
async fn ask(words: &[String]) -> Result<Secret, String> {
    let (program, args) = words.split_first().ok_or("the command for the key is empty")?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let output = match tokio::time::timeout(COMMAND_LIMIT, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("`{program}`, which says the key, can't be started: {error}")),
        Err(_) => return Err(format!("`{program}`, which says the key, took longer than {COMMAND_LIMIT:?}")),
    };
    if !output.status.success() {
        return Err(format!("`{program}`, which says the key, ended with {}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().map(Secret::new).find(|line| !line.reveal().is_empty()) {
        Some(secret) => Ok(secret),
        None => Err(format!("`{program}`, which is to say the key, said nothing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(script: &str) -> Key {
        Key::new(KeySource::Command(["sh", "-c", script].map(str::to_owned).to_vec()))
    }

    #[tokio::test]
    async fn a_command_says_the_key_in_its_first_line() {
        let key = command("echo; echo ' hush '; echo more").get().await.unwrap();
        assert_eq!(key, Some(Secret::new("hush")));
    }

    #[tokio::test]
    async fn a_command_that_fails_is_named_and_what_it_wrote_is_not() {
        let error = command("echo hush; echo hush >&2; exit 3").get().await.unwrap_err().to_string();
        assert!(error.contains("`sh`") && error.contains('3') && !error.contains("hush"), "{error}");
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::new("hush");
        assert_eq!(format!("{:?}", KeySource::Given(secret.clone())), "Given(Secret)");
        assert_eq!(secret.hide_in("the key hush is wrong"), "the key … is wrong");
    }
}
