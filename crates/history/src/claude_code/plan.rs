//! The task list, which the agent shows as a plan: `TodoWrite` in older versions, the `Task…` tools in newer ones.

use serde_json::Value;

use crate::blocks::{plan, str_of};

/// The plan that `TodoWrite` was called with.
pub(super) fn todos(input: &Value) -> Option<Value> {
    let entry = |todo| {
        let status = str_of(todo, "status");
        let active = str_of(todo, "activeForm").filter(|_| status == Some("in_progress"));
        (active.or_else(|| str_of(todo, "content")).unwrap_or_default(), status, None)
    };
    Some(plan(input["todos"].as_array()?.iter().map(entry)))
}

/// The tasks, as the `Task…` tools left them.
#[derive(Debug, Default)]
pub(super) struct Tasks(Vec<Task>);

#[derive(Debug)]
struct Task {
    id: String,
    subject: String,
    active: Option<String>,
    status: String,
}

impl Task {
    /// As an entry of a plan.
    fn shown(&self) -> (&str, Option<&str>, Option<&str>) {
        let active = self.active.as_deref().filter(|_| self.status == "in_progress");
        (active.unwrap_or(&self.subject), Some(&self.status), None)
    }
}

impl Tasks {
    /// Whether `call` is of one of these tools.
    pub(super) fn has(call: &Value) -> bool {
        matches!(str_of(call, "name"), Some("TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet"))
    }

    /// The plan after the `result` of `call`, if it changed it.
    pub(super) fn result(&mut self, call: &Value, result: &Value) -> Option<Value> {
        if result["is_error"] == true {
            return None;
        }
        let (input, output) = (&call["input"], output_of(&result["content"]));
        match str_of(call, "name")? {
            "TaskCreate" => self.create(input, &output),
            "TaskUpdate" => self.update(input, &output)?,
            "TaskList" => self.list(&output)?,
            _ => return None,
        }
        Some(plan(self.0.iter().map(Task::shown)))
    }

    fn create(&mut self, input: &Value, output: &str) {
        let told = output.trim().strip_prefix("Task #").and_then(|rest| rest.split_once(" created successfully: "));
        let structured = serde_json::from_str::<Value>(output).ok();
        let id = structured.as_ref().and_then(|output| str_of(&output["task"], "id"));
        let Some(id) = id.or(told.map(|(id, _)| id)) else { return };
        let Some(subject) = str_of(input, "subject") else { return };
        let active = str_of(input, "activeForm").map(str::to_owned);
        let status = "pending".to_owned();
        self.0.push(Task { id: id.to_owned(), subject: subject.to_owned(), active, status });
    }

    fn update(&mut self, input: &Value, output: &str) -> Option<()> {
        let id = str_of(input, "taskId")?;
        if output.trim() == format!("Task #{id} not found") || output.trim() == "Failed to delete task" {
            return None;
        }
        let status = str_of(input, "status");
        if status == Some("deleted") {
            self.0.retain(|task| task.id != id);
            return Some(());
        }
        let index = self.0.iter().position(|task| task.id == id);
        let subject = str_of(input, "subject");
        let task = match (index, subject) {
            (Some(index), _) => &mut self.0[index],
            (None, Some(subject)) => {
                let (active, status) = (None, "pending".to_owned());
                self.0.push(Task { id: id.to_owned(), subject: subject.to_owned(), active, status });
                self.0.last_mut()?
            }
            (None, None) => return Some(()),
        };
        subject.unwrap_or(&task.subject.clone()).clone_into(&mut task.subject);
        status.unwrap_or(&task.status.clone()).clone_into(&mut task.status);
        task.active = str_of(input, "activeForm").map(str::to_owned).or(task.active.take());
        Some(())
    }

    /// Takes over the list that `TaskList` gave, one task a line: `#ID [STATUS] SUBJECT`.
    fn list(&mut self, output: &str) -> Option<()> {
        let mut tasks = Vec::new();
        if output.trim() != "No tasks found" {
            for line in output.trim().lines() {
                let (id, rest) = line.strip_prefix('#')?.split_once(" [")?;
                let (status, subject) = rest.split_once("] ")?;
                let known = self.0.iter_mut().find(|task| task.id == id);
                let active = known.and_then(|task| task.active.take());
                let subject = subject.split(" [blocked by ").next().unwrap_or(subject).to_owned();
                tasks.push(Task { id: id.to_owned(), subject, active, status: status.to_owned() });
            }
        }
        self.0 = tasks;
        Some(())
    }
}

fn output_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().find_map(|block| str_of(block, "text")).unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tasks_are_made_changed_and_listed_as_a_plan() {
        let mut tasks = Tasks::default();
        let mut run = |name: &str, input: Value, output: &str| {
            let call = json!({ "name": name, "input": input });
            let plan = tasks.result(&call, &json!({ "content": output }))?;
            let shown =
                |entry: &Value| format!("{} {}", entry["status"].as_str().unwrap(), entry["content"].as_str().unwrap());
            Some(plan["entries"].as_array().unwrap().iter().map(shown).collect::<Vec<_>>().join(", "))
        };
        let made = run(
            "TaskCreate",
            json!({ "subject": "Paint", "activeForm": "Painting" }),
            "Task #1 created successfully: Paint",
        );
        assert_eq!(made.as_deref(), Some("pending Paint"));
        let begun = run("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }), "Updated task #1 status");
        assert_eq!(begun.as_deref(), Some("in_progress Painting"));
        assert_eq!(run("TaskUpdate", json!({ "taskId": "9" }), "Task #9 not found"), None);
        let listed = run("TaskList", json!({}), "#1 [completed] Paint\n#2 [pending] Dry [blocked by #1]");
        assert_eq!(listed.as_deref(), Some("completed Paint, pending Dry"));
    }
}
