//! What each key does.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks for. What that means depends on what is open: an arrow moves in a menu as it does in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Send,
    NewLine,
    Complete,
    Cancel,
    Interrupt,
    Leave,
    Up,
    Down,
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    PageUp,
    PageDown,
    DeleteBack,
    DeleteForward,
    DeleteWord,
    DeleteToStart,
    DeleteToEnd,
    NextMode,
    Options,
    Details,
    Redraw,
    Suspend,
}

/// A row of the list of keys, which says what each does to the program and to people.
pub(crate) struct Binding {
    /// The keys, as they are written: several are separated by a comma.
    pub(crate) keys: &'static str,
    pub(crate) does: &'static str,
    /// What they ask for; nothing, if they are characters that mean something in some places.
    action: Option<Action>,
}

const fn binding(keys: &'static str, action: Action, does: &'static str) -> Binding {
    Binding { keys, does, action: Some(action) }
}

/// All keys that do something in the chat, in the order in which they are told.
pub(crate) const BINDINGS: &[Binding] = &[
    binding("Enter", Action::Send, "send; while the agent works, the prompt waits for its turn"),
    binding("Alt-Enter, Shift-Enter, Ctrl-J", Action::NewLine, "a new line; so does Enter behind a backslash"),
    binding("Esc", Action::Cancel, "cancel the turn; close what is open"),
    binding("Ctrl-C", Action::Interrupt, "clear the input, or cancel the turn; twice: quit"),
    binding("Ctrl-D", Action::Leave, "quit, if the input is empty"),
    binding("Shift-Tab", Action::NextMode, "the next mode"),
    binding("Ctrl-O", Action::Options, "choose the mode, the model and other options"),
    binding("Ctrl-T", Action::Details, "the whole conversation, with thoughts, output and changes unfolded"),
    binding("Tab", Action::Complete, "complete a command"),
    binding("Up, Ctrl-P", Action::Up, "a line up; in the first line: the prompt before"),
    binding("Down, Ctrl-N", Action::Down, "a line down; in the last line: the next prompt"),
    binding("Left, Ctrl-B", Action::Left, "a character back"),
    binding("Right, Ctrl-F", Action::Right, "a character on"),
    binding("Alt-B, Alt-Left, Ctrl-Left", Action::WordLeft, "a word back"),
    binding("Alt-F, Alt-Right, Ctrl-Right", Action::WordRight, "a word on"),
    binding("Home, Ctrl-A", Action::LineStart, "to the beginning of the line"),
    binding("End, Ctrl-E", Action::LineEnd, "to the end of the line"),
    binding("PageUp", Action::PageUp, "a page up, where there is a list"),
    binding("PageDown", Action::PageDown, "a page down, where there is a list"),
    binding("Backspace, Ctrl-H", Action::DeleteBack, "delete the character before"),
    binding("Delete", Action::DeleteForward, "delete the character behind"),
    binding("Ctrl-W, Alt-Backspace", Action::DeleteWord, "delete the word before"),
    binding("Ctrl-U", Action::DeleteToStart, "delete to the beginning of the line"),
    binding("Ctrl-K", Action::DeleteToEnd, "delete to the end of the line"),
    binding("Ctrl-L", Action::Redraw, "draw the screen anew"),
    binding("Ctrl-Z", Action::Suspend, "stop, until the shell's `fg`"),
    Binding { keys: "?", does: "this list, if the input is empty", action: None },
    Binding { keys: "1 to 9, y, a, n", does: "answer a question", action: None },
];

/// What `key` asks for, if it is no character to be written.
pub(crate) fn action(key: KeyEvent) -> Option<Action> {
    let pressed = (plain(key.code), modifiers(key));
    let is_pressed = |binding: &&Binding| binding.keys.split(", ").any(|name| named(name) == Some(pressed));
    BINDINGS.iter().filter(|binding| binding.action.is_some()).find(is_pressed)?.action
}

/// The character that `key` writes.
pub(crate) fn letter(key: KeyEvent) -> Option<char> {
    let is_plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Char(letter) if is_plain => Some(letter),
        _ => None,
    }
}

/// The key that is written `name`.
fn named(name: &str) -> Option<(KeyCode, KeyModifiers)> {
    let (modifiers, name) = match name.split_once('-') {
        Some(("Ctrl", name)) => (KeyModifiers::CONTROL, name),
        Some(("Alt", name)) => (KeyModifiers::ALT, name),
        // Terminals have a key of its own for this.
        Some(("Shift", "Tab")) => (KeyModifiers::NONE, "BackTab"),
        Some(("Shift", name)) => (KeyModifiers::SHIFT, name),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "BackTab" => KeyCode::BackTab,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "PageUp" => KeyCode::PageUp,
        "PageDown" => KeyCode::PageDown,
        "Backspace" => KeyCode::Backspace,
        "Delete" => KeyCode::Delete,
        letter => KeyCode::Char(letter.parse::<char>().ok()?.to_ascii_lowercase()),
    };
    Some((code, modifiers))
}

fn plain(code: KeyCode) -> KeyCode {
    match code {
        KeyCode::Char(letter) => KeyCode::Char(letter.to_ascii_lowercase()),
        other => other,
    }
}

/// The modifiers that count: with some keys, Shift says nothing new.
fn modifiers(key: KeyEvent) -> KeyModifiers {
    let counting = KeyModifiers::CONTROL | KeyModifiers::ALT;
    match key.code {
        KeyCode::Enter => key.modifiers & (counting | KeyModifiers::SHIFT),
        _ => key.modifiers & counting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_is_told_of_is_one_and_does_one_thing() {
        let keys = || {
            BINDINGS
                .iter()
                .filter(|it| it.action.is_some())
                .flat_map(|it| it.keys.split(", ").map(move |key| (key, it.action)))
        };
        for (name, wanted) in keys() {
            let (code, modifiers) = named(name).unwrap();
            assert_eq!(action(KeyEvent::new(code, modifiers)), wanted, "{name}");
        }
    }

    #[test]
    fn the_page_about_the_chat_has_all_keys() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/chat.md")).unwrap();
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| <kbd>")).collect();
        let row = |binding: &Binding| {
            let keys: Vec<String> = binding.keys.split(", ").map(|key| format!("<kbd>{key}</kbd>")).collect();
            format!("| {} | {} |", keys.join(" "), binding.does)
        };
        assert_eq!(rows, BINDINGS.iter().map(row).collect::<Vec<_>>());
    }

    #[test]
    fn letters_are_written_unless_they_are_held_with_others() {
        let key = |modifiers| KeyEvent::new(KeyCode::Char('Y'), modifiers);
        assert_eq!(letter(key(KeyModifiers::SHIFT)), Some('Y'));
        assert_eq!(letter(key(KeyModifiers::ALT)), None);
        assert_eq!(action(key(KeyModifiers::SHIFT)), None);
    }
}
