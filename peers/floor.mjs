// An agent on the TypeScript SDK that does nothing but load, as fast as that SDK can: the session is a file of
// `session/update` messages, which it has read and parsed before anyone asks. The benchmarks compare with it.
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const messages = readFileSync(process.argv[2], "utf8").trim().split("\n").map((line) => JSON.parse(line));
const updates = messages.filter(({ method }) => method === "session/update").map(({ params }) => params);

acp
  .agent({ name: "floor-ts" })
  .onRequest(acp.methods.agent.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentInfo: { name: "floor-ts", version: "1" },
    agentCapabilities: { loadSession: true },
  }))
  .onRequest(acp.methods.agent.session.load, async ({ client }) => {
    for (const update of updates) await client.notify(acp.methods.client.session.update, update);
    return {};
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
