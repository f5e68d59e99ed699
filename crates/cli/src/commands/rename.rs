//! `rejoin rename`: a person names a session, and nobody renames it after that.

use std::io::Write;

use rejoin_transcript::{Fact, manual_title};

use super::{Context, OWNER, Outcome};
use crate::error::Error;

/// Give a session a title
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Your title stays, whatever the agent calls the session. This works while the session is in use elsewhere, too.

Examples:
  rejoin rename 0c5f2a91 Fix the login page")]
pub(crate) struct RenameArgs {
    /// The session's id, or a beginning of it that no other id has
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The title
    #[arg(value_name = "TITLE", required = true)]
    pub(crate) title: Vec<String>,
}

pub(super) async fn run(args: RenameArgs, context: &mut Context) -> Result<Outcome, Error> {
    let store = context.settings.open_store_to_change()?;
    let id = store.resolve(OWNER, &args.id).await?;
    let title = manual_title(&args.title.join(" ")).ok_or(Error::EmptyTitle)?;
    store.tell(&id, vec![Fact::ManualTitle(Some(title.clone()))]).await?;
    store.flush().await?;
    writeln!(context.out, "renamed {id}  {title}")?;
    Ok(Outcome::Done)
}
