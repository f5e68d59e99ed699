//! A real terminal: tmux, with a shell in it.

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::world::World;

/// Whatever does not come within this time does not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal of its own, which ends with the test.
pub(crate) struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// A terminal in the world's folder `home`, in which `rejoin` is the program; `None` where there is no tmux, which is
    /// said.
    #[expect(clippy::print_stderr, reason = "what was skipped is said")]
    pub(crate) fn start(world: &World, width: u16, height: u16) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!("tmux is not installed, so this test is skipped: ./setup");
            return None;
        }
        let terminal = Self { socket: world.path("tmux.sock") };
        let folder = PathBuf::from(env!("CARGO_BIN_EXE_rejoin")).parent().unwrap().display().to_string();
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
        let (width, height) = (width.to_string(), height.to_string());
        let mut tmux = terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height, "sh"]);
        let home = world.path("home");
        tmux.env_clear()
            .current_dir(&home)
            .env("HOME", &home)
            .env("PATH", path)
            .env("LANG", "C.UTF-8")
            .env("PS1", "$ ");
        assert!(tmux.status().unwrap().success());
        Some(terminal)
    }

    /// Types `line` into the shell.
    pub(crate) fn run(&self, line: &str) {
        self.type_text(line);
        self.press(&["Enter"]);
    }

    /// Types `text`, as it is.
    pub(crate) fn type_text(&self, text: &str) {
        self.do_well(&["send-keys", "-l", "--", text]);
    }

    /// Presses keys, by the names that tmux has for them.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.do_well(&[&["send-keys"], keys].concat());
    }

    /// Types a prompt into the chat, and sends it.
    pub(crate) fn prompt(&self, text: &str) {
        self.type_text(text);
        self.until(text);
        self.press(&["Enter"]);
    }

    /// Pastes `text` as terminals do.
    pub(crate) fn paste(&self, text: &str) {
        self.do_well(&["set-buffer", "--", text]);
        self.do_well(&["paste-buffer", "-p"]);
    }

    pub(crate) fn resize(&self, width: u16, height: u16) {
        self.do_well(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        self.output(&["capture-pane", "-p"])
    }

    /// What is on the screen, with its styles.
    pub(crate) fn styled_screen(&self) -> String {
        self.output(&["capture-pane", "-p", "-e"])
    }

    /// What is on the screen, and all above it.
    pub(crate) fn history(&self) -> String {
        self.output(&["capture-pane", "-p", "-S", "-"])
    }

    /// Waits until `text` is on the screen.
    pub(crate) fn until(&self, text: &str) -> String {
        self.until_screen(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as `is_wanted` says.
    pub(crate) fn until_screen(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if is_wanted(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "{what:?} did not come; this is there:\n{screen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn do_well(&self, args: &[&str]) {
        assert!(self.tmux(args).status().unwrap().success(), "{args:?}");
    }

    fn output(&self, args: &[&str]) -> String {
        String::from_utf8(self.tmux(args).output().unwrap().stdout).unwrap()
    }

    fn tmux(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(&self.socket).args(args);
        command
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).status();
    }
}
