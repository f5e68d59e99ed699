//! Names that models can use: unique, of few characters, and short.
//!
//! A tool's name ends in the tool's own name. What makes it unique is in the part before that, the server's.

use std::collections::HashSet;

/// The longest name that all providers take.
const LONGEST: usize = 64;

/// What stands between the server's part and the tool's.
const BETWEEN: &str = "__";

/// So much is always left for the server's part.
const SERVER_ROOM: usize = 6;

/// Gives each server a unique name: the second `files` becomes `files-2`.
pub(crate) fn labels<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = HashSet::new();
    let label = |name: &str| {
        let name = if name.trim().is_empty() { "server" } else { name };
        unique(&mut taken, |n| if n == 1 { name.to_owned() } else { format!("{name}-{n}") })
    };
    names.map(label).collect()
}

/// Gives each tool, named by its server's label and its own name, a unique name for models.
pub(crate) fn model_names<'a>(tools: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut taken = HashSet::new();
    let name = |(server, tool): (&str, &str)| {
        let (server, tool) = (tame(server, "server"), tame(tool, "tool"));
        // Tamed names are ASCII. Of a tool's name that is too long, the end is kept.
        let tool = &tool[tool.len().saturating_sub(LONGEST - BETWEEN.len() - SERVER_ROOM)..];
        let room = LONGEST - BETWEEN.len() - tool.len();
        unique(&mut taken, |n| {
            let number = if n == 1 { String::new() } else { format!("-{n}") };
            let server = &server[..server.len().min(room - number.len())];
            format!("{server}{number}{BETWEEN}{tool}")
        })
    };
    tools.map(name).collect()
}

/// The first of the candidates 1, 2, 3, … that is not taken yet.
fn unique(taken: &mut HashSet<String>, candidate: impl Fn(usize) -> String) -> String {
    let mut number = 1;
    loop {
        let name = candidate(number);
        if taken.insert(name.clone()) {
            return name;
        }
        number += 1;
    }
}

fn tame(name: &str, otherwise: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let tamed: String = name.chars().map(|c| if is_fine(c) { c } else { '_' }).collect();
    if tamed.is_empty() { otherwise.to_owned() } else { tamed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tools: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(model_names(tools.iter().copied()), expected);
    }

    #[test]
    fn a_name_is_the_servers_and_the_tools() {
        check(&[("files", "read_file")], &["files__read_file"]);
    }

    #[test]
    fn what_providers_refuse_becomes_an_underscore() {
        check(&[("My Files", "read/file.é")], &["My_Files__read_file__"]);
        check(&[("", "")], &["server__tool"]);
    }

    #[test]
    fn names_that_become_equal_differ_in_the_servers_part() {
        check(&[("a", "x.y"), ("a", "x_y"), ("a", "x y")], &["a__x_y", "a-2__x_y", "a-3__x_y"]);
    }

    #[test]
    fn a_long_server_is_cut_and_stays_unique() {
        let (long, longer) = ("s".repeat(80), "s".repeat(81));
        let names = model_names([(long.as_str(), "tool"), (longer.as_str(), "tool")].into_iter());
        assert_eq!(names, [format!("{}__tool", "s".repeat(58)), format!("{}-2__tool", "s".repeat(56))]);
    }

    #[test]
    fn a_long_tool_keeps_its_end() {
        let tool = format!("{}end", "t".repeat(100));
        let names = model_names([("server", tool.as_str()), ("server", tool.as_str())].into_iter());
        let end = &tool[tool.len() - 56..];
        assert_eq!(names, [format!("server__{end}"), format!("serv-2__{end}")]);
        assert!(names.iter().all(|name| name.len() == 64));
    }

    #[test]
    fn servers_of_the_same_name_are_counted() {
        assert_eq!(labels(["a", "a", "a-2", " ", "a"].into_iter()), ["a", "a-2", "a-2-2", "server", "a-3"]);
    }
}
