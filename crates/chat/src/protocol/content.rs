//! Content blocks, as text.

use serde_json::Value;

use super::text;

/// What is shown of a content block.
pub(crate) fn content_text(block: &Value) -> String {
    let of = |name| text(block, name).unwrap_or_default();
    match block["type"].as_str().unwrap_or_default() {
        "text" => of("text"),
        kind @ ("image" | "audio") => format!("[{kind} {}]", of("mimeType")),
        "resource_link" => format!("[{}]({})", of("name"), of("uri")),
        "resource" => {
            let resource = &block["resource"];
            let uri = text(resource, "uri").unwrap_or_default();
            match text(resource, "text") {
                Some(text) => format!("[{uri}]\n{text}"),
                None => format!("[{uri}]"),
            }
        }
        other => format!("[{other}]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_block_has_a_text() {
        let check = |block: Value, expected: &str| assert_eq!(content_text(&block), expected);
        check(json!({ "type": "text", "text": "hi" }), "hi");
        check(json!({ "type": "image", "mimeType": "image/png", "data": "" }), "[image image/png]");
        check(json!({ "type": "resource_link", "name": "a", "uri": "file:///a" }), "[a](file:///a)");
        check(json!({ "type": "resource", "resource": { "uri": "u", "text": "x" } }), "[u]\nx");
        check(json!({ "type": "resource", "resource": { "uri": "u", "blob": "" } }), "[u]");
        check(json!({ "type": "weather" }), "[weather]");
        check(json!(7), "[]");
    }
}
