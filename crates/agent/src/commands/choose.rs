//! `/mode` and `/model`: show or switch.

use rejoin::schema::SessionConfigOptionValue;
use rejoin::{AgentError, Turn};

use crate::session::OpenSession;

pub(super) async fn run(turn: &Turn<OpenSession>, option: &str, value: &str) -> Result<(), AgentError> {
    if value.is_empty() {
        let current = turn.chosen().get(option).unwrap_or_default().to_owned();
        return turn.say(format!("The {option} is {current}.\n")).await;
    }
    match turn.choose(option, SessionConfigOptionValue::value_id(value.to_owned())).await {
        Ok(()) => turn.say(format!("The {option} is now {value}.\n")).await,
        Err(AgentError::Invalid { .. }) => turn.say(format!("There is no {option} {value:?}.\n")).await,
        Err(error) => Err(error),
    }
}
