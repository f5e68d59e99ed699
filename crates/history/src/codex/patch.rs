//! The tool's own form of patches, read into the changes they make.

use serde_json::{Value, json};

/// What a patch does to one place of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: String,
    /// Nothing, for a new file.
    old: Option<String>,
    new: String,
}

impl Change {
    /// As content of a tool call.
    pub(super) fn diff(&self) -> Value {
        let mut diff = json!({ "type": "diff", "path": self.path });
        if let Some(old) = &self.old {
            diff["oldText"] = old.as_str().into();
        }
        diff["newText"] = self.new.as_str().into();
        diff
    }
}

/// The changes of the patch in `text`, made in `cwd`. What is no patch makes none.
pub(super) fn read(text: &str, cwd: &str) -> Vec<Change> {
    let (mut changes, mut file): (Vec<Change>, Option<File>) = (Vec::new(), None);
    for line in text.lines() {
        let begun =
            [("*** Add File: ", Kind::Add), ("*** Delete File: ", Kind::Delete), ("*** Update File: ", Kind::Update)]
                .into_iter()
                .find_map(|(mark, kind)| Some((line.strip_prefix(mark)?, kind)));
        if let Some((path, kind)) = begun {
            changes.extend(file.take().into_iter().flat_map(File::end));
            let path = absolute(path.trim(), cwd);
            file = Some(File { path, kind, old: Vec::new(), new: Vec::new(), done: Vec::new() });
        } else if line.starts_with("*** End Patch") {
            break;
        } else if let Some(file) = &mut file {
            file.take(line);
        }
    }
    changes.extend(file.into_iter().flat_map(File::end));
    changes
}

/// `path`, as seen from `cwd`.
pub(super) fn absolute(path: &str, cwd: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    format!("{}/{}", cwd.trim_end_matches('/'), path.strip_prefix("./").unwrap_or(path))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Add,
    Delete,
    Update,
}

struct File<'a> {
    path: String,
    kind: Kind,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    done: Vec<Change>,
}

impl<'a> File<'a> {
    fn take(&mut self, line: &'a str) {
        if line.starts_with("@@") {
            self.close();
        } else if let Some(line) = line.strip_prefix('+') {
            self.new.push(line);
        } else if let Some(line) = line.strip_prefix('-') {
            self.old.push(line);
        } else if !line.starts_with("***") {
            let line = line.strip_prefix(' ').unwrap_or(line);
            self.old.push(line);
            self.new.push(line);
        }
    }

    fn close(&mut self) {
        let (old, new) = (std::mem::take(&mut self.old), std::mem::take(&mut self.new));
        if old != new {
            self.done.push(Change { path: self.path.clone(), old: Some(old.join("\n")), new: new.join("\n") });
        }
    }

    fn end(mut self) -> Vec<Change> {
        match self.kind {
            Kind::Add => {
                let new: String = self.new.iter().flat_map(|line| [*line, "\n"]).collect();
                vec![Change { path: self.path, old: None, new }]
            }
            Kind::Delete => vec![Change { path: self.path, old: Some(String::new()), new: String::new() }],
            Kind::Update => {
                self.close();
                self.done
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_read_into_what_it_changes() {
        let text = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n@@ fn x\n-three\n+3\n*** Add File: b.txt\n+new\n\
                    *** Delete File: /c.txt\n*** End Patch\nignored";
        let changes: Vec<String> = read(text, "/p/").iter().map(|change| change.diff().to_string()).collect();
        assert_eq!(
            changes,
            [
                r#"{"type":"diff","path":"/p/a.txt","oldText":"one\ntwo","newText":"one\n2"}"#,
                r#"{"type":"diff","path":"/p/a.txt","oldText":"three","newText":"3"}"#,
                r#"{"type":"diff","path":"/p/b.txt","newText":"new\n"}"#,
                r#"{"type":"diff","path":"/c.txt","oldText":"","newText":""}"#,
            ]
        );
        assert!(read("no patch at all", "/p").is_empty());
    }
}
