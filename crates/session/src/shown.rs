//! What one client is shown of an update: all of it, unless it said that it can't show such a thing.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use rejoin_transcript::json::{Members, push_string, replace_member};
use rejoin_transcript::{SessionId, UpdateKind};

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
    static NAMES: LazyLock<[Finder<'_>; 3]> =
        LazyLock::new(|| ["\"notice\"", "\"compaction_", "config_option_update"].map(Finder::new));
    let are_shown = [shows.notices, shows.compaction, shows.boolean_options];
    let mut hidden = NAMES.iter().zip(are_shown).filter(|(_, is_shown)| !is_shown);
    hidden.any(|(name, _)| name.find(text.as_bytes()).is_some())
}

/// Writes the `session/update`s of one session as lines.
pub(crate) struct UpdateLines {
    /// A line up to the session's id and the comma behind it.
    head: String,
}

impl UpdateLines {
    /// Those of `session`.
    pub(crate) fn of(session: &SessionId) -> Self {
        let mut head = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"#.to_owned();
        push_string(&mut head, session.as_str());
        head.push(',');
        Self { head }
    }

    /// Writes an update with `params`, which lack the session id, behind `lines`.
    pub(crate) fn push(&self, lines: &mut String, params: &str) {
        let rest = params.trim_start().strip_prefix('{').unwrap_or(params);
        lines.push_str(&self.head);
        lines.push_str(rest);
        lines.push_str("}\n");
    }

    /// The line of such an update.
    pub(crate) fn line(&self, params: &str) -> String {
        let mut line = String::with_capacity(self.head.len() + params.len() + 1);
        self.push(&mut line, params);
        line
    }
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
        let session = SessionId::parse("s\"1").unwrap();
        let line = UpdateLines::of(&session).line(r#"{"update":{"sessionUpdate":"x"}}"#);
        let expected = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s\"1","update":{"sessionUpdate":"x"}}}"#;
        assert_eq!(line, format!("{expected}\n"));
    }
}
