//! The pager: a program that shows a long text page by page.
//!
//! While it runs, Ctrl-C is the pager's: it decides when the person has had enough.

use std::io::{self, ErrorKind, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use rejoin_wire::Inherited;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Error;

/// What a shell ends with that did not find the program.
const NOT_FOUND: i32 = 127;

/// Told to `less` where the environment tells it nothing: to end if all fits on the screen, to show colours, and to leave
/// what it has shown.
const LESS: &str = "FRX";

/// A running pager.
#[derive(Debug)]
pub(crate) struct Pager {
    command: String,
    child: Child,
    /// Nothing once all is written.
    stdin: Option<ChildStdin>,
    /// As long as somebody listens, Ctrl-C does not end this program.
    _interrupts: Signal,
}

impl Pager {
    /// Starts the pager that `command` names, which a shell reads, or else `less`. `None` where there shall be no pager, or
    /// `less` is not there.
    ///
    /// Must be called inside a Tokio runtime.
    pub(crate) fn start(command: Option<&str>, less: Option<&str>) -> Result<Option<Self>, Error> {
        let mut program = match command.map(str::trim) {
            Some("" | "cat") => return Ok(None),
            Some(command) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", "--", command]);
                shell
            }
            None => Command::new("less"),
        };
        let name = command.unwrap_or("less").to_owned();
        let failed = |source| Error::Pager { command: name.clone(), source };
        let interrupts = signal(SignalKind::interrupt()).map_err(failed)?;
        Inherited::Most.limit(&mut program);
        match program.env("LESS", less.unwrap_or(LESS)).stdin(Stdio::piped()).spawn() {
            Ok(mut child) => {
                let stdin = child.stdin.take();
                Ok(Some(Self { command: name, child, stdin, _interrupts: interrupts }))
            }
            Err(error) if command.is_none() && error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Waits until the person has had enough.
    pub(crate) fn wait(mut self) -> Result<(), Error> {
        self.stdin = None;
        let ended = self.child.wait().map_err(|source| Error::Pager { command: self.command.clone(), source })?;
        if ended.code() == Some(NOT_FOUND) {
            let source = io::Error::from(ErrorKind::NotFound);
            return Err(Error::Pager { command: self.command, source });
        }
        Ok(())
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.stdin {
            Some(stdin) => stdin.write(bytes),
            None => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdin.as_mut().map_or(Ok(()), Write::flush)
    }
}
