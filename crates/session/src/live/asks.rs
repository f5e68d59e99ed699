//! What the agent asks of a client: permission, files, terminals, input. State, until somebody answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rejoin_store::now;
use rejoin_transcript::json::{Object, other_members, replace_member, write_string};
use rejoin_transcript::{Json, LayerKind, Step};
use rejoin_wire::{Outcome, RawValue, RequestId, RpcError};
use serde_json::Value;

use super::Live;
use crate::Error;
use crate::client::{Client, ClientReply, taken_back};
use crate::deny::Denial;
use crate::feed::Feed;
use crate::turn::{AskId, AskKind, Event};

/// The agent's answer to a permission that nobody will give any more.
const CANCELLED: &str = r#"{"outcome":{"outcome":"cancelled"}}"#;

/// The open questions of an agent.
#[derive(Default)]
pub(crate) struct Asks {
    open: BTreeMap<AskId, Ask>,
    next: u64,
}

struct Ask {
    /// The agent's id of it.
    id: RequestId,
    kind: AskKind,
    method: String,
    /// The params, with our session id.
    params: String,
    /// Who was asked, and as which request.
    asked: Option<(Arc<Client>, RequestId)>,
    /// Whether the client knows that nobody waits any more.
    is_taken_back: bool,
}

impl Live {
    /// The agent asks.
    pub(super) async fn asked(&mut self, id: RequestId, method: String, params: Box<RawValue>) {
        if let Some(outcome) = self.asked_us(&method, params.get()).await {
            if let Some(agent) = self.agent.open() {
                agent.link.respond(&id, outcome.as_deref());
            }
            return;
        }
        let kind = if method == "session/request_permission" { AskKind::Permission } else { AskKind::Service };
        if kind == AskKind::Permission {
            let body =
                other_members(params.get(), &["sessionId"]).unwrap_or_else(|| Json::from_stored("{}".to_owned()));
            let step = Step::of_layer(now(), self.turn, LayerKind::PermissionAsked, body);
            if let Err(error) = self.record(vec![step]).await {
                self.refuse(&id, &error.to_rpc());
                return self.handle(Event::StoreFailed(error)).await;
            }
        }
        if let Some(denial) = self.denial(&method, params.get()) {
            return self.decline(&id, kind, params.get(), &denial).await;
        }
        let ours = replace_member(params.get(), "sessionId", &write_string(self.id.as_str()));
        let ask = Ask {
            id,
            kind,
            method,
            params: ours.unwrap_or_else(|| params.get().to_owned()),
            asked: None,
            is_taken_back: false,
        };
        let ask_id = AskId(self.asks.next);
        self.asks.next += 1;
        let prompter = self.prompts.values().next().map(|prompt| Arc::clone(prompt.responder.client()));
        match self.subscribers.anyone(prompter.as_ref()) {
            Some((client, feed)) => {
                let (client, feed) = (Arc::clone(client), feed.clone());
                self.asks.open.insert(ask_id, ask);
                self.ask(ask_id, &client, &feed);
            }
            // The next client that comes is asked.
            None if kind == AskKind::Permission => drop(self.asks.open.insert(ask_id, ask)),
            None => {
                let error = RpcError::new(RpcError::INTERNAL, "no client is there to ask");
                return self.refuse(&ask.id, &error);
            }
        }
        self.handle(Event::Asked(ask_id, kind)).await;
    }

    /// The user's rule that denies what the agent asks for.
    fn denial(&self, method: &str, params: &str) -> Option<Denial> {
        let cwd = self.session().map_or("/", |session| &session.facts.cwd.raw);
        self.layer.options.deny.request(method, params, Path::new(cwd))
    }

    /// Answers in the user's place what a rule of theirs denies: a permission by the agent's own way to reject it.
    async fn decline(&mut self, id: &RequestId, kind: AskKind, params: &str, denial: &Denial) {
        tracing::info!(session = %self.id, %denial, "a request of the agent is declined");
        if kind == AskKind::Service {
            return self.refuse(id, &RpcError::new(RpcError::INVALID_PARAMS, denial.to_string()));
        }
        let outcome = rejection(params);
        let by = Object::default().with_string("list", denial.list.key()).with_string("pattern", &denial.pattern);
        let meta =
            Object::default().with("rejoin", &Object::default().with("deniedBy", &by.finish()).finish()).finish();
        let body = Object::default().with("outcome", &outcome).with("_meta", &meta).finish();
        if let Err(error) = self.record_answer(Json::from_stored(body)).await {
            self.refuse(id, &error.to_rpc());
            return self.handle(Event::StoreFailed(error)).await;
        }
        if let Some(agent) = self.agent.open() {
            agent.link.respond(id, Ok(&Object::default().with("outcome", &outcome).finish()));
        }
    }

    /// Asks `client` what nobody has been asked yet.
    pub(crate) fn ask_anew(&mut self, client: &Arc<Client>, feed: &Feed) {
        let open: Vec<AskId> =
            self.asks.open.iter().filter(|(_, ask)| ask.asked.is_none()).map(|(ask_id, _)| *ask_id).collect();
        for ask_id in open {
            self.ask(ask_id, client, feed);
        }
    }

    /// `client` is gone: what it was asked is asked of somebody else, or of the next who comes.
    pub(super) fn ask_others(&mut self, client: &Client) {
        for ask in self.asks.open.values_mut() {
            if ask.asked.as_ref().is_some_and(|(asked, _)| **asked == *client) {
                ask.asked = None;
            }
        }
        let somebody = self.subscribers.anyone(None).map(|(client, feed)| (Arc::clone(client), feed.clone()));
        if let Some((client, feed)) = somebody {
            self.ask_anew(&client, &feed);
        }
    }

    fn ask(&mut self, ask_id: AskId, client: &Arc<Client>, feed: &Feed) {
        let Some(ask) = self.asks.open.get_mut(&ask_id) else { return };
        let reply = ClientReply::Session { mailbox: self.mailbox.clone(), ask: ask_id };
        let (id, line) = client.begin(&ask.method, &ask.params, reply);
        ask.asked = Some((Arc::clone(client), id));
        feed.push_lines(line);
    }

    /// The agent took its question back; the client is told, and answers all the same.
    pub(super) fn took_back(&mut self, id: &RequestId) {
        let found = self.asks.open.iter().find(|(_, ask)| ask.id == *id).map(|(ask_id, _)| *ask_id);
        if let Some(ask_id) = found {
            self.tell_taken_back(ask_id);
        }
    }

    /// A client answered.
    pub(super) async fn answered(&mut self, ask_id: AskId, outcome: Outcome) {
        let Some(ask) = self.asks.open.remove(&ask_id) else { return };
        self.handle(Event::Settled(ask_id)).await;
        if ask.kind == AskKind::Permission
            && let Err(error) = self.record_permission(&outcome).await
        {
            self.refuse(&ask.id, &error.to_rpc());
            return self.handle(Event::StoreFailed(error)).await;
        }
        if let Ok(result) = &outcome {
            self.terminals.answered(&ask.method, &ask.params, result.get());
        }
        if let Some(agent) = self.agent.open() {
            agent.link.respond(&ask.id, outcome.as_ref().map(|result| result.get()));
        }
    }

    /// Nobody will answer any more.
    pub(super) async fn cancel_ask(&mut self, ask_id: AskId) -> Result<(), Error> {
        self.tell_taken_back(ask_id);
        let Some(ask) = self.asks.open.remove(&ask_id) else { return Ok(()) };
        match &ask.asked {
            Some((client, id)) if ask.method == "terminal/create" => client.forget_terminal(id, &self.id),
            Some((client, id)) => client.forget(id),
            None => {}
        }
        let Some(agent) = self.agent.open() else { return Ok(()) };
        match ask.kind {
            AskKind::Permission => {
                agent.link.respond(&ask.id, Ok(CANCELLED));
                let body = Json::from_stored(CANCELLED.to_owned());
                let step = Step::of_layer(now(), self.turn, LayerKind::PermissionAnswered, body);
                self.record(vec![step]).await
            }
            AskKind::Service => {
                agent.link.respond(&ask.id, Err(&Error::Cancelled.to_rpc()));
                Ok(())
            }
        }
    }

    fn tell_taken_back(&mut self, ask_id: AskId) {
        let Some(ask) = self.asks.open.get_mut(&ask_id) else { return };
        if let Some((client, id)) = &ask.asked
            && !std::mem::replace(&mut ask.is_taken_back, true)
        {
            let feed = self.subscribers.feed_of(client).unwrap_or(client.feed());
            feed.push_lines(taken_back(id));
        }
    }

    async fn record_permission(&mut self, outcome: &Outcome) -> Result<(), Error> {
        let body = match outcome {
            Ok(result) => Json::from(result.clone()),
            Err(error) => Json::from_stored(format!("{{\"error\":{}}}", error.as_json())),
        };
        self.record_answer(body).await
    }

    async fn record_answer(&mut self, body: Json) -> Result<(), Error> {
        let step = Step::of_layer(now(), self.turn, LayerKind::PermissionAnswered, body);
        self.record(vec![step]).await?;
        Ok(self.recorder()?.flush().await?)
    }

    fn refuse(&mut self, id: &RequestId, error: &RpcError) {
        if let Some(agent) = self.agent.open() {
            agent.link.respond(id, Err(error));
        }
    }
}

/// The outcome that rejects a permission: the agent's own option for once, else for always, else that of a cancel.
fn rejection(params: &str) -> String {
    let params: Value = serde_json::from_str(params).unwrap_or_default();
    let options = || params["options"].as_array().into_iter().flatten();
    let of_kind =
        |kind: &str| options().find(|option| option["kind"] == kind).and_then(|option| option["optionId"].as_str());
    match of_kind("reject_once").or_else(|| of_kind("reject_always")) {
        Some(option) => Object::default().with_string("outcome", "selected").with_string("optionId", option).finish(),
        None => Object::default().with_string("outcome", "cancelled").finish(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rejection_is_one_of_the_agents_own() {
        let selected = |option: &str| json!({ "outcome": "selected", "optionId": option });
        for (kinds, expected) in [
            (vec!["allow_once", "reject_always", "reject_once"], selected("2")),
            (vec!["allow_once", "reject_always"], selected("1")),
            (vec!["allow_once", "allow_always"], json!({ "outcome": "cancelled" })),
            (vec![], json!({ "outcome": "cancelled" })),
        ] {
            let options = kinds.iter().enumerate().map(|(n, kind)| json!({ "optionId": n.to_string(), "kind": kind }));
            let params = json!({ "options": options.collect::<Vec<_>>() }).to_string();
            let outcome: Value = serde_json::from_str(&rejection(&params)).unwrap();
            assert_eq!(outcome, expected, "{kinds:?}");
        }
    }
}
