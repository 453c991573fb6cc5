#!/usr/bin/env python3
"""The backend cuda on the libraries of the host: each call of the driver and of NVRTC fails once, and what else can be in the way.

    tests/cuda_host/run.py --program build/release/bin/onnxkit --libraries build/release/cuda_host
"""
import argparse
import collections
import hashlib
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from suite import Suite

# A step on the device before and behind one of the host, a constant that is uploaded alone, and small ones.
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 20000] x) => (float[N, 20000] y) {
  shape = Constant <value = int64[1] {20000}> ()
  large = ConstantOfShape <value = float[1] {2.5}> (shape)
  small = Constant <value = float[1] {0.5}> ()
  a = Add (x, large)
  ratio = Constant <value = float {0}> ()
  trains = Constant <value = bool {1}> ()
  b = Dropout (a, ratio, trains)
  y = Mul (b, small)
}
"""
# A body that runs as a plan of its own in each pass of the loop, a captured value, and a recurrence.
BODY = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 1, 3] x, float[1, 4, 3] w, float[1, 4, 4] r) => (float[2, 1, 1, 4] y) {
  trips = Constant <value = int64 {2}> ()
  first, last = RNN <hidden_size = 4> (x, w, r)
  y = Loop (trips, , first) <body = body (int64 i, bool go_on, float[2, 1, 1, 4] before) => (bool still, float[2, 1, 1, 4] after) {
    still = Identity (go_on)
    scaled = Mul (before, last)
    after = Tanh (scaled)
  }>
}
"""
# Rows that are rounded to float8 for two products.
FLOAT8 = """<ir_version: 8, opset_import: ["" : 17]>
g (float[16, 16] x) => (float[16, 16] y) {
  shape = Constant <value = int64[2] {16, 16}> ()
  filled = ConstantOfShape <value = float[1] {0.5}> (shape)
  a = MatMul (x, filled)
  y = MatMul (a, filled)
}
"""
# Positions that only the run knows, in range or not.
POSITIONS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4, 3] x, int64[2] at, float[2, 3] updates) => (float[2, 3] y, float[4, 3] z) {
  y = Gather (x, at)
  shape = Constant <value = int64[2] {2, 1}> ()
  rows = Reshape (at, shape)
  z = ScatterND (x, rows, updates)
}
"""
# Branches on the device, before and behind a step of the host.
BRANCHES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4, 30] x) => (float[4, 30] y) {
  a = Softmax (x)
  b = Softmax <axis = 0> (x)
  c = Add (a, b)
  ratio = Constant <value = float {0}> ()
  trains = Constant <value = bool {1}> ()
  d = Dropout (c, ratio, trains)
  e = Softmax (d)
  f = Softmax <axis = 0> (d)
  y = Mul (e, f)
}
"""
# Matrices that are sent in each run, one of them for two steps, and a step of the host.
WEIGHTS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4, 200] x) => (float[4, 200] y) {
  shape = Constant <value = int64[2] {200, 200}> ()
  w0 = ConstantOfShape <value = float[1] {0.125}> (shape)
  w1 = ConstantOfShape <value = float[1] {0.25}> (shape)
  w2 = ConstantOfShape <value = float[1] {0.5}> (shape)
  w3 = ConstantOfShape <value = float[1] {0.75}> (shape)
  a = MatMul (x, w0)
  b = MatMul (a, w1)
  ratio = Constant <value = float {0}> ()
  trains = Constant <value = bool {1}> ()
  c = Dropout (b, ratio, trains)
  d = MatMul (c, w2)
  e = MatMul (d, w3)
  y = MatMul (e, w0)
}
"""
# Three matrices, and values of as many rows as the caller likes.
ROWS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 200] x) => (float[N, 200] y)
<""" + ", ".join(f"float[200, 200] w{i} = {{{', '.join([value] * 40000)}}}" for i, value in enumerate(("0.125", "0.25", "0.5"))) + """> {
  a = MatMul (x, w0)
  b = MatMul (a, w1)
  y = MatMul (b, w2)
}
"""
# A product that perturbed runs give to the device.
PRODUCT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[64, 1024] x, float[1024, 1024] w) => (float[64, 1024] y) {
  y = MatMul (x, w)
}
"""
# These calls give back what was taken: their failure need not be one of the run, but nothing may be left behind it.
GIVE_BACK = {"cuMemFree_v2", "cuMemFreeHost", "cuStreamDestroy_v2", "cuGraphExecDestroy", "cuGraphDestroy", "cuModuleUnload", "cuCtxPopCurrent_v2",
             "cuDevicePrimaryCtxRelease_v2", "nvrtcDestroyProgram", "cuEventDestroy_v2"}
# What loads the code of kernels: where it was kept and the driver does not take it, it is compiled anew.
LOADS = {"cuModuleLoadData", "cuModuleGetFunction"}


class Runner:
    def __init__(self, arguments, folder):
        self.program, self.libraries, self.folder = arguments.program, arguments.libraries, folder
        self.model = folder / "model.onnxtxt"
        self.model.write_text(MODEL)

    def __call__(self, *words, model=None, options="", command="run", inputs=("--dim", "N=3"), **host):
        environment = dict(os.environ, ONNXKIT_CUDA_PATH=str(self.libraries), XDG_CACHE_HOME=str(self.folder / "cache"))
        environment.update({f"ONNXKIT_CUDA_HOST_{name}": str(value) for name, value in host.items()})
        line = [self.program, command, *([str(model or self.model), "-b", "cuda" + options, *inputs] if command in ("run", "bench") else []), *words]
        return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=300)


def refused(done, *parts):
    """What is wrong with a run that should have ended with a reason."""
    if done.returncode != 3:
        return f"exit {done.returncode}, not 3: {done.stderr.strip()[-300:]}"
    missing = [part for part in parts if part not in done.stderr]
    return f"the message lacks {missing}: {done.stderr.strip()[-300:]}" if missing else ""


def calls_of(run, options, **what):
    log = run.folder / "calls"
    log.unlink(missing_ok=True)
    done = run(options=options, LOG=log, **what)
    return done, log.read_text().split() if log.exists() else []


def end_of_run(calls, plans=1):
    """The place of the call that waits for the outputs; a session waits once more for each plan before it gives back what it has."""
    return [at for at, call in enumerate(calls) if call == "cuStreamSynchronize"][-1 - plans]


def each_call_fails_once(suite, run, title, wanted, plans=1, options="", **what):
    done, calls = calls_of(run, options, **what)
    suite.check(title, "" if done.returncode == 0 else done.stderr[-300:])
    for name, count in collections.Counter(filter(wanted, calls)).items():
        for number in sorted({*range(1, min(count, 6) + 1), count}):
            done = run(options=options, FAIL=f"{name}:{number}", **what)
            place = [at for at, call in enumerate(calls) if call == name][number - 1]
            gives_back = name in GIVE_BACK or (name == "cuCtxPushCurrent_v2" and calls[place + 1] in GIVE_BACK)
            was_kept = name in LOADS and "nvrtcCompileProgram" not in calls
            may_end_well = gives_back or was_kept or place > end_of_run(calls, plans)
            fault = "" if done.returncode == 0 and may_end_well else refused(done)
            suite.check(f"{title}: {name} fails the {number}. time", fault)


def each_call_fails(suite, run):
    run()  # fills the cache of kernels
    each_call_fails_once(suite, run, "a run without a cache", lambda name: name.startswith("nvrtc"), options=":cache=off")
    each_call_fails_once(suite, run, "a run", lambda name: name.startswith("cu"))
    for name in ("cuGraphLaunch:2", "cuStreamSynchronize:2", "cuMemcpyHtoD_v2:1", "cuStreamEndCapture:1"):
        suite.check(f"the device is lost at {name}", refused(run(FAIL=name + ":lost"), "CUDA_ERROR_ILLEGAL_ADDRESS"))


def unfit_machines(suite, run):
    old = run(CAPABILITY=75)
    suite.check("compute capability 7.5", refused(old, "compute capability 7.5", "8.0 or newer"))
    suite.check("a driver for CUDA 11.0", refused(run(VERSION=11000), "too old", "11.0", "11.4"))
    suite.check("no device", refused(run(DEVICES=0), "no GPU"))
    listed = run("--no-own-workers", command="backends", CAPABILITY=75)
    suite.check("backends says why", "" if "cuda       not available" in listed.stdout and "7.5" in listed.stdout else listed.stdout)
    suite.check("out of memory", refused(run(MEMORY=5000), "not enough memory", "bytes", "5000"))
    suite.check("a memory limit", refused(run("--memory-limit", "8KiB"), "limit"))


def positions(suite, run):
    model = run.folder / "positions.onnxtxt"
    model.write_text(POSITIONS)
    for numbers, is_inside in (((0, -4), True), ((4, 0), False), ((0, -5), False), ((3, 2**62), False)):
        file = run.folder / "at.npy"
        header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(numbers)},), }}".ljust(117) + "\n"
        file.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(numbers)}q", *numbers))
        done = run(model=model, inputs=("-i", f"at={file}"))
        wanted = "" if is_inside else "outside the axis"
        suite.check(f"positions {numbers}", "" if (done.returncode == 0) == is_inside and wanted in done.stderr else f"exit {done.returncode}: {done.stderr}")


def bodies(suite, run):
    model = run.folder / "bodies.onnxtxt"
    model.write_text(BODY)
    what = {"model": model, "inputs": ()}
    run(**what)
    each_call_fails_once(suite, run, "a loop", lambda name: name.startswith("cu"), plans=2, **what)


def branches(suite, run):
    model = run.folder / "branches.onnxtxt"
    model.write_text(BRANCHES)
    what = {"model": model, "inputs": ()}
    run(**what)
    for streams in ("4", "measured"):
        each_call_fails_once(suite, run, f"streams={streams}", lambda name: name.startswith("cu"), options=f":streams={streams}", **what)


def float8(suite, run):
    model = run.folder / "float8.onnxtxt"
    model.write_text(FLOAT8)
    what = {"model": model, "inputs": (), "options": ":precision=fp8"}
    run(**what)
    each_call_fails_once(suite, run, "products of float8", lambda name: name.startswith("cu"), **what)


def weights(suite, run):
    model = run.folder / "weights.onnxtxt"
    model.write_text(WEIGHTS)
    what = {"model": model, "inputs": ()}
    kept = run("-v", **what)
    suite.check("weights that fit stay on the device", "" if kept.returncode == 0 and "each run sends" not in kept.stderr else kept.stderr)
    each_call_fails_once(suite, run, "weights=streamed", lambda name: name.startswith("cu"), options=":weights=streamed", **what)
    for memory, note in ((600_000, "each run sends 3 constants of 480000 bytes"), (450_000, "each run sends 5 constants of 800000 bytes")):
        done = run("-v", MEMORY=memory, **what)
        suite.check(f"weights in {memory} bytes", "" if note in done.stderr and done.stdout == kept.stdout else f"exit {done.returncode}: {done.stderr}")
    done = run("-v", MEMORY=600_000, TOLD=1_000_000, **what)
    suite.check("weights where others take memory", "" if "each run sends" in done.stderr and done.stdout == kept.stdout else f"exit {done.returncode}: {done.stderr}")
    pages = run.folder / "pages.onnxtxt"
    pages.write_text(WEIGHTS.replace("200", "560"))
    what_pages = {"model": pages, "inputs": ()}
    done = run("-v", MEMORY=7_000_000, **what_pages)  # 5,017,600 bytes in blocks of two MiB
    suite.check("weights in pages", "" if "each run sends" in done.stderr and done.stdout == run(**what_pages).stdout else f"exit {done.returncode}: {done.stderr}")
    suite.check("weights in too few bytes", refused(run(MEMORY=200_000, **what), "not enough memory", "200000"))


def varint(number):
    low, rest = number % 128, number // 128
    return bytes([low]) if rest == 0 else bytes([low | 128]) + varint(rest)


def tensor(dims):
    """A TensorProto of float ones."""
    raw = struct.pack("<f", 1) * math.prod(dims)
    return b"".join(b"\x08" + varint(size) for size in dims) + b"\x10\x01\x4a" + varint(len(raw)) + raw


def kept_plans(suite, run):
    """Plans of earlier sizes go where a new one finds no memory, or would have to send its weights in each run."""
    folder = run.folder / "rows"
    folder.mkdir()
    model = folder / "model.onnxtxt"
    model.write_text(ROWS)
    rows = (400, 390, 380, 10, 370)
    for number, count in enumerate(rows):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        (data / "input_0.pb").write_bytes(tensor((count, 200)))
    log = run.folder / "calls"
    for memory in (5_000_000, 2_750_000):  # two plans, one plan
        alone = run("-v", model=model, inputs=("--dim", "N=400"), MEMORY=memory)
        suite.check(f"one plan in {memory} bytes", "" if alone.returncode == 0 and "each run sends" not in alone.stderr else alone.stderr)
        log.unlink(missing_ok=True)
        done = run(model, "-b", "cuda,reference", "--set", folder, "--verbose", command="diff", MEMORY=memory, LOG=log)
        fault = done.stdout + done.stderr if done.returncode or "each run sends" in done.stdout + done.stderr else ""
        suite.check(f"plans of {len(rows)} sizes in {memory} bytes", fault)
        copies = log.read_text().count("cuMemcpyHtoD_v2")
        suite.check(f"weights are copied once in {memory} bytes", "" if copies == 3 else f"{copies} copies")


def samples(suite, run):
    """Of products for which the device has no room the host makes them."""
    model = run.folder / "product.onnxtxt"
    model.write_text(PRODUCT)
    log = run.folder / "calls"
    plans = []
    for memory in (100_000_000, 12_000_000):
        log.unlink(missing_ok=True)
        done = run(model, "-b", "cuda:precision=f64,reference", command="diff", MEMORY=memory, LOG=log)
        suite.check(f"perturbed runs in {memory} bytes", "" if done.returncode == 0 else done.stdout + done.stderr)
        plans.append(log.read_text().count("cuStreamBeginCapture"))
    suite.check("products on the device", "" if plans == [2, 1] else f"{plans} plans")


def profiles(suite, run):
    words = ("--profile", "--no-judging", "--max-time", "50ms", "--no-own-workers")
    done = run(*words, command="bench")
    suite.check("a profile", "" if done.returncode == 0 and "host Dropout" in done.stdout else done.stdout + done.stderr)
    for name in ("cuEventCreate", "cuEventRecordWithFlags", "cuEventElapsedTime", "cuEventDestroy_v2"):
        for number in (1, 2):
            done = run(*words, command="bench", FAIL=f"{name}:{number}")
            fault = "" if name in GIVE_BACK or "the GPU failed at" in done.stdout + done.stderr else done.stdout + done.stderr
            suite.check(f"a profile: {name} fails the {number}. time", fault or ("" if done.returncode in (0, 1, 3) else f"exit {done.returncode}: {done.stderr}"))


def cache_on_disk(suite, run):
    files = sorted((run.folder / "cache" / "onnxkit" / "cuda").iterdir())
    suite.check("kernels are kept", "" if len(files) == 1 else f"{len(files)} files")
    _, calls = calls_of(run, "")
    suite.check("kept kernels are not compiled again", "" if "nvrtcCompileProgram" not in calls else "NVRTC compiled")
    whole = files[0].read_bytes()
    for what, content in (("empty", b""), ("cut", whole[:-9]), ("changed", whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]),
                          ("longer", whole + b"x"), ("foreign", b"x" * 5000)):
        files[0].write_bytes(content)
        done, calls = calls_of(run, "")
        fault = done.stderr if done.returncode else "" if "nvrtcCompileProgram" in calls else "the damaged file was used"
        suite.check(f"a file of the cache is {what}", fault or ("" if files[0].read_bytes() == whole else "the file was not mended"))
    garbage = b"x" * 5000
    files[0].write_bytes(whole[:16] + hashlib.sha256(garbage).digest() + garbage)
    done, calls = calls_of(run, "")
    fault = done.stderr if done.returncode else "" if "nvrtcCompileProgram" in calls else "nothing was compiled"
    suite.check("whole code that the driver refuses is compiled anew", fault or ("" if files[0].read_bytes() == whole else "and not kept"))
    _, calls = calls_of(run, "", VERSION=13010)
    suite.check("another driver gets its own code", "" if "nvrtcCompileProgram" in calls else "the code of the other was used")
    (run.folder / "file").write_text("")
    done = run("-v", options=f":cache={run.folder / 'file'}")
    wanted = f'not kept for the next session: "{run.folder / "file"}": '
    suite.check("a cache that cannot be written", done.stderr if done.returncode or wanted not in done.stderr else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    arguments.program = os.path.abspath(arguments.program)
    arguments.libraries = os.path.abspath(arguments.libraries)
    suite = Suite(arguments.verbose)
    with tempfile.TemporaryDirectory() as folder:
        run = Runner(arguments, pathlib.Path(folder))
        each_call_fails(suite, run)
        unfit_machines(suite, run)
        cache_on_disk(suite, run)
        bodies(suite, run)
        branches(suite, run)
        float8(suite, run)
        weights(suite, run)
        kept_plans(suite, run)
        samples(suite, run)
        profiles(suite, run)
        positions(suite, run)  # whose kernels are in the cache, too, from then on
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
