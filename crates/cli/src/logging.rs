//! The log: to standard error or a file, never to standard output.

use std::fmt::{self, Debug};
use std::fs::{File, OpenOptions};
use std::io::IsTerminal;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::LogLevel;
use crate::error::Error;
use crate::output::one_line;
use crate::settings::LogSettings;

/// Starts to log as `settings` say. Without this nothing is logged.
pub(crate) fn start(settings: &LogSettings) -> Result<(), Error> {
    let level = match settings.level {
        LogLevel::Off => return Ok(()),
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let fields = format::debug_fn(write_field).delimited(" ");
    let log = tracing_subscriber::fmt().with_max_level(level).fmt_fields(fields);
    // rmcp logs whole messages of MCP servers, and a server may say its secrets. What carries them and the requests to
    // providers logs headers at its lowest levels.
    let targets = Targets::new()
        .with_default(level)
        .with_target("rmcp", level.min(LevelFilter::WARN))
        .with_targets(["h2", "hyper", "hyper_util", "reqwest"].map(|carrier| (carrier, level.min(LevelFilter::INFO))));
    if let Some(path) = &settings.file {
        log.with_ansi(false).with_writer(Mutex::new(open(path)?)).finish().with(targets).init();
    } else {
        let is_terminal = std::io::stderr().is_terminal();
        log.with_ansi(is_terminal).with_writer(std::io::stderr).finish().with(targets).init();
    }
    Ok(())
}

/// Writes a field of a record. What it holds may come from anywhere, and must not look like another record or command a
/// terminal.
fn write_field(writer: &mut format::Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    let value = one_line(&format!("{value:?}"));
    if field.name() == "message" { write!(writer, "{value}") } else { write!(writer, "{field}={value}") }
}

/// Opens the file to write behind what is there; others than its owner can't read one that is made.
fn open(path: &Path) -> Result<File, Error> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    file.map_err(|source| Error::LogFile { path: path.to_owned(), source })
}
