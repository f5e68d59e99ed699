//! A test's own world: folders of its own, a way to run the program in it, and transcripts to give it.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rejoin_store::SqliteStore;
use rejoin_transcript::{
    AgentInfo, Cwd, Entry, EntryNumber, Json, MessageId, Session, SessionId, Step, Timestamp, Turn, TurnEnd, export,
};
use tempfile::TempDir;

/// The sample that is told of in the documentation.
pub(crate) const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/first-session.jsonl");

/// The sample's session.
pub(crate) const SAMPLE_ID: &str = "5e7d0c41b9f24a86a3d1c08f62e94b75";

pub(crate) struct World {
    folder: TempDir,
}

/// How a run ended.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    folder: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(world.path("home")).unwrap();
        world
    }

    /// A world whose store holds the sample.
    pub(crate) fn with_sample() -> Self {
        let world = Self::new();
        assert_eq!(world.run(&["import", SAMPLE]).code, Some(0));
        world
    }

    /// The file `name` in the world's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes the file `name`, makes its folder, and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    /// Where the program keeps its sessions here.
    pub(crate) fn store_path(&self) -> PathBuf {
        self.path("home/.local/share/rejoin/sessions.db")
    }

    /// The store, opened beside the program.
    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(self.store_path()).unwrap()
    }

    /// Changes the last letter of `text` wherever it stands in the store's file.
    pub(crate) fn spoil(&self, text: &[u8]) {
        let mut file = fs::read(self.store_path()).unwrap();
        let places: Vec<usize> = (0..file.len()).filter(|at| file[*at..].starts_with(text)).collect();
        assert!(!places.is_empty());
        for at in places {
            file[at + text.len() - 1] ^= 1;
        }
        fs::write(self.store_path(), file).unwrap();
    }

    /// The program, ready to be run.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin"));
        command.args(args).env_clear().env("HOME", self.path("home")).env("TZ", "UTC").current_dir(self.path(""));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        self.run_with_input(args, "")
    }

    /// The help of `command`, without the options that all commands have.
    pub(crate) fn help(&self, command: &[&str]) -> String {
        let done = self.run(&[command, &["--help"]].concat()).to_string();
        let (before, rest) = done.split_once("Global options:\n").unwrap();
        // They end where a line is not indented.
        let after = rest.lines().skip_while(|line| line.is_empty() || line.starts_with(' ')).collect::<Vec<_>>();
        format!("{before}{}", after.join("\n"))
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Done {
        self.finish(self.command(args), input)
    }

    /// Runs the program in the folder `name`, with `env` set.
    pub(crate) fn run_in(&self, name: &str, env: &[(&str, &str)], args: &[&str]) -> Done {
        let mut command = self.command(args);
        command.current_dir(self.path(name)).envs(env.iter().copied());
        self.finish(command, "")
    }

    /// Runs `command` to its end.
    pub(crate) fn finish(&self, mut command: Command, input: &str) -> Done {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A program that does not read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Done {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            folder: self.path("").display().to_string().trim_end_matches('/').to_owned(),
        }
    }
}

impl fmt::Display for Done {
    /// Everything that the run has shown, with the world's folder as `[WORLD]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stderr = if self.stderr.is_empty() { String::new() } else { format!("--- stderr\n{}", self.stderr) };
        let shown = format!("{}{stderr}--- exit {}", self.stdout, self.code.unwrap_or(-1));
        f.write_str(&shown.replace(&self.folder, "[WORLD]"))
    }
}

/// A transcript in the making.
pub(crate) struct Transcript {
    pub(crate) session: Session,
    steps: Vec<Step>,
    at: Timestamp,
}

impl Transcript {
    /// A session that was made in 2024, in `/src/app`, with the agent `robot`.
    pub(crate) fn new(id: &str) -> Self {
        let at = "2024-05-06T07:08:00Z".parse().unwrap();
        let cwd = Cwd { raw: "/src/app".to_owned(), canonical: "/src/app".to_owned() };
        let agent = AgentInfo { name: "robot".to_owned(), ..AgentInfo::default() };
        Self { session: Session::new(SessionId::parse(id).unwrap(), cwd, agent, at), steps: Vec::new(), at }
    }

    /// The same, made and used at `at`.
    pub(crate) fn at(mut self, at: Timestamp) -> Self {
        self.session.facts.created_at = at;
        self.session.facts.updated_at = at;
        self.at = at;
        self
    }

    /// The same in the folder `cwd`.
    pub(crate) fn in_folder(mut self, cwd: &Path) -> Self {
        let cwd = cwd.display().to_string();
        self.session.facts.cwd = Cwd { raw: cwd.clone(), canonical: cwd };
        self
    }

    /// Begins a turn.
    pub(crate) fn prompt(mut self, text: &str) -> Self {
        let blocks = Json::from_value(&serde_json::json!([{ "type": "text", "text": text }])).unwrap();
        let turn = self.turn() + 1;
        let id = MessageId::new(format!("prompt-{turn}"));
        self.steps.push(Step::prompt(self.at, turn, id, blocks).unwrap());
        self
    }

    /// Adds an update to the turn.
    pub(crate) fn update(mut self, update: &str) -> Self {
        let update = Json::parse(update).unwrap();
        self.steps.push(Step::update(self.at, Turn::In(self.turn()), update).unwrap());
        self
    }

    /// Adds a message of the agent to the turn.
    pub(crate) fn say(self, text: &str) -> Self {
        let id = format!("answer-{}", self.steps.len());
        let content = serde_json::json!({ "type": "text", "text": text });
        let update = serde_json::json!({ "sessionUpdate": "agent_message_chunk", "content": content, "messageId": id });
        self.update(&update.to_string())
    }

    /// Ends the turn.
    pub(crate) fn end(mut self, end: &TurnEnd) -> Self {
        self.steps.push(Step::turn_ended(self.at, self.turn(), end));
        self
    }

    /// Ends the turn as turns end.
    pub(crate) fn end_well(self) -> Self {
        self.end(&TurnEnd::Stopped { reason: "end_turn".to_owned() })
    }

    /// The exported form.
    pub(crate) fn export(&self) -> String {
        let mut session = self.session.clone();
        let entries: Vec<Entry> = (1..)
            .zip(&self.steps)
            .map(|(number, step)| Entry { number: EntryNumber::new(number), step: step.clone() })
            .collect();
        let mut file = Vec::new();
        for entry in &entries {
            session.observe(entry.number, &entry.step);
        }
        export::write_header(&mut file, &session).unwrap();
        for entry in &entries {
            export::write_entry(&mut file, entry).unwrap();
        }
        String::from_utf8(file).unwrap()
    }

    /// Imports it into `world`.
    pub(crate) fn import(&self, world: &World) {
        let done = world.run_with_input(&["import", "-"], &self.export());
        assert_eq!(done.code, Some(0), "{done}");
    }

    fn turn(&self) -> u32 {
        let prompts = self.steps.iter().filter(|step| step.kind == rejoin_transcript::StepKind::Prompt);
        u32::try_from(prompts.count()).unwrap()
    }
}
