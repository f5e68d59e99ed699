//! `rejoin adopt`: brings in the sessions that an agent made without us.

use std::io::Write;

use rejoin::Adopted;
use rejoin_history::{Tool, session_id};
use rejoin_store::{SessionStore, Taken};
use rejoin_transcript::SessionId;
use serde::Serialize;

use super::{Context, Outcome};
use crate::error::Error;
use crate::layer::{AgentArgs, layer_of};
use crate::output::one_line;
use crate::progress::Progress;
use crate::report;

/// Bring in the sessions that an agent made without rejoin
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The agent is asked which sessions it has, and each is loaded once to keep what was said. Nothing comes in twice.
A tool's history can be read faster from its files: see `rejoin import --help`.

Examples:
  rejoin adopt -- claude-agent-acp
  rejoin adopt --agent claude")]
pub(crate) struct AdoptArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Serialize, Default)]
struct Sessions {
    adopted: Vec<SessionId>,
    skipped: Vec<SessionId>,
    failed: Vec<FailedSession>,
}

/// A session that could not be brought in, by the agent's own id of it.
#[derive(Serialize)]
struct FailedSession {
    session: String,
    error: String,
}

pub(super) async fn run(args: AdoptArgs, context: &mut Context) -> Result<Outcome, Error> {
    // Our own agent keeps its sessions here already.
    if args.agent.is_empty() && context.settings.default_agent.is_none() {
        return Err(Error::NoAgent);
    }
    let layer = layer_of(args.agent, context)?;
    let store = context.settings.open_store()?;
    let adopted = adopt_all(&layer, &store, args.json, context).await;
    layer.end().await;
    store.flush().await?;
    let all = adopted?;
    if args.json {
        context.out.write_json(&all)?;
    } else {
        let [adopted, skipped, failed] = [all.adopted.len(), all.skipped.len(), all.failed.len()];
        writeln!(context.out, "{adopted} adopted, {skipped} skipped, {failed} failed")?;
    }
    Ok(Outcome::Done)
}

async fn adopt_all(
    layer: &rejoin::SessionLayer,
    store: &dyn SessionStore,
    is_json: bool,
    context: &mut Context,
) -> Result<Sessions, Error> {
    let mut adoption = layer.adoption(id_of).await?;
    let (progress, mut all) = (Progress::new(adoption.n_left()), Sessions::default());
    while let Some(adopted) = adoption.next().await? {
        progress.step();
        match adopted {
            Adopted::Here { session_id, taken: Taken::Nothing } => all.skipped.push(session_id),
            Adopted::Here { session_id, taken: Taken::All | Taken::More } => {
                if !is_json {
                    let facts = store.session(&session_id).await?.facts;
                    let title = one_line(facts.title().unwrap_or("(no title)"));
                    progress.above(|| writeln!(context.out, "adopted {session_id}  {title}"))?;
                }
                all.adopted.push(session_id);
            }
            Adopted::Failed { id, error } => {
                let error = report::one_line(&error.into());
                let note = format!("session {} could not be adopted: {error}", one_line(&id));
                progress.above(|| report::write_note(&mut context.err, &note))?;
                all.failed.push(FailedSession { session: id, error });
            }
        }
    }
    progress.finish();
    Ok(all)
}

/// The id under which an agent's session is kept: the one that an import of the same session gives it.
fn id_of(names: &[String], id: &str) -> SessionId {
    let tool = names.iter().find_map(|name| Tool::of_agent(name)).map(Tool::name);
    session_id(tool.or(names.first().map(String::as_str)).unwrap_or_default(), id)
}
