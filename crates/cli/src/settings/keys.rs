//! The names of the settings, and who may set them.

use super::behaviour::Behaviour;

/// What is logged; any file may set it, like [`Behaviour::KEYS`].
pub(crate) const LOG: &str = "log";

/// Where sessions are kept.
pub(crate) const STORE: &str = "store";

/// Where the log is written.
pub(crate) const LOG_FILE: &str = "log_file";

/// Where the traffic is written.
pub(crate) const TRACE: &str = "trace";

/// The agent that is used where none is named.
pub(crate) const DEFAULT_AGENT: &str = "default_agent";

/// The command that shows long texts.
pub(crate) const PAGER: &str = "pager";

/// How old the sessions are that `gc` removes.
pub(crate) const GC_OLDER_THAN: &str = "gc_older_than";

/// How much `gc` keeps.
pub(crate) const GC_MAX_SIZE: &str = "gc_max_size";

/// The model that sessions of the built-in agent begin with: who is paid for what is asked.
pub(crate) const MODEL: &str = "model";

/// What agents are denied; any file may add to it.
pub(crate) const DENY: &str = "deny";

/// The MCP servers of every session of the built-in agent.
pub(crate) const MCP_SERVERS: &str = "mcp_servers";

/// Who provides models to the built-in agent.
pub(crate) const PROVIDERS: &str = "providers";

/// The environment variables that MCP servers and commands of the built-in agent get besides the usual ones.
pub(crate) const PASS_ENVIRONMENT: &str = "pass_environment";

/// The agents' commands.
pub(crate) const AGENTS: &str = "agents";

/// What runs programs, names places, removes sessions, spends money, or says who gets keys: a project's file sets it only if
/// it is trusted.
const TRUSTED: [&str; 12] = [
    MODEL,
    STORE,
    LOG_FILE,
    TRACE,
    DEFAULT_AGENT,
    PAGER,
    PASS_ENVIRONMENT,
    GC_OLDER_THAN,
    GC_MAX_SIZE,
    AGENTS,
    MCP_SERVERS,
    PROVIDERS,
];

/// Every key of a file.
pub(super) fn all() -> Vec<&'static str> {
    [Behaviour::KEYS, &[LOG, DENY], &TRUSTED].concat()
}

/// Whether a project's file must be trusted to set `key`.
pub(super) fn needs_trust(key: &str) -> bool {
    TRUSTED.contains(&key)
}

/// The one of `known` that `key` may have been meant to be.
pub(super) fn nearest<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let likeness = |known: &str| strsim::jaro_winkler(&key.to_lowercase().replace('-', "_"), known);
    let rated = known.iter().map(|known| (likeness(known), *known));
    let (likeness, nearest) = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness > 0.7).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised() {
        let nearest = |key| nearest(key, &all());
        assert_eq!(nearest("while-busy"), Some("while_busy"));
        assert_eq!(nearest("whilebusy"), Some("while_busy"));
        assert_eq!(nearest("Restore_Limits"), Some("restore_limit"));
        assert_eq!(nearest("agent"), Some("agents"));
        assert_eq!(nearest("xyzzy"), None);
    }
}
