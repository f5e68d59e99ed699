//! `rejoin fork`: another session that begins with what was said in this one.

use rejoin_store::{fork_point, new_session_id, now};
use rejoin_transcript::SessionId;
use serde::Serialize;

use super::{Context, OWNER, Outcome, write_done};
use crate::error::Error;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForkRow<'a> {
    session_id: &'a SessionId,
    fork_of: &'a SessionId,
}

/// Make another session that begins with what was said in this one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A running turn is not part of the fork. The ids of messages are in `rejoin show ID --json`.

Examples:
  rejoin fork 0c5f2a91
  rejoin fork 0c5f2a91 --at 7d1b…     up to the end of the turn with that message")]
pub(crate) struct ForkArgs {
    /// The session's id, or a beginning of it that no other id has
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Take what was said up to the end of the turn with this message
    #[arg(long, value_name = "MESSAGE")]
    pub(crate) at: Option<String>,

    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) async fn run(args: ForkArgs, context: &mut Context) -> Result<Outcome, Error> {
    let store = context.settings.open_store_to_change()?;
    let source = store.resolve(OWNER, &args.id).await?;
    let point = fork_point(store.as_ref(), &source, args.at.as_deref()).await?;
    let point = point.ok_or_else(|| Error::NoSuchMessage {
        session: source.clone(),
        message: args.at.clone().unwrap_or_default(),
    })?;
    let fork = store.fork(&source, point, new_session_id(), now(), Vec::new()).await?;
    store.flush().await?;
    if args.json {
        context.out.write_json(&ForkRow { session_id: &fork.facts.session_id, fork_of: &source })?;
    } else {
        write_done(&mut context.out, "forked", &fork.facts)?;
    }
    Ok(Outcome::Done)
}
