//! The terminal while we have it: raw, and given back as it was, whatever happens.

use std::io::{self, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::render::screen::Size;

/// Pasted text comes as such, and not as keys.
const ENTER: &str = "\x1b[?2004h";
/// Lines are broken, the cursor is seen, nothing is held back, and no style is left over.
const LEAVE: &str = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?2026l\x1b[0m";
/// What is said next stands below all that is there.
const BELOW: &str = "\r\n\x1b[J";
const LEAVE_FULL: &str = "\x1b[?1049l";

/// Whether the other screen is shown.
static IS_FULL: AtomicBool = AtomicBool::new(false);

/// Whether anything panicked while we had the terminal.
static HAS_PANICKED: AtomicBool = AtomicBool::new(false);

type Hook = dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync;

/// The terminal, which is given back when this is dropped, or when something panics.
pub(crate) struct Terminal {
    hook: Arc<Box<Hook>>,
    is_stuck: bool,
}

/// The size that a terminal says it has; the usual one, if it says none.
pub(crate) fn sized(width: u16, height: u16) -> Size {
    let or = |told: u16, usual: u16| usize::from(if told == 0 { usual } else { told });
    Size { width: or(width, 80), height: or(height, 24) }
}

impl Terminal {
    /// Takes the terminal.
    pub(crate) fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        HAS_PANICKED.store(false, Ordering::SeqCst);
        let hook: Arc<Box<Hook>> = Arc::new(panic::take_hook());
        let before = Arc::clone(&hook);
        panic::set_hook(Box::new(move |info| {
            HAS_PANICKED.store(true, Ordering::SeqCst);
            give_back();
            let _ = write(BELOW);
            before(info);
        }));
        let terminal = Self { hook, is_stuck: false };
        write(ENTER)?;
        Ok(terminal)
    }

    /// How large it is; as terminals are, if it does not say.
    pub(crate) fn size() -> io::Result<Size> {
        let (width, height) = crossterm::terminal::size()?;
        Ok(sized(width, height))
    }

    /// What is written does not arrive any more, so nothing is.
    pub(crate) fn abandon(&mut self) {
        self.is_stuck = true;
    }

    /// Whether anything panicked: then the terminal is given back already.
    pub(crate) fn is_lost() -> bool {
        HAS_PANICKED.load(Ordering::SeqCst)
    }

    /// Notes whether the other screen is shown.
    pub(crate) fn set_full(is_full: bool) {
        IS_FULL.store(is_full, Ordering::SeqCst);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.is_stuck {
            let _ = disable_raw_mode();
        } else {
            give_back();
        }
        // While this thread panics, the hook has done it, and can't be changed.
        if !thread::panicking() {
            let hook = Arc::clone(&self.hook);
            panic::set_hook(Box::new(move |info| hook(info)));
        }
    }
}

/// Writes `bytes` to the terminal.
pub(crate) fn write(bytes: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_bytes())?;
    out.flush()
}

fn give_back() {
    if IS_FULL.swap(false, Ordering::SeqCst) {
        let _ = write(LEAVE_FULL);
    }
    // There is nobody to tell who could do anything about it.
    let _ = write(LEAVE);
    let _ = disable_raw_mode();
}
