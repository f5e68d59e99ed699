"""Where an agent runs here: a home of its own, which it fills as it likes, and the commands that start it there."""
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SETTINGS = """
store = "{home}/rejoin.db"
model = "local/offline"
[providers.local]
kind = "openai"
base_url = "{model}/v1"
"""


class Place:
    """The home of one agent; what ran in it is ended, and it is removed, when it is left."""

    def __init__(self, name, agent, known):
        self.home = Path(tempfile.mkdtemp(prefix=f"matrix-{name}-"))
        self.folder = self.home / "project"
        self.folder.mkdir()
        self.rejoin = str(known["rejoin"])
        self.is_shared = agent.get("shared", True)
        known = {**known, "home": self.home}
        for path, text in agent.get("files", {}).items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_text(fill(text, known))
        self.settings = fill(SETTINGS, known)
        self.command = [fill(word, known) for word in agent["command"]]
        self.env = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        self.env |= {"HOME": str(self.home), "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        self.env |= {name: fill(value, known) for name, value in agent.get("env", {}).items()}
        paths = [fill(path, known) for path in agent.get("path", [])]
        self.env["PATH"] = ":".join([*paths, str(Path(known["node"]).parent), os.environ["PATH"]])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def alone(self):
        return self.command

    def behind(self, without=None):
        """The agent behind rejoin, maybe `without` one of its abilities."""
        hide = [sys.executable, str(HERE / "without.py"), without] if without else []
        shared = "true" if self.is_shared else "false"
        agent = f"[agents.it]\ncommand = {json.dumps([*hide, *self.command])}\nshared = {shared}\n"
        return [*self.with_settings(f"without-{without}" if without else "rejoin", agent), "acp", "--agent", "it"]

    def built_in(self):
        """The built-in agent, on the same store."""
        return [*self.with_settings("built-in"), "acp"]

    def with_settings(self, name="built-in", more=""):
        file = self.home / f"{name}.toml"
        file.write_text(self.settings + more)
        return [self.rejoin, "--config", str(file)]

    def processes(self):
        """All that runs in this home, also what has left its parents."""
        def holds(pid, file, mark):
            try:
                return mark in Path(f"/proc/{pid}/{file}").read_bytes()
            except OSError:  # it has ended, or may not be read
                return False

        # Rejoin shows nobody its environment, but its arguments name the settings.
        environment, settings = f"HOME={self.home}\0".encode(), f"--config\0{self.home}/".encode()
        pids = filter(str.isdigit, os.listdir("/proc"))
        return [int(pid) for pid in pids if holds(pid, "environ", environment) or holds(pid, "cmdline", settings)]

    def kill(self):
        while found := self.processes():
            for pid in found:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.01)


def fill(text, known):
    for name, value in known.items():
        text = text.replace("{%s}" % name, str(value))
    return text
