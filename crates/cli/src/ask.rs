//! Questions to the person at the terminal, before something is done that can't be undone.

use std::io::{self, BufRead, IsTerminal, Write};

use anstyle::{AnsiColor, Style};

use crate::error::Error;
use crate::output::printable;

const QUESTION: Style = AnsiColor::Yellow.on_default().bold();

/// Whether something may be done without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// It was typed.
    Typed,
    /// The person must be asked.
    ToBeAsked,
}

impl Consent {
    /// The consent that `--yes` is, if it `is_there`.
    pub(crate) fn from_flag(is_there: bool) -> Self {
        if is_there { Self::Typed } else { Self::ToBeAsked }
    }

    /// Fails if somebody must be asked and nobody is there.
    pub(crate) fn check(self) -> Result<(), Error> {
        let somebody_is_there = || io::stdin().is_terminal() && io::stderr().is_terminal();
        if self == Self::Typed || somebody_is_there() { Ok(()) } else { Err(Error::NobodyToAsk) }
    }
}

/// Asks `question`, and says whether the answer is yes.
///
/// Who ends the input has not said yes.
pub(crate) fn is_wanted(err: &mut dyn Write, question: &str) -> Result<bool, Error> {
    write!(err, "{QUESTION}{}{QUESTION:#} [y/N] ", printable(question))?;
    err.flush()?;
    let mut answer = String::new();
    let n_bytes = io::stdin().lock().read_line(&mut answer).map_err(Error::NoAnswer)?;
    if n_bytes == 0 {
        writeln!(err)?;
    }
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
