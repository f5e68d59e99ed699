//! What we ourselves say to the clients: titles, and remarks about what had to be done.

use rejoin_store::now;
use rejoin_transcript::json::Object;
use rejoin_transcript::{Json, Step};

use super::Live;
use crate::Error;
use crate::agent::Remark;
use crate::policy::new_message_id;
use crate::turn::Event;

impl Live {
    /// Says something to the clients, which is no part of the conversation: by a notice, or, to those that can't show
    /// one, at the beginning of the next turn.
    pub(crate) fn say(&mut self, remark: Remark) {
        let notice = Object::default()
            .with_string("sessionUpdate", "notice")
            .with_string("severity", "warning")
            .with_string("title", &remark.title)
            .with_string("description", &remark.description);
        self.subscribers.show(&self.id, &notice.finish());
        if self.subscribers.is_any_without_notices() || self.subscribers.is_empty() {
            self.unsaid.push(remark);
        }
    }

    /// Tells the clients that something the agent said was left out because of `reason`.
    pub(super) async fn say_left_out(&mut self, reason: &str) {
        let title = "A message of the agent was left out".to_owned();
        let description = format!("It is neither shown nor kept: {reason}. Everything else is.");
        self.say_now(Remark { title, description }).await;
    }

    /// As [`Live::say`]; if a turn runs, clients without notices are told at once.
    pub(super) async fn say_now(&mut self, remark: Remark) {
        self.say(remark);
        if self.machine.is_in_turn()
            && let Err(error) = self.say_unsaid().await
        {
            self.handle(Event::StoreFailed(error)).await;
        }
    }

    pub(super) async fn say_unsaid(&mut self) -> Result<(), Error> {
        for remark in std::mem::take(&mut self.unsaid) {
            let text = format!("{}. {}\n\n", remark.title, remark.description);
            let content = Object::default().with_string("type", "text").with_string("text", &text).finish();
            let update = Object::default()
                .with_string("sessionUpdate", "agent_message_chunk")
                .with("content", &content)
                .with_string("messageId", new_message_id().as_str())
                .with("_meta", r#"{"rejoin":{"notice":true}}"#);
            let step = Step::update(now(), self.turn, Json::from_stored(update.finish())).ok();
            let steps = step.into_iter().collect();
            self.record_and_show(steps, Vec::new(), |_, client| !client.shows().notices).await?;
        }
        Ok(())
    }

    /// Tells clients the title in force.
    pub(crate) fn show_title(&self, title: &str) {
        let update = Object::default().with_string("sessionUpdate", "session_info_update").with_string("title", title);
        self.subscribers.show(&self.id, &update.finish());
    }
}
