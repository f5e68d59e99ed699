//! Sessions that another process uses, here the test: what can be done with them, and what not.

use rejoin_store::{Owner, SessionStore};
use rejoin_transcript::{Json, MessageId, SessionId, Step, TurnEnd};
use serde_json::Value;

use crate::world::{Transcript, World};

#[tokio::test]
async fn a_running_turn_hinders_nothing_but_its_end() {
    let world = World::new();
    Transcript::new("busy").prompt("hello").say("hi").end_well().import(&world);
    let (store, id) = (world.store(), SessionId::parse("busy").unwrap());
    let lease = store.acquire(&id, &Owner::this_process()).await.unwrap();
    let at = "2024-05-06T07:09:00Z".parse().unwrap();
    let blocks = Json::parse(r#"[{"type":"text","text":"go on"}]"#).unwrap();
    let prompt = Step::prompt(at, 2, MessageId::new("prompt-2"), blocks).unwrap();
    let head = store.append(&lease, lease.head, vec![prompt], Vec::new()).await.unwrap();

    for args in [["rename", "busy", "Busy"].as_slice(), &["archive", "busy"], &["unarchive", "busy"]] {
        let done = world.run(args);
        assert_eq!(done.code, Some(0), "{done}");
    }
    let fork: Value = serde_json::from_str(&world.run(&["fork", "busy", "--json"]).stdout).unwrap();
    let refused = world.run(&["delete", "busy", "--yes"]);
    let collected = world.run(&["gc", "--older-than", "1s", "--yes"]);

    let fork = SessionId::parse(fork["sessionId"].as_str().unwrap()).unwrap();
    assert_eq!(store.session(&fork).await.unwrap().facts.turns, 1);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.contains(&format!("process {}", std::process::id())), "{refused}");
    assert_eq!(collected.stdout, "nothing to remove\n");
    // The owner has lost nothing by all that.
    let end = Step::turn_ended(at, 2, &TurnEnd::Stopped { reason: "end_turn".to_owned() });
    store.append(&lease, head, vec![end], Vec::new()).await.unwrap();
    assert_eq!(store.session(&id).await.unwrap().facts.title(), Some("Busy"));
}
