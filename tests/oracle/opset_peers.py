#!/usr/bin/env python3
"""Opset conversion by other converters, judged as opset_matrix judges ours.

    opset_peers.py FOLDER --matrix build/release/bin/opset_matrix --table FILE [--manifest] [--peer onnx|onnxscript] [--domain ai.onnx.ml] [--part K/N]

Every model of FOLDER (official cases or, with --manifest, exported models) goes through the peer to every version 1..28 of its
operator set. A pair is

* refused: the peer raises, or leaves the model at another version;
* died: its process crashed, or took more than 60 s;
* INVALID: onnx.checker with full_check rejects the result, but accepts the model as it was;
* WRONG: the result, run by our reference executor, does not give the recorded outputs within the official tolerance;
* equal: none of these. What our own checker finds besides is only counted.

FILE gets the lines of `opset_matrix --table`. Converted models and verdicts stay in build/oracle/opset, so that a broken run can go on.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import forked  # noqa: E402
import onnx  # noqa: E402
import opset_saved  # noqa: E402

CACHE = HERE.parents[1] / "build/oracle/opset"
SECONDS = 60


def by_onnx(model, target):
    return onnx.version_converter.convert_version(model, target)


def by_onnxscript(model, target):
    from onnxscript import ir, version_converter
    graph = ir.from_proto(model)
    version_converter.convert_version(graph, target_version=target)
    return ir.to_proto(graph)


def peer_named(name):
    """(name with version, convert)"""
    if name == "onnx":
        import onnx.version_converter  # noqa: F401
        return f"onnx {onnx.__version__}", by_onnx
    import onnxscript
    return f"onnxscript {onnxscript.__version__}", by_onnxscript


def imported(model, domain):
    return next((entry.version for entry in model.opset_import if (entry.domain or "ai.onnx") == (domain or "ai.onnx")), 0)


class Subject:
    def __init__(self, folder, name, manifest):
        self.name = name
        self.path = folder / name if manifest else folder / name / "model.onnx"

    def file(self, models, target):
        return models / f"{self.name.replace('/', '+')}@{target}@as is.onnx"


def subjects_of(folder, manifest):
    if manifest:
        entries = json.loads((folder / "manifest.json").read_text())["models"]
        names = sorted(f"{entry['folder']}/{entry['model']}" for entry in entries if (entry.get("model") or "").endswith(".onnx"))
    else:
        names = sorted(str(path.parent.relative_to(folder)) for path in folder.rglob("model.onnx"))
    return [Subject(folder, name, manifest) for name in names]


def convert_all(subject, convert, domain, models):
    """{target: verdict}: "", or refused, INVALID or died with a reason. Accepted models are left in `models`."""
    model = onnx.load(subject.path)
    own = imported(model, domain)
    accepted_before = None

    def work(target):
        nonlocal accepted_before
        try:
            converted = convert(model, target)
        except Exception as fault:  # each converter raises types of its own
            return "refused: " + str(fault)[:300]
        if imported(converted, domain) != target:
            return f"refused: left at version {imported(converted, domain)}"
        subject.file(models, target).write_bytes(converted.SerializeToString())
        if why := opset_saved.rejected(converted):
            if accepted_before is None:
                accepted_before = not opset_saved.rejected(model)
            if accepted_before:
                return "INVALID: " + why
        return ""

    if own == 0:
        return {}
    newest = 5 if domain else 28
    return dict(forked.each([to for to in range(1, newest + 1) if to != own], work, SECONDS))


def merged(line, verdicts):
    """A line of opset_matrix --judge with what was found before it."""
    cells = line.rstrip("\n").split("\t")
    verdict = verdicts.get(cells[0], {}).get(cells[3], "")
    if verdict:
        cells[4], _, cells[7] = verdict.partition(": ")
    elif cells[4] == "INVALID":
        cells[4], cells[7] = "equal", "our check: " + cells[7]
    return [cell.replace("\t", " ") for cell in cells]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--matrix", type=pathlib.Path, required=True, help="the program opset_matrix")
    options.add_argument("--table", type=pathlib.Path, required=True)
    options.add_argument("--manifest", action="store_true")
    options.add_argument("--peer", choices=("onnx", "onnxscript"), default="onnx")
    options.add_argument("--domain", default="")
    options.add_argument("--part", default="0/1", metavar="K/N", help="every N-th model, from the K-th on")
    args = options.parse_args()

    title, convert = peer_named(args.peer)
    home = CACHE / title.replace(" ", "-") / (args.domain or "ai.onnx") / args.folder.resolve().name
    models = home / "models"
    models.mkdir(parents=True, exist_ok=True)
    part, parts = map(int, args.part.split("/"))
    subjects = subjects_of(args.folder, args.manifest)[part::parts]
    verdicts = {}
    for done, subject in enumerate(subjects):
        known = home / f"{subject.name.replace('/', '+')}.json"
        if not known.is_file():
            known.write_text(json.dumps(convert_all(subject, convert, args.domain, models)))
        verdicts[subject.name] = json.loads(known.read_text())
        if sys.stderr.isatty():
            print(f"\r{done + 1}/{len(subjects)}", end="", file=sys.stderr)

    judged = home / "judged.tsv"
    command = [args.matrix, "--judge", models, "--table", judged, "--part", args.part, "--domain", args.domain]
    command += ["--manifest"] if args.manifest else ["--corrections", HERE.parent / "official/corrections"]
    subprocess.run([*command, args.folder], stdout=subprocess.DEVNULL, check=False)
    rows = [merged(line, verdicts) for line in judged.read_text().splitlines()]
    args.table.write_text("".join("\t".join(row) + "\n" for row in rows))
    counts = collections.Counter(("up" if int(row[3]) > int(row[2]) else "down", row[4]) for row in rows)
    print(title, *(f"{way} {outcome}: {n}" for (way, outcome), n in sorted(counts.items())), sep="\n")


if __name__ == "__main__":
    main()
