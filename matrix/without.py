#!/usr/bin/env python3
"""An agent that does not say that it has an ability: python3 without.py ABILITY COMMAND ARGS…

All else passes as it is.
"""
import json
import subprocess
import sys


def main():
    ability, command = sys.argv[1], sys.argv[2:]
    agent = subprocess.Popen(command, stdout=subprocess.PIPE)
    for line in agent.stdout:
        if b'"agentCapabilities"' in line:
            line = hide(ability, json.loads(line))
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    sys.exit(agent.wait())


def hide(ability, message):
    abilities = message.get("result", {}).get("agentCapabilities", {})
    abilities.get("sessionCapabilities", {}).pop(ability, None)
    return json.dumps(message).encode() + b"\n"


if __name__ == "__main__":
    main()
