//! `rejoin export`: one session, without loss.

use clap::ValueEnum;
use futures::TryStreamExt;
use rejoin_store::entries;
use rejoin_transcript::{EntryNumber, export};

use super::{Context, OWNER, Outcome};
use crate::error::Error;

/// Write a session to standard output, without loss
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin export 0c5f2a91 > session.jsonl
  rejoin export 0c5f2a91 | ssh host rejoin import -")]
pub(crate) struct ExportArgs {
    /// The session's id, or a beginning of it that no other id has
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The form to write
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    pub(crate) format: ExportFormat,
}

/// A form in which a session can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// JSON Lines that `import` reads: a header, then one entry a line
    Jsonl,
}

pub(super) async fn run(args: ExportArgs, context: &mut Context) -> Result<Outcome, Error> {
    let store = context.settings.open_store_to_read()?;
    let id = store.resolve(OWNER, &args.id).await?;
    let session = store.session(&id).await?;
    match args.format {
        ExportFormat::Jsonl => {
            export::write_header(&mut context.out, &session)?;
            let entries = entries(store.as_ref(), &id, EntryNumber::START);
            futures::pin_mut!(entries);
            while let Some(entry) = entries.try_next().await? {
                export::write_entry(&mut context.out, &entry)?;
            }
        }
    }
    Ok(Outcome::Done)
}
