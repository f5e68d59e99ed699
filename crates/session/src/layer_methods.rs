//! The methods by which an agent asks the layer itself, and not a client. A hosted agent has them as functions of its
//! context and turn; a program may send them too.

/// Request `{sessionId, title}`: names the session, as the user would.
pub(crate) const SET_TITLE: &str = "_rejoin/session/set_title";

/// Request `{sessionId}`: makes a session that begins with this one's conversation; answers `{sessionId}`.
pub(crate) const FORK: &str = "_rejoin/session/fork";

/// Notification `{sessionId, title, description}`: tells the user something that is not part of the conversation.
pub(crate) const REMARK: &str = "_rejoin/session/remark";
