//! `rejoin export`

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rejoin_transcript::{Json, TurnEnd};

use crate::world::{Transcript, World};

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["export"]), @"
    Write a session to standard output or a file

    Usage: rejoin export [OPTIONS] <ID>

    Arguments:
      <ID>
              The session's id, or a beginning of it that no other id has

    Options:
          --format <FORMAT>
              The form to write [default: as the file's name ends, else jsonl]

              Possible values:
              - jsonl:    JSON Lines that `import` reads: a header, then one entry a line
              - markdown: To read, or to paste somewhere
              - html:     One file to read in a browser

      -o, --output <FILE>
              Write to this file instead of standard output; only you can read it

          --redact
              Replace what looks like a secret or tells who you are

      -h, --help
              Print help (see a summary with '-h')

    JSON Lines hold everything and can be imported again; HTML is one file that needs no network, for a
    browser.

    With --redact the following is replaced: private keys, tokens of known forms and in known places,
    what is assigned to names like PASSWORD or api_key, values of such environment variables of yours,
    credentials in addresses, e-mail addresses, and home folders. What looks like none of these stays,
    as do images and names of people and machines: look before you share.

    Examples:
      rejoin export 0c5f2a91 > session.jsonl
      rejoin export 0c5f2a91 -o session.html
      rejoin export 0c5f2a91 --format markdown --redact
      rejoin export 0c5f2a91 | ssh host rejoin import -
    --- exit 0
    ");
}

#[test]
fn an_export_is_a_header_and_every_entry() {
    let world = World::new();
    Transcript::new("one").prompt("hello").say("hi").end_well().import(&world);

    insta::assert_snapshot!(world.run(&["export", "one", "--format", "jsonl"]), @r#"
    {"rejoin":"transcript","version":1,"session":{"sessionId":"one","titles":{"derived":"hello","agent":null,"manual":null},"cwd":{"raw":"/src/app","canonical":"/src/app"},"agent":{"name":"robot","command":[],"version":null},"messages":2,"recentMessages":["answer-1"],"turns":1,"hasErrors":false,"archived":false,"child":false,"createdAt":"2024-05-06T07:08:00.000Z","updatedAt":"2024-05-06T07:08:00.000Z"},"settings":{"modes":null,"models":null,"configOptions":null,"availableCommands":null,"inForce":{"mode":null,"model":null,"options":{}},"usage":null,"mcpServers":[]}}
    {"number":1,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"prompt","audience":"client","protocol":1,"messageId":"prompt-1","body":[{"type":"text","text":"hello"}]}
    {"number":2,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"update","audience":"client","protocol":1,"body":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"},"messageId":"answer-1"}}
    {"number":3,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"turn_ended","audience":"layer","protocol":1,"body":{"stopReason":"end_turn"}}
    --- exit 0
    "#);
}

#[test]
fn an_unknown_id_writes_nothing_and_tells_how_to_find_ids() {
    let world = World::with_sample();
    insta::assert_snapshot!(world.run(&["export", "nope-123", "-o", "x.html"]), @"
    --- stderr
    error: there is no session `nope-123`
    hint: find ids with `rejoin list`
    --- exit 1
    ");
    assert!(!world.path("x.html").exists());
}

/// A session with everything in it that a form may have to show, and that may do harm.
fn everything() -> Transcript {
    let call = r#"{"sessionUpdate":"tool_call","toolCallId":"1","title":"Edit <b>a.txt</b>","kind":"edit","status":"completed","rawInput":{"path":"a.txt","n":1},"content":[{"type":"diff","path":"/src/app/a.txt","oldText":"one\ntwo\n","newText":"one\n<i>2</i>\n"},{"type":"content","content":{"type":"text","text":"```\n<script>alert(1)</script>\n```"}},{"type":"terminal","terminalId":"t"}]}"#;
    let picture = r#"{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}}"#;
    let forged = r#"{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"image","mimeType":"image/png","data":"x\" onerror=\"alert(1)"}}"#;
    Transcript::new("all")
        .prompt("<script>alert('typed')</script>\n  & \"quoted\"")
        .update(r#"{"sessionUpdate":"agent_thought_chunk","messageId":"t","content":{"type":"text","text":"Let me think.\nAbout <that>."}}"#)
        .update(call)
        .update(picture)
        .update(forged)
        .update(r#"{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"resource","resource":{"uri":"file:///x","text":"<in a resource>"}}}"#)
        .say("Done: **bold**, [good](https://host), [bad](javascript:alert(1)) <img src=x onerror=alert(1)>\u{1b}[31m")
        .update(r#"{"sessionUpdate":"weather_update","sky":"<blue>"}"#)
        .update(r#"{"sessionUpdate":"plan","entries":[{"content":"first <1>","status":"completed"},{"content":"second","status":"in_progress"},{"content":"third"}]}"#)
        .end(&TurnEnd::Failed { error: Json::parse(r#"{"code":-32000,"message":"the <key> has expired"}"#).unwrap() })
}

#[test]
fn markdown_holds_everything_that_has_a_text() {
    let world = World::new();
    everything().import(&world);
    insta::assert_snapshot!(world.run(&["export", "all", "--format", "md"]), @r#"
    # <script>alert('typed')</script>

    - session: all
    - agent: robot
    - folder: /src/app
    - created: 2024-05-06 07:08
    - updated: 2024-05-06 07:08
    - messages: 3 in 1 turn

    ## Turn 1  2024-05-06 07:08

    ### You

    <script>alert('typed')</script>
      & "quoted"

    ### robot

    > Let me think.
    > About <that>.

    - Edit <b>a.txt</b> (completed)

      ```diff
      M a.txt
       one
      -two
      +<i>2</i>
      ```

      ````
      ```
      <script>alert(1)</script>
      ```
      ````

      [terminal]

    [image image/png]
    [image image/png]
    [resource file:///x]

    Done: **bold**, [good](https://host), [bad](javascript:alert(1)) <img src=x onerror=alert(1)>␛[31m

    - (update) {"sessionUpdate":"weather_update","sky":"<blue>"}

    Plan

    - [x] first <1>
    - [~] second
    - [ ] third

    error: the <key> has expired
    --- exit 0
    "#);
}

#[test]
fn html_is_one_file_in_which_nothing_can_do_harm() {
    let world = World::new();
    everything().import(&world);

    let page = world.run(&["export", "all", "--format", "html"]).stdout;

    let (head, body) = page.split_once("</head>").unwrap();
    assert!(
        head.contains("Content-Security-Policy") && !page.contains("<script") && !page.contains("<img src=x"),
        "{page}"
    );
    insta::assert_snapshot!(body, @r##"

    <body>
    <main>
    <header>
    <h1>&lt;script&gt;alert(&#39;typed&#39;)&lt;/script&gt;</h1>
    <dl>
    <div><dt>session</dt><dd>all</dd></div>
    <div><dt>agent</dt><dd>robot</dd></div>
    <div><dt>folder</dt><dd>/src/app</dd></div>
    <div><dt>created</dt><dd>2024-05-06 07:08</dd></div>
    <div><dt>updated</dt><dd>2024-05-06 07:08</dd></div>
    <div><dt>messages</dt><dd>3 in 1 turn</dd></div>
    </dl>
    </header>
    <section id="turn-1">
    <h2><a href="#turn-1">Turn 1</a> <time datetime="2024-05-06T07:08:00.000Z">2024-05-06 07:08</time></h2>
    <article class="user"><h3>You</h3>
    <div class="typed">&lt;script&gt;alert(&#39;typed&#39;)&lt;/script&gt;
      &amp; &quot;quoted&quot;</div>
    </article>
    <details class="thought"><summary>Thought</summary>
    <div class="said"><p>Let me think.
    About &lt;that&gt;.</p>
    </div>
    </details>
    <details class="call completed"><summary><span class="mark" title="completed">✓</span> Edit &lt;b&gt;a.txt&lt;/b&gt;</summary>
    <details class="raw"><summary>input</summary><pre>{
      &quot;path&quot;: &quot;a.txt&quot;,
      &quot;n&quot;: 1
    }</pre></details>
    <figure class="diff"><figcaption>a.txt</figcaption>
    <pre><span> one
    </span><del>-two
    </del><ins>+&lt;i&gt;2&lt;/i&gt;
    </ins></pre></figure>
    <pre>```
    &lt;script&gt;alert(1)&lt;/script&gt;
    ```</pre>
    <p class="quiet">[terminal]</p>
    </details>
    <article class="agent"><h3>robot</h3>
    <img alt="image" src="data:image/png;base64,iVBORw0KGgo=">
    <p class="quiet">[image image/png]</p>
    <details class="resource"><summary>file:///x</summary>
    <pre>&lt;in a resource&gt;</pre></details>
    </article>
    <article class="agent"><h3>robot</h3>
    <div class="said"><p>Done: <strong>bold</strong>, <a href="https://host">good</a>, bad &lt;img src=x onerror=alert(1)&gt;␛[31m</p>
    </div>
    </article>
    <details class="other"><summary>update</summary>
    <pre>{&quot;sessionUpdate&quot;:&quot;weather_update&quot;,&quot;sky&quot;:&quot;&lt;blue&gt;&quot;}</pre></details>
    <aside class="plan"><h3>Plan</h3><ul>
    <li class="completed"><span class="mark">✓</span> first &lt;1&gt;</li>
    <li class="open"><span class="mark">…</span> second</li>
    <li class="pending"><span class="mark">·</span> third</li>
    </ul></aside>
    <p class="end failed">error: the &lt;key&gt; has expired</p>
    </section>
    </main>
    </body>
    </html>
    "##);
}

#[test]
fn a_file_says_by_its_name_what_it_is_to_hold_and_only_its_owner_reads_it() {
    let world = World::with_sample();
    for (file, begin) in
        [("a.html", "<!doctype html>"), ("a.md", "# Keep"), ("a.jsonl", "{\"rejoin\""), ("a.txt", "{\"rejoin\"")]
    {
        let done = world.run(&["export", "5e7d", "-o", file]);
        assert_eq!(done.stdout, format!("exported 5e7d0c41b9f24a86a3d1c08f62e94b75 to {file}\n"), "{done}");
        let text = fs::read_to_string(world.path(file)).unwrap();
        assert!(text.starts_with(begin), "{file}: {text}");
        assert_eq!(fs::metadata(world.path(file)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(world.run(&["export", "5e7d", "-o", "-"]).stdout.starts_with("{\"rejoin\""));
}

#[test]
fn a_file_that_can_not_be_written_stays_as_it_was() {
    let world = World::with_sample();
    world.write("folder/x", "");
    insta::assert_snapshot!(world.run(&["export", "5e7d", "-o", "folder"]), @"
    --- stderr
    error: folder can't be written
    caused by: is a directory
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["export", "5e7d", "-o", "nowhere/x.html"]), @"
    --- stderr
    error: nowhere/x.html can't be written
    caused by: there is no folder nowhere
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["export", "5e7d", "-o", "/dev/full"]), @"
    --- stderr
    error: /dev/full can't be written
    caused by: No space left on device (os error 28)
    --- exit 1
    ");
    symlink("gone/away", world.path("link.html")).unwrap();
    insta::assert_snapshot!(world.run(&["export", "5e7d", "-o", "link.html"]), @"
    --- stderr
    error: link.html can't be written
    caused by: No such file or directory (os error 2)
    --- exit 1
    ");
}

#[test]
fn a_link_or_a_pipe_stays_what_it_is() {
    let world = World::with_sample();
    world.write("real.md", "before");
    symlink("real.md", world.path("link.md")).unwrap();
    assert_eq!(world.run(&["export", "5e7d", "-o", "link.md"]).code, Some(0));
    assert!(world.path("link.md").is_symlink());
    assert!(fs::read_to_string(world.path("real.md")).unwrap().starts_with("# Keep the time zone"));

    // As `/dev/stdout` is, but one that can be spared.
    symlink("/proc/self/fd/1", world.path("out")).unwrap();
    let done = world.run(&["export", "5e7d", "-o", "out", "--format", "md"]);
    assert!(done.stdout.starts_with("# Keep the time zone") && world.path("out").is_symlink(), "{done}");
}

#[test]
fn a_redacted_session_is_the_same_but_for_its_secrets() {
    let world = World::new();
    let chunk = |text: &str| {
        let content = serde_json::json!({ "type": "text", "text": text });
        serde_json::json!({ "sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content, "n": 1.5 })
            .to_string()
    };
    Transcript::new("one")
        .in_folder(&world.path("home/app"))
        .prompt("my key is sk-ant-api03-AAAABBBBCCCCDDDD1111, mail mira@example.org, use my own deploy token")
        .update(&chunk("it is sk-ant-api03-AAAA"))
        .update(&chunk("BBBBCCCC"))
        .update(&chunk("DDDD1111, in /home/mira/x"))
        .update(r#"{"sessionUpdate":"tool_call","toolCallId":"1","title":"env","rawOutput":{"DB_PASSWORD":"hunter22","DB":"DB_PASSWORD=hunter22"}}"#)
        .end_well()
        .import(&world);

    let env = [("DEPLOY_TOKEN", "my own deploy token")];
    let redacted = world.run_in("", &env, &["export", "one", "--redact"]);

    insta::assert_snapshot!(redacted, @r#"
    {"rejoin":"transcript","version":1,"session":{"sessionId":"one","titles":{"derived":"my key is [redacted key], mail [redacted e-mail], use my own d…","agent":null,"manual":null},"cwd":{"raw":"/home/user/app","canonical":"/home/user/app"},"agent":{"name":"robot","command":[],"version":null},"messages":2,"recentMessages":["m"],"turns":1,"hasErrors":false,"archived":false,"child":false,"createdAt":"2024-05-06T07:08:00.000Z","updatedAt":"2024-05-06T07:08:00.000Z"},"settings":{"modes":null,"models":null,"configOptions":null,"availableCommands":null,"inForce":{"mode":null,"model":null,"options":{}},"usage":null,"mcpServers":[]}}
    {"number":1,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"prompt","audience":"client","protocol":1,"messageId":"prompt-1","body":[{"type":"text","text":"my key is [redacted key], mail [redacted e-mail], use [redacted secret]"}]}
    {"number":2,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"update","audience":"client","protocol":1,"body":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"it is [redacted key]"},"n":1.5}}
    {"number":3,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"update","audience":"client","protocol":1,"body":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":""},"n":1.5}}
    {"number":4,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"update","audience":"client","protocol":1,"body":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":", in /home/user/x"},"n":1.5}}
    {"number":5,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"update","audience":"client","protocol":1,"body":{"sessionUpdate":"tool_call","toolCallId":"1","title":"env","rawOutput":{"DB_PASSWORD":"[redacted secret]","DB":"DB_PASSWORD=[redacted secret]"}}}
    {"number":6,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"turn_ended","audience":"layer","protocol":1,"body":{"stopReason":"end_turn"}}
    --- exit 0
    "#);
    let other = world.finish(world.command(&["import", "-", "--store", "other.db"]), &redacted.stdout);
    assert_eq!(other.code, Some(0), "{other}");
    for format in ["md", "html"] {
        let shown = world.run_in("", &env, &["export", "one", "--redact", "--format", format]).stdout;
        for secret in ["AAAA", "BBBB", "DDDD", "mira", "hunter"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
    }
}
