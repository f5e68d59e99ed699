// A client on the TypeScript SDK: starts the program that its arguments name, walks through the life of a session, ends
// the program, and goes on with another process of it. `client.py` does the same on the Python SDK.
//
// With `--echo` as its first argument the walk is a short one, with an agent that says what it hears.
//
// Prints `ok STEP` for each step; stops at the first that is not as it should be, with the reason and exit code 1.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk/unstable";

const { session } = acp.methods.agent;
const cwd = process.cwd();
const opening = { cwd, mcpServers: [] };
const isEcho = process.argv[2] === "--echo";

/** The first process: makes a session, and gives its id and what was seen of it. */
async function begin(agent, seen) {
  await initialize(agent);
  const { sessionId } = await agent.request(session.new, opening);
  ok("new");
  assert.equal(await prompt(agent, sessionId, "The word is heron."), "end_turn");
  assert.equal(seen.agent, "I keep it in mind.");
  assert.deepEqual([...seen.tools.values()], ["completed"]);
  ok("prompt");
  seen.watch = (text) => text === "3 " && agent.notify(session.cancel, { sessionId });
  assert.equal(await prompt(agent, sessionId, "Count."), "cancelled");
  ok("cancel");
  assert.deepEqual(await list(agent), [sessionId]);
  ok("list");
  return { sessionId, live: seen };
}

/** The second process: everything else. */
async function goOn(agent, seen, sessionId, live) {
  await initialize(agent);
  assert.deepEqual(await list(agent), [sessionId]);
  ok("list in another process");
  await agent.request(session.load, { sessionId, ...opening });
  assert.equal(seen.user, "The word is heron.Count.");
  assert.equal(seen.agent, live.agent);
  assert.deepEqual(seen.tools, live.tools);
  ok("load");
  await remembers(agent, seen, sessionId);
  ok("prompt after load");
  await agent.request(session.close, { sessionId });
  ok("close");
  seen.clear();
  await agent.request(session.resume, { sessionId, ...opening });
  assert.equal(seen.user + seen.agent, "");
  await remembers(agent, seen, sessionId);
  ok("resume");
  const fork = await agent.request(session.fork, { sessionId, ...opening });
  assert.deepEqual((await list(agent)).sort(), [fork.sessionId, sessionId].sort());
  await remembers(agent, seen, fork.sessionId);
  ok("fork");
  await agent.request(session.delete, { sessionId });
  assert.deepEqual(await list(agent), [fork.sessionId]);
  await assert.rejects(agent.request(session.load, { sessionId, ...opening }), { code: -32002 });
  ok("delete");
}

/** A conversation with an agent that says what it hears: the first process. */
async function beginEcho(agent, seen) {
  await initialize(agent);
  const { sessionId, modes } = await agent.request(session.new, opening);
  assert.deepEqual(modes.availableModes.map(({ id }) => id), ["ask", "code", "architect"]);
  ok("new");
  assert.equal(await prompt(agent, sessionId, "Hello, heron."), "end_turn");
  // Before it may stand the remark that no model is configured.
  assert.match(seen.agent, /Hello, heron\.$/);
  ok("prompt");
  await agent.request(session.setMode, { sessionId, modeId: "code" });
  seen.clear();
  await prompt(agent, sessionId, "/mode");
  assert.equal(seen.agent, "The mode is code.\n");
  ok("mode");
  return { sessionId };
}

/** The second process. */
async function goOnEcho(agent, seen, sessionId) {
  await initialize(agent);
  assert.deepEqual(await list(agent), [sessionId]);
  const { modes } = await agent.request(session.load, { sessionId, ...opening });
  assert.equal(modes.currentModeId, "code");
  assert.equal(seen.user, "Hello, heron./mode");
  ok("load");
  const fork = await agent.request(session.fork, { sessionId, ...opening });
  seen.clear();
  assert.equal(await prompt(agent, fork.sessionId, "Again."), "end_turn");
  assert.equal(seen.agent, "Again.");
  ok("fork");
  await agent.request(session.delete, { sessionId });
  assert.deepEqual(await list(agent), [fork.sessionId]);
  ok("delete");
}

async function initialize(agent) {
  const request = { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} };
  const { protocolVersion, agentCapabilities } = await agent.request("initialize", request);
  assert.equal(protocolVersion, acp.PROTOCOL_VERSION);
  assert.equal(agentCapabilities.loadSession, true);
  for (const name of ["list", "resume", "fork", "close", "delete"]) {
    assert.ok(agentCapabilities.sessionCapabilities[name], `it cannot ${name}`);
  }
  ok("initialize");
}

async function list(agent) {
  const { sessions } = await agent.request(session.list, { cwd });
  return sessions.map(({ sessionId }) => sessionId);
}

async function prompt(agent, sessionId, text) {
  return (await agent.request(session.prompt, { sessionId, prompt: [{ type: "text", text }] })).stopReason;
}

async function remembers(agent, seen, sessionId) {
  seen.clear();
  assert.equal(await prompt(agent, sessionId, "Which word?"), "end_turn");
  // Before it may stand the remark that the agent was told the conversation anew.
  assert.match(seen.agent, /It is heron\.$/);
}

/** Starts the program, has `walk` speak with it, and waits until it has ended. */
async function connected(walk) {
  const [command, ...args] = process.argv.slice(isEcho ? 3 : 2);
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const seen = new Seen();
  const result = await acp
    .client({ name: "peer-client" })
    .onNotification(acp.methods.client.session.update, ({ params }) => seen.add(params.update))
    .connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), (agent) => walk(agent, seen));
  child.stdin.end();
  assert.deepEqual(await ended, [0, null]);
  ok("end");
  return result;
}

/** What the updates of a connection show. */
class Seen {
  user = "";
  agent = "";
  tools = new Map();
  watch = () => {};

  add(update) {
    const text = update.content?.text ?? "";
    if (update.sessionUpdate === "user_message_chunk") this.user += text;
    if (update.sessionUpdate === "agent_message_chunk") this.agent += text;
    if (update.sessionUpdate.startsWith("tool_call")) this.tools.set(update.toolCallId, update.status);
    this.watch(text);
  }

  clear() {
    Object.assign(this, new Seen());
  }
}

function ok(step) {
  console.log(`ok ${step}`);
}

function fail(error) {
  console.log(`not as it should be: ${error.stack}`);
  process.exit(1);
}

setTimeout(() => fail(new Error("it took more than a minute")), 60_000).unref();
try {
  const { sessionId, live } = await connected(isEcho ? beginEcho : begin);
  const rest = isEcho ? goOnEcho : goOn;
  await connected((agent, seen) => rest(agent, seen, sessionId, live));
} catch (error) {
  fail(error);
}
