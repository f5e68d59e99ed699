//! Sessions that an agent made without us.

use std::sync::{Arc, Mutex};

use rejoin::{Adopted, AgentSource, LayerOptions, SessionLayer};
use rejoin_store::{Likeness, MemoryStore, SessionStore, StoreError, Taken, entries, take_in};
use rejoin_transcript::{AgentSession, EntryNumber, SessionId, StepKind};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// How pages of a list follow one another.
#[derive(Default, PartialEq, Eq)]
enum Pages {
    #[default]
    ToTheEnd,
    /// The last one leads back to the first.
    InACircle,
    /// Before each but the first there is an empty one.
    WithHoles,
}

/// What an agent has kept.
#[derive(Default)]
struct Library {
    /// Ids with what was said: the user's and the agent's words in turns.
    sessions: Vec<(String, Vec<String>)>,
    /// How many sessions a page of its list has.
    page: usize,
    /// How its pages follow one another.
    pages: Pages,
    /// Whether its list does not tell when sessions were used.
    is_timeless: bool,
    /// The session that is listed without its folder.
    homeless: Option<String>,
    /// The session that can't be loaded.
    broken: Option<String>,
    /// Whether it replays behind its answer.
    is_late: bool,
    /// What it was asked.
    asked: Vec<String>,
}

type Shared = Arc<Mutex<Library>>;

fn library(count: usize) -> Shared {
    let session = |number| (format!("own-{number}"), vec![format!("question {number}"), format!("answer {number}")]);
    let sessions = (1..=count).map(session).collect();
    Arc::new(Mutex::new(Library { sessions, page: 2, ..Library::default() }))
}

async fn serve(library: Shared, stream: DuplexStream) {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let mut messages = answer(&mut library.lock().unwrap(), &request);
        if library.lock().unwrap().is_late {
            messages.reverse();
        }
        for message in messages {
            writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }
    }
}

/// What is sent because of `request`: updates, then the answer.
fn answer(library: &mut Library, request: &Value) -> Vec<Value> {
    let (method, params) = (request["method"].as_str().unwrap(), &request["params"]);
    let id = params["sessionId"].as_str().unwrap_or_default();
    library.asked.push(format!("{method} {id}").trim().to_owned());
    let result = match method {
        "initialize" => json!({
            "protocolVersion": 1,
            "agentInfo": { "name": "librarian", "version": "1" },
            "agentCapabilities": { "loadSession": true, "sessionCapabilities": { "list": {}, "close": {} } },
        }),
        "session/list" => {
            let cursor = params["cursor"].as_str().unwrap_or("0");
            let Ok(from) = cursor.parse::<usize>() else {
                let next = cursor.trim_start_matches('+');
                return vec![
                    json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "sessions": [], "nextCursor": next } }),
                ];
            };
            let row = |(id, said): &(String, Vec<String>)| {
                let mut row = json!({ "sessionId": id, "cwd": "/p", "title": format!("Title of {id}") });
                if !library.is_timeless {
                    row["updatedAt"] = json!(format!("2026-05-04T10:00:{:02}Z", said.len()));
                }
                if library.homeless.as_ref() == Some(id) {
                    row.as_object_mut().unwrap().remove("cwd");
                }
                row
            };
            let to = (from + library.page).min(library.sessions.len());
            let rows: Vec<Value> = library.sessions[from..to].iter().map(row).collect();
            let next =
                if to < library.sessions.len() { Some(to) } else { (library.pages == Pages::InACircle).then_some(0) };
            let mark = if library.pages == Pages::WithHoles { "+" } else { "" };
            json!({ "sessions": rows, "nextCursor": next.map(|next| format!("{mark}{next}")) })
        }
        "session/load" if library.broken.as_deref() == Some(id) => {
            let error = json!({ "code": -32603, "message": "its pages are torn" });
            return vec![json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })];
        }
        _ => json!({}),
    };
    let mut messages = Vec::new();
    if method == "session/load" {
        let (_, said) = library.sessions.iter().find(|(known, _)| known == id).unwrap();
        for (index, text) in said.iter().enumerate() {
            let kind = if index % 2 == 0 { "user_message_chunk" } else { "agent_message_chunk" };
            let update = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
            let params = json!({ "sessionId": id, "update": update });
            messages.push(json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
        }
    }
    if !request["id"].is_null() {
        messages.push(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }
    messages
}

fn layer(library: &Shared, store: &Arc<MemoryStore>) -> SessionLayer {
    let library = Arc::clone(library);
    let agent = AgentSource::in_process("shelf", move |stream| serve(Arc::clone(&library), stream));
    let store: Arc<dyn SessionStore> = Arc::<MemoryStore>::clone(store);
    SessionLayer::new(store).options(LayerOptions::default()).agent(agent)
}

fn id_of(names: &[String], id: &str) -> SessionId {
    SessionId::parse(format!("{}-{id}", names[0])).unwrap()
}

/// Adopts everything; says what became of each session.
async fn adopt(library: &Shared, store: &Arc<MemoryStore>) -> Vec<String> {
    let layer = layer(library, store);
    let mut adoption = layer.adoption(id_of).await.unwrap();
    let mut all = Vec::new();
    while let Some(adopted) = adoption.next().await.unwrap() {
        all.push(match adopted {
            Adopted::Here { session_id, taken } => format!("{session_id} {taken:?}"),
            Adopted::Failed { id, error } => format!("{id} failed: {error}"),
        });
    }
    layer.end().await;
    all
}

/// What was said in the session `id`.
async fn said(store: &MemoryStore, id: &str) -> Vec<String> {
    let id = SessionId::parse(id).unwrap();
    let all = entries(store, &id, EntryNumber::START);
    futures::pin_mut!(all);
    let mut said = Vec::new();
    while let Some(entry) = futures::StreamExt::next(&mut all).await {
        let step = entry.unwrap().step;
        let body: Value = serde_json::from_str(step.body.as_str()).unwrap();
        said.extend(match step.kind {
            StepKind::Prompt => body[0]["text"].as_str().map(str::to_owned),
            StepKind::Update(_) => body["content"]["text"].as_str().map(str::to_owned),
            _ => None,
        });
    }
    said
}

#[tokio::test]
async fn all_pages_come_in_once_with_what_was_said() {
    let (library, store) = (library(5), Arc::default());
    library.lock().unwrap().pages = Pages::InACircle;

    let all = ["own-1", "own-2", "own-3", "own-4", "own-5"];
    assert_eq!(adopt(&library, &store).await, all.map(|id| format!("librarian-{id} All")));
    assert_eq!(said(&store, "librarian-own-4").await, ["question 4", "answer 4"]);
    let facts = store.session(&SessionId::parse("librarian-own-4").unwrap()).await.unwrap().facts;
    assert_eq!((facts.cwd.raw.as_str(), facts.title(), facts.turns), ("/p", Some("Title of own-4"), 1));
    assert_eq!(facts.updated_at.to_string(), "2026-05-04T10:00:02.000Z");
    assert_eq!(facts.agent_session.unwrap().id, "own-4");

    library.lock().unwrap().asked.clear();
    assert_eq!(adopt(&library, &store).await, all.map(|id| format!("librarian-{id} Nothing")));
    let asked = library.lock().unwrap().asked.clone();
    assert!(!asked.iter().any(|method| method.starts_with("session/load")), "{asked:?}");
}

#[tokio::test]
async fn a_page_without_sessions_does_not_end_the_list() {
    let (library, store) = (library(5), Arc::default());
    library.lock().unwrap().pages = Pages::WithHoles;

    assert_eq!(adopt(&library, &store).await.len(), 5);
}

#[tokio::test]
async fn a_session_without_a_folder_is_named() {
    let (library, store) = (library(2), Arc::default());
    library.lock().unwrap().homeless = Some("own-1".to_owned());

    let all = adopt(&library, &store).await;
    assert!(all[0].starts_with("own-1 failed: ") && all[0].contains("without the folder"), "{all:?}");
    assert_eq!(all[1..], ["librarian-own-2 All"]);
}

#[tokio::test]
async fn what_went_on_is_found_though_the_list_tells_no_times() {
    let (library, store) = (library(1), Arc::default());
    library.lock().unwrap().is_timeless = true;
    assert_eq!(adopt(&library, &store).await, ["librarian-own-1 All"]);
    assert_eq!(adopt(&library, &store).await, ["librarian-own-1 Nothing"]);
    library.lock().unwrap().sessions[0].1.extend(["and then?".to_owned(), "nothing".to_owned()]);

    assert_eq!(adopt(&library, &store).await, ["librarian-own-1 More"]);
}

#[tokio::test]
async fn what_an_agent_replays_behind_its_answer_is_waited_for() {
    let (library, store) = (library(1), Arc::default());
    library.lock().unwrap().is_late = true;
    library.lock().unwrap().sessions[0].1 = vec!["only a question".to_owned()];

    assert_eq!(adopt(&library, &store).await, ["librarian-own-1 All"]);
    assert_eq!(said(&store, "librarian-own-1").await, ["only a question"]);
}

#[tokio::test]
async fn a_session_that_went_on_in_the_agent_goes_on_here() {
    let (library, store) = (library(1), Arc::default());
    adopt(&library, &store).await;
    library.lock().unwrap().sessions[0].1.extend(["and then?".to_owned(), "nothing".to_owned()]);

    assert_eq!(adopt(&library, &store).await, ["librarian-own-1 More"]);
    assert_eq!(said(&store, "librarian-own-1").await, ["question 1", "answer 1", "and then?", "nothing"]);
    assert_eq!(adopt(&library, &store).await, ["librarian-own-1 Nothing"]);
}

#[tokio::test]
async fn a_session_that_went_its_own_way_here_is_left_alone() {
    let (library, store) = (library(1), Arc::default());
    adopt(&library, &store).await;
    library.lock().unwrap().sessions[0].1 = vec!["something else".to_owned(), "indeed".to_owned(), "more".to_owned()];

    assert_eq!(adopt(&library, &store).await, ["librarian-own-1 Nothing"]);
    assert_eq!(said(&store, "librarian-own-1").await, ["question 1", "answer 1"]);
}

#[tokio::test]
async fn one_that_can_not_be_loaded_is_named_and_the_others_come_in() {
    let (library, store) = (library(3), Arc::default());
    library.lock().unwrap().broken = Some("own-2".to_owned());
    library.lock().unwrap().sessions[2].1.clear();

    let all = adopt(&library, &store).await;
    assert_eq!(all[0], format!("librarian-own-1 {:?}", Taken::All));
    assert!(all[1].starts_with("own-2 failed: ") && all[1].contains("its pages are torn"), "{all:?}");
    assert!(all[2].starts_with("own-3 failed: ") && all[2].contains("nothing was said"), "{all:?}");
    assert!(store.session(&SessionId::parse("librarian-own-2").unwrap()).await.is_err());
}

#[tokio::test]
async fn what_was_made_through_us_is_not_brought_in_once_more() {
    let (library, store): (Shared, Arc<MemoryStore>) = (library(1), Arc::default());
    let mut session = rejoin_testing::session_in("/p");
    session.facts.session_id = SessionId::parse("ours").unwrap();
    session.facts.agent.name = "librarian".to_owned();
    session.facts.agent_session = Some(AgentSession { id: "own-1".to_owned(), generation: 1, lacks: 0 });
    let steps = [rejoin_testing::prompt(1, "asked here"), rejoin_testing::end(1)].map(Ok::<_, StoreError>);
    take_in(&*store, &session, Likeness::Exact, futures::stream::iter(steps)).await.unwrap();

    assert_eq!(adopt(&library, &store).await, ["ours Nothing"]);
    assert_eq!(said(&store, "ours").await, ["asked here"]);
}

#[tokio::test]
async fn a_session_is_closed_in_the_agent_when_it_is_read() {
    let (library, store) = (library(2), Arc::default());
    adopt(&library, &store).await;
    let asked = library.lock().unwrap().asked.clone();
    assert_eq!(
        asked,
        [
            "initialize",
            "session/list",
            "session/load own-1",
            "session/close own-1",
            "session/load own-2",
            "session/close own-2"
        ]
    );
}
