#!/usr/bin/env python3
"""Holds the figures of compare, outcome and scatter_of against their definitions (onnxkit/metrics.h, onnxkit/diff.h), computed with numpy.

    tests/metrics/against_numpy.py --program build/release/bin/print_metrics [--only NAME]

Seeded random arrays and awkward ones. Figures must agree within 1e-12: of themselves, or of the size of the terms where these cancel.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

import definitions

LIMIT = 1e-12
MORE_TYPES = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
              "float6_e3m2fn", "float4_e2m1fn", "int4", "uint4", "int2", "uint2"]
NAMES = {"float8_e4m3fn": "float8e4m3fn", "float8_e4m3fnuz": "float8e4m3fnuz", "float8_e5m2": "float8e5m2",
         "float8_e5m2fnuz": "float8e5m2fnuz", "float8_e8m0fnu": "float8e8m0", "float6_e2m3fn": "float6e2m3",
         "float6_e3m2fn": "float6e3m2", "float4_e2m1fn": "float4e2m1"}


def noisy(a, rng, scale, dtype):
    return (a.astype(np.float64) * (1 + scale * rng.standard_normal(a.shape))).astype(dtype)


def plain_floats():
    rng = np.random.default_rng(1)
    for dtype in (np.float16, np.float32, np.float64):
        for size in (0, 1, 2, 7, 1023, 1024, 1025, 70_000, 200_000):
            a = (10 * rng.standard_normal(size)).astype(dtype)
            yield f"{dtype.__name__} {size}", a, noisy(a, rng, 1e-3, dtype)
    for first, second in ((np.float32, np.float16), (np.float16, np.float64), (np.float64, np.float32)):
        a = rng.standard_normal(5000).astype(first)
        yield f"{first.__name__} {second.__name__}", a, noisy(a, rng, 1e-2, second)
    a = rng.standard_normal(3000).astype(np.float32)
    yield "beyond float16", a * np.float32(1e5), (a * 1e4).astype(np.float16)
    yield "float32 int32", a * np.float32(100), (a * 100).astype(np.int32)
    yield "matrix", a.reshape(3, 10, 100), noisy(a, rng, 1e-6, np.float32).reshape(3, 10, 100)


def awkward_floats():
    rng = np.random.default_rng(2)
    nan, inf = np.nan, np.inf
    special = np.array([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.5e-308])
    a, b = (x.ravel() for x in np.meshgrid(special, special))
    yield "special float64", a, b
    yield "special float32", a.astype(np.float32), b.astype(np.float32)
    yield "special float16", a.astype(np.float16), b.astype(np.float16)
    yield "only NaN", np.full(5, nan), np.full(5, nan)
    yield "NaN against infinity", np.array([nan, inf, inf]), np.array([inf, nan, -inf])
    yield "zeros", np.zeros(9), np.array([0.0, -0.0] * 4 + [0.0])
    yield "zeros against some", np.zeros(9), np.arange(9.0)
    yield "some against zeros", np.arange(9.0), np.zeros(9)
    yield "a constant", np.full(2000, 0.1), 0.1 + 1e-3 * rng.standard_normal(2000)
    yield "b constant", rng.standard_normal(2000), np.full(2000, 0.1)
    yield "both constant", np.full(2000, 0.1), np.full(2000, 0.3)
    a = rng.standard_normal(100_000)
    yield "line", a, 3 * a + 2
    yield "line in float32", a.astype(np.float32), (3 * a.astype(np.float32) + 2).astype(np.float32)
    yield "far from zero", 1e8 + a, 1e8 + a + 1e-6 * rng.standard_normal(a.size)
    yield "cancelling", np.tile([1e16, 1.0, -1e16], 30_000), np.tile([1e16, 1.5, -1e16], 30_000)
    yield "many sizes", a * 10.0 ** rng.integers(-100, 100, a.size), a * 10.0 ** rng.integers(-100, 100, a.size)
    with_gaps, other = a.copy(), noisy(a, rng, 1e-5, np.float64)
    for array in (with_gaps, other):
        array[rng.integers(0, a.size, 3000)] = nan
        array[rng.integers(0, a.size, 3000)] = inf
    yield "gaps", with_gaps, other
    yield "gaps in float32", with_gaps.astype(np.float32), other.astype(np.float32)
    partly = a.astype(np.float32)
    changed = partly.copy()
    changed[50_000:50_010] += 1
    yield "mostly the same", partly, changed
    yield "the same", partly, partly.copy()
    yield "the same with gaps", with_gaps, with_gaps.copy()
    with_gaps[:20] = nan
    yield "worst are mismatches", with_gaps, other


def extremes():
    rng = np.random.default_rng(3)
    a = rng.uniform(-1, 1, 3000)
    big = np.finfo(np.float64).max
    yield "huge", a * big, noisy(a, rng, 1e-3, np.float64) * big * 0.99
    yield "opposite ends", np.array([big, -big, 1.0]), np.array([-big, big, 2.0])
    yield "tiny", a * 1e-310, noisy(a, rng, 1e-3, np.float64) * 1e-310
    yield "huge and tiny", np.array([1e300, 1e-300, 1e-310]), np.array([1e300, 2e-300, 3e-310])
    yield "large relative errors", np.array([1e-200, 1.0]), np.array([1e100, 1.0])
    yield "tiny differences", a, a + np.ldexp(a, -52)
    yield "huge float32", (a * 3.4e38).astype(np.float32), (-a * 3.4e38).astype(np.float32)
    yield "tiny float32", (a * 1e-42).astype(np.float32), (a * 2e-42).astype(np.float32)


def integers():
    rng = np.random.default_rng(4)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        ends = np.iinfo(dtype)
        a = rng.integers(ends.min, ends.max, 4000, dtype=dtype, endpoint=True)
        yield f"{dtype.__name__} anywhere", a, rng.integers(ends.min, ends.max, 4000, dtype=dtype, endpoint=True)
        a = rng.integers(0, 20, 70_000, dtype=dtype)
        yield f"{dtype.__name__} small", a, a + rng.integers(0, 2, a.size, dtype=dtype)
    near = 2**53
    yield "beyond 2^53", np.array([near, near + 1, -near, 5]), np.array([near + 1, near + 1, -near - 1, 5])
    a = rng.integers(2**60, 2**62, 70_000)
    yield "large int64", a, a + rng.integers(-3, 4, a.size)
    yield "ends of int64", np.array([-2**63, 2**63 - 1, 0]), np.array([2**63 - 1, -2**63, 0])
    yield "ends of uint64", np.array([0, 2**64 - 1], np.uint64), np.array([2**64 - 1, 2**64 - 2], np.uint64)
    yield "int64 uint64", np.array([2**62, 7, -1]), np.array([2**62 + 1, 7, 1], np.uint64)
    yield "bool", rng.random(3000) < 0.5, rng.random(3000) < 0.5
    yield "bool int8", rng.random(3000) < 0.5, rng.integers(-1, 2, 3000, dtype=np.int8)


def more_types():
    rng = np.random.default_rng(5)
    for name in MORE_TYPES:
        dtype = getattr(ml_dtypes, name, None)
        if dtype is None:
            print(f"skipped: this ml_dtypes has no {name}")
            continue
        if name.endswith("8_e8m0fnu"):
            a, b = (2.0 ** rng.integers(-20, 20, (2, 3000))).astype(dtype)
        elif "int" in name:
            ends = ml_dtypes.iinfo(dtype)
            a, b = rng.integers(ends.min, ends.max, (2, 3000), endpoint=True).astype(dtype)
        else:
            most = float(ml_dtypes.finfo(dtype).max)
            a = np.clip(most / 4 * rng.standard_normal(3000), -most, most).astype(dtype)
            b = np.clip(a.astype(np.float64) + most / 50 * rng.standard_normal(3000), -most, most).astype(dtype)
        yield name, a, b


def errors():
    yield "complex", np.zeros(3, np.complex64), np.zeros(3, np.complex64), "undefined-for-type"
    yield "strings", np.array(["a"]), np.array(["a"]), "undefined-for-type"
    yield "shapes", np.zeros((2, 3)), np.zeros((3, 2)), "shape-mismatch"


def logits():
    rng = np.random.default_rng(6)
    for shape in ((50, 10), (3, 7, 5), (1, 2), (4, 30_000), (9000, 11)):
        a = 5 * rng.standard_normal(shape).astype(np.float32)
        for scale in (1e-6, 1e-2, 1.0):
            yield f"logits {shape} {scale}", a, (a + scale * rng.standard_normal(shape)).astype(np.float32)
    a = 5 * rng.standard_normal((40, 20))
    b = a + 1e-3 * rng.standard_normal(a.shape)
    yield "logits as integers", (10 * a).astype(np.int32), (10 * b).astype(np.int32)
    yield "logits far from zero", a + 1000, b - 1000
    yield "logits masked", np.where(a > 5, -np.inf, a), np.where(a > 5, -np.inf, b)
    yield "logits with NaN", np.where(a > 11, np.nan, a), np.where(b > 12, np.inf, b)
    p, q = (np.exp(x) / np.exp(x).sum(-1, keepdims=True) for x in (a, b))
    yield "probabilities", p, q
    yield "probabilities in float16", p.astype(np.float16), q.astype(np.float16)
    yield "ties", np.zeros((5, 8)), np.tile([0, 0, 1, 1, 0, 0, 0, 0], (5, 1)).astype(np.float32)
    yield "no rows", np.zeros((0, 4)), np.zeros((0, 4))


def segmentation():
    rng = np.random.default_rng(7)
    for shape in ((1, 2, 8, 8), (2, 21, 33, 65), (3, 5, 50, 50)):
        a = rng.standard_normal(shape).astype(np.float32)
        yield f"scores {shape}", a, (a + 0.1 * rng.standard_normal(shape)).astype(np.float32)
        classes = rng.integers(0, 200, (shape[0], *shape[2:]))
        yield f"classes {shape}", classes, np.where(rng.random(classes.shape) < 0.1, 255, classes)
    a = rng.standard_normal((1, 3, 20, 20))
    a[0, 1, :5] = np.nan
    yield "scores with NaN", a, np.nan_to_num(a)
    yield "mask", rng.random((2, 30, 30)) < 0.5, rng.random((2, 30, 30)) < 0.5
    yield "no pixels", np.zeros((0, 3, 8, 8)), np.zeros((0, 3, 8, 8))


def tokens():
    rng = np.random.default_rng(8)
    a = rng.integers(0, 50_000, (20, 3000))
    b = np.where(rng.random(a.shape) < 1e-4, a + 1, a)
    yield "tokens", a, b
    yield "tokens of one sequence", a[0], a[0] + (np.arange(3000) == 1500)
    yield "the same tokens", a, a.copy()
    yield "large tokens", np.array([2**62, 1]), np.array([2**62 + 1, 1])
    yield "one token", np.array(3), np.array(3)
    yield "no tokens", np.zeros((3, 0), np.int64), np.zeros((3, 0), np.int64)


def boxes(rng, count):
    corner = rng.uniform(0, 100, (count, 2))
    return np.concatenate([corner, corner + rng.uniform(1, 40, (count, 2))], 1).astype(np.float32)


def detections():
    rng = np.random.default_rng(9)
    for count in (0, 1, 5, 300):
        a = boxes(rng, count)
        b = (a + rng.normal(0, 3, a.shape)).astype(np.float32)
        scores = rng.random(count).astype(np.float32)
        yield f"boxes {count}", a, b, scores, (scores + rng.normal(0, 0.01, count)).astype(np.float32)
        order = rng.permutation(count)[:count - count // 10]
        yield f"boxes {count} shuffled", a, b[order], scores, scores[order]
        yield f"boxes {count} without scores", a, b[order], None, None
    a = boxes(rng, 40).reshape(4, 10, 4)
    yield "samples", a, a[:, ::-1], rng.random((4, 10)), rng.random((4, 10))
    yield "samples that change places", a, a[::-1], None, None
    padded = np.concatenate([boxes(rng, 5), np.zeros((5, 4), np.float32)])
    yield "padding", padded, padded.copy(), np.linspace(1, 0, 10), np.linspace(1, 0, 10)
    yield "corners turned", a[0], a[0][:, [2, 3, 0, 1]], None, None
    yield "NaN box", np.array([[0, 0, np.nan, 1], [0, 0, 1, 1.0]]), np.array([[0, 0, 1, 1.0], [np.nan, 0, 1, 1]]), None, None


def outcome_errors():
    yield "one class", "logits", np.zeros((3, 1)), np.zeros((3, 1)), "outcome-shape"
    yield "scalar", "logits", np.zeros(()), np.zeros(()), "outcome-shape"
    yield "three sizes of floats", "segmentation", np.zeros((3, 8, 8)), np.zeros((3, 8, 8)), "outcome-shape"
    yield "no class", "segmentation", np.full((1, 2, 2), -1), np.full((1, 2, 2), -1), "outcome-shape"
    yield "three corners", "detections", np.zeros((3, 3)), np.zeros((3, 3)), "outcome-shape"
    yield "other samples", "detections", np.zeros((2, 3, 4)), np.zeros((3, 3, 4)), "shape-mismatch"
    yield "floats as tokens", "tokens", np.zeros(3), np.zeros(3), "undefined-for-type"
    yield "shapes of tokens", "tokens", np.zeros(3, np.int64), np.zeros(4, np.int64), "shape-mismatch"
    yield "strings as logits", "logits", np.array([["a", "b"]]), np.array([["a", "b"]]), "undefined-for-type"


class Tester:
    def __init__(self, program, only):
        self.program, self.only = program, only
        self.passed = self.failed = 0
        self.folder = tempfile.TemporaryDirectory()

    def run(self, arrays, *options):
        paths = []
        for index, array in enumerate(arrays):
            paths.append(str(pathlib.Path(self.folder.name, f"{index}.npy")))
            np.save(paths[-1], array.view("V1") if array.dtype.name == "float8_e5m2" else array)  # else its type gets no name
        done = subprocess.run([self.program, *options, *paths], capture_output=True, text=True)
        if done.returncode != 0:
            return {"crash": f"exit status {done.returncode}: {done.stderr}"}
        return json.loads(done.stdout)

    def judge(self, name, faults):
        if faults:
            self.failed += 1
            print(f"failed: {name}", *faults, sep="\n    ")
        else:
            self.passed += 1

    def compare(self, name, a, b, *options):
        if self.only not in name:
            return
        found = self.run([a, b], *options)
        faults = [found["crash"]] if "crash" in found else []
        if not faults:
            faults += differences(definitions.metrics(a, b), found["metrics"])
            faults += differences(definitions.scatter(a, b), found["scatter"])
            if json.dumps(self.run([a, b], "--threads", "1", *options)) != json.dumps(found):
                faults.append("one thread gives other figures")
        self.judge(name, faults)

    def outcome(self, name, task, arrays, expected):
        if self.only not in name:
            return
        found = self.run([array for array in arrays if array is not None], "--task", task)
        faults = [found["crash"]] if "crash" in found else differences(expected, found["outcome"])
        self.judge(f"{task}: {name}", faults)

    def error(self, name, part, arrays, code, *options):
        if self.only not in name:
            return
        found = self.run(arrays, *options)
        self.judge(name, [] if found.get(part) == {"error": code} else [f"{code} expected, found {found}"])


def agree(expected, found, scale=0):
    """Numbers within the limit, lists and dictionaries throughout."""
    if isinstance(expected, dict):
        return expected.keys() == found.keys() and all(agree(expected[key], found[key]) for key in expected)
    if isinstance(expected, (list, tuple)):
        return len(expected) == len(found) and all(map(agree, expected, found))
    if isinstance(expected, bool) or isinstance(expected, int):
        return expected == found
    if expected != expected:
        return found != found
    return expected == found or abs(expected - found) <= LIMIT * max(abs(expected), scale)


def differences(expected, found):
    """`expected` maps names to values, or to pairs of a number and the size of the terms that it is made of."""
    faults = [f"{name} is missing" for name in expected.keys() - found.keys()]
    faults += [f"{name} is not expected" for name in found.keys() - expected.keys()]
    for name in expected.keys() & found.keys():
        value, scale = expected[name] if isinstance(expected[name], definitions.Scaled) else (expected[name], 0)
        if not agree(value, found[name], scale):
            faults.append(f"{name} should be {str(value)[:300]} and is {str(found[name])[:300]}")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    tester = Tester(options.program, options.only)
    np.seterr(all="ignore")
    for name, a, b in (*plain_floats(), *awkward_floats(), *extremes(), *integers()):
        tester.compare(name, a, b)
    for name, a, b in more_types():
        tester.compare(name, a, b, "--void", NAMES.get(name, name))
    for name, a, b, code in errors():
        tester.error(name, "metrics", [a, b], code)
    for task, cases in (("logits", logits()), ("segmentation", segmentation()), ("tokens", tokens())):
        for name, a, b in cases:
            tester.outcome(name, task, [a, b], getattr(definitions, task)(a, b))
    for name, *arrays in detections():
        tester.outcome(name, "detections", arrays, definitions.detections(*arrays))
    for name, task, a, b, code in outcome_errors():
        tester.error(name, "outcome", [a, b], code, "--task", task)
    print(f"{tester.passed} passed, {tester.failed} failed")
    return 1 if tester.failed else 0


if __name__ == "__main__":
    sys.exit(main())
