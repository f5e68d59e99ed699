"""What sessions cost with an agent: alone and behind rejoin, which take turns, so that what else the machine does disturbs both alike.

Each contender first makes SESSIONS sessions, the first of TURNS turns, and is killed in the middle of an answer. Then come ROUNDS rounds: a
fresh process, a new session, prompts, a cancel, the list, the load of the first session and a prompt there, and once the load of the one that
was cut off.
"""
import statistics
import time

from client import Failed, started, words

ROUNDS, SESSIONS, TURNS, PROMPTS = 3, 5, 20, 5
WHAT = ("start", "new", "first_word", "end", "cancel", "list", "load", "go_on")
QUICK, SLOW = "Say fifty words, quickly.", "Say many words, slowly."


def measure(contenders, rest):
    """The figures of the contenders, (place, command) by name; before the rounds they `rest` for so many seconds."""
    courses = {name: Course(*contender) for name, contender in contenders.items()}
    for course in courses.values():
        course.run(course.prepare)
    time.sleep(rest)
    for _ in range(ROUNDS):
        for course in courses.values():
            course.run(course.round)
    return {name: course.figures() for name, course in courses.items()}


class Course:
    """What one contender goes through."""

    def __init__(self, place, command):
        self.place, self.command = place, command
        self.spent, self.failures = {what: [] for what in WHAT}, []
        self.can, self.peak, self.durable = {}, 0, None
        self.sessions, self.cut_off, self.seen = [], None, set()

    def run(self, part):
        """Goes through `part` with a fresh process."""
        with started(self.place, self.command) as client:
            try:
                part(client)
            except Failed as failure:
                self.failures.append(str(failure))
        self.peak = max(self.peak, client.peak)

    def prepare(self, client):
        client.initialize()
        self.sessions = [self.talk(client, TURNS if n == 0 else 1) for n in range(SESSIONS)]
        _, self.cut_off = client.new()
        client.begin(self.cut_off, SLOW)
        client.until_said(self.cut_off, 15)
        client.kill()
        self.seen = words(client.said_in_turn(self.cut_off))

    def talk(self, client, turns):
        _, session = client.new()
        for _ in range(turns):
            client.prompt(session, QUICK)
        return session

    def round(self, client):
        spent, self.can = client.initialize()
        self.spent["start"].append(spent)
        spent, session = client.new()
        self.spent["new"].append(spent)
        for _ in range(PROMPTS):
            first_word, end, _ = client.prompt(session, QUICK)
            self.spent["first_word"].append(first_word)
            self.spent["end"].append(end)
        turn = client.begin(session, SLOW)
        client.until_said(session, 5)
        self.spent["cancel"].append(client.cancel(session, turn))
        if "list" in self.abilities():
            self.spent["list"].append(client.call("session/list", {"cwd": str(self.place.folder)})[0])
        if "load" in self.abilities() and self.seen:
            self.load(client)
            if self.durable is None:
                self.durable = self.what_is_left(client)

    def load(self, client):
        """Loads the first session, and goes on in it at once."""
        try:
            spent = client.load(self.sessions[0])
            self.spent["load"].append(spent)
            first_word, _, _ = client.prompt(self.sessions[0], QUICK)
            self.spent["go_on"].append(first_word and spent + first_word)
        except Failed as failure:
            self.failures.append(str(failure))

    def what_is_left(self, client):
        """How much of the answer that was cut off is there."""
        try:
            client.load(self.cut_off)
        except Failed as failure:
            self.failures.append(str(failure))
        time.sleep(0.5)  # there are agents that answer first
        said = client.said(self.cut_off)
        return {"seen": len(self.seen), "kept": len(self.seen & words(said["agent"])), "prompt": SLOW in said["user"]}

    def abilities(self):
        """What the agent says that it can do with sessions."""
        return [*(["load"] if self.can.get("loadSession") else []), *(self.can.get("sessionCapabilities") or {})]

    def figures(self):
        known = {what: [one for one in spent if one is not None] for what, spent in self.spent.items()}
        median = {what: round(statistics.median(spent), 2) if spent else None for what, spent in known.items()}
        return {"ms": median, "durable": self.durable, "memory": self.peak, "abilities": self.abilities(), "failures": self.failures}
