"""docs/compatibility.md, from the results of the runs."""
import json
import re

# What stays an agent's business behind rejoin, and why.
AGENTS_OWN = {
    "mcp.": "the servers of a session are connected by the agent",
    "tools.": "its tools are its own",
    "wire.own-methods": "methods of its own are passed on as they are",
    "wire.no-leftovers": "a process that detaches itself from the agent's group can't be told from a service of the user's",
    "config.default": "values of its options are passed on as they are",
}
SIGNS = {"pass": "✓", "fail": "✗", "skip": "–", "report": "·"}
HEAD = """# Compatibility

What `rejoin check` finds in real agents, each of them alone and behind `rejoin acp`. This page is made by `python3 matrix/run.py`; the
agents are pinned in [matrix/agents.toml](../matrix/agents.toml), and speak with a [model that needs no network](../matrix/model.py).
What the rules mean: [check](check.md).

✓ kept · ✗ broken · – not tried: the agent does not advertise it, or its answers gave no occasion · · told, never wrong. In each cell, the
agent alone comes first, behind rejoin second. Behind rejoin every rule must be kept but those that stay the agent's business:

"""


def write(agents, results, notes, page):
    """Writes the page; gives a line for each rule that an agent behind rejoin breaks."""
    reports = {}
    for name in agents:
        pair = [read(results / f"{name}-{where}.json") for where in ("alone", "behind")]
        if all(pair):
            reports[name] = pair
    own = "".join(f"- `{rule}`: {why}\n" for rule, why in AGENTS_OWN.items())
    parts = [HEAD + own, overview(agents, reports), table(reports), varying(notes), broken_alone(agents, reports, notes)]
    page.write_text("\n".join(parts))
    return [f"{name} behind rejoin breaks {rule['rule']}: {rule['came']}" for name, (_, behind) in reports.items()
            for rule in behind["rules"] if is_fatal(rule)] + [
            f"{name}: {which['error']}" for name, pair in reports.items() for which in pair if "error" in which]


def read(path):
    return json.loads(path.read_text()) if path.exists() else None


def is_fatal(rule):
    """Whether rejoin should have kept the agent from breaking it."""
    is_ours = not rule["rule"].startswith(tuple(AGENTS_OWN))
    return rule["status"] == "fail" and rule["level"] in ("MUST", "quality") and is_ours


def overview(agents, reports):
    lines = ["## In short", "", "| agent | version | alone: kept, broken, not tried | behind rejoin: kept, broken, not tried |", "|---|---|---|---|"]
    for name, pair in reports.items():
        counts = [f"{r['counts'].get('pass', 0)}, {r['counts'].get('fail', 0)}, {r['counts'].get('skip', 0)}" for r in pair]
        version = pair[0]["agent"].get("version") or agents[name]["npm"][0].rpartition("@")[2]
        lines.append(f"| {agents[name]['title']} (`{name}`) | {version} | {counts[0]} | {counts[1]} |")
    return "\n".join(lines) + "\n"


def table(reports):
    names = list(reports)
    lines = ["## Rule by rule", "", f"| rule | level | {' | '.join(names)} |", "|---|---" + "|:-:" * len(names) + "|"]
    by_rule = {name: [{r["rule"]: r for r in report["rules"]} for report in pair] for name, pair in reports.items()}
    first = next((pair[1]["rules"] for pair in reports.values() if pair[1]["rules"]), [])
    for rule in first:
        cells = [" ".join(SIGNS[found[rule["rule"]]["status"]] if rule["rule"] in found else "?" for found in by_rule[name]) for name in names]
        lines.append(f"| `{rule['rule']}` | {rule['level']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def varying(notes):
    lines = ["## What is not the same in each run", "", "The table holds one run. Where agents race with themselves, another run finds something else:", ""]
    return "\n".join(lines + [f"- {line}" for line in notes["varies"]]) + "\n"


def broken_alone(agents, reports, notes):
    lines = ["## What was sent, and what came", "", "For each rule that an agent alone breaks. Whether a broken MUST was looked at by hand, message by message, is said there.", ""]
    for name, (alone, _) in reports.items():
        broken = [rule for rule in alone["rules"] if rule["status"] == "fail"]
        if not broken:
            continue
        lines += [f"### {agents[name]['title']}", ""]
        for rule in broken:
            lines += [f"**`{rule['rule']}`** ({rule['level']}): {rule['title']} ([spec]({rule['spec']}))", "", "```"]
            lines += [f"sent      {clean(rule['sent'])}", f"came      {clean(rule['came'])}", f"expected  {clean(rule['expected'])}", "```", ""]
            note = notes.get(name, {}).get(rule["rule"])
            if note or rule["level"] == "MUST":
                lines += [f"By hand: {note or 'not looked at yet.'}", ""]
    return "\n".join(lines)


def clean(text):
    """`text` without what differs from run to run, or would end the block it stands in."""
    text = re.sub(r"/[\w/.-]*/rejoin-che[\w-]*", "/project", text)
    text = re.sub(r"/[\w/.-]*/matrix-[\w-]+", "/home", text)
    return text.replace("```", "'''").replace("\n", "\n          ")
