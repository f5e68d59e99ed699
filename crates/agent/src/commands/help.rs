//! `/help`: what can be called here.

use rejoin::schema::AvailableCommandInput;
use rejoin::{AgentError, Turn};

use super::available;
use crate::session::OpenSession;

pub(super) async fn run(turn: &Turn<OpenSession>) -> Result<(), AgentError> {
    let line = |command: rejoin::schema::AvailableCommand| {
        let input = match &command.input {
            Some(AvailableCommandInput::Unstructured(input)) => format!(" *{}*", input.hint),
            _ => String::new(),
        };
        format!("- `/{}`{input}: {}\n", command.name, command.description)
    };
    turn.say(available(turn.session()).into_iter().map(line).collect::<String>()).await
}
