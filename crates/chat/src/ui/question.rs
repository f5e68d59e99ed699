//! A question of the agent, and the keys that answer it.

use anstyle::Style;
use crossterm::event::KeyEvent;
use rejoin_wire::RequestId;
use serde_json::Map;

use super::form::FormState;
use super::keys::{Action, action, letter};
use super::menu::{row_after, row_before};
use crate::protocol::{Answer, Ask, PermissionKind, PermissionOption, ToolCall};
use crate::render::RenderContext;
use crate::render::line::Line;
use crate::render::theme::{ACCENT_BOLD, BOLD, DIM, WARN};
use crate::render::tool_call::body;
use crate::render::wrap::{Break, wrap, wrap_words};
use crate::text::{one_line, shown};

/// A question that waits for an answer.
#[derive(Debug)]
pub(crate) struct Question {
    /// What to answer to.
    pub(crate) id: RequestId,
    pub(crate) ask: Ask,
    state: State,
}

#[derive(Debug)]
enum State {
    /// One of several answers; which is marked.
    Options {
        selected: usize,
    },
    Form(Box<FormState>),
}

/// What became of a key.
#[derive(Debug, PartialEq)]
pub(crate) enum Answering {
    Open,
    Answered(Answer),
}

impl Question {
    pub(crate) fn new(id: RequestId, ask: Ask) -> Self {
        let state = match &ask {
            Ask::Permission { .. } | Ask::Visit { .. } => State::Options { selected: 0 },
            Ask::Form(form) => State::Form(Box::new(FormState::new(form.clone()))),
        };
        Self { id, ask, state }
    }

    /// The call that permission is asked for.
    pub(crate) fn call(&self) -> Option<&ToolCall> {
        match &self.ask {
            Ask::Permission { call, .. } => Some(call),
            Ask::Form(_) | Ask::Visit { .. } => None,
        }
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> Answering {
        match &mut self.state {
            State::Form(form) => form.key(key),
            State::Options { selected } => {
                let options = options(&self.ask);
                let answer =
                    |at: usize| options.get(at).map_or(Answering::Open, |it| Answering::Answered(it.2.clone()));
                match (action(key), letter(key)) {
                    (Some(Action::Up), _) => {
                        *selected = row_before(*selected, options.len());
                    }
                    (Some(Action::Down | Action::Complete), _) => {
                        *selected = row_after(*selected, options.len());
                    }
                    (Some(Action::Send), _) => return answer(*selected),
                    (Some(Action::Cancel), _) => return Answering::Answered(Answer::Cancel),
                    (None, Some(letter)) => {
                        let by_number = letter.to_digit(10).and_then(|digit| (digit as usize).checked_sub(1));
                        let by_letter =
                            || options.iter().position(|(key, _, _)| *key == Some(letter.to_ascii_lowercase()));
                        return by_number.or_else(by_letter).map_or(Answering::Open, answer);
                    }
                    _ => {}
                }
                Answering::Open
            }
        }
    }

    /// Text that was pasted goes into a field.
    pub(crate) fn paste(&mut self, text: &str) {
        if let State::Form(form) = &mut self.state {
            form.paste(text);
        }
    }

    /// Its lines, at most `height`, and where the cursor is in them. `n_more` questions wait behind it.
    pub(crate) fn lines(
        &self,
        look: RenderContext<'_>,
        height: usize,
        n_more: usize,
    ) -> (Vec<Line>, Option<(usize, usize)>) {
        let more = if n_more > 0 { format!("  ({n_more} more)") } else { String::new() };
        match (&self.ask, &self.state) {
            (Ask::Permission { call, .. }, State::Options { selected }) => {
                let title = one_line(call.title.as_deref().unwrap_or(&call.id));
                let head = Line::styled("? ", WARN).with(format!("Allow {title}?"), BOLD).with(more, DIM);
                let head = wrap(&head, look.width, Break::Words, &Line::blank(), &Line::plain("  "));
                (self.with_options(head, body(call, look), *selected, look, height), None)
            }
            (Ask::Visit { message, url }, State::Options { selected }) => {
                let head = Line::styled("? ", WARN).with(one_line(message), BOLD).with(more, DIM);
                let head = wrap(&head, look.width, Break::Words, &Line::blank(), &Line::plain("  "));
                let url = wrap(
                    &Line::plain(one_line(url)),
                    look.width,
                    Break::Anywhere,
                    &Line::plain("  "),
                    &Line::plain("  "),
                );
                (self.with_options(head, url, *selected, look, height), None)
            }
            (_, State::Form(form)) => form.lines(look.width, height, &more),
            (Ask::Form(form), State::Options { .. }) => {
                (wrap_words(&Line::plain(shown(&form.message)), look.width), None)
            }
        }
    }

    /// What is asked, what it is about, and the answers. Where there is no room for all of it, the answers around the marked
    /// one and what is asked go before all else.
    fn with_options(
        &self,
        head: Vec<Line>,
        about: Vec<Line>,
        selected: usize,
        look: RenderContext<'_>,
        height: usize,
    ) -> Vec<Line> {
        let options = options(&self.ask);
        let option = |(at, (key, name, _)): (usize, &(Option<char>, String, Answer))| {
            let (mark, style) = if at == selected { ("❯ ", ACCENT_BOLD) } else { ("  ", Style::new()) };
            let keys = key.map_or_else(|| format!("{}", at + 1), |key| format!("{} {key}", at + 1));
            Line::styled(mark, style).with(format!("{keys:<4}"), DIM).with(name, style).cut(look.width)
        };
        let options: Vec<Line> = options.iter().enumerate().map(option).collect();
        let (mut lines, n_options) = (head, options.len());
        if lines.len() + n_options >= height {
            // What is hidden of the question is in the details.
            lines.truncate(height.saturating_sub(n_options).max(1));
            let n_shown = n_options.min(height.saturating_sub(lines.len()).max(1));
            let first = (selected + 1).saturating_sub(n_shown).min(n_options - n_shown);
            lines.extend(options.into_iter().skip(first).take(n_shown));
            return lines;
        }
        let room = height.saturating_sub(lines.len() + n_options + 1);
        let n_about = about.len();
        lines.extend(about.into_iter().take(if n_about > room { room.saturating_sub(1) } else { room }));
        if n_about > room && room > 0 {
            lines.push(Line::styled("  … Ctrl-T shows all", DIM).cut(look.width));
        }
        lines.extend(options);
        lines.push(Line::styled("  Esc cancels the turn", DIM).cut(look.width));
        lines
    }
}

/// The answers to `ask`: a letter for each that has one, what it is called, and what it means.
fn options(ask: &Ask) -> Vec<(Option<char>, String, Answer)> {
    match ask {
        Ask::Permission { options, .. } => options.iter().map(|option| option_of(option, options)).collect(),
        Ask::Visit { .. } => vec![
            (Some('y'), "Done: I was there".to_owned(), Answer::Accept(Map::new())),
            (Some('n'), "No".to_owned(), Answer::Decline),
        ],
        Ask::Form(_) => Vec::new(),
    }
}

fn option_of(option: &PermissionOption, all: &[PermissionOption]) -> (Option<char>, String, Answer) {
    let has = |kind| all.iter().find(|it| it.kind == kind);
    let is_first = |kind| has(kind).is_some_and(|first| first == option);
    let letter = match option.kind {
        PermissionKind::AllowOnce if is_first(PermissionKind::AllowOnce) => Some('y'),
        PermissionKind::AllowAlways if is_first(PermissionKind::AllowAlways) => {
            // Where one can only agree for ever, that is what agreeing means.
            Some(if has(PermissionKind::AllowOnce).is_some() { 'a' } else { 'y' })
        }
        PermissionKind::RejectOnce if is_first(PermissionKind::RejectOnce) => Some('n'),
        PermissionKind::RejectAlways if is_first(PermissionKind::RejectAlways) => {
            has(PermissionKind::RejectOnce).is_none().then_some('n')
        }
        _ => None,
    };
    (letter, one_line(&option.name), Answer::Option(option.id.clone()))
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};
    use serde_json::json;

    use super::*;
    use crate::render::Detail;

    fn permission(kinds: &[&str]) -> Question {
        let options: Vec<_> =
            kinds.iter().map(|kind| json!({ "optionId": kind, "name": kind, "kind": kind })).collect();
        let diff = json!({ "type": "diff", "path": "/src/note.txt", "newText": "buy wood\nand paint\n" });
        let call = json!({ "toolCallId": "t", "title": "Write note.txt", "kind": "edit", "content": [diff] });
        let params = json!({ "toolCall": call, "options": options });
        Question::new(RequestId::from_number(1), Ask::read("session/request_permission", &params).unwrap())
    }

    fn answer(kinds: &[&str], keys: &[KeyCode]) -> Answering {
        let mut question = permission(kinds);
        keys.iter().fold(Answering::Open, |_, code| question.key(KeyEvent::new(*code, KeyModifiers::NONE)))
    }

    fn check(kinds: &[&str], keys: &[KeyCode], expected: &str) {
        assert_eq!(answer(kinds, keys), Answering::Answered(Answer::Option(expected.to_owned())), "{keys:?}");
    }

    #[test]
    fn a_permission_is_given_by_number_letter_or_mark() {
        let kinds = ["allow_once", "allow_always", "reject_once"];
        check(&kinds, &[KeyCode::Char('2')], "allow_always");
        check(&kinds, &[KeyCode::Char('Y')], "allow_once");
        check(&kinds, &[KeyCode::Char('a')], "allow_always");
        check(&kinds, &[KeyCode::Char('n')], "reject_once");
        check(&kinds, &[KeyCode::Up, KeyCode::Enter], "reject_once");
        check(&["allow_always", "reject_always"], &[KeyCode::Char('y')], "allow_always");
        check(&["allow_always", "reject_always"], &[KeyCode::Char('n')], "reject_always");
        assert_eq!(answer(&kinds, &[KeyCode::Char('7')]), Answering::Open);
        assert_eq!(answer(&kinds, &[KeyCode::Char('0')]), Answering::Open);
        assert_eq!(answer(&kinds, &[KeyCode::Esc]), Answering::Answered(Answer::Cancel));
    }

    #[test]
    fn it_shows_what_is_asked_for() {
        let look = RenderContext { width: 50, detail: Detail::Folded, cwd: "/src" };
        let shown = |height| {
            let (lines, _) = permission(&["allow_once", "allow_always", "reject_once"]).lines(look, height, 1);
            lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(shown(20), @"
        ? Allow Write note.txt?  (1 more)
          │ 1 + buy wood
          │ 2 + and paint
        ❯ 1 y allow_once
          2 a allow_always
          3 n reject_once
          Esc cancels the turn
        ");
        insta::assert_snapshot!(shown(4), @"
        ? Allow Write note.txt?  (1 more)
        ❯ 1 y allow_once
          2 a allow_always
          3 n reject_once
        ");
        insta::assert_snapshot!(shown(2), @"
        ? Allow Write note.txt?  (1 more)
        ❯ 1 y allow_once
        ");
        insta::assert_snapshot!(shown(6), @"
        ? Allow Write note.txt?  (1 more)
          … Ctrl-T shows all
        ❯ 1 y allow_once
          2 a allow_always
          3 n reject_once
          Esc cancels the turn
        ");
    }
}
