//! `rejoin setup`

use std::fs;
use std::os::unix::fs::symlink;

use crate::world::World;

#[test]
fn an_editor_with_a_file_of_settings_has_its_snippet() {
    let world = World::new();

    insta::assert_snapshot!(world.run(&["setup", "zed", "--", "claude-agent-acp"]), @r#"
    {
      "agent_servers": {
        "Rejoin": {
          "type": "custom",
          "command": "rejoin",
          "args": [
            "acp",
            "--",
            "claude-agent-acp"
          ],
          "env": {}
        }
      }
    }
    --- stderr
    in ~/.config/zed/settings.json:
    --- exit 0
    "#);
    insta::assert_snapshot!(world.run(&["setup", "jetbrains", "--agent", "claude"]), @r#"
    {
      "agent_servers": {
        "Rejoin": {
          "command": "rejoin",
          "args": [
            "acp",
            "--agent",
            "claude"
          ],
          "env": {}
        }
      }
    }
    --- stderr
    in ~/.jetbrains/acp.json:
    --- exit 0
    "#);
    insta::assert_snapshot!(world.run(&["setup", "vscode"]), @r#"
    {
      "acp.agents": {
        "Rejoin": {
          "command": "rejoin",
          "args": [
            "acp"
          ],
          "env": {}
        }
      }
    }
    --- stderr
    in ~/.config/Code/User/settings.json:
    --- exit 0
    "#);
}

#[test]
fn editors_without_a_file_of_settings_have_their_snippet_too() {
    let world = World::new();

    insta::assert_snapshot!(world.run(&["setup", "neovim", "--name", "My \"own\" agent", "--", "claude-agent-acp"]), @r#"
    require("codecompanion").setup({
      adapters = {
        acp = {
          my_own_agent = function()
            return require("codecompanion.adapters").extend("claude_code", {
              name = "my_own_agent",
              formatted_name = "My \"own\" agent",
              commands = { default = { "rejoin", "acp", "--", "claude-agent-acp" } },
            })
          end,
        },
      },
      interactions = { chat = { adapter = "my_own_agent" } },
    })
    --- stderr
    in your init.lua, with the plugin codecompanion.nvim:
    --- exit 0
    "#);
    insta::assert_snapshot!(world.run(&["setup", "emacs", "--", "claude-agent-acp", "--flag"]), @r#"
    (with-eval-after-load 'agent-shell
      (add-to-list 'agent-shell-agent-configs
                   (agent-shell-make-agent-config
                    :identifier 'rejoin
                    :mode-line-name "Rejoin"
                    :buffer-name "Rejoin"
                    :shell-prompt "Rejoin> "
                    :shell-prompt-regexp (regexp-quote "Rejoin> ")
                    :client-maker
                    (lambda (buffer)
                      (acp-make-client :command "rejoin"
                                       :command-params '("acp" "--" "claude-agent-acp" "--flag")
                                       :context-buffer buffer)))))
    --- stderr
    in your init.el, with the package agent-shell:
    --- exit 0
    "#);
    insta::assert_snapshot!(world.run(&["setup", "obsidian"]), @r#"
    {
      "id": "rejoin",
      "displayName": "Rejoin",
      "command": "rejoin",
      "args": [
        "acp"
      ],
      "env": []
    }
    --- stderr
    in the settings of the plugin Agent Client, Custom agents, Add custom agent:
    --- exit 0
    "#);
}

#[test]
fn a_file_is_changed_after_showing_how_and_keeps_all_else() {
    let world = World::new();
    let settings = "// mine\n{\n  \"theme\": \"One Dark\", // dark\n  \"agent_servers\": {\n    /* the other */\n    \"Other\": { \"command\": \"other\" },\n  },\n}\n";
    world.write("home/.config/zed/settings.json", settings);

    insta::assert_snapshot!(world.run(&["setup", "zed", "--write", "--", "claude-agent-acp"]), @r#"
    --- ~/.config/zed/settings.json
    +++ ~/.config/zed/settings.json
    @@ -4,5 +4,11 @@
       "agent_servers": {
         /* the other */
         "Other": { "command": "other" },
    +    "Rejoin": {
    +      "type": "custom",
    +      "command": "rejoin",
    +      "args": ["acp", "--", "claude-agent-acp"],
    +      "env": {},
    +    },
       },
     }
    ~/.config/zed/settings.json is written; the old one is ~/.config/zed/settings.json.bak
    --- exit 0
    "#);
    insta::assert_snapshot!(fs::read_to_string(world.path("home/.config/zed/settings.json")).unwrap(), @r#"
    // mine
    {
      "theme": "One Dark", // dark
      "agent_servers": {
        /* the other */
        "Other": { "command": "other" },
        "Rejoin": {
          "type": "custom",
          "command": "rejoin",
          "args": ["acp", "--", "claude-agent-acp"],
          "env": {},
        },
      },
    }
    "#);
    assert_eq!(fs::read_to_string(world.path("home/.config/zed/settings.json.bak")).unwrap(), settings);
    insta::assert_snapshot!(world.run(&["setup", "zed", "--write", "--", "claude-agent-acp"]), @"
    ~/.config/zed/settings.json has it already
    --- exit 0
    ");
    world.run(&["setup", "zed", "--write", "--yes"]);
    assert!(world.path("home/.config/zed/settings.json.bak1").exists());
}

#[test]
fn a_file_that_is_not_there_is_made() {
    let world = World::new();

    insta::assert_snapshot!(world.run(&["setup", "jetbrains", "--write", "--", "codex-acp"]), @r#"
    --- ~/.jetbrains/acp.json
    +++ ~/.jetbrains/acp.json
    @@ -0,0 +1,9 @@
    +{
    +  "agent_servers": {
    +    "Rejoin": {
    +      "command": "rejoin",
    +      "args": ["acp", "--", "codex-acp"],
    +      "env": {}
    +    }
    +  }
    +}
    ~/.jetbrains/acp.json is written
    --- exit 0
    "#);
    assert!(!world.path("home/.jetbrains/acp.json.bak").exists());
}

#[test]
fn a_link_stays_a_link() {
    let world = World::new();
    world.write("dotfiles/zed.json", "{}\n");
    fs::create_dir_all(world.path("home/.config/zed")).unwrap();
    symlink(world.path("dotfiles/zed.json"), world.path("home/.config/zed/settings.json")).unwrap();

    world.run(&["setup", "zed", "--write"]);
    assert!(fs::symlink_metadata(world.path("home/.config/zed/settings.json")).unwrap().is_symlink());
    assert!(fs::read_to_string(world.path("dotfiles/zed.json")).unwrap().contains("agent_servers"));
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let world = World::new();
    fs::create_dir_all(world.path("home/.config/zed")).unwrap();
    symlink("../../dotfiles/zed.json", world.path("home/.config/zed/settings.json")).unwrap();

    world.run(&["setup", "zed", "--write"]);
    assert!(fs::symlink_metadata(world.path("home/.config/zed/settings.json")).unwrap().is_symlink());
    assert!(fs::read_to_string(world.path("home/dotfiles/zed.json")).unwrap().contains("agent_servers"));
}

#[test]
fn a_file_without_an_object_gets_one_and_keeps_what_is_there() {
    for (settings, begin) in
        [("// mine\n", "// mine\n"), ("\u{feff}{ \"a\": 1 }\n", "\u{feff}{"), ("{ \"agent_servers\": null }\n", "{")]
    {
        let world = World::new();
        world.write("home/.config/zed/settings.json", settings);
        assert_eq!(world.run(&["setup", "zed", "--write"]).code, Some(0), "{settings:?}");
        let written = fs::read_to_string(world.path("home/.config/zed/settings.json")).unwrap();
        assert!(written.starts_with(begin) && written.contains("\"command\": \"rejoin\""), "{written:?}");
        assert_eq!(fs::read_to_string(world.path("home/.config/zed/settings.json.bak")).unwrap(), settings);
    }
}

#[test]
fn what_can_not_be_understood_is_not_changed() {
    let world = World::new();
    world.write("home/.config/zed/settings.json", "{ \"agent_servers\": [] }\n");
    world.write("home/.jetbrains/acp.json", "{ nonsense");

    insta::assert_snapshot!(world.run(&["setup", "zed", "--write"]), @"
    --- stderr
    error: [WORLD]/home/.config/zed/settings.json can't be changed: `agent_servers` in it is no object
    hint: show the snippet without `--write`, and put it in by hand
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["setup", "jetbrains", "--write"]), @"
    --- stderr
    error: [WORLD]/home/.jetbrains/acp.json can't be changed: Expected colon after the string or word in object property on line 1 column 11
    hint: show the snippet without `--write`, and put it in by hand
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["setup", "obsidian", "--write"]), @r#"
    {
      "id": "rejoin",
      "displayName": "Rejoin",
      "command": "rejoin",
      "args": [
        "acp"
      ],
      "env": []
    }
    --- stderr
    note: Obsidian has no file that can be changed safely; nothing is written
    in the settings of the plugin Agent Client, Custom agents, Add custom agent:
    --- exit 0
    "#);
}
