//! What a client sends to open a session: folders, MCP servers, `_meta`.

use std::sync::Arc;

use rejoin::{AgentCommand, Sharing};
use rejoin_store::SqliteStore;
use rejoin_testing::{TempStore, fold};
use rejoin_transcript::SessionId;
use rejoin_wire::Command;
use serde_json::{Value, json};

use crate::world::{agent_that_can, plain_agent};

fn error_data(error: &rejoin_wire::RpcError) -> Value {
    serde_json::from_str::<Value>(error.as_json()).unwrap()["data"].clone()
}

#[tokio::test]
async fn mcp_servers_are_completed_and_those_the_agent_cannot_reach_are_left_out_and_named() {
    let world = agent_that_can(&["http"]).declare("incomplete").start();
    let client = world.client_that_can(json!({ "session": { "notices": {} } })).await;
    let servers = json!([
        { "type": "stdio", "name": "incomplete-1", "command": "one" },
        { "name": "incomplete-2", "command": "two", "args": null, "env": null, "_meta": { "x": 1 } },
        { "type": "http", "name": "incomplete-3", "url": "http://three" },
        { "type": "sse", "name": "incomplete-4", "url": "http://four", "headers": [] },
    ]);

    let made = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": servers })).await.unwrap();

    let expected = json!([
        { "name": "incomplete-1", "command": "one", "args": [], "env": [] },
        { "name": "incomplete-2", "command": "two", "args": [], "env": [], "_meta": { "x": 1 } },
        { "type": "http", "name": "incomplete-3", "url": "http://three", "headers": [] },
    ]);
    assert_eq!(world.agent_got("session/new")[0]["mcpServers"], expected);
    client.call("session/status", json!({ "sessionId": made["sessionId"] })).await.unwrap();
    let updates = client.updates(made["sessionId"].as_str().unwrap());
    let named = updates.iter().filter(|update| update.to_string().contains("incomplete-4")).count();
    assert_eq!(named, 1, "{updates:?}");
}

#[tokio::test]
async fn secrets_of_mcp_servers_are_in_no_file_and_reach_the_agent_again() {
    let kept = TempStore::new();
    let store = Arc::new(SqliteStore::open(kept.store.path()).unwrap());
    let world = agent_that_can(&["http"]).store(store).start();
    let client = world.client().await;
    let servers = json!([
        { "name": "one", "command": "one", "args": [], "env": [{ "name": "TOKEN_NAME", "value": "hidden-one" }] },
        { "type": "http", "name": "two", "url": "http://two", "headers": [{ "name": "HEADER_NAME", "value": "hidden-two" }] },
    ]);
    let made = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": servers })).await.unwrap();
    let session = made["sessionId"].as_str().unwrap();

    client.turn(session, "say one").await;
    client.prompt(session, "crash 1").await.error().await;
    client.turn(session, "say two").await;

    let given: Vec<Value> = world.agent_got("session/new").iter().map(|params| params["mcpServers"].clone()).collect();
    let found = ["TOKEN_NAME", "HEADER_NAME", "hidden-one", "hidden-two"].map(|word| kept.files_hold(word));
    assert_eq!(given, [servers.clone(), servers]);
    assert_eq!(found, [true, true, false, false]);
}

#[tokio::test]
async fn secrets_of_mcp_servers_are_in_no_file_also_if_the_agent_tells_them_before_it_dies() {
    let kept = TempStore::new();
    let store = Arc::new(SqliteStore::open(kept.store.path()).unwrap());
    let world = plain_agent().with("--fault", "blabs").store(store).start();
    let client = world.client().await;
    let env = json!([{ "name": "TOKEN", "value": "hidden \"one\"" }]);
    let servers = json!([{ "name": "one", "command": "one", "args": [], "env": env }]);
    let made = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": servers })).await.unwrap();
    let session = made["sessionId"].as_str().unwrap();

    let told = client.prompt(session, "crash 1").await.error().await;

    let stderr = error_data(&told)["stderr"].as_str().unwrap().to_owned();
    assert!(stderr.contains("connecting to") && stderr.contains(r#""value":"[hidden]""#), "{stderr}");
    assert_eq!(["connecting to", "hidden "].map(|word| kept.files_hold(word)), [true, false]);
}

#[tokio::test]
async fn what_an_agent_is_given_in_its_environment_is_told_to_nobody() {
    let args = ["-c", "echo no luck with $TOKEN >&2; exit 3"].map(str::to_owned).to_vec();
    let env = vec![("TOKEN".to_owned(), "hush-hush".to_owned())];
    let command = Command { env, ..Command::new("sh", args) };
    let world = plain_agent().agent(AgentCommand { name: None, command, sharing: Sharing::Shared }).start();
    let client = world.client().await;

    let told = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": [] })).await.unwrap_err();

    assert_eq!(error_data(&told)["stderr"], "no luck with [hidden]\n");
}

#[tokio::test]
async fn what_is_wrong_with_an_opening_is_named() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let cwd = world.cwd();
    for (method, params, field) in [
        ("session/new", json!({ "cwd": cwd }), "mcpServers"),
        ("session/new", json!({ "mcpServers": [] }), "cwd"),
        ("session/new", json!({ "cwd": "a/b", "mcpServers": [] }), "cwd"),
        ("session/new", json!({ "cwd": 7, "mcpServers": [] }), "cwd"),
        ("session/new", json!({ "cwd": cwd, "mcpServers": {} }), "mcpServers"),
        ("session/new", json!({ "cwd": cwd, "mcpServers": [7] }), "mcpServers[0]"),
        ("session/new", json!({ "cwd": cwd, "mcpServers": [{ "command": "x" }] }), "mcpServers[0].name"),
        ("session/new", json!({ "cwd": cwd, "mcpServers": [{ "name": "x" }] }), "mcpServers[0].command"),
        ("session/new", json!({ "cwd": cwd, "mcpServers": [{ "name": "x", "type": "pigeon" }] }), "mcpServers[0].type"),
        ("session/new", json!({ "cwd": cwd, "mcpServers": [{ "name": "x", "type": "http" }] }), "mcpServers[0].url"),
        (
            "session/new",
            json!({ "cwd": cwd, "mcpServers": [], "additionalDirectories": ["/a", "b"] }),
            "additionalDirectories[1]",
        ),
        ("session/load", json!({ "cwd": cwd, "mcpServers": [] }), "sessionId"),
        ("session/load", json!({ "sessionId": session, "mcpServers": [] }), "cwd"),
        ("session/load", json!({ "sessionId": session, "cwd": cwd }), "mcpServers"),
        ("session/load", json!({ "sessionId": 7, "cwd": cwd, "mcpServers": [] }), "sessionId"),
        ("session/resume", json!({ "sessionId": session }), "cwd"),
        ("session/fork", json!({ "sessionId": session }), "cwd"),
        (
            "session/fork",
            json!({ "sessionId": session, "cwd": cwd, "_meta": { "rejoin": { "at": "none" } } }),
            "_meta.rejoin.at",
        ),
        ("session/list", json!({ "cwd": "a" }), "cwd"),
        ("session/list", json!({ "cursor": "x" }), "cursor"),
        ("session/list", json!({ "cursor": 7 }), "cursor"),
        ("session/list", json!([]), "params"),
    ] {
        let error = client.call(method, params.clone()).await.unwrap_err();

        assert_eq!((error.code(), error_data(&error)["field"].as_str()), (-32602, Some(field)), "{method} {params}");
    }
}

#[tokio::test]
async fn a_load_in_another_folder_names_both_and_moves_the_session_only_if_told() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().to_str().unwrap();
    let mut params = json!({ "sessionId": session, "cwd": path, "mcpServers": [] });

    let refused = client.call("session/load", params.clone()).await.unwrap_err();
    params["_meta"] = json!({ "rejoin": { "rebind": true } });
    client.call("session/load", params).await.unwrap();

    let rows = client.call("session/list", json!({ "cwd": path })).await.unwrap();
    let data = error_data(&refused);
    assert_eq!((data["kind"].as_str(), data["cwd"].as_str()), (Some("cwd_mismatch"), Some(world.cwd())));
    assert!(refused.message().contains(path) && refused.message().contains(world.cwd()), "{refused:?}");
    assert_eq!(rows["sessions"][0]["sessionId"], json!(session));
}

#[tokio::test]
async fn a_session_whose_folder_is_gone_can_be_read_and_not_prompted() {
    let world = plain_agent().start();
    let client = world.client().await;
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().to_str().unwrap().to_owned();
    let session = client.new_session(&cwd).await;
    client.turn(&session, "say one").await;
    drop(folder);

    let error = client.prompt(&session, "say two").await.error().await;
    let replay = world.client().await.load(&session, &cwd).await;

    assert_eq!((error.code(), fold(&replay).len()), (-32013, 2));
}

#[tokio::test]
async fn further_folders_go_to_agents_that_take_them_and_are_those_of_the_latest_opening() {
    for (abilities, expected) in [(&["dirs"][..], json!(["/a"])), (&[], Value::Null)] {
        let world = agent_that_can(abilities).start();
        let client = world.client().await;

        let params = json!({ "cwd": world.cwd(), "mcpServers": [], "additionalDirectories": ["/a"] });
        let made = client.call("session/new", params).await.unwrap();

        assert_eq!(world.agent_got("session/new")[0]["additionalDirectories"], expected, "{abilities:?}");
        let session = made["sessionId"].as_str().unwrap();
        client.turn(session, "say one").await;
        client.load(session, world.cwd()).await;
        let rows = client.call("session/list", json!({})).await.unwrap();
        assert_eq!(rows["sessions"][0]["additionalDirectories"], Value::Null, "{abilities:?}");
    }
}

#[tokio::test]
async fn meta_passes_through_in_both_directions() {
    let world = plain_agent().start();
    let client = world.client().await;
    let meta = json!({ "vendor": { "deep": [1, null, { "x": 1.5 }] }, "rejoin": { "other": true } });
    let params = json!({ "cwd": world.cwd(), "mcpServers": [], "_meta": meta, "future": 1 });

    let made = client.call("session/new", params).await.unwrap();
    let session = made["sessionId"].as_str().unwrap();
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "x" }, "_meta": meta, "future": null });
    let blocks = json!([{ "type": "text", "text": format!("emit {update}") }]);
    client.call("session/prompt", json!({ "sessionId": session, "prompt": blocks, "_meta": meta })).await.unwrap();

    let given = world.agent_got("session/new").remove(0);
    let prompted = world.agent_got("session/prompt").remove(0);
    assert_eq!((&given["_meta"], &given["future"], &prompted["_meta"]), (&meta, &json!(1), &meta));
    let live = client.updates(session);
    let replayed = world.client().await.load(session, world.cwd()).await;
    let strip = |updates: &[Value]| {
        let mut update = updates.iter().find(|one| one["sessionUpdate"] == "agent_message_chunk").unwrap().clone();
        update.as_object_mut().unwrap().remove("messageId");
        update
    };
    assert_eq!((strip(&live), strip(&replayed)), (update.clone(), update));
}

#[tokio::test]
async fn updates_of_an_unknown_kind_are_shown_and_replayed_as_they_came() {
    let strange = r#"{"sessionUpdate":"strange_new_thing","n":12345678901234567890123,"x":null,"_meta":7}"#;
    let world = plain_agent().declare("strange_new_thing").start();
    let (client, session) = world.client_with_session().await;

    client.turn(&session, &format!("say a\nemit {strange}\nsay b")).await;

    let replay = world.client().await.load(&session, world.cwd()).await;
    assert_eq!(fold(&client.updates(&session)), fold(&replay)[1..]);
    assert_eq!(client.updates(&session)[2], serde_json::from_str::<Value>(strange).unwrap());
}

#[tokio::test]
async fn what_is_no_update_is_dropped_and_the_turn_goes_on() {
    let world = plain_agent().declare("Agent In session/update").start();
    let (client, session) = world.client_with_session().await;

    client.turn(&session, "emit {\"sessionUpdate\":7}\nemit \"text\"\nemit {}\nemit null\nsay b").await;

    assert_eq!(fold(&client.updates(&session)), ["agent: b"]);
}

#[tokio::test]
async fn folders_that_come_in_a_turn_reach_the_agent_before_the_next() {
    let world = agent_that_can(&["dirs"]).start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate").await;
    client.until_said(&session, "one").await;

    let other = world.client().await;
    let params = json!({ "sessionId": session, "cwd": world.cwd(), "mcpServers": [], "additionalDirectories": ["/b"] });
    other.call("session/load", params).await.unwrap();
    client.go(&session).await;
    turn.result().await;
    client.turn(&session, "say two").await;

    let given = world.agent_got("session/new").pop().unwrap();
    assert_eq!(given["additionalDirectories"], json!(["/b"]));
}

#[tokio::test]
async fn a_row_of_the_list_says_who_and_how_much() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let info = r#"emit {"sessionUpdate":"session_info_update","_meta":{"vendor":{"x":1}}}"#;

    client.turn(&session, &format!("say one\n{info}")).await;

    let meta = client.call("session/list", json!({})).await.unwrap()["sessions"][0]["_meta"].clone();
    assert_eq!(
        meta,
        json!({ "vendor": { "x": 1 }, "rejoin": { "agent": "scripted", "messages": 2, "hasErrors": false } })
    );
}

#[tokio::test]
async fn a_status_that_a_dead_agent_left_is_neither_replayed_nor_listed() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let info = |meta: &str| format!(r#"emit {{"sessionUpdate":"session_info_update","_meta":{meta}}}"#);
    let (tags, running) = (info(r#"{"tags":["a"]}"#), info(r#"{"vendor":{"threadStatus":{"type":"active"}}}"#));

    client.prompt(&session, &format!("{tags}\n{running}\nsay half\ncrash 1")).await.error().await;

    let replayed = world.client().await.load(&session, world.cwd()).await;
    let meta: Vec<&Value> =
        replayed.iter().filter(|one| one["sessionUpdate"] == "session_info_update").map(|one| &one["_meta"]).collect();
    assert_eq!(meta, [&json!({ "tags": ["a"] })]);
    let listed = client.call("session/list", json!({})).await.unwrap()["sessions"][0]["_meta"].clone();
    assert_eq!((&listed["tags"], &listed["vendor"]), (&json!(["a"]), &Value::Null));
}

fn server(name: &str) -> Value {
    json!([{ "name": name, "command": name, "args": [], "env": [] }])
}

#[tokio::test]
async fn mcp_servers_that_come_in_a_turn_reach_the_agent_before_the_next() {
    for abilities in [&["load"][..], &["resume", "close"], &[]] {
        let world = agent_that_can(abilities).with_memory().start();
        let client = world.client().await;
        let params = json!({ "cwd": world.cwd(), "mcpServers": server("old") });
        let made = client.call("session/new", params).await.unwrap();
        let session = made["sessionId"].as_str().unwrap();
        let turn = client.prompt(session, "say one\ngate").await;
        client.until_said(session, "one").await;

        let params = json!({ "sessionId": session, "cwd": world.cwd(), "mcpServers": server("new") });
        client.call("session/load", params).await.unwrap();
        client.go(session).await;
        let reason = turn.result().await["stopReason"].clone();
        client.turn(session, "say two").await;

        let opened = ["session/new", "session/load", "session/resume"].map(|method| world.agent_got(method)).concat();
        let given: Vec<&Value> = opened.iter().map(|params| &params["mcpServers"]).collect();
        assert_eq!((reason, given), (json!("end_turn"), vec![&server("old"), &server("new")]), "{abilities:?}");
    }
}

#[tokio::test]
async fn a_resume_and_a_fork_without_mcp_servers_keep_those_in_force() {
    let world = plain_agent().start();
    let client = world.client().await;
    let made = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": server("one") })).await.unwrap();
    let session = made["sessionId"].as_str().unwrap();
    client.turn(session, "say one").await;
    let params = json!({ "sessionId": session, "cwd": world.cwd() });

    client.call("session/resume", params.clone()).await.unwrap();
    client.turn(session, "say two").await;
    let opened_before = world.agent_got("session/new").len();
    let fork = client.call("session/fork", params).await.unwrap();
    client.turn(fork["sessionId"].as_str().unwrap(), "say three").await;

    let given: Vec<Value> = world.agent_got("session/new").iter().map(|params| params["mcpServers"].clone()).collect();
    assert_eq!((opened_before, given), (1, vec![server("one"), server("one")]));
}

#[tokio::test]
async fn another_spelling_of_the_folder_does_not_open_the_session_again() {
    let world = agent_that_can(&["load"]).with_memory().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;

    client.load(&session, &format!("{}/", world.cwd())).await;
    client.load(&session, &format!("{}/.", world.cwd())).await;
    client.turn(&session, "say two").await;

    assert_eq!((world.agent_got("session/new").len(), world.agent_got("session/load").len()), (1, 0));
}

#[tokio::test]
async fn arguments_of_the_agents_command_are_in_no_file() {
    let kept = TempStore::new();
    let store = Arc::new(SqliteStore::open(kept.store.path()).unwrap());
    let world = plain_agent().with("--fault", "hidden-argument").store(store).start();
    let (client, session) = world.client_with_session().await;

    client.turn(&session, "say one").await;
    client.prompt(&session, "crash 1").await.error().await;
    client.turn(&session, "say two").await;

    let found = ["scripted-agent", "hidden-argument"].map(|word| kept.files_hold(word));
    assert_eq!(found, [true, false]);
}

#[tokio::test]
async fn what_a_content_block_of_a_known_kind_lacks_is_named() {
    let world = plain_agent().declare("weather").start();
    let (client, session) = world.client_with_session().await;
    let prompt = async |block: &Value| {
        let blocks = json!([{ "type": "text", "text": "x" }, block, { "type": "text", "text": "say one" }]);
        client.call("session/prompt", json!({ "sessionId": session, "prompt": blocks })).await
    };
    for (block, field) in [
        (json!({ "type": "text" }), "prompt[1].text"),
        (json!({ "type": "text", "text": 5 }), "prompt[1].text"),
        (json!({ "type": "image", "mimeType": "image/png" }), "prompt[1].data"),
        (json!({ "type": "audio", "data": "" }), "prompt[1].mimeType"),
        (json!({ "type": "resource_link", "name": "x" }), "prompt[1].uri"),
        (json!({ "type": "resource" }), "prompt[1].resource"),
        (json!({ "type": "resource", "resource": { "text": "x" } }), "prompt[1].resource.uri"),
        (json!({ "type": "resource", "resource": { "uri": "x", "blob": 7 } }), "prompt[1].resource.blob"),
        (json!({ "type": 7 }), "prompt[1].type"),
        (json!(null), "prompt[1]"),
    ] {
        let error = prompt(&block).await.unwrap_err();

        assert_eq!((error.code(), error_data(&error)["field"].as_str()), (-32602, Some(field)), "{block}");
    }
    assert!(prompt(&json!({ "type": "weather", "sky": "blue" })).await.is_ok());
    assert_eq!(world.agent_got("session/prompt").len(), 1);
}

#[tokio::test]
async fn a_folder_that_was_reached_through_a_link_and_is_gone_can_be_loaded_by_either_path() {
    let world = plain_agent().start();
    let client = world.client().await;
    let place = tempfile::tempdir().unwrap();
    let place_path = place.path().canonicalize().unwrap();
    let (folder, link) = (place_path.join("folder"), place_path.join("link"));
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    let session = client.new_session(link.to_str().unwrap()).await;
    client.turn(&session, "say one").await;

    std::fs::remove_dir(&folder).unwrap();
    let by_link = world.client().await.load(&session, link.to_str().unwrap()).await;
    let by_itself = world.client().await.load(&session, folder.to_str().unwrap()).await;

    assert_eq!((fold(&by_link).len(), fold(&by_itself).len()), (2, 2));
}

#[tokio::test]
async fn a_session_that_was_never_prompted_is_made_new_with_what_it_was_asked_for() {
    let state = tempfile::tempdir().unwrap();
    let setup = || agent_that_can(&["load", "resume"]).with("--state", state.path().to_str().unwrap());
    let first = setup().start();
    let client = first.client().await;
    let meta = json!({ "vendor": { "prompt": "Be brief", "maxTokens": 5, "apiKey": "k-secret" } });
    let params = json!({ "cwd": first.cwd(), "mcpServers": [], "_meta": meta, "future": 1 });
    let made = client.call("session/new", params).await.unwrap();
    let session = made["sessionId"].as_str().unwrap();
    first.layer.end().await;
    let world = setup().store(Arc::clone(&first.store)).start();
    let other = world.client().await;
    let server = json!({ "name": "s", "command": "true", "args": [], "env": [] });
    let params = json!({ "sessionId": session, "cwd": first.cwd(), "mcpServers": [server], "_meta": { "more": 2 } });
    other.call("session/load", params).await.unwrap();

    other.turn(session, "say one").await;

    let given = world.agent_got("session/new");
    let reopened = world.agent_got("session/load").len() + world.agent_got("session/resume").len();
    let meta = json!({ "vendor": { "prompt": "Be brief", "maxTokens": 5 }, "more": 2 });
    assert_eq!((given.len(), reopened), (1, 0));
    assert_eq!(
        (&given[0]["_meta"], &given[0]["future"], &given[0]["mcpServers"][0]["name"]),
        (&meta, &json!(1), &json!("s"))
    );
    let kept = world.store.session(&SessionId::parse(session).unwrap()).await.unwrap();
    assert!(!serde_json::to_string(&kept.settings).unwrap().contains("k-secret"));
}

#[tokio::test]
async fn an_empty_session_that_is_opened_with_other_servers_keeps_all_that_it_was_made_with() {
    let world = agent_that_can(&["load"]).with_memory().start();
    let client = world.client().await;
    let meta = json!({ "vendor": { "apiKey": "k-secret" } });
    let params = json!({ "cwd": world.cwd(), "mcpServers": [], "_meta": meta });
    let made = client.call("session/new", params).await.unwrap();
    let session = made["sessionId"].as_str().unwrap();
    let server = json!({ "name": "s", "command": "true", "args": [], "env": [] });
    let params = json!({ "sessionId": session, "cwd": world.cwd(), "mcpServers": [server] });
    client.call("session/load", params).await.unwrap();

    client.turn(session, "say one").await;

    let given = world.agent_got("session/new");
    assert_eq!((given.len(), &given[1]["_meta"], world.agent_got("session/load").len()), (2, &meta, 0));
}

#[tokio::test]
async fn clients_with_different_initialize_share_the_agent_and_its_session() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    let other = world.client_that_can(json!({ "fs": { "readTextFile": true } })).await;

    other.load(&session, world.cwd()).await;
    other.turn(&session, "say two").await;
    client.turn(&session, "say three").await;

    let counts =
        ["initialize", "session/new", "session/load", "session/resume"].map(|method| world.agent_got(method).len());
    assert_eq!(counts, [1, 1, 0, 0]);
}
