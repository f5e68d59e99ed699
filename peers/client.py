"""A client on the Python SDK: starts the program that its arguments name, walks through the life of a session, ends the
program, and goes on with another process of it. `client.mjs` does the same on the TypeScript SDK.

With `--echo` as its first argument the walk is a short one, with an agent that says what it hears.

Prints `ok STEP` for each step; stops at the first that is not as it should be, with the reason and exit code 1."""

import asyncio
import os
import sys
import traceback

import acp

CWD = os.getcwd()
OPENING = {"cwd": CWD, "mcp_servers": []}
IS_ECHO = sys.argv[1] == "--echo"
COMMAND = sys.argv[2:] if IS_ECHO else sys.argv[1:]


async def main():
    session_id, live = await connected(begin_echo if IS_ECHO else begin)
    rest = go_on_echo if IS_ECHO else go_on
    await connected(lambda agent, seen: rest(agent, seen, session_id, live))


async def begin(agent, seen):
    """The first process: makes a session, and gives its id and what was seen of it."""
    await initialize(agent)
    session_id = (await agent.new_session(**OPENING)).session_id
    ok("new")
    expect(await prompt(agent, session_id, "The word is heron."), "end_turn")
    expect(seen.agent, "I keep it in mind.")
    expect(list(seen.tools.values()), ["completed"])
    ok("prompt")
    running = asyncio.create_task(prompt(agent, session_id, "Count."))
    await seen.third_number.wait()
    await agent.cancel(session_id=session_id)
    expect(await running, "cancelled")
    ok("cancel")
    expect(await listed(agent), [session_id])
    ok("list")
    return session_id, seen


async def go_on(agent, seen, session_id, live):
    """The second process: everything else."""
    await initialize(agent)
    expect(await listed(agent), [session_id])
    ok("list in another process")
    await agent.load_session(session_id=session_id, **OPENING)
    expect(seen.user, "The word is heron.Count.")
    expect(seen.agent, live.agent)
    expect(seen.tools, live.tools)
    ok("load")
    await remembers(agent, seen, session_id)
    ok("prompt after load")
    await agent.close_session(session_id=session_id)
    ok("close")
    seen.clear()
    await agent.resume_session(session_id=session_id, **OPENING)
    expect(seen.user + seen.agent, "")
    await remembers(agent, seen, session_id)
    ok("resume")
    fork_id = (await agent.fork_session(session_id=session_id, **OPENING)).session_id
    expect(sorted(await listed(agent)), sorted([session_id, fork_id]))
    await remembers(agent, seen, fork_id)
    ok("fork")
    # The SDK has no method of its own for this one.
    await agent._conn.send_request("session/delete", {"sessionId": session_id})
    expect(await listed(agent), [fork_id])
    try:
        await agent.load_session(session_id=session_id, **OPENING)
        raise AssertionError("a deleted session was loaded")
    except acp.RequestError as error:
        expect(error.code, -32002)
    ok("delete")


async def begin_echo(agent, seen):
    """A conversation with an agent that says what it hears: the first process."""
    await initialize(agent)
    made = await agent.new_session(**OPENING)
    expect([mode.id for mode in made.modes.available_modes], ["ask", "code", "architect"])
    ok("new")
    expect(await prompt(agent, made.session_id, "Hello, heron."), "end_turn")
    # Before it may stand the remark that no model is configured.
    expect(seen.agent[-len("Hello, heron.") :], "Hello, heron.")
    ok("prompt")
    await agent.set_session_mode(session_id=made.session_id, mode_id="code")
    seen.clear()
    await prompt(agent, made.session_id, "/mode")
    expect(seen.agent, "The mode is code.\n")
    ok("mode")
    return made.session_id, seen


async def go_on_echo(agent, seen, session_id, _):
    """The second process."""
    await initialize(agent)
    expect(await listed(agent), [session_id])
    loaded = await agent.load_session(session_id=session_id, **OPENING)
    expect(loaded.modes.current_mode_id, "code")
    expect(seen.user, "Hello, heron./mode")
    ok("load")
    fork_id = (await agent.fork_session(session_id=session_id, **OPENING)).session_id
    seen.clear()
    expect(await prompt(agent, fork_id, "Again."), "end_turn")
    expect(seen.agent, "Again.")
    ok("fork")
    await agent._conn.send_request("session/delete", {"sessionId": session_id})
    expect(await listed(agent), [fork_id])
    ok("delete")


async def initialize(agent):
    told = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
    expect(told.protocol_version, acp.PROTOCOL_VERSION)
    expect(told.agent_capabilities.load_session, True)
    for name in ("list", "resume", "fork", "close", "delete"):
        if getattr(told.agent_capabilities.session_capabilities, name) is None:
            raise AssertionError(f"it cannot {name}")
    ok("initialize")


async def listed(agent):
    return [session.session_id for session in (await agent.list_sessions(cwd=CWD)).sessions]


async def prompt(agent, session_id, text):
    return (await agent.prompt(session_id=session_id, prompt=[acp.text_block(text)])).stop_reason


async def remembers(agent, seen, session_id):
    seen.clear()
    expect(await prompt(agent, session_id, "Which word?"), "end_turn")
    # Before it may stand the remark that the agent was told the conversation anew.
    expect(seen.agent[-len("It is heron.") :], "It is heron.")


async def connected(walk):
    """Starts the program, has `walk` speak with it, and waits until it has ended."""
    seen = Seen()
    started = acp.spawn_agent_process(seen, *COMMAND, cwd=CWD, transport_kwargs={"stderr": None, "shutdown_timeout": 20})
    async with started as (agent, process):
        result = await walk(agent, seen)
    expect(process.returncode, 0)
    ok("end")
    return result


class Seen:
    """What the updates of a connection show."""

    def __init__(self):
        self.third_number = asyncio.Event()
        self.clear()

    def clear(self):
        self.user = self.agent = ""
        self.tools = {}

    async def session_update(self, session_id, update, **_):
        text = getattr(getattr(update, "content", None), "text", "")
        if update.session_update == "user_message_chunk":
            self.user += text
        elif update.session_update == "agent_message_chunk":
            self.agent += text
            if text == "3 ":
                self.third_number.set()
        elif update.session_update in ("tool_call", "tool_call_update"):
            self.tools[update.tool_call_id] = update.status


def expect(what, wanted):
    if what != wanted:
        raise AssertionError(f"{what!r} instead of {wanted!r}")


def ok(step):
    print(f"ok {step}", flush=True)


try:
    asyncio.run(asyncio.wait_for(main(), 60))
except Exception:
    print(f"not as it should be: {traceback.format_exc()}")
    sys.exit(1)
