#!/usr/bin/env python3
"""Shows the invalid models to the checkers that people use today, and counts how many each of them lets pass.

    bad_models.py [--models DIR] [--program build/bin/onnxkit] [--write]

DIR holds further invalid models as NAME/model.onnx. The corrected twins are shown as well: a checker that refuses everything is
no checker. Every look is a process of its own, so a crash counts as a refusal and harms nothing. --write renews the section
docs/results/bad-models.md.
"""
import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "bad")]

import catalogue  # noqa: E402
import onnx  # noqa: E402
import onnx.parser  # noqa: E402
import onnxruntime  # noqa: E402
import polygraphy  # noqa: E402
import polygraphy.tools  # noqa: E402
import results  # noqa: E402

SECONDS = 20


def full_check(path):
    onnx.checker.check_model(path, full_check=True)


def load_in_onnxruntime(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def lint(path):
    sys.argv = ["polygraphy", "check", "lint", path]
    if polygraphy.tools.main():
        raise ValueError("lint found errors")


PEERS = {
    f"onnx.checker full_check {onnx.__version__}": full_check,
    f"ONNX Runtime {onnxruntime.__version__} load": load_in_onnxruntime,
    f"Polygraphy {polygraphy.__version__} check lint": lint,
}


def quiet():
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def accepts(look, path):
    """Runs look(path) in a child of its own: true when it neither complains nor dies."""
    child = os.fork()
    if child == 0:
        quiet()
        try:
            import signal
            signal.alarm(SECONDS)
            look(str(path))
            os._exit(0)
        except SystemExit as stop:
            os._exit(1 if stop.code else 0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def binary_copy(path, folder):
    """The model as the peers read it: text is parsed by onnx, neighbours (external data, links) are kept beside it."""
    target = folder / path.parent.name
    if not target.exists():
        shutil.copytree(path.parent, target, symlinks=True)
    if path.suffix == ".onnx":
        return target / path.name
    model = onnx.parser.parse_model(path.read_text())
    out = target / (path.stem + ".onnx")
    out.write_bytes(model.SerializeToString())
    return out


def judge(models, looks):
    """{peer: {group: [accepted, shown]}} over (group, path) pairs."""
    counts = {peer: collections.defaultdict(lambda: [0, 0]) for peer in looks}
    for done, (group, path) in enumerate(models):
        for peer, look in looks.items():
            counts[peer][group][0] += accepts(look, path)
            counts[peer][group][1] += 1
        if sys.stderr.isatty():
            print(f"\r{done + 1}/{len(models)}", end="", file=sys.stderr)
    return counts


def report(bad, twins):
    peers = list(bad)
    groups = list(dict.fromkeys(group for peer in peers for group in bad[peer]))
    total = lambda counts: [sum(pair[i] for pair in counts.values()) for i in (0, 1)]
    rows = [[group, bad[peers[0]][group][1]] + [bad[peer][group][0] for peer in peers] for group in groups]
    sums = [total(bad[peer]) for peer in peers]
    rows.append(["**all invalid models accepted**", sums[0][1]] + [f"**{a}** ({100 * a / n:.0f} %)" for a, n in sums])
    good = [total(twins[peer]) for peer in peers]
    rows.append(["valid twins refused", good[0][1]] + [n - a for a, n in good])
    return results.table(["group", "models"] + [f"accepted by {peer}" for peer in peers], rows)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--models", type=pathlib.Path, help="folder of further invalid models, NAME/model.onnx")
    options.add_argument("--program", type=pathlib.Path, help="the onnxkit program, to be counted as well")
    options.add_argument("--write", action="store_true", help="renew docs/results/bad-models.md")
    args = options.parse_args()

    looks = dict(PEERS)
    if args.program:
        looks["onnxkit check"] = lambda path: subprocess.run([args.program, "check", path], check=True)
    cases = [case for case in catalogue.load() if case.severity == "error"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for neighbour in catalogue.ROOT.glob("outside*"):
            (shutil.copytree if neighbour.is_dir() else shutil.copyfile)(neighbour, folder / neighbour.name)
        models = [(case.topic, binary_copy(case.bad, folder)) for case in cases]
        twins = [(case.topic, binary_copy(case.twin, folder)) for case in cases]
        if args.models:
            models += [("(" + args.models.name + ")", path) for path in sorted(args.models.glob("*/model.onnx"))]
        text = report(judge(models, looks), judge(twins, looks))
    print(text)
    if args.write:
        results.write_page("bad-models", "Bad models", "Invalid models of `testdata/bad` that each checker lets pass, by topic (`tests/oracle/bad_models.py`).\n\n" + text)


if __name__ == "__main__":
    main()
