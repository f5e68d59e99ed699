//! What the chat tells the layer of itself.

use serde_json::{Value, json};

/// Whether a user is there to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interaction {
    Asked,
    Unasked,
}

/// The params of `initialize`.
pub(crate) fn initialize_params(interaction: Interaction) -> Value {
    let mut capabilities = json!({
        "fs": { "readTextFile": false, "writeTextFile": false },
        "terminal": false,
        "session": { "notices": {}, "compaction": {}, "configOptions": { "boolean": {} } },
    });
    if interaction == Interaction::Asked {
        capabilities["elicitation"] = json!({ "form": {}, "url": {} });
    }
    let info = json!({ "name": "rejoin-chat", "title": "Rejoin chat", "version": env!("CARGO_PKG_VERSION") });
    json!({ "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info })
}
