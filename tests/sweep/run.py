#!/usr/bin/env python3
"""Sweeps that are stopped, killed, locked, or run on Ray: tests/sweep/run.py --program build/release/bin/onnxkit.

Ray is a fake beside this file; with --real-ray it is the package of ONNXKIT_PYTHON, on a cluster of this machine alone.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from suite import Suite  # noqa: E402

GOOD = 'main (float[2] x) => (float[2] y) { y = Relu (x) }'
BROKEN = 'main (float[2] x) => (float[2] y) { y = Relu (z) }'
ENDLESS = ('main (float[1] x) => (float[1] y) { y = Loop (, , x) <body = body (int64 i, bool go, float[1] a) => (bool again, float[1] b) '
           '{ again = Identity (go) b = Add (a, a) }> }')


class Sweeps:

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def model(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('<ir_version: 8, opset_import: ["" : 17]>\n' + text + "\n")
        return path

    def start(self, *words, **environment):
        return subprocess.Popen([self.program, "sweep", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=self.folder, env={**os.environ, **environment})

    def run(self, *words, **environment):
        """Exit status, report, and standard error."""
        process = self.start(*words, "--format", "json", **environment)
        output, messages = process.communicate(timeout=100)
        return process.returncode, json.loads(output), messages


def differs(expected, found):
    return "" if expected == found else f"expected {expected}, found {found}"


def outcomes(report):
    return [result["outcome"] for result in report.get("results", [])]


def wait_for(condition, seconds=30):
    last = time.monotonic() + seconds
    while not condition() and time.monotonic() < last:
        time.sleep(0.02)
    return condition()


def running_commands(folder):
    """Processes that work on a model in this folder."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes()
        except OSError:
            continue
        if b"endless.onnxtxt" in words and os.path.realpath(entry.parent / "cwd") == str(folder.resolve()):
            found.append(words.split(b"\0"))
    return [words for words in found if words[1] == b"run"]


def check_stops(suite, sweeps):
    """Ctrl-C and kill: what was finished is reported, and nothing goes on."""
    sweeps.model("stop/a.onnxtxt", GOOD)
    sweeps.model("stop/endless.onnxtxt", ENDLESS)
    for number, expected in ((signal.SIGINT, 3), (signal.SIGTERM, 3)):
        process = sweeps.start("run", "stop", "--processors", "1", "--format", "json", "--resume", f"{number.name}.jsonl")
        kept = sweeps.folder / f"{number.name}.jsonl"
        begun = wait_for(lambda: kept.exists() and kept.read_text() and running_commands(sweeps.folder))
        process.send_signal(number)
        output, _ = process.communicate(timeout=30)
        report = json.loads(output)
        suite.check(f"{number.name}: begun", "" if begun else "the models were not begun")
        suite.check(f"{number.name}: report", differs((expected, ["ok"], 1), (process.returncode, outcomes(report), report["not_finished"])))
        suite.check(f"{number.name}: nothing goes on", "" if wait_for(lambda: not running_commands(sweeps.folder)) else "a command still runs")
    process = sweeps.start("run", "stop/endless.onnxtxt")
    wait_for(lambda: running_commands(sweeps.folder))
    process.kill()
    process.communicate()
    suite.check("killed: nothing goes on", "" if wait_for(lambda: not running_commands(sweeps.folder)) else "a command still runs")


def check_resume(suite, sweeps):
    """Results are taken where command, model and version are the same; what failed is done again."""
    good, broken = sweeps.model("resume/a.onnxtxt", GOOD), sweeps.model("resume/b.onnxtxt", BROKEN)
    (sweeps.folder / "resume/text.onnx").write_text("This is no model.")
    kept = sweeps.folder / "done.jsonl"

    def kept_of(report):
        return [pathlib.Path(result["model"]).stem for result in report["results"] if result.get("kept")]

    status, first, _ = sweeps.run("check", "resume", "--resume", "done.jsonl")
    suite.check("resume: first", differs((3, [], 3), (status, kept_of(first), len(kept.read_text().splitlines()))))
    with kept.open("a") as file:
        file.write('{"format": "onnxkit-sw')
    status, report, messages = sweeps.run("check", "resume", "--resume", "done.jsonl")
    suite.check("resume: second", differs((3, ["a", "b"], 4), (status, kept_of(report), len(kept.read_text().splitlines()))))
    suite.check("resume: told", "" if '2 of 3 models come from "done.jsonl"' in messages else messages)
    same = [result["report"] for result in first["results"]] == [result["report"] for result in report["results"]]
    suite.check("resume: reports", "" if same and outcomes(first) == outcomes(report) else "the reports differ")
    broken.write_text(good.read_text())
    status, report, _ = sweeps.run("check", "resume/a.onnxtxt", "resume/b.onnxtxt", "--resume", "done.jsonl")
    suite.check("resume: a changed model", differs((0, ["a"]), (status, kept_of(report))))
    status, report, _ = sweeps.run("check --strict", "resume/a.onnxtxt", "--resume", "done.jsonl")
    suite.check("resume: another command", differs((0, []), (status, kept_of(report))))
    kept.write_text(kept.read_text().replace(f'"onnxkit":"{version_of(sweeps.program)}"', '"onnxkit":"0.0.1"'))
    status, report, _ = sweeps.run("check", "resume/a.onnxtxt", "--resume", "done.jsonl")
    suite.check("resume: another version", differs((0, []), (status, kept_of(report))))


def check_locks(suite, sweeps):
    """One sweep at a time has a file."""
    sweeps.model("lock/endless.onnxtxt", ENDLESS)
    first = sweeps.start("run", "lock/endless.onnxtxt", "--resume", "lock.jsonl")
    wait_for(lambda: running_commands(sweeps.folder))
    status, report, _ = sweeps.run("check", "lock/endless.onnxtxt", "--resume", "lock.jsonl")
    suite.check("a locked file", differs((3, "cannot-write"), (status, report["error"]["code"])))
    first.kill()
    first.communicate()
    status, report, _ = sweeps.run("check", "lock/endless.onnxtxt", "--resume", "lock.jsonl")
    suite.check("a file that is free again", differs((0, ["ok"]), (status, outcomes(report))))


def check_ray(suite, sweeps, python, real):
    """Models on a cluster."""
    paths = [sweeps.model(f"ray/{name}.onnxtxt", GOOD) for name in "abcdef"]
    sweeps.model("ray/broken.onnxtxt", BROKEN)
    sweeps.model("late/endless.onnxtxt", ENDLESS)
    fake = {} if real else {"PYTHONPATH": str(ROOT / "tests/sweep/fake")}
    words = ("--ray", "local", "--python", python)
    status, report, messages = sweeps.run("check", "ray", *words, **fake)
    expected = [("finding" if "broken" in result["model"] else "ok") for result in report.get("results", [])]
    suite.check("Ray: outcomes", differs((1, 7, expected), (status, len(outcomes(report)), outcomes(report))) and f"{report} {messages}")
    hosts = {result.get("host") for result in report.get("results", [])}
    suite.check("Ray: hosts", differs({os.uname().nodename}, hosts))
    used = all(result["peak_bytes"] > 1 << 20 and result["cpu_seconds"] > 0 for result in report.get("results", []))
    suite.check("Ray: time and memory", "" if used else str(report))
    status, report, _ = sweeps.run("run", "late/endless.onnxtxt", *words, "--time-limit", "2s", **fake)
    suite.check("Ray: late", differs((3, ["late"]), (status, outcomes(report))))
    status, report, _ = sweeps.run("check --tagret x", "ray", *words, **fake)
    suite.check("Ray: a command that refuses its words", differs((2, "usage"), (status, report["error"]["code"])))
    process = sweeps.start("run", "late/endless.onnxtxt", *words, "--format", "json", **fake)
    wait_for(lambda: running_commands(sweeps.folder))
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    suite.check("Ray: stopped", differs((3, 1), (process.returncode, json.loads(output)["not_finished"])))
    suite.check("Ray: nothing goes on", "" if wait_for(lambda: not running_commands(sweeps.folder)) else "a command still runs")
    if real:
        return
    status, report, messages = sweeps.run("check", "ray", *words, FAKE_RAY="noise", **fake)
    suite.check("Ray: what it prints", differs((1, 7, True), (status, len(outcomes(report)), "what a library prints" in messages)))
    status, report, _ = sweeps.run("check", "ray", *words, FAKE_RAY="no-cluster", **fake)
    expected = (3, "worker-unavailable", "Ray cannot be reached at local: nobody listens")
    suite.check("Ray: no cluster", differs(expected, (status, report["error"]["code"], report["error"]["message"])))
    status, report, _ = sweeps.run("check", "ray/a.onnxtxt", *words, FAKE_RAY="lost", **fake)
    suite.check("Ray: a job that is lost", differs((3, ["the job was lost: WorkerCrashedError"]), (status, report["results"][0]["findings"])))
    status, report, messages = sweeps.run("check", "ray", *words, FAKE_RAY="dies", **fake)
    told = "ended before all models were done, with status 5"
    suite.check("Ray: a script that dies", "" if status == 3 and told in report["failure"]["message"] and told in messages else str((status, report)))
    suite.check("Ray: what was done before", differs(7, len(report["results"]) + report["not_finished"]))
    absent = {"PYTHONPATH": str(sweeps.folder / "no-packages")}
    status, report, _ = sweeps.run("check", "ray/a.onnxtxt", "--ray", "local", "--python", python, **absent)
    has_ray = subprocess.run([python, "-c", "import ray"], capture_output=True).returncode == 0
    if not has_ray:
        suite.check("Ray: no package", differs((3, True), (status, "no package ray" in report["error"]["message"])))
    other = sweeps.folder / "other"
    other.write_text("#!/bin/sh\necho onnxkit 9.9.9\n")
    other.chmod(0o755)
    job = {"index": 0, "words": ["check", str(paths[0])], "path": str(paths[0]), "size": paths[0].stat().st_size}
    request = {"address": "local", "program": str(sweeps.program), "version": version_of(sweeps.program), "folder": "/", "processors": 1,
               "gpus": 0, "time_ms": 0}
    for name, change, text in (("version", {"program": str(other)}, "has onnxkit 9.9.9, not"),
                               ("file", {"jobs": [{**job, "size": 1}]}, "must lie in a folder that all nodes share"),
                               ("program", {"program": "/no/such"}, "has no program onnxkit")):
        asked = json.dumps({**request, "jobs": [job], **change})
        done = subprocess.run([python, ROOT / "tools/sweep/ray/ray_jobs.py"], input=asked, capture_output=True, text=True,
                              env={**os.environ, **fake, "PATH": "/no/such" if name == "program" else os.environ["PATH"]})
        suite.check(f"Ray: another {name}", "" if text in done.stdout else done.stdout + done.stderr)


def version_of(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split()[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--real-ray", action="store_true")
    arguments = parser.parse_args()
    suite = Suite()
    with tempfile.TemporaryDirectory(prefix="onnxkit-sweep-") as folder:
        sweeps = Sweeps(arguments.program.resolve(), folder)
        python = os.environ.get("ONNXKIT_PYTHON", sys.executable) if arguments.real_ray else sys.executable
        check_stops(suite, sweeps)
        check_resume(suite, sweeps)
        check_locks(suite, sweeps)
        check_ray(suite, sweeps, shutil.which(python), arguments.real_ray)
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
