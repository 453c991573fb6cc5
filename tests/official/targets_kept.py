#!/usr/bin/env python3
"""What `check --target` promises, `convert` keeps: for each model and target both say yes, or both refuse the same operators for the same reasons.

    tests/official/targets_kept.py --program build/release/bin/onnxkit build/official [--every 10] [--targets torch,tflite]

Folders are searched for files .onnx. Exit status 1 when a promise is not kept.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

#: What a target of `check` is called with `convert --to`, and a name for its output.
TARGETS = {"torch": ("torch-export", "m.pt2"), "torchscript": ("torchscript", "m.pt"), "torch-source": ("torch-source", "m.py"),
           "tflite": ("tflite", "m.tflite"), "tensorflow": ("saved-model", "m"), "saved-model": ("saved-model", "m")}


def refusals(text, model):
    """What is found in the model, with its place."""
    lines = text.splitlines()
    return sorted(zip((line for line in lines if line.startswith(f"{model}: error[")), (line for line in lines if line.startswith("  at "))))


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout + done.stderr


def judge(program, model, target):
    """(whether both agree, whether the answer is yes, what was said)"""
    form, name = TARGETS[target]
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, name)
        promised, said = run(program, "check", str(model), "--target", target)
        kept, done = run(program, "convert", str(model), output, "--to", form, "--no-verify")
        is_there = os.path.exists(output)
    same = promised == kept and is_there == (kept == 0) and refusals(said, model) == refusals(done, model)
    return same, kept == 0, f"{model}: {target}: check {promised}, convert {kept}\n{said}{done}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--program", required=True)
    parser.add_argument("--every", type=int, default=1, help="only every Nth model")
    parser.add_argument("--targets", default="torch,torchscript,torch-source,tflite,tensorflow")
    options = parser.parse_args()
    models = sorted(model for folder in options.folders for model in pathlib.Path(folder).rglob("*.onnx"))[:: options.every]
    if not models:
        sys.exit("no models were found there")
    faults = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for target in options.targets.split(","):
            answers = list(pool.map(lambda model: judge(options.program, model, target), models))
            broken = [said for same, _, said in answers if not same]
            faults += len(broken)
            print("\n".join(broken[:5]), end="")
            print(f"{target}: {len(models)} models, {sum(yes for _, yes, _ in answers)} are written, {len(broken)} promises not kept")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
