#!/usr/bin/env python3
"""docs/results/opset.md and docs/opset-refusals.md, out of tables of opset_matrix and opset_peers.py.

    opset_results.py OURS.tsv [...] [--peer TITLE=FILE ...] [--notes FILE] [--write]

OURS are tables of `opset_matrix --table`, each named after its file; --peer may be repeated, with the tables of opset_peers.py for the same models in the
same order, "-" where a peer was not measured. --notes: text that stands below the tables.
"""
import argparse
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import results  # noqa: E402

REFUSALS = HERE.parents[1] / "docs/opset-refusals.md"
ROWS = (
    ("up", lambda pair: pair.up),
    ("down", lambda pair: not pair.up),
    ("down, fits as it stands", lambda pair: not pair.up and pair.fits and pair.exists),
    ("down, every operator exists", lambda pair: not pair.up and pair.exists),
    ("down, some operator is newer", lambda pair: not pair.up and not pair.exists),
)
OUTCOMES = ("equal", "refused", "WRONG", "INVALID", "died")
BLOCKER = re.compile(r"(?:rewritten using )?(?P<op>[^\s,]+)(?:, which)? "
                     r"(?:cannot be converted from opset (?P<origin>\d+) to (?P<target>\d+)|opset (?P<lacking>\d+) lacks): "
                     r"(?P<why>.*) \[(?P<code>[\w-]+)\]$")


class Pair:
    def __init__(self, line):
        self.model, self.form, origin, target, self.outcome, fits, exists, self.reason = line.rstrip("\n").split("\t")
        self.key = self.model, self.form, target
        self.up = int(target) > int(origin)
        self.fits, self.exists = fits == "true", exists == "true"


def read(path):
    return [Pair(line) for line in pathlib.Path(path).read_text().splitlines()]


def versions(blocker):
    """The two opsets of a refused version change; an operator that an opset lacks came from the next one."""
    if blocker["lacking"]:
        return int(blocker["lacking"]) + 1, int(blocker["lacking"])
    return int(blocker["origin"]), int(blocker["target"])


def cell(pairs):
    if not pairs:
        return "-"
    counts = collections.Counter(pair.outcome for pair in pairs)
    rest = [f"{counts[outcome]} {outcome.lower()}" for outcome in OUTCOMES[1:] if counts[outcome]]
    return ", ".join([f"**{100 * counts['equal'] / len(pairs):.1f} %** equal ({counts['equal']})", *rest])


def outcomes(ours, peers):
    rows = []
    for title, pairs in ours:
        for name, wanted in ROWS:
            own = [pair for pair in pairs if wanted(pair)]
            natures = {pair.key: pair for pair in own}
            # The nature of a pair does not depend on who converts it, so ours decides the row.
            others = [[pair for pair in tables.get(title, []) if pair.key in natures] for tables in peers.values()]
            rows.append([title, name, len(own), cell(own), *map(cell, others)])
    return results.table(["models", "direction", "pairs", "onnxkit", *peers], rows)


def general(why):
    """A reason without the names and numbers of one model."""
    return re.sub(r'"[^"]*"', "…", why)


def blockers(pairs):
    """{(operator, step, reason, code): pairs}"""
    found = collections.Counter()
    for pair in pairs:
        own = {(m["op"], versions(m), general(m["why"]), m["code"])
               for text in pair.reason.split(" | ") if pair.outcome == "refused" and (m := BLOCKER.match(text))}
        found.update(own)
    return found


def by_reason(pairs):
    counts, operators = collections.Counter(), collections.defaultdict(set)
    for pair in pairs:
        if pair.outcome != "refused":
            continue
        own = set()
        for text in pair.reason.split(" | "):
            match = BLOCKER.match(text)
            why, code = (general(match["why"]), match["code"]) if match else (text, "")
            if code == "type-not-there":
                why = re.sub(r".* does not allow (.*) as (its )?(input|output).*", r"\1 is not there yet", why)
            own.add((code, why))
            operators[code, why].add(match["op"] if match else "")
        counts.update(own)
    rows = []
    for (code, why), count in counts.most_common():
        names = sorted(operators[code, why])
        rows.append([count, code, why, ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")])
    return rows


def refused_steps(pairs):
    rows = []
    for (op, (origin, target), why, code), count in sorted(blockers(pairs).items()):
        rows.append([op, f"{origin} to {target}", why, code, count])
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("ours", nargs="+", type=pathlib.Path)
    options.add_argument("--peer", action="append", default=[], metavar="TITLE=FILE,FILE,...")
    options.add_argument("--notes", type=pathlib.Path)
    options.add_argument("--write", action="store_true", help="renew docs/results/opset.md and docs/opset-refusals.md")
    args = options.parse_args()

    ours = [(path.stem, read(path)) for path in args.ours]
    peers = {}
    for text in args.peer:
        title, _, files = text.partition("=")
        peers[title] = {name: read(file) for (name, _), file in zip(ours, files.split(",")) if file != "-"}
    every = [pair for _, pairs in ours for pair in pairs]
    refused = sum(pair.outcome == "refused" for pair in every)
    reasons = by_reason(every)
    text = outcomes(ours, peers) + f"\n{refused} pairs are refused, by reason (a pair counts under each that it has):\n\n"
    text += results.table(["pairs", "code", "reason", "operators"], reasons[:40])
    if len(reasons) > 40:
        text += f"\nand {len(reasons) - 40} rarer ones. "
    text += "[Every refused step](../opset-refusals.md).\n"
    if args.notes:
        text += "\n" + args.notes.read_text()
    print(text)
    if args.write:
        results.write_page("opset", "Opset conversion", text)
        steps = results.table(["operator", "opset", "reason", "code", "pairs"], refused_steps(every))
        REFUSALS.write_text("# Refused version changes\n\nWhat `onnxkit upgrade` and `onnxkit downgrade` refused in the runs of [results/opset.md](results/opset.md), and in how\n"
                            "many pairs of a model and a target. Written by `tests/oracle/opset_results.py`.\n\n" + steps)


if __name__ == "__main__":
    main()
