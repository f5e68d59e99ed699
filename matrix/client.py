"""A client that speaks ACP with an agent, and notes when what came."""
import json
import os
import re
import subprocess
import time
from contextlib import contextmanager
from threading import Condition, Event, Thread

PATIENCE = 120
PAGE = os.sysconf("SC_PAGE_SIZE")


class Failed(Exception):
    """The agent refused, was silent, or is gone."""


@contextmanager
def started(place, command):
    """A client of `command`, which runs in `place` until it is left."""
    client = Client(place, command)
    try:
        yield client
    finally:
        client.end()


class Client:
    def __init__(self, place, command):
        self.place, self.peak, self.is_over = place, 0, Event()
        self.asked, self.answers, self.updates, self.turn_began, self.is_gone = [], {}, [], 0, False
        self.news = Condition()
        self.began = time.perf_counter()
        self.agent = subprocess.Popen(command, env=place.env, cwd=place.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, start_new_session=True)
        self.reader = Thread(target=self.read, daemon=True)
        self.reader.start()
        Thread(target=self.watch_memory, daemon=True).start()

    # -- what it says ---------------------------------------------------------------------------------------

    def initialize(self):
        """-> (ms since it was started, what it can do)"""
        info = {"name": "matrix", "version": "1"}
        request = self.ask("initialize", {"protocolVersion": 1, "clientInfo": info, "clientCapabilities": {}})
        at, result = self.answer(request)
        return ms(at - self.began), result.get("agentCapabilities") or {}

    def new(self):
        """-> (ms, session)"""
        spent, result = self.call("session/new", {"cwd": str(self.place.folder), "mcpServers": []})
        return spent, result["sessionId"]

    def load(self, session):
        """-> ms until the answer"""
        return self.call("session/load", self.of(session))[0]

    def prompt(self, session, text):
        """-> (ms until the first word of a longer answer, ms until the end, what was said)"""
        asked = time.perf_counter()
        at, _ = self.answer(self.begin(session, text))
        updates = self.updates[self.turn_began:]
        word = next((when for when, of, update in updates if of == session and words(text_of(update, "agent"))), None)
        return word and ms(word - asked), ms(at - asked), self.said_in_turn(session)

    def begin(self, session, text):
        self.turn_began = len(self.updates)
        return self.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def cancel(self, session, turn):
        """-> ms until the turn is answered"""
        asked = time.perf_counter()
        self.send({"method": "session/cancel", "params": {"sessionId": session}})
        at, _ = self.answer(turn)
        return ms(at - asked)

    def call(self, method, params):
        """-> (ms, result)"""
        asked = time.perf_counter()
        at, result = self.answer(self.ask(method, params))
        return ms(at - asked), result

    def of(self, session):
        return {"sessionId": session, "cwd": str(self.place.folder), "mcpServers": []}

    def ask(self, method, params):
        request = len(self.asked)
        self.asked.append(method)
        self.send({"id": request, "method": method, "params": params})
        return request

    def send(self, message):
        try:
            self.agent.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.agent.stdin.flush()
        except OSError as error:
            raise Failed("it has ended") from error

    # -- what comes -----------------------------------------------------------------------------------------

    def answer(self, request):
        """-> (when, result)"""
        self.until(lambda: request in self.answers, f"{self.asked[request]}: an answer")
        at, message = self.answers[request]
        if "error" in message:
            raise Failed(f"{self.asked[request]}: {json.dumps(message['error'])}")
        return at, message.get("result") or {}

    def until_said(self, session, n_words):
        """Waits until so many words of the answer to the last prompt are there."""
        self.until(lambda: len(words(self.said_in_turn(session))) >= n_words, f"{n_words} words")

    def said(self, session, first=0):
        """Who said what in a session, from an update on."""
        texts = [update for _, of, update in self.updates[first:] if of == session]
        return {who: "".join(text_of(update, who) for update in texts) for who in ("user", "agent")}

    def said_in_turn(self, session):
        """What the agent said since the last prompt."""
        return self.said(session, self.turn_began)["agent"]

    def until(self, has_come, what):
        with self.news:
            self.news.wait_for(lambda: has_come() or self.is_gone, PATIENCE)
            if not has_come():
                raise Failed("it has ended" if self.is_gone else f"{what} did not come in {PATIENCE} s")

    def read(self):
        for line in self.agent.stdout:
            at = time.perf_counter()
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if "method" in message and "id" in message:
                self.refuse(message)
            with self.news:
                if message.get("method") == "session/update":
                    self.updates.append((at, message["params"]["sessionId"], message["params"]["update"]))
                elif "method" not in message:
                    self.answers[message.get("id")] = at, message
                self.news.notify_all()
        with self.news:
            self.is_gone = True
            self.news.notify_all()

    def refuse(self, request):
        error = {"code": -32601, "message": f"there is no {request['method']}"}
        try:
            self.send({"id": request["id"], "error": error})
        except Failed:
            pass

    def watch_memory(self):
        while not self.is_over.wait(0.2):
            self.peak = max(self.peak, sum(map(resident, self.place.processes())))

    # -- its end --------------------------------------------------------------------------------------------

    def kill(self):
        """As if the machine had stopped: everything that runs there is gone at once."""
        self.place.kill()
        self.agent.wait()
        self.reader.join()

    def end(self):
        self.is_over.set()
        try:
            self.agent.stdin.close()
            self.agent.wait(2)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()


def ms(seconds):
    return seconds * 1000


def text_of(update, who):
    content = update.get("content")
    return content.get("text", "") if update.get("sessionUpdate") == f"{who}_message_chunk" and isinstance(content, dict) else ""


def words(text):
    """The words of the offline model's longer answers in `text`."""
    return set(re.findall(r"\bw\d+\b", text))


def resident(pid):
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * PAGE
    except OSError:
        return 0
