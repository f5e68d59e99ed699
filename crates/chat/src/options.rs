//! What a chat is to begin with, and how it is to look.

pub use crate::render::screen::Colours;

/// The session to talk in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A new one.
    New,
    /// One that the user chooses among those of the folder; a new one, if there are none.
    Pick,
    /// This one.
    Load {
        /// Its id.
        session_id: String,
        /// Its folder.
        cwd: String,
        /// Its title.
        title: Option<String>,
    },
}

/// What the interactive chat runs with.
pub struct ChatOptions {
    /// The session to talk in.
    pub start: Start,
    /// The folder of new sessions, an absolute path.
    pub cwd: String,
    /// Whether there are colours.
    pub colours: Colours,
    /// Says whether a session of the agent with this name is for that agent to go on with, which is not the layer's.
    pub is_of_another: Box<dyn Fn(&str) -> bool + Send>,
    /// The program's version.
    pub version: &'static str,
    /// Says how long ago a time was, which is written as ACP does.
    pub age: Box<dyn Fn(&str) -> String + Send>,
    /// Says a path as the user would.
    pub path: Box<dyn Fn(&str) -> String + Send>,
}
