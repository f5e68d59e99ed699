"""Whether a model still knows what it was told after a session was restored, on each rung of rejoin's ladder.

A session is told a word, everything is killed, and a fresh process is asked for it, over another rung each time. The model knows of a
conversation what it is sent, so its answer says whether the word came to it. The same with an answer that is killed in the middle: it must
know how far it got, as far as the client has seen.
"""
import json
import re
import subprocess

from client import Failed, started, words

REMEMBER, RECALL = "Please remember the word {}. Answer with ok and nothing else.", "I told you a word before: what is the word?"
SLOWLY, HOW_FAR = "Please count slowly.", "Before you go on: how far did you get?"

# How a session goes on: what it began with, with what it goes on, and whether as a fork.
HERE, NO_RESUME, BUILT_IN = "here", "without resume", "built-in"
WAYS = {
    "killed": (HERE, HERE, False),
    "killed, without resume": (HERE, NO_RESUME, False),
    "forked": (HERE, HERE, True),
    "goes on in the built-in agent": (HERE, BUILT_IN, False),
    "began in the built-in agent": (BUILT_IN, HERE, False),
}
CUT_OFF = "killed in mid-answer"
WAYS_OF_BUILT_IN = {"killed": (BUILT_IN, BUILT_IN, False), "forked": (BUILT_IN, BUILT_IN, True)}


def climb(place, is_built_in):
    """By way: the rung that was used and whether the model knew the word, or what failed."""
    ways = WAYS_OF_BUILT_IN if is_built_in else WAYS
    commands = {HERE: place.behind(), NO_RESUME: place.behind(without="resume"), BUILT_IN: place.built_in()}
    told = {way: f"mukovis{n}" for n, way in enumerate(ways)}
    sessions = {}
    for which in (HERE, BUILT_IN):
        begin(place, commands[which], {way: told[way] for way in ways if ways[way][0] == which}, sessions)
    found = {}
    for way, (_, which, as_fork) in ways.items():
        found[way] = go_on(place, commands[which], sessions[way], told[way], as_fork)
    found[CUT_OFF] = go_on_with_half(place, commands[BUILT_IN if is_built_in else HERE])
    return found


def begin(place, command, told, sessions):
    """Tells each word in a session of its own, and kills."""
    if not told:
        return
    with started(place, command) as client:
        client.initialize()
        for way, word in told.items():
            _, sessions[way] = client.new()
            client.prompt(sessions[way], REMEMBER.format(word))
        client.kill()


def go_on(place, command, session, word, as_fork):
    try:
        with started(place, command) as client:
            client.initialize()
            if as_fork:
                session = client.call("session/fork", client.of(session))[1]["sessionId"]
            else:
                client.load(session)
            _, _, said = client.prompt(session, RECALL)
    except Failed as failure:
        return {"failed": str(failure)}
    return {"rung": rung(place, session), "knows": f"The word is {word}." in said, "said": said}


def go_on_with_half(place, command):
    """Kills in the middle of an answer, and asks how far it got."""
    try:
        with started(place, command) as client:
            client.initialize()
            _, session = client.new()
            client.prompt(session, REMEMBER.format("mukovis"))
            client.begin(session, SLOWLY)
            client.until_said(session, 5)
            seen = max(int(word[1:]) for word in words(client.said_in_turn(session)))
            client.kill()
        with started(place, command) as client:
            client.initialize()
            client.load(session)
            _, _, said = client.prompt(session, HOW_FAR)
    except Failed as failure:
        return {"failed": str(failure)}
    got = re.search(r"I got to w(\d+)\.", said)
    return {"rung": rung(place, session), "knows": bool(got) and int(got[1]) >= seen, "said": said}


def rung(place, session):
    """How the agent came to have the session last."""
    raw = subprocess.run([*place.with_settings(), "show", "--raw", session], env=place.env, cwd=place.folder,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True)
    entries = [json.loads(line) for line in raw.stdout.splitlines()]
    used = [entry["body"]["by"] for entry in entries if entry.get("kind") == "restored"]
    return used[-1] if used else None

