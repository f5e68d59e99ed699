"""An agent on the Python SDK that can do as little as an agent may: new, prompt and cancel. It remembers what it was told
for as long as its process lives, and keeps nothing. `agent.mjs` does the same on the TypeScript SDK."""

import asyncio
import re
from dataclasses import dataclass, field
from uuid import uuid4

import acp
from acp.schema import AgentCapabilities, Implementation, InitializeResponse, NewSessionResponse, PromptResponse


@dataclass
class Session:
    """What was told in a session, and what stops its turn."""

    told: str = ""
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)


class PeerAgent:
    def __init__(self):
        self.sessions = {}

    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **_):
        return InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_info=Implementation(name="peer-py", version="1"),
            agent_capabilities=AgentCapabilities(),
        )

    async def new_session(self, cwd, additional_directories=None, mcp_servers=None, **_):
        session_id = str(uuid4())
        self.sessions[session_id] = Session()
        return NewSessionResponse(session_id=session_id)

    async def prompt(self, session_id, prompt, **_):
        session = self.sessions[session_id]
        session.cancelled.clear()
        texts = [getattr(block, "text", "") for block in prompt]
        session.told += "\n".join(texts) + "\n"

        await self.use_tool(session_id)
        # What comes before the last block is what the prompt is about.
        for word in answer(texts[-1], session.told):
            await self.client.session_update(session_id=session_id, update=acp.update_agent_message_text(word))
            try:
                await asyncio.wait_for(session.cancelled.wait(), 0.01)
                return PromptResponse(stop_reason="cancelled")
            except asyncio.TimeoutError:
                pass
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id, **_):
        self.sessions[session_id].cancelled.set()

    async def use_tool(self, session_id):
        tool = str(uuid4())
        content = [acp.tool_content(acp.text_block("nothing new"))]
        for update in (
            acp.start_tool_call(tool, "Look around", kind="read", status="pending"),
            acp.update_tool_call(tool, status="completed", content=content),
        ):
            await self.client.session_update(session_id=session_id, update=update)


def answer(message, told):
    """The words of the answer to `message`, of one who was told `told`."""
    if message == "Count.":
        return (f"{number} " for number in range(1, 5001))
    if message == "Which word?":
        words = re.findall(r"The word is (\w+)", told)
        return ["It ", "is ", f"{words[-1]}."] if words else ["I ", "do ", "not ", "know."]
    return ["I ", "keep ", "it ", "in ", "mind."]


asyncio.run(acp.run_agent(PeerAgent()))
