#!/usr/bin/env python3
"""gpus.py PROGRAM FOLDER: what `onnxkit bench` warns of on GPUs, as the management library in FOLDER tells it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

NETWORK = '<ir_version: 8, opset_import: ["" : 17]>\nmain (float[4] x) => (float[4] y) { y = Exp (x) }\n'
CASES = {
    "": [],
    "bare": [],
    "others": ["140 other processes use the GPU"],
    "busy": ["the GPU was busy for 37 % of the time before this was measured"],
    "hot": ["the GPU was held back for 1.00 s because of its heat"],
    "weak": ["the GPU was held back because of the limit of its power after "],
}


def main():
    program, folder = sys.argv[1], os.path.abspath(sys.argv[2])
    faults = 0
    with tempfile.TemporaryDirectory() as made:
        network = pathlib.Path(made) / "net.onnxtxt"
        network.write_text(NETWORK)
        for words, wanted in CASES.items():
            done = subprocess.run([program, "bench", network, "-b", "reference", "--max-time", "0.2s", "--no-judging", "--format", "json"], capture_output=True, text=True,
                                  env=os.environ | {"ONNXKIT_CUDA_PATH": folder, "ONNXKIT_NVML_HOST": words})
            told = [line for line in json.loads(done.stdout)["benchmarks"][0]["warnings"] if "GPU" in line] if done.returncode == 0 else [done.stderr]
            if len(told) != len(wanted) or not all(line.startswith(start) for line, start in zip(told, wanted)):
                faults += 1
                print(f"{words or 'nothing'}: {told} instead of {wanted}")
    print(f"{len(CASES) - faults} passed, {faults} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
