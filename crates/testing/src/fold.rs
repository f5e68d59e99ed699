//! What a person would see of a stream of updates.

use serde_json::Value;

/// The messages and tool calls that `updates` add up to, each as a line: `agent: hello`, `tool t1: completed`.
///
/// Chunks with the same id are one message. What is no conversation (settings, usage, titles) is left out, and what is
/// not known is there as it is.
pub fn fold(updates: &[Value]) -> Vec<String> {
    let mut items: Vec<(String, String)> = Vec::new();
    for update in updates {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        match kind {
            "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => {
                let key = format!("{kind} {}", update["messageId"]);
                let text = update["content"]["text"].as_str().unwrap_or("[no text]");
                let speaker = kind.split('_').find(|word| ["user", "thought"].contains(word)).unwrap_or("agent");
                match items.last_mut().filter(|(last, _)| *last == key) {
                    Some((_, said)) => said.push_str(text),
                    None => items.push((key, format!("{speaker}: {text}"))),
                }
            }
            "tool_call" | "tool_call_update" => {
                let id = update["toolCallId"].as_str().unwrap_or_default();
                let key = format!("tool {id}");
                let Some(status) = update["status"].as_str() else { continue };
                let line = format!("{key}: {status}");
                match items.iter_mut().find(|(other, _)| *other == key) {
                    Some((_, known)) => *known = line,
                    None => items.push((key, line)),
                }
            }
            "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update"
            | "usage_update" => {}
            _ => items.push((String::new(), update.to_string())),
        }
    }
    items.into_iter().map(|(_, line)| line).collect()
}
