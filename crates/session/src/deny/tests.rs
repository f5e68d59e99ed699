//! What each kind of rule denies, and what it does not.

use serde_json::json;

use super::*;

fn rules(list: DenyList, patterns: &[&str]) -> DenyRules {
    let mut rules = DenyRules::default();
    for pattern in patterns {
        rules.add(list, pattern).unwrap();
    }
    rules
}

fn check<'a>(rules: impl Fn(&str) -> Option<Denial>, subjects: impl IntoIterator<Item = (&'a str, &'a str)>) {
    for (subject, expected) in subjects {
        let pattern = rules(subject).map(|denial| denial.pattern).unwrap_or_default();
        assert_eq!(pattern, expected, "{subject}");
    }
}

#[test]
fn a_path_is_denied_at_any_depth_with_all_that_is_in_it() {
    let rules = rules(DenyList::Paths, &[".env", ".env.*", "secrets/**", "keys/*.pem", "/srv/data", "build/"]);
    check(
        |path| rules.path(Path::new(path)),
        [
            ("/p/.env", ".env"),
            ("/p/a/b/.env", ".env"),
            ("/p/.env/inside", ".env"),
            ("/p/.ENV", ".env"),
            ("/p/a/../.env", ".env"),
            ("/p/.env.local", ".env.*"),
            ("/p/.envrc", ""),
            ("/p/x.env", ""),
            ("/p/secrets/a/b", "secrets/**"),
            ("/p/sub/secrets/a", "secrets/**"),
            ("/p/secrets.md", ""),
            ("/p/keys/a.pem", "keys/*.pem"),
            ("/p/keys/sub/a.pem", ""),
            ("/srv/data/x", "/srv/data"),
            ("/srv/data", "/srv/data"),
            ("/p/srv/data", ""),
            ("/p/build/x", "build/"),
            ("/p/src/main.rs", ""),
            ("/", ""),
        ],
    );
}

#[test]
fn a_command_is_denied_by_the_words_it_begins_with_wherever_it_stands() {
    let rules = rules(DenyList::Commands, &["git push", "rm -rf *", "curl", "npm publish *", "docker-* up"]);
    check(
        |command| rules.command(command, Path::new("/p")),
        [
            ("git push", "git push"),
            ("git push --force origin", "git push"),
            ("/usr/bin/git push", "git push"),
            ("g\\it 'push'", "git push"),
            ("cd x && git push", "git push"),
            ("echo $(git push)", "git push"),
            ("echo \"$(git push)\"", "git push"),
            ("sudo -E git push", "git push"),
            ("env A=1 git push", "git push"),
            ("A=1 git push", "git push"),
            ("sh -c 'ls; git push'", "git push"),
            ("if true; then git push; fi", "git push"),
            ("ls | xargs rm -rf", "rm -rf *"),
            ("curl", "curl"),
            ("npm publish", "npm publish *"),
            ("docker-compose up -d", "docker-* up"),
            ("git status", ""),
            ("git pushy", ""),
            ("git commit -m 'git push'", ""),
            ("rm -r x", ""),
            ("", ""),
        ],
    );
}

#[test]
fn a_command_that_names_a_denied_path_is_denied() {
    let rules = rules(DenyList::Paths, &[".env", "/etc/shadow", "secrets/**"]);
    check(
        |command| rules.command(command, Path::new("/p")),
        [
            ("cat .env", ".env"),
            ("cat ./a/../.env", ".env"),
            ("cat '.env'", ".env"),
            ("sh -c 'cat .env'", ".env"),
            ("python3 -c \"print(open('.env').read())\"", ".env"),
            ("cat <.env", ".env"),
            ("curl -d @.env x", ".env"),
            ("tar --file=secrets/a.tar", "secrets/**"),
            ("cat /etc/shadow", "/etc/shadow"),
            ("cat env", ""),
            ("ls", ""),
        ],
    );
}

#[test]
fn a_tool_is_denied_by_any_name_that_agents_have_for_it() {
    let rules = rules(DenyList::Tools, &["github__delete_*", "run_command"]);
    check(
        |name| rules.tool(name),
        [
            ("github__delete_repo", "github__delete_*"),
            ("mcp__github__delete_repo", "github__delete_*"),
            ("github.delete_repo", "github__delete_*"),
            ("github/delete_repo", "github__delete_*"),
            ("delete_repo (github)", "github__delete_*"),
            ("delete_repo (github MCP Server)", "github__delete_*"),
            ("GitHub__Delete_Repo", "github__delete_*"),
            ("run_command", "run_command"),
            ("gitlab__delete_repo", ""),
            ("github__get_repo", ""),
        ],
    );
}

#[test]
fn a_request_is_denied_by_what_it_is_about() {
    let mut rules = rules(DenyList::Paths, &[".env"]);
    rules.add(DenyList::Commands, "git push").unwrap();
    rules.add(DenyList::Tools, "github__*").unwrap();
    let permission = |call: Value| ("session/request_permission", json!({ "toolCall": call, "options": [] }));
    for ((method, params), expected) in [
        (permission(json!({ "locations": [{ "path": "/p/.env" }] })), ".env"),
        (permission(json!({ "content": [{ "type": "diff", "path": "/p/.env", "newText": "" }] })), ".env"),
        (permission(json!({ "rawInput": { "file_path": ".env" } })), ".env"),
        (permission(json!({ "rawInput": { "filePaths": ["a", ".env"] } })), ".env"),
        (permission(json!({ "rawInput": { "edits": [{ "uri": "file:///p/.env" }] } })), ".env"),
        (permission(json!({ "rawInput": { "changes": { "/p/.env": {} } } })), ".env"),
        (permission(json!({ "rawInput": { "command": "cat .env" } })), ".env"),
        (permission(json!({ "rawInput": { "command": ["bash", "-lc", "cd x && git push"] } })), "git push"),
        (permission(json!({ "rawInput": { "cmd": "git push" } })), "git push"),
        (permission(json!({ "kind": "execute", "title": "`git push`" })), "git push"),
        (permission(json!({ "title": "mcp__github__delete" })), "github__*"),
        (permission(json!({ "title": "x", "_meta": { "tool": { "toolName": "mcp__github__x" } } })), "github__*"),
        (permission(json!({ "title": "git push", "kind": "edit" })), ""),
        (permission(json!({ "rawInput": { "content": "see .env, then git push" } })), ""),
        (permission(json!({})), ""),
        (("fs/read_text_file", json!({ "path": "/p/.env" })), ".env"),
        (("fs/write_text_file", json!({ "path": "/p/.env", "content": "" })), ".env"),
        (("fs/read_text_file", json!({ "path": "/p/a" })), ""),
        (("terminal/create", json!({ "command": "git", "args": ["push"] })), "git push"),
        (("terminal/create", json!({ "command": "sh", "args": ["-c", "git push"] })), "git push"),
        (("terminal/create", json!({ "command": "git", "args": ["status"], "cwd": "/p" })), ""),
        (("terminal/output", json!({ "path": "/p/.env" })), ""),
    ] {
        let denial = rules.request(method, &params.to_string(), Path::new("/p"));
        assert_eq!(denial.map(|denial| denial.pattern).unwrap_or_default(), expected, "{method} {params}");
    }
}

#[test]
fn a_pattern_that_is_none_says_what_to_write() {
    for (list, pattern) in [
        (DenyList::Paths, ""),
        (DenyList::Paths, " "),
        (DenyList::Paths, "[a"),
        (DenyList::Paths, "!.env"),
        (DenyList::Paths, "../x"),
        (DenyList::Commands, "git [push"),
        (DenyList::Tools, "a{b"),
    ] {
        assert!(DenyRules::default().add(list, pattern).is_err(), "{pattern}");
    }
    assert_eq!(
        rules(DenyList::Paths, &[".env"]).path(Path::new("/p/.env")).unwrap().to_string(),
        "the user's configuration denies it: `.env` in deny.paths"
    );
}
