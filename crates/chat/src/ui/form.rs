//! A form that the agent wants filled in: one field after the other.

use crossterm::event::KeyEvent;
use serde_json::{Map, Value, json};

use super::input::{Input, Motion};
use super::keys::{Action, action, letter};
use super::menu::{list_lines, row_after, row_before};
use super::question::Answering;
use crate::protocol::{Answer, Field, FieldKind, Form};
use crate::render::line::Line;
use crate::render::theme::{ACCENT_BOLD, BAD, BOLD, DIM, WARN};
use crate::render::wrap::{Break, wrap};
use crate::text::one_line;

/// A form, as far as it is filled in.
#[derive(Debug)]
pub(super) struct FormState {
    form: Form,
    /// Which field is asked for.
    at: usize,
    values: Map<String, Value>,
    /// What is typed into the field.
    input: Input,
    /// Which of its options is marked, and which are ticked.
    selected: usize,
    ticked: Vec<usize>,
    /// What is wrong with what was typed.
    problem: Option<String>,
}

impl FormState {
    pub(super) fn new(form: Form) -> Self {
        let mut state = Self {
            form,
            at: 0,
            values: Map::new(),
            input: Input::default(),
            selected: 0,
            ticked: Vec::new(),
            problem: None,
        };
        state.begin_field();
        state
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Answering {
        let n_options = self.field().map_or(0, |field| options(field).len());
        match (action(key), letter(key)) {
            (Some(Action::Cancel), _) => return Answering::Answered(Answer::Cancel),
            (Some(Action::Leave), _) => return Answering::Answered(Answer::Decline),
            (Some(Action::Send), _) => return self.accept(),
            (Some(Action::Up), _) if n_options > 0 => {
                self.selected = row_before(self.selected, n_options);
            }
            (Some(Action::Down | Action::Complete), _) if n_options > 0 => {
                self.selected = row_after(self.selected, n_options);
            }
            (None, Some(' ')) if n_options > 0 => {
                if let Some(at) = self.ticked.iter().position(|ticked| *ticked == self.selected) {
                    self.ticked.remove(at);
                } else {
                    self.ticked.push(self.selected);
                }
            }
            (None, Some(letter)) if n_options == 0 => self.input.insert(letter.encode_utf8(&mut [0; 4])),
            (Some(Action::DeleteBack), _) => self.input.delete(Motion::Left),
            (Some(Action::DeleteWord), _) => self.input.delete(Motion::WordLeft),
            (Some(Action::DeleteToStart), _) => self.input.delete(Motion::LineStart),
            (Some(Action::Left), _) => self.input.go(Motion::Left),
            (Some(Action::Right), _) => self.input.go(Motion::Right),
            (Some(Action::LineStart), _) => self.input.go(Motion::LineStart),
            (Some(Action::LineEnd), _) => self.input.go(Motion::LineEnd),
            _ => {}
        }
        Answering::Open
    }

    pub(super) fn paste(&mut self, text: &str) {
        if self.field().is_some_and(|field| options(field).is_empty()) {
            self.input.insert(&one_line(text));
        }
    }

    /// Its lines, at most `height`, and where the cursor is.
    pub(super) fn lines(&self, width: usize, height: usize, more: &str) -> (Vec<Line>, Option<(usize, usize)>) {
        let head = Line::styled("? ", WARN).with(one_line(&self.form.message), BOLD).with(more, DIM);
        let mut lines = wrap(&head, width, Break::Words, &Line::blank(), &Line::plain("  "));
        let Some(field) = self.field() else { return (lines, None) };
        let count = format!("{}/{} ", self.at + 1, self.form.fields.len());
        let mut about = Line::styled(format!("  {count}"), DIM).with(one_line(&field.title), ACCENT_BOLD);
        let wanted = if field.is_required { " (required)" } else { " (may be empty)" };
        about.push(wanted, DIM);
        if let Some(description) = &field.description {
            about.push(format!(" — {}", one_line(description)), DIM);
        }
        lines.extend(wrap(&about, width, Break::Words, &Line::blank(), &Line::plain("  ")));
        let options = options(field);
        let mut cursor = None;
        if options.is_empty() {
            let room = width.saturating_sub(3).max(1);
            let layout = self.input.layout(room);
            let rows: Vec<Line> = self.input.rows(&layout).map(|row| Line::plain(format!("  {row}"))).collect();
            cursor = Some((lines.len() + layout.cursor.0, layout.cursor.1 + 2));
            lines.extend(rows);
        } else {
            let label = |(at, (_, name)): (usize, &(Value, String))| match field.kind {
                FieldKind::Several(_) if self.ticked.contains(&at) => format!("☑ {name}"),
                FieldKind::Several(_) => format!("☐ {name}"),
                _ => name.clone(),
            };
            let labels: Vec<String> = options.iter().enumerate().map(label).collect();
            let rows: Vec<(&str, &str)> = labels.iter().map(|label| (label.as_str(), "")).collect();
            lines.extend(list_lines(&rows, self.selected, width, height.saturating_sub(lines.len() + 2).max(1)));
        }
        lines.extend(self.problem.iter().map(|problem| Line::styled(format!("  {problem}"), BAD).cut(width)));
        let several = if matches!(field.kind, FieldKind::Several(_)) { "Space ticks · " } else { "" };
        lines.push(Line::styled(format!("  {several}Enter goes on · Ctrl-D declines · Esc cancels"), DIM).cut(width));
        let n_hidden = lines.len().saturating_sub(height);
        lines.drain(..n_hidden);
        (lines, cursor.and_then(|(row, column)| Some((row.checked_sub(n_hidden)?, column))))
    }

    fn field(&self) -> Option<&Field> {
        self.form.fields.get(self.at)
    }

    /// Takes what is entered, and goes on to the next field.
    fn accept(&mut self) -> Answering {
        let Some(field) = self.field() else { return Answering::Answered(Answer::Accept(Map::new())) };
        match self.value(field) {
            Ok(value) => {
                let name = field.name.clone();
                self.values.extend(value.map(|value| (name, value)));
            }
            Err(problem) => {
                self.problem = Some(problem);
                return Answering::Open;
            }
        }
        self.at += 1;
        if self.field().is_none() {
            return Answering::Answered(Answer::Accept(std::mem::take(&mut self.values)));
        }
        self.begin_field();
        Answering::Open
    }

    /// What is entered into `field`; `None` if it is left empty.
    fn value(&self, field: &Field) -> Result<Option<Value>, String> {
        let options = options(field);
        if let FieldKind::Several(_) = field.kind {
            let mut ticked = self.ticked.clone();
            ticked.sort_unstable();
            return Ok(Some(ticked.into_iter().filter_map(|at| options.get(at)).map(|it| it.0.clone()).collect()));
        }
        if !options.is_empty() {
            return Ok(options.get(self.selected).map(|(value, _)| value.clone()));
        }
        let text = self.input.text().trim();
        if text.is_empty() {
            return if field.is_required { Err("this is required".to_owned()) } else { Ok(None) };
        }
        let value = match field.kind {
            FieldKind::Number => text.parse::<f64>().ok().map(|number| json!(number)),
            FieldKind::Integer => text.parse::<i64>().ok().map(|number| json!(number)),
            _ => Some(json!(text)),
        };
        value.map(Some).ok_or_else(|| "this is no such number".to_owned())
    }

    /// Makes the field ready to be filled in, with its default.
    fn begin_field(&mut self) {
        (self.selected, self.problem) = (0, None);
        self.input.take();
        self.ticked.clear();
        let Some(field) = self.form.fields.get(self.at) else { return };
        let Some(default) = &field.default else { return };
        let position = |value: &Value| options(field).iter().position(|(option, _)| option == value);
        match (&field.kind, default) {
            (FieldKind::Several(_), Value::Array(defaults)) => {
                self.ticked = defaults.iter().filter_map(position).collect();
            }
            (FieldKind::One(_) | FieldKind::YesNo, default) => self.selected = position(default).unwrap_or(0),
            (_, Value::String(text)) => self.input.set(one_line(text)),
            (_, other) => self.input.set(other.to_string()),
        }
    }
}

/// What can be chosen in `field`, with names; none if something is to be typed.
fn options(field: &Field) -> Vec<(Value, String)> {
    match &field.kind {
        FieldKind::One(options) | FieldKind::Several(options) => {
            options.iter().map(|(value, name)| (json!(value), one_line(name))).collect()
        }
        FieldKind::YesNo => vec![(json!(true), "Yes".to_owned()), (json!(false), "No".to_owned())],
        FieldKind::Text | FieldKind::Number | FieldKind::Integer => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;
    use crate::protocol::Ask;

    fn form() -> FormState {
        let schema = json!({ "required": ["name", "age"], "properties": {
            "name": { "type": "string", "title": "Your name", "description": "as on the fence" },
            "age": { "type": "integer", "default": 7 },
            "colour": { "type": "string", "enum": ["red", "green"], "default": "green" },
            "tools": { "type": "array", "items": { "enum": ["brush", "roller"] } },
            "sure": { "type": "boolean", "default": false },
            "note": { "type": "string" },
        } });
        let params = json!({ "mode": "form", "message": "Who paints?", "requestedSchema": schema });
        let Some(Ask::Form(form)) = Ask::read("elicitation/create", &params) else { panic!("it is a form") };
        FormState::new(form)
    }

    fn press(form: &mut FormState, code: KeyCode) -> Answering {
        form.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn shown(form: &FormState) -> String {
        form.lines(48, 20, "").0.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn fields_are_filled_in_one_after_the_other() {
        let mut form = form();
        assert_eq!(press(&mut form, KeyCode::Enter), Answering::Open);
        insta::assert_snapshot!(shown(&form), @"
        ? Who paints?
          1/6 Your name (required) — as on the fence
          
          this is required
          Enter goes on · Ctrl-D declines · Esc cancels
        ");
        form.paste("Mira\n");
        press(&mut form, KeyCode::Enter);
        press(&mut form, KeyCode::Enter);
        press(&mut form, KeyCode::Enter);
        press(&mut form, KeyCode::Down);
        press(&mut form, KeyCode::Char(' '));
        insta::assert_snapshot!(shown(&form), @"
        ? Who paints?
          4/6 tools (may be empty)
          ☐ brush
        ❯ ☑ roller
          Space ticks · Enter goes on · Ctrl-D declines…
        ");
        press(&mut form, KeyCode::Enter);
        press(&mut form, KeyCode::Enter);
        let answer = press(&mut form, KeyCode::Enter);

        let expected = json!({ "name": "Mira", "age": 7, "colour": "green", "tools": ["roller"], "sure": false });
        let Value::Object(expected) = expected else { panic!("it is an object") };
        assert_eq!(answer, Answering::Answered(Answer::Accept(expected)));
    }

    #[test]
    fn what_is_no_number_is_said_to_be_none() {
        let mut form = form();
        form.paste("x");
        press(&mut form, KeyCode::Enter);
        form.paste("y");
        press(&mut form, KeyCode::Enter);
        assert!(shown(&form).contains("this is no such number"));
        assert_eq!(press(&mut form, KeyCode::Esc), Answering::Answered(Answer::Cancel));
    }
}
