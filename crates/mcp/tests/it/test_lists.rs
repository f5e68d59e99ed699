//! Tools, resources and prompts: named, read whole, and read again when they change.

use serde_json::{Value, json};

use crate::session::{Session, scripted};

#[tokio::test]
async fn a_list_of_many_pages_is_read_whole() {
    let session = Session::start(vec![scripted("s", "pages")]).await;

    assert_eq!(session.servers.tools().len(), 11);
    let resources: Vec<_> = session.servers.resources().into_iter().map(|it| it.item.uri).collect();
    assert_eq!(resources, ["note://one", "note://two"]);
    assert_eq!(session.servers.resource_templates()[0].item.uri_template, "note://{name}");
}

#[tokio::test]
async fn a_tool_comes_with_all_that_is_known_of_it() {
    let session = Session::start(vec![scripted("s", "")]).await;

    let tools = session.servers.tools();
    let echo = tools.iter().find(|tool| tool.own_name == "echo").unwrap();

    assert_eq!((echo.name.as_str(), echo.server.as_str()), ("s__echo", "s"));
    assert_eq!(Value::Object((*echo.input_schema).clone()), json!({ "type": "object" }));
    assert_eq!((echo.is_read_only(), echo.is_destructive()), (true, false));
    let slow = tools.iter().find(|tool| tool.own_name == "slow").unwrap();
    assert_eq!((slow.is_read_only(), slow.is_destructive()), (false, true));
}

#[tokio::test]
async fn servers_and_tools_whose_names_clash_have_names_of_their_own() {
    let session = Session::start(vec![scripted("s", "clash"), scripted("s", "clash")]).await;

    let expected = ["s__a_b", "s-2__a_b", "s-3__a_b", "s-2-2__a_b", "s-2-3__a_b", "s-2-4__a_b"];
    assert_eq!(session.tool_names(), expected);
    let labels: Vec<_> = session.servers.status().into_iter().map(|status| status.server).collect();
    assert_eq!(labels, ["s", "s-2"]);
}

#[tokio::test]
async fn a_call_reaches_the_server_it_names() {
    let mut second = scripted("s", "");
    if let rejoin_mcp::Transport::Stdio { env, .. } = &mut second.transport {
        env.push(("COLOUR".to_owned(), "teal".to_owned()));
    }
    let session = Session::start(vec![scripted("s", ""), second]).await;

    let colours = [
        session.call("s__env", json!({ "name": "COLOUR" })).await.unwrap(),
        session.call("s-2__env", json!({ "name": "COLOUR" })).await.unwrap(),
    ];

    assert_eq!(colours, ["", "teal"]);
}

#[tokio::test]
async fn resources_are_read_and_prompts_are_made() {
    let session = Session::start(vec![scripted("s", "")]).await;

    let resource = session.servers.read_resource("s", "note://one").await.unwrap();
    let Value::Object(arguments) = json!({ "who": "Ada" }) else { unreachable!() };
    let prompt = session.servers.get_prompt("s", "greet", arguments).await.unwrap();

    assert_eq!(serde_json::to_value(resource).unwrap()["contents"][0]["text"], "a note");
    assert_eq!(serde_json::to_value(prompt).unwrap()["messages"][0]["content"]["text"], "Greet Ada.");
    assert_eq!(session.servers.prompts()[0].item.name, "greet");
}

#[tokio::test]
async fn lists_that_change_are_read_again() {
    let session = Session::start(vec![scripted("s", "")]).await;

    session.call("s__grow", json!({})).await.unwrap();

    session.until(|session| session.tool_names().contains(&"s__grown".to_owned())).await;
    session.until(|session| session.servers.resources().iter().any(|it| it.item.uri == "note://grown")).await;
    session.until(|session| session.servers.prompts()[0].item.name == "grown").await;
    assert!(session.status("s").to_string().contains("12 tools"));
}

#[tokio::test]
async fn a_server_that_never_rests_does_not_keep_us_busy() {
    let session = Session::start(vec![scripted("s", "restless")]).await;
    let n_calls = 300;
    for _ in 0..n_calls {
        session.echo("s").await.unwrap();
    }
    let n_lists: u32 = session.call("s__lists", json!({})).await.unwrap().parse().unwrap();
    assert!(n_lists < n_calls, "{n_lists} lists during {n_calls} calls");
}
