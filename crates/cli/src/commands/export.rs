//! `rejoin export`: one session, without loss.

use futures::TryStreamExt;
use rejoin_store::entries;
use rejoin_transcript::{EntryNumber, export};

use super::{Context, OWNER, Outcome};
use crate::args::{ExportArgs, ExportFormat};
use crate::error::Error;

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
