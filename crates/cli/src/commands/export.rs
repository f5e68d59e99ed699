//! `rejoin export`: one session, as a file without loss or as one to read.

mod file;
mod redact;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use futures::TryStreamExt;
use rejoin_store::{SessionStore, entries};
use rejoin_transcript::{Entry, EntryNumber, Session, SessionId, export};

use self::file::OutFile;
use self::redact::{Redactor, Rules};
use super::{Context, OWNER, Outcome};
use crate::conversation::{Conversation, Detail, Form, Html, Markdown};
use crate::error::Error;
use crate::output::{Painter, one_line};
use crate::signals::Signals;

/// Write a session to standard output or a file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
JSON Lines hold everything and can be imported again; HTML is one file that needs no network, for a browser.

With --redact the following is replaced: private keys, tokens of known forms and in known places, what is assigned to names like PASSWORD \
or api_key, values of such environment variables of yours, credentials in addresses, e-mail addresses, and home folders. \
What looks like none of these stays, as do images and names of people and machines: look before you share.

Examples:
  rejoin export 0c5f2a91 > session.jsonl
  rejoin export 0c5f2a91 -o session.html
  rejoin export 0c5f2a91 --format markdown --redact
  rejoin export 0c5f2a91 | ssh host rejoin import -")]
pub(crate) struct ExportArgs {
    /// The session's id, or a beginning of it that no other id has
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The form to write [default: as the file's name ends, else jsonl]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ExportFormat>,

    /// Write to this file instead of standard output; only you can read it
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Replace what looks like a secret or tells who you are
    #[arg(long)]
    pub(crate) redact: bool,
}

/// A form in which a session can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// JSON Lines that `import` reads: a header, then one entry a line
    Jsonl,
    /// To read, or to paste somewhere
    #[value(alias = "md")]
    Markdown,
    /// One file to read in a browser
    Html,
}

impl ExportFormat {
    /// The form that the name of `file` asks for.
    fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "jsonl" => Some(Self::Jsonl),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }
}

pub(super) async fn run(args: ExportArgs, context: &mut Context) -> Result<Outcome, Error> {
    let store = context.settings.open_store_to_read()?;
    let id = store.resolve(OWNER, &args.id).await?;
    let format = args.format.or_else(|| ExportFormat::of(args.output.as_deref()?)).unwrap_or(ExportFormat::Jsonl);
    let rules = args.redact.then(|| Rules::new(context.settings.home.as_deref(), environment()));
    let Some(path) = args.output.filter(|path| path != Path::new("-")) else {
        write(store.as_ref(), &id, format, rules, &mut context.out).await?;
        return Ok(Outcome::Done);
    };
    let failed = |source| Error::CannotWrite { path: path.clone(), source };
    let mut file = OutFile::create(&path).map_err(failed)?;
    let mut signals = Signals::new().map_err(Error::CannotStart)?;
    let written = tokio::select! {
        written = write(store.as_ref(), &id, format, rules, &mut file) => written,
        () = signals.any() => Err(Error::Interrupted),
    };
    written.map_err(|error| match error {
        Error::Output(source) => failed(source),
        other => other,
    })?;
    file.finish().map_err(failed)?;
    writeln!(context.out, "exported {id} to {}", one_line(&path.display().to_string()))?;
    Ok(Outcome::Done)
}

/// The variables of the environment that are text.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Writes the session `id`.
async fn write(
    store: &dyn SessionStore,
    id: &SessionId,
    format: ExportFormat,
    rules: Option<Rules>,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut session = store.session(id).await?;
    let mut redactor = match rules {
        Some(rules) => {
            session = rules.session(&session)?;
            Some(Redactor::new(rules))
        }
        None => None,
    };
    let mut sink = begin(format, out, &session)?;
    let entries = entries(store, id, EntryNumber::START);
    futures::pin_mut!(entries);
    while let Some(entry) = entries.try_next().await? {
        match &mut redactor {
            Some(redactor) => redactor.push(entry).iter().try_for_each(|entry| sink.entry(out, entry))?,
            None => sink.entry(out, &entry)?,
        }
    }
    if let Some(redactor) = &mut redactor {
        redactor.end().iter().try_for_each(|entry| sink.entry(out, entry))?;
    }
    Ok(sink.end(out)?)
}

/// A session that is being written.
trait Sink {
    fn entry(&mut self, out: &mut dyn Write, entry: &Entry) -> io::Result<()>;
    fn end(self: Box<Self>, out: &mut dyn Write) -> io::Result<()>;
}

fn begin<'a>(format: ExportFormat, mut out: &mut dyn Write, session: &Session) -> io::Result<Box<dyn Sink + 'a>> {
    Ok(match format {
        ExportFormat::Jsonl => {
            export::write_header(&mut out, session)?;
            Box::new(JsonLines)
        }
        ExportFormat::Markdown => {
            let form = Markdown::new(Detail::Full, Painter::PLAIN, None);
            Box::new(Conversation::begin(form, out, &session.facts)?)
        }
        ExportFormat::Html => Box::new(Conversation::begin(Html::default(), out, &session.facts)?),
    })
}

struct JsonLines;

impl Sink for JsonLines {
    fn entry(&mut self, mut out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
        export::write_entry(&mut out, entry)
    }

    fn end(self: Box<Self>, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

impl<F: Form> Sink for Conversation<F> {
    fn entry(&mut self, out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
        self.push(out, entry)
    }

    fn end(self: Box<Self>, out: &mut dyn Write) -> io::Result<()> {
        Conversation::end(*self, out)
    }
}
