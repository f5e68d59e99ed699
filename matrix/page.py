"""docs/compatibility.md, from the results of the runs."""
import re
import textwrap

from measure import PROMPTS, ROUNDS, SESSIONS, TURNS

# What stays an agent's business behind rejoin, and why.
AGENTS_OWN = {
    "mcp.": "the servers of a session are connected by the agent",
    "close.ends-servers": "so they are ended by the agent",
    "tools.": "its tools are its own",
    "wire.own-methods": "methods of its own are passed on as they are",
    "wire.no-leftovers": "a process that detaches itself from the agent's group can't be told from a service of the user's",
    "config.default": "values of its options are passed on as they are",
}
SIGNS = {"pass": "✓", "fail": "✗", "skip": "–", "report": "·"}
HEAD = """# Compatibility

What real agents do with sessions, each of them alone and behind `rejoin acp`: which rules of [`rejoin check`](check.md) it keeps, what it
remembers, what it costs. This page is made by `python3 matrix/run.py`; the agents are pinned in
[matrix/agents.toml](../matrix/agents.toml), and speak with a [model that needs no network](../matrix/model.py).

✓ kept · ✗ broken · – not tried: the agent does not advertise it, or its answers gave no occasion · · told, never wrong. In each cell, the
agent alone comes first, behind rejoin second. Behind rejoin every rule must be kept but those that stay the agent's business:

"""


def write(agents, results, notes, page):
    reports, measures, memory = parts_of(results)
    own = "".join(f"- `{rule}`: {why}\n" for rule, why in AGENTS_OWN.items())
    parts = [HEAD + own, overview(agents, reports), added(agents, reports, measures), remembered(memory), costs(agents, measures), table(reports),
             varying(notes), broken_alone(agents, reports, notes)]
    page.write_text("\n".join(parts))


def wrong(agents, results):
    """A line for each rule that an agent behind rejoin breaks, each thing that is lost or forgotten, and all that fails."""
    reports, measures, memory = parts_of(results)
    return [*wrong_rules(agents, reports), *wrong_measures(measures), *wrong_memory(memory)]


def parts_of(results):
    reports = {name: (of["rules"]["alone"], of["rules"]["behind"]) for name, of in results.items()}
    return reports, {name: of["measures"] for name, of in results.items()}, {name: of["memory"] for name, of in results.items()}


def wrong_rules(agents, reports):
    for name, pair in reports.items():
        for where, report in zip(("alone", "behind rejoin"), pair):
            if "error" in report:
                yield f"{name} {where}: {report['error']}"
            elif where != "alone" or agents[name].get("built_in"):
                yield from (f"{name} {where} breaks {rule['rule']}: {rule['came']}" for rule in report["rules"] if is_fatal(rule))


def wrong_measures(measures):
    for name, of in measures.items():
        yield from (f"{name} behind rejoin: {failure}" for failure in of["behind"]["failures"])
        if durability(of["behind"]) != "all":
            yield f"{name} behind rejoin has lost what the client saw before `kill -9`: {of['behind']['durable']}"


def wrong_memory(memory):
    for name, ways in memory.items():
        for way, found in ways.items():
            if not found.get("knows"):
                yield f"{name} behind rejoin, {way}, forgets: {found.get('failed') or found}"


def is_fatal(rule):
    """Whether rejoin should have kept the agent from breaking it."""
    is_ours = not rule["rule"].startswith(tuple(AGENTS_OWN))
    return rule["status"] == "fail" and rule["level"] in ("MUST", "quality") and is_ours


def overview(agents, reports):
    lines = ["## In short", "", "| agent | version | alone: kept, broken, not tried | behind rejoin: kept, broken, not tried |", "|---|---|---|---|"]
    for name, pair in reports.items():
        counts = [", ".join(str(report["counts"].get(status, 0)) for status in ("pass", "fail", "skip")) for report in pair]
        version = pair[0]["agent"].get("version") or agents[name]["npm"][0].rpartition("@")[2]
        lines.append(f"| {agents[name]['title']} (`{name}`) | {version} | {counts[0]} | {counts[1]} |")
    return "\n".join(lines) + "\n"


def added(agents, reports, measures):
    lines = ["## What rejoin adds", "", "What clients are offered only behind rejoin, and which rules are kept only there.", "",
             "| agent | offered | broken alone, kept behind rejoin | not tried alone, kept behind rejoin |", "|---|---|---|---|"]
    for name, (alone, behind) in reports.items():
        if agents[name].get("built_in"):
            continue
        gained = [ability for ability in measures[name]["behind"]["abilities"] if ability not in measures[name]["alone"]["abilities"]]
        was = {rule["rule"]: rule["status"] for rule in alone["rules"]}
        now = [rule["rule"] for rule in behind["rules"] if rule["status"] == "pass"]
        mended = [rule for rule in now if was.get(rule) == "fail"]
        n_new = sum(was.get(rule) == "skip" for rule in now)
        listed = f"{len(mended)}: " + ", ".join(f"`{rule}`" for rule in mended) if mended else "0"
        lines.append(f"| {name} | {', '.join(gained) or '–'} | {listed} | {n_new} |")
    return "\n".join(lines) + "\n"


def remembered(memory):
    """What a model was sent again of what it had been told."""
    ways = list(dict.fromkeys(way for of in memory.values() for way in of))
    lines = ["## What is remembered", "", fill("""
        A session is told a word, everything is killed (`kill -9`), and a fresh process is asked for the word. The cell says how rejoin got the
        session into the agent, and whether the model was sent the word again; in the second column, an agent that can resume does not say so.
        In the last one it is killed in the middle of an answer, and must know how much of it the client has seen.
        *resume*, *load* and *fork* are the agent's own; a *transcript* is the whole record, given to an agent that takes it; a *briefing* tells with the next prompt what was said before."""),
             "", f"| agent | {' | '.join(ways)} |", "|---" * (len(ways) + 1) + "|"]
    for name, of in memory.items():
        has_resume = of.get("killed", {}).get("rung") == "resume"
        cells = ["–" if way not in of or way == "killed, without resume" and not has_resume else recollection(of[way]) for way in ways]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def recollection(found):
    if "failed" in found:
        return "✗ failed"
    return f"{found['rung'] or 'none'} {'✓' if found['knows'] else '✗'}"


COSTS = {"start": "start → initialize", "new": "new", "first_word": "prompt → first word", "end": "prompt → end", "cancel": "cancel → end",
         "list": "list", "load": "load", "go_on": "load, prompt → first word"}


def costs(agents, measures):
    latest = max(measures.values(), key=lambda of: of["date"])
    lines = ["## What it costs", "", fill(f"""
        Milliseconds, and at most so many MiB of memory; compare the two figures of a cell, not the agents. They are medians of {ROUNDS} rounds in
        which the agent alone and the agent behind rejoin took turns, with {PROMPTS} prompts in each that are answered with 50 words, on
        {latest['cores']} cores, {latest['date']}. The list has {SESSIONS + 1} sessions and one more from each round; the session that is loaded has
        {TURNS} turns. Behind rejoin a load is answered from the record, and the agent opens the session behind it, which the next column has in it.
        The last column says what of an answer that the client had seen is there on load, after `kill -9` in the middle of it.
        *n/a*: the agent does not offer it."""),
             "", f"| agent | {' | '.join(COSTS.values())} | memory | after `kill -9` |", "|---" * (len(COSTS) + 3) + "|"]
    for name, of in measures.items():
        pair = [of["alone"], of["behind"]]
        cells = [" · ".join(amount(figures, what) for figures in pair) for what in COSTS]
        cells += [" · ".join(f"{figures['memory'] / (1 << 20):.0f}" for figures in pair), " · ".join(durability(figures) for figures in pair)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    failures = [f"- `{name}` {where}: {clean(failure)}" for name, of in measures.items() for where in ("alone", "behind")
                for failure in dict.fromkeys(of[where]["failures"])]
    if failures:
        lines += ["", "What failed:", "", *failures]
    if apart := [f"`{name}`" for name in measures if not agents[name].get("shared", True)]:
        lines += ["", f"Behind rejoin each session of {', '.join(apart)} has a process of its own: it can't keep sessions apart."]
    return "\n".join(lines) + "\n"


def amount(figures, what):
    spent = figures["ms"][what]
    if spent is None:
        ability = {"list": "list", "load": "load", "go_on": "load"}.get(what)
        return "failed" if ability is None or ability in figures["abilities"] else "n/a"
    return f"{spent:.0f}" if spent >= 10 else f"{spent:.1f}"


def durability(figures):
    if "load" not in figures["abilities"]:
        return "n/a"
    found = figures["durable"]
    if found is None:
        return "failed"
    if found["kept"]:
        return "all" if found["kept"] == found["seen"] else f"{found['kept']} of {found['seen']} words"
    return "the prompt" if found["prompt"] else "nothing"


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


def fill(text):
    """`text` as one paragraph."""
    return textwrap.fill(" ".join(text.split()), 140)


def clean(text):
    """`text` without what differs from run to run, or would end the block it stands in."""
    text = re.sub(r"/[\w/.-]*/rejoin-che[\w-]*", "/project", text)
    text = re.sub(r"/[\w/.-]*/matrix-[\w-]+", "/home", text)
    return text.replace("```", "'''").replace("\n", "\n          ")
