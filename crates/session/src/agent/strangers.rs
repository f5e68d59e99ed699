//! What an agent says of sessions that nobody asked for: kept as child sessions, which no list shows.

use std::collections::HashMap;
use std::sync::Arc;

use rejoin_store::{Owner, SessionStore, StoreError, new_session_id, now};
use rejoin_transcript::{AgentInfo, AgentSession, Cwd, InForce, LayerKind, MessageIds, Session, Step, Turn};
use tokio::sync::mpsc;

use crate::policy::{AgentUpdate, Echo, step_of};
use crate::recorder::Recorder;

/// How many updates wait to be kept; more than that are dropped, rather than hold up the agent.
const ROOM: usize = 1024;

/// How many such sessions are remembered; of an older one, what comes later makes another.
const REMEMBERED: usize = 64;

/// An update of a session that nobody knows.
pub(crate) struct Stranger {
    pub(crate) agent: AgentInfo,
    /// The agent's id of the session.
    pub(crate) session: String,
    /// The update.
    pub(crate) update: AgentUpdate,
}

/// Starts to keep what comes in the returned way.
pub(crate) fn keep_strangers(store: Arc<dyn SessionStore>) -> mpsc::Sender<Stranger> {
    let (sender, mut strangers) = mpsc::channel::<Stranger>(ROOM);
    tokio::spawn(async move {
        let mut known: HashMap<String, (Recorder, MessageIds)> = HashMap::new();
        while let Some(stranger) = strangers.recv().await {
            if known.len() >= REMEMBERED && !known.contains_key(&stranger.session) {
                known.clear();
            }
            if let Err(error) = keep(&store, &mut known, stranger).await {
                tracing::warn!(%error, "an update of a session that nobody knows could not be kept");
            }
        }
    });
    sender
}

async fn keep(
    store: &Arc<dyn SessionStore>,
    known: &mut HashMap<String, (Recorder, MessageIds)>,
    stranger: Stranger,
) -> Result<(), StoreError> {
    let Stranger { agent, session, update } = stranger;
    if !known.contains_key(&session) {
        let recorder = begin(store, agent, session.clone()).await?;
        known.insert(session.clone(), (recorder, MessageIds::default()));
    }
    let Some((recorder, ids)) = known.get_mut(&session) else { return Ok(()) };
    let step = step_of(update, now(), Turn::After(0), ids, &mut Echo::default());
    if let Some(step) = step {
        recorder.record(vec![step], Vec::new()).await?;
    }
    Ok(())
}

async fn begin(store: &Arc<dyn SessionStore>, agent: AgentInfo, id: String) -> Result<Recorder, StoreError> {
    let nowhere = Cwd { raw: String::new(), canonical: String::new() };
    let mut session = Session::new(new_session_id(), nowhere, agent, now());
    session.facts.child = true;
    session.facts.agent_session = Some(AgentSession { id, generation: 1, lacks: 0 });
    let first = Step::of_layer(now(), Turn::After(0), LayerKind::StateSet, InForce::default().to_json());
    Recorder::create(Arc::clone(store), Owner::this_process(), session, first).await
}
