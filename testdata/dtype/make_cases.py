#!/usr/bin/env python3
"""Writes small_floats.txt beside this file: what numpy and ml_dtypes (which onnx brings along) make of small floats.

Lines: `decode TYPE` and the float32 bits of all codes of 8 bits or fewer, in order; `cast TYPE` and pairs of float32 bits
and the code they become without saturation. Numbers are hexadecimal.
"""
import pathlib

import ml_dtypes
import numpy as np

TYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8e8m0": ml_dtypes.float8_e8m0fnu,
    "float6e2m3": ml_dtypes.float6_e2m3fn,
    "float6e3m2": ml_dtypes.float6_e3m2fn,
    "float4e2m1": ml_dtypes.float4_e2m1fn,
}
BITS = {"float16": 16, "bfloat16": 16, "float6e2m3": 6, "float6e3m2": 6, "float4e2m1": 4}


def hexed(numbers):
    return " ".join(format(int(n), "x") for n in numbers)


def decode_line(name, dtype):
    codes = np.arange(1 << BITS.get(name, 8), dtype=np.uint8)
    return f"decode {name} " + hexed(codes.view(dtype).astype(np.float32).view(np.uint32))


def inputs(name, dtype):
    """Numbers of the type, the middles between neighbours and what lies beside them, and float32 from all over."""
    rng = np.random.default_rng(20)
    if BITS.get(name) == 16:
        codes = rng.integers(0, 0x7F00, 60, dtype=np.uint16)
        if name == "float16":
            codes = np.concatenate([codes % 0x7C00, np.array([0, 1, 2, 0x3FF, 0x400, 0x7BFE], np.uint16)])
    else:
        codes = np.arange(1 << (BITS.get(name, 8) - 1), dtype=np.uint8)
    low, high = (c.view(dtype).astype(np.float64) for c in (codes, codes + 1))
    middle = ((low + high) / 2)[np.isfinite(low + high)].astype(np.float32)
    around = np.concatenate([middle, np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, np.float32(0))])
    largest = np.float32(float(ml_dtypes.finfo(dtype).max))
    some = rng.standard_normal(40).astype(np.float32) * largest
    special = np.array([0, np.inf, 1e-45, 1e-40, 3e38, 480, 465, 464, 61440], np.float32)
    limit = np.array([largest, largest * np.float32(1.03), largest / 2], np.float32)
    positive = np.concatenate([around, some, special, limit])
    return np.concatenate([positive, -positive])


def cast_line(name, dtype):
    values = inputs(name, dtype)
    codes = values.astype(dtype).view(np.uint16 if BITS.get(name) == 16 else np.uint8)
    return f"cast {name} " + " ".join(f"{int(v):x} {int(c):x}" for v, c in zip(values.view(np.uint32), codes))


def main():
    lines = [decode_line(n, t) for n, t in TYPES.items() if BITS.get(n) != 16]
    # ml_dtypes rounds to float8e8m0 in its own way, so that is left to the unit test.
    with np.errstate(over="ignore"):
        lines += [cast_line(n, t) for n, t in TYPES.items() if n != "float8e8m0"]
    pathlib.Path(__file__).with_name("small_floats.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
