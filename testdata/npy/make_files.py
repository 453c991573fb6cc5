#!/usr/bin/env python3
"""Writes the .npy and .npz files beside this script with numpy and ml_dtypes (which onnx brings along)."""
import pathlib

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).parent
ROW = np.arange(6).reshape(2, 3)

ARRAYS = {
    "float32": ROW.astype("<f4") / 2,
    "float32_columns": np.asfortranarray(ROW.astype("<f4") / 2),
    "float32_big_endian": ROW.astype(">f4") / 2,
    "int16_big_endian_columns": np.asfortranarray(ROW.astype(">i2") * 300),
    "float16_scalar": np.float16(1.5),
    "float64_empty": np.zeros((0, 3)),
    "int64_columns_3d": np.asfortranarray(np.arange(24).reshape(2, 3, 4)),
    "bool": np.array([True, False, True]),
    "uint8": np.array([0, 255], np.uint8),
    "complex64": np.array([1 + 2j, -3j], np.complex64),
    "complex128_big_endian": np.array([1 + 2j], ">c16"),
    "text": np.array([["a", "größe"], ["", "日本 𝄞"]]),
    "text_big_endian": np.array(["ab", "é"], ">U2"),
    "text_columns": np.asfortranarray(np.array([["a", "b"], ["c", "d"]])),
    "bytes": np.array([b"ab", b"\xff", b""]),
    "bfloat16": np.array([1, -2.5], ml_dtypes.bfloat16),
    "float8e4m3fn": np.array([1, 448], ml_dtypes.float8_e4m3fn),
    "int4": np.array([1, -1, -8], ml_dtypes.int4),
    "long_double": np.zeros(1, np.longdouble),
    "object": np.array([{}], object),
    "records": np.zeros(1, [("a", "i4"), ("b", "f4")]),
    "date": np.array(["2020-01-01"], "M8[D]"),
}


def main():
    for name, array in ARRAYS.items():
        np.save(HERE / f"{name}.npy", array)
    with (HERE / "version_2.npy").open("wb") as file:
        np.lib.format.write_array(file, ROW.astype(np.int8), version=(2, 0))
    arrays = {"x": ARRAYS["float32"], "names": ARRAYS["text"], "folder/y": np.zeros(300, np.int64)}
    np.savez(HERE / "stored.npz", **arrays)
    np.savez_compressed(HERE / "compressed.npz", **arrays)
    np.savez(HERE / "empty.npz")
    np.savez(HERE / "voids.npz", half=ARRAYS["bfloat16"], small=ARRAYS["float8e4m3fn"])


if __name__ == "__main__":
    main()
