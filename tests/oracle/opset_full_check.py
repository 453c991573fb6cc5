#!/usr/bin/env python3
"""onnx.checker.check_model(full_check=True) over the models that `opset_matrix --save` wrote.

    opset_full_check.py SAVED build/official [../shared/models ...]

A rejected model is a fault unless the checker rejects the model that it was converted from, too; those are listed apart. Exit status 1 when there is a fault.
"""
import argparse
import collections
import functools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import forked  # noqa: E402
import onnx  # noqa: E402
import opset_saved  # noqa: E402


@functools.cache
def original_rejected(path):
    return dict(forked.each([path], lambda path: opset_saved.rejected(opset_saved.load_original(path)), 120))[path]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    opset_saved.arguments(options)
    args = options.parse_args()
    saved = opset_saved.saved_in(args.saved, args.folders)
    accepted = faults = 0
    of_original = collections.Counter()
    for pair, why in forked.each(saved, lambda pair: opset_saved.rejected(pair.load()), 120):
        if not why:
            accepted += 1
        elif before := original_rejected(pair.original):
            of_original[pair.name, before] += 1
        else:
            faults += 1
            print(f"{pair}: {why}")
    for (name, why), count in sorted(of_original.items()):
        print(f"{name}, {count} results: the original is rejected, too: {why}")
    print(f"onnx {onnx.__version__}: {len(saved)} models, {accepted} accepted, {of_original.total()} rejected as their originals are, {faults} rejected")
    return 1 if faults or not saved else 0


if __name__ == "__main__":
    sys.exit(main())
