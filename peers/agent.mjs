// An agent on the TypeScript SDK that can do as little as an agent may: new, prompt and cancel. It remembers what it was
// told for as long as its process lives, and keeps nothing. `agent.py` does the same on the Python SDK.
import { randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import * as acp from "@agentclientprotocol/sdk";

/** What was told in each session, and what stops its turn. */
const sessions = new Map();

acp
  .agent({ name: "peer-ts" })
  .onRequest(acp.methods.agent.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentInfo: { name: "peer-ts", version: "1" },
    agentCapabilities: {},
  }))
  .onRequest(acp.methods.agent.session.new, () => {
    const sessionId = randomUUID();
    sessions.set(sessionId, { told: "", turn: new AbortController() });
    return { sessionId };
  })
  .onRequest(acp.methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    const session = sessions.get(sessionId);
    session.turn = new AbortController();
    const texts = prompt.map((block) => block.text ?? "");
    session.told += texts.join("\n") + "\n";
    const update = (update) => client.notify(acp.methods.client.session.update, { sessionId, update });

    await useTool(update);
    // What comes before the last block is what the prompt is about.
    for (const word of answer(texts.at(-1), session.told)) {
      await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: word } });
      await sleep(10, undefined, { signal: session.turn.signal }).catch(() => {});
      if (session.turn.signal.aborted) return { stopReason: "cancelled" };
    }
    return { stopReason: "end_turn" };
  })
  .onNotification(acp.methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.turn.abort())
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

async function useTool(update) {
  const toolCallId = randomUUID();
  await update({ sessionUpdate: "tool_call", toolCallId, title: "Look around", kind: "read", status: "pending" });
  const content = [{ type: "content", content: { type: "text", text: "nothing new" } }];
  await update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed", content });
}

/** The words of the answer to `message`, of one who was told `told`. */
function* answer(message, told) {
  if (message === "Count.") {
    for (let number = 1; number <= 5000; number++) yield `${number} `;
  } else if (message === "Which word?") {
    const word = [...told.matchAll(/The word is (\w+)/g)].at(-1)?.[1];
    yield* word ? ["It ", "is ", `${word}.`] : ["I ", "do ", "not ", "know."];
  } else {
    yield* ["I ", "keep ", "it ", "in ", "mind."];
  }
}
