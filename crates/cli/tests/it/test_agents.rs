//! `rejoin agents`

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::world::World;

/// A world with the program `pi-acp` on its path, and an agent of its own in the configuration.
fn world_with_agents() -> (World, String) {
    let world = World::new();
    let program = world.write("bin/pi-acp", "#!/bin/sh\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = "default_agent = \"mine\"\n[agents.mine]\ncommand = [\"/bin/sh\", \"-c\", \"true\"]\n";
    world.write("home/.config/rejoin/config.toml", config);
    let path = world.path("bin").display().to_string();
    (world, path)
}

#[test]
fn agents_that_can_be_used_come_first() {
    let (world, path) = world_with_agents();
    let done = world.run_in("", &[("PATH", &path)], &["agents"]);

    let shown = done.to_string();
    let shown: Vec<&str> = shown.lines().take(6).map(str::trim_end).collect();
    let shown = shown.join("\n");
    insta::assert_snapshot!(shown, @"
    NAME            STATE       COMMAND
    rejoin          built-in                      the built-in agent
    mine (default)  configured  /bin/sh -c true   /bin/sh
    pi              found       pi-acp            [WORLD]/bin/pi-acp: closes its other sessions when it opens one, so each has a process of its own
    claude          not found   claude-agent-acp  npm install -g @agentclientprotocol/claude-agent-acp
    cline           not found   cline --acp       npm install -g cline
    ");
}

#[test]
fn a_program_gets_what_is_known_of_each() {
    let (world, path) = world_with_agents();
    let done = world.run_in("", &[("PATH", &path)], &["agents", "--json"]);

    let agents: Value = serde_json::from_str(&done.stdout).unwrap();
    let find = |name: &str| agents.as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap().clone();
    let (pi, mine) = (find("pi"), find("mine"));
    assert_eq!(
        (&pi["state"], &pi["isShared"], &pi["command"]),
        (&"found".into(), &false.into(), &Value::from(vec!["pi-acp"]))
    );
    assert_eq!((&mine["state"], &mine["isDefault"]), (&"configured".into(), &true.into()));
    assert_eq!(find("gemini")["state"], "missing");
}
