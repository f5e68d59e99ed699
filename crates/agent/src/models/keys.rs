//! Keys: where they come from, and that nobody sees them.
//!
//! A key is held in memory only, and no text that is made here holds one.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use rejoin_wire::{Command, Process};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, BufReader, copy, sink};
use tokio::sync::Mutex;

use super::{ModelError, ProviderConfig};

/// So long a command may take to say a key.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// So many bytes of what it says are looked at.
const MOST_SAID: u64 = 64 * 1024;

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

    /// Whether it can be sent in a header.
    pub(crate) fn is_sendable(&self) -> bool {
        self.0.chars().all(|char| char.is_ascii_graphic() || char == ' ')
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

/// The environment variables that hold keys of models: the usual ones, and those that `providers` name.
pub(crate) fn variables(providers: &[ProviderConfig]) -> Vec<String> {
    const USUAL: [&str; 3] = ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"];
    // What the user is told to set may be a key of the configuration instead.
    let is_variable = |name: &&str| {
        name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
            && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    };
    let named = providers.iter().map(|provider| provider.key_name.as_str()).filter(is_variable);
    let all: BTreeSet<&str> = named.chain(USUAL).collect();
    all.into_iter().map(str::to_owned).collect()
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

    /// Another key than `refused`, if a command says one by now: keys that commands say may hold for an hour only.
    pub(super) async fn newer(&self, refused: &Secret) -> Result<Option<Secret>, ModelError> {
        let KeySource::Command(words) = &self.source else { return Ok(None) };
        let mut said = self.said.lock().await;
        // Another turn may have asked already.
        if said.as_ref().is_none_or(|said| said == refused) {
            *said = Some(ask(words).await.map_err(ModelError::Auth)?);
        }
        Ok(said.clone().filter(|said| said != refused))
    }
}

/// What the command `words` says. The error names the program, and nothing that it wrote.
async fn ask(words: &[String]) -> Result<Secret, String> {
    let (program, args) = words.split_first().ok_or("the command for the key is empty")?;
    let command = Command::new(program, args.to_vec());
    let (process, stdin, stdout) = Process::start_unlogged(&command)
        .map_err(|error| format!("the command that says the key can't be started: {error}"))?;
    drop(stdin);
    // Dropped at its end or before, the process ends with all that it has started.
    let said = async {
        let mut output = BufReader::new(stdout);
        let line = first_line(&mut output).await;
        // The rest is read too: a program that can't write it would fail.
        let rest = async {
            let _ = copy(&mut output, &mut sink()).await;
            std::future::pending().await
        };
        tokio::select! {
            exit = process.wait() => (line, exit),
            never = rest => never,
        }
    };
    let Ok((line, exit)) = tokio::time::timeout(COMMAND_LIMIT, said).await else {
        return Err(format!("`{program}`, which says the key, took longer than {COMMAND_LIMIT:?}"));
    };
    match exit {
        Some(exit) if exit.success() => {}
        Some(exit) => return Err(format!("`{program}`, which says the key, ended with {exit}")),
        None => return Err(format!("`{program}`, which says the key, ended in an unknown way")),
    }
    line.ok_or_else(|| format!("`{program}`, which is to say the key, said nothing"))
}

/// The first line that is not empty.
async fn first_line(output: impl AsyncBufRead + Unpin) -> Option<Secret> {
    let mut lines = output.take(MOST_SAID).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let line = Secret::new(&line);
        if !line.reveal().is_empty() {
            return Some(line);
        }
    }
    None
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

    #[tokio::test]
    async fn a_key_that_was_refused_is_asked_for_again_and_another_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let key = command(&format!("cd {}; echo x >> n; wc -l < n", folder.path().display()));
        let (first, second) = (Secret::new("1"), Secret::new("2"));
        assert_eq!(key.get().await.unwrap(), Some(first.clone()));
        assert_eq!(key.newer(&first).await.unwrap(), Some(second.clone()));
        assert_eq!(key.newer(&first).await.unwrap(), Some(second), "it was asked for already");
        let lasting = command("echo hush");
        assert_eq!(lasting.newer(&Secret::new("hush")).await.unwrap(), None);
        assert_eq!(Key::new(KeySource::Given(first.clone())).newer(&first).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_command_may_say_more_than_the_key() {
        let key = command("echo hush; seq 1 100000").get().await.unwrap();
        assert_eq!(key, Some(Secret::new("hush")));
        let error = command("yes '' | head -n 100000; echo late").get().await.unwrap_err().to_string();
        assert_eq!(error, "`sh`, which is to say the key, said nothing");
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::new("hush");
        assert_eq!(format!("{:?}", KeySource::Given(secret.clone())), "Given(Secret)");
        assert_eq!(secret.hide_in("the key hush is wrong"), "the key … is wrong");
    }
}
