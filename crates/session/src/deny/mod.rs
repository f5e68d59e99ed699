//! Deny rules: what the user's configuration forbids an agent, whatever anyone answers.
//!
//! The built-in agent refuses what a rule names. For any other agent the layer declines the request for permission, or for
//! a file or a terminal, whose subject a rule names. Rules only ever take away: nothing here allows anything.

mod request;
mod shell;

use std::fmt;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;

pub use shell::runs_others;

/// What is denied: paths, commands, and tools.
#[derive(Clone, Default)]
pub struct DenyRules {
    paths: Vec<Rule>,
    commands: Vec<CommandRule>,
    tools: Vec<Rule>,
}

/// A list of rules, by its key in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenyList {
    /// Files and folders.
    Paths,
    /// Commands of the shell.
    Commands,
    /// Tools, those of MCP servers too.
    Tools,
}

/// The rule that denies something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// Where the rule stands.
    pub list: DenyList,
    /// The rule, as the user wrote it.
    pub pattern: String,
}

/// A pattern that is not one; says why, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadPattern(String);

#[derive(Clone)]
struct Rule {
    pattern: String,
    globs: GlobSet,
}

#[derive(Clone)]
struct CommandRule {
    pattern: String,
    /// One for each word that a command must begin with.
    words: Vec<GlobSet>,
}

impl DenyRules {
    /// Adds the rule `pattern` to `list`.
    ///
    /// A path matches at any depth, with all that is in it: `.env`, `secrets/**`; one that begins with `/` is whole. A
    /// command matches if it begins with these words: `git push`, `rm -rf *`. A tool matches by its name: `github__delete_*`.
    pub fn add(&mut self, list: DenyList, pattern: &str) -> Result<(), BadPattern> {
        if pattern.trim().is_empty() {
            return Err(BadPattern("an empty pattern would deny everything; leave it out".to_owned()));
        }
        if pattern.starts_with('!') {
            return Err(BadPattern("rules have no exceptions; leave out the `!`".to_owned()));
        }
        match list {
            DenyList::Paths => self.paths.push(path_rule(pattern)?),
            DenyList::Commands => self.commands.push(command_rule(pattern)?),
            DenyList::Tools => self.tools.push(Rule { pattern: pattern.to_owned(), globs: globs(&[pattern], list)? }),
        }
        Ok(())
    }

    /// Whether nothing is denied.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.commands.is_empty() && self.tools.is_empty()
    }

    /// The patterns of `list`.
    pub fn patterns(&self, list: DenyList) -> Vec<&str> {
        match list {
            DenyList::Paths => self.paths.iter().map(|rule| rule.pattern.as_str()).collect(),
            DenyList::Commands => self.commands.iter().map(|rule| rule.pattern.as_str()).collect(),
            DenyList::Tools => self.tools.iter().map(|rule| rule.pattern.as_str()).collect(),
        }
    }

    /// The rule that denies the file or folder at `path`, which is absolute.
    pub fn path(&self, path: &Path) -> Option<Denial> {
        let inside = normal(path);
        let rule = self.paths.iter().find(|rule| rule.globs.is_match(&inside))?;
        Some(Denial { list: DenyList::Paths, pattern: rule.pattern.clone() })
    }

    /// The rule that denies `command`, or a path that one of its words is, in the folder `cwd`.
    pub fn command(&self, command: &str, cwd: &Path) -> Option<Denial> {
        if self.commands.is_empty() && self.paths.is_empty() {
            return None;
        }
        let commands = shell::commands(command);
        let is_meant = |rule: &&CommandRule| commands.iter().any(|words| rule.matches(words));
        if let Some(rule) = self.commands.iter().find(is_meant) {
            return Some(Denial { list: DenyList::Commands, pattern: rule.pattern.clone() });
        }
        let words = commands.iter().flatten().map(String::as_str).chain([command]);
        words.flat_map(path_like).find_map(|word| self.path(&cwd.join(word)))
    }

    /// The rule that denies the tool `name`: ours, or `server__tool`.
    pub fn tool(&self, name: &str) -> Option<Denial> {
        let names = tool_names(name);
        let rule = self.tools.iter().find(|rule| names.iter().any(|name| rule.globs.is_match(name)))?;
        Some(Denial { list: DenyList::Tools, pattern: rule.pattern.clone() })
    }

    /// The rule that denies what a tool is given: paths and commands, by the names of its arguments.
    pub fn input(&self, input: &Value, cwd: &Path) -> Option<Denial> {
        if self.commands.is_empty() && self.paths.is_empty() {
            return None;
        }
        request::input(self, input, cwd)
    }
}

impl CommandRule {
    /// Whether the command with these `words` begins as the rule says. A program is the same by its path.
    fn matches(&self, words: &[String]) -> bool {
        let is_meant = |(index, (globs, word)): (usize, (&GlobSet, &String))| {
            globs.is_match(word) || index == 0 && globs.is_match(shell::base_name(word))
        };
        words.len() >= self.words.len() && self.words.iter().zip(words).enumerate().all(is_meant)
    }
}

impl DenyList {
    /// All lists.
    pub const ALL: [Self; 3] = [Self::Paths, Self::Commands, Self::Tools];

    /// Its key in the table `deny` of the configuration.
    pub fn key(self) -> &'static str {
        match self {
            Self::Paths => "paths",
            Self::Commands => "commands",
            Self::Tools => "tools",
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the user's configuration denies it: `{}` in deny.{}", self.pattern, self.list.key())
    }
}

impl fmt::Debug for DenyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(DenyList::ALL.map(|list| (list.key(), self.patterns(list)))).finish()
    }
}

impl PartialEq for DenyRules {
    fn eq(&self, other: &Self) -> bool {
        DenyList::ALL.into_iter().all(|list| self.patterns(list) == other.patterns(list))
    }
}

impl Eq for DenyRules {}

fn path_rule(pattern: &str) -> Result<Rule, BadPattern> {
    let (start, inside) = match pattern.strip_prefix('/') {
        Some(inside) => ("", inside),
        None => ("**/", pattern.trim_start_matches("./")),
    };
    let inside = inside.trim_end_matches('/');
    if inside.split('/').any(|name| name == "..") {
        return Err(BadPattern("`..` names nothing in a pattern; write the path without it".to_owned()));
    }
    let globs = globs(&[&format!("{start}{inside}"), &format!("{start}{inside}/**")], DenyList::Paths)?;
    Ok(Rule { pattern: pattern.to_owned(), globs })
}

fn command_rule(pattern: &str) -> Result<CommandRule, BadPattern> {
    let mut words: Vec<&str> = pattern.split_whitespace().collect();
    // A command that begins so is meant in any case.
    while words.len() > 1 && words.last() == Some(&"*") {
        words.pop();
    }
    let words = words.into_iter().map(|word| globs(&[word], DenyList::Commands)).collect::<Result<_, _>>()?;
    Ok(CommandRule { pattern: pattern.to_owned(), words })
}

fn globs(patterns: &[&str], list: DenyList) -> Result<GlobSet, BadPattern> {
    let bad = |error: &globset::Error| BadPattern(format!("write a pattern such as `*.pem`: {}", error.kind()));
    let mut globs = GlobSetBuilder::new();
    for pattern in patterns {
        // Not every file system tells cases apart, nor does everyone who names a tool.
        let mut glob = GlobBuilder::new(pattern);
        glob.case_insensitive(list != DenyList::Commands).literal_separator(list == DenyList::Paths);
        let glob = glob.build();
        globs.add(glob.map_err(|error| bad(&error))?);
    }
    globs.build().map_err(|error| bad(&error))
}

/// `path` without `.`, `..` and the slash in front.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            Component::Normal(name) => normal.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    normal
}

/// What in `word` may be a path: all of it, and the parts between characters that no path needs.
fn path_like(word: &str) -> impl Iterator<Item = &str> {
    let is_between = |char: char| char.is_whitespace() || "'\"`=,:;|&<>(){}[]@$\\".contains(char);
    word.split(is_between).chain([word]).filter(|part| !part.is_empty())
}

/// The names by which agents call the tool `name`, as `server__tool`.
fn tool_names(name: &str) -> Vec<String> {
    let plain = name.trim().trim_matches('`');
    let mut names = vec![plain.to_owned(), plain.trim_start_matches("mcp__").to_owned()];
    names.push(plain.trim_start_matches("mcp__").replacen(['.', '/', ':'], "__", 1));
    // As people are shown it: `tool (server)`.
    if let Some((tool, server)) = plain.strip_suffix(')').and_then(|plain| plain.rsplit_once(" (")) {
        names.push(tool.to_owned());
        names.push(format!("{}__{tool}", server.trim_end_matches(" MCP Server")));
    }
    names
}

#[cfg(test)]
mod tests;
