//! What one client is shown of an update: all of it, unless it said that it can't show such a thing.

use std::borrow::Cow;

use rejoin_transcript::UpdateKind;
use rejoin_transcript::json::{Members, push_string, replace_member};

use crate::capabilities::Shows;
use crate::choices::without_booleans;

/// The params of an update, which lack the session id, for a client that can show `shows`; `None` to leave it out.
pub(crate) fn shown(params: &str, shows: Shows) -> Option<Cow<'_, str>> {
    // A look at the text is enough for nearly all updates.
    if !may_hide(params, shows) {
        return Some(params.into());
    }
    let update = Members::read(params)?.get("update")?;
    let members = Members::read(update)?;
    let name = members.get_string("sessionUpdate")?;
    if UpdateKind::from_name(&name) == UpdateKind::Notice && !shows.notices {
        return None;
    }
    if name.starts_with("compaction_") && !shows.compaction {
        return None;
    }
    if UpdateKind::from_name(&name) == UpdateKind::ConfigOption
        && !shows.boolean_options
        && let Some(options) = members.get_some("configOptions").and_then(without_booleans)
    {
        let update = replace_member(update, "configOptions", &options)?;
        return replace_member(params, "update", &update).map(Cow::Owned);
    }
    Some(params.into())
}

/// Whether something in `text`, the params of one update or of many, may be nothing for a client that can show `shows`.
pub(crate) fn may_hide(text: &str, shows: Shows) -> bool {
    let may_be = |name: &str, is_shown: bool| !is_shown && text.contains(name);
    may_be("\"notice\"", shows.notices)
        || may_be("\"compaction_", shows.compaction)
        || may_be("config_option_update", shows.boolean_options)
}

/// The line of a `session/update` of `session` with `params`, which lack the session id.
pub(crate) fn update_line(session: &str, params: &str) -> String {
    let mut line = String::with_capacity(params.len() + session.len() + 80);
    push_update_line(&mut line, session, params);
    line
}

/// Writes such a line behind `lines`.
pub(crate) fn push_update_line(lines: &mut String, session: &str, params: &str) {
    let rest = params.trim_start().strip_prefix('{').unwrap_or(params);
    lines.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":");
    push_string(lines, session);
    lines.push(',');
    lines.push_str(rest);
    lines.push_str("}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(params: &str, expected: Option<&str>) {
        assert_eq!(shown(params, Shows::default()).as_deref(), expected);
        let all = Shows { notices: true, compaction: true, boolean_options: true };
        assert_eq!(shown(params, all).as_deref(), Some(params));
    }

    #[test]
    fn a_client_gets_what_it_can_show() {
        check(r#"{"update":{"sessionUpdate":"notice","title":"x"}}"#, None);
        check(r#"{"update":{"sessionUpdate":"compaction_update","id":1}}"#, None);
        let said =
            r#"{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a \"notice\""}}}"#;
        check(said, Some(said));
        check(
            r#"{"update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"a","type":"boolean"},{"id":"b"}]},"_meta":1}"#,
            Some(r#"{"update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"b"}]},"_meta":1}"#),
        );
    }

    #[test]
    fn the_session_id_is_put_in_front() {
        let line = update_line("s\"1", r#"{"update":{"sessionUpdate":"x"}}"#);
        let expected = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s\"1","update":{"sessionUpdate":"x"}}}"#;
        assert_eq!(line, format!("{expected}\n"));
    }
}
