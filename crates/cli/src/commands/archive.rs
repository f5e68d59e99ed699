//! `rejoin archive`, `rejoin unarchive`: sessions leave the list, or come back.

use rejoin_transcript::Fact;

use super::{Context, Outcome, find_all, write_done};
use crate::error::Error;

/// Take sessions out of the list
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An archived session is kept, found by `rejoin search` and can be used as before.

Examples:
  rejoin archive 0c5f2a91 5e7d0c41
  rejoin list --archived              the archived ones")]
pub(crate) struct ArchiveArgs {
    /// The sessions' ids, or beginnings of them that no other ids have
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}

/// Put archived sessions back into the list
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin unarchive 0c5f2a91")]
pub(crate) struct UnarchiveArgs {
    /// The sessions' ids, or beginnings of them that no other ids have
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}

pub(super) async fn archive(args: ArchiveArgs, context: &mut Context) -> Result<Outcome, Error> {
    tell(&args.ids, context, Fact::Archived(true), "archived").await
}

pub(super) async fn unarchive(args: UnarchiveArgs, context: &mut Context) -> Result<Outcome, Error> {
    tell(&args.ids, context, Fact::Archived(false), "unarchived").await
}

async fn tell(ids: &[String], context: &mut Context, fact: Fact, done: &str) -> Result<Outcome, Error> {
    let store = context.settings.open_store_to_change()?;
    for facts in find_all(store.as_ref(), ids).await? {
        store.tell(&facts.session_id, vec![fact.clone()]).await?;
        write_done(&mut context.out, done, &facts)?;
    }
    store.flush().await?;
    Ok(Outcome::Done)
}
