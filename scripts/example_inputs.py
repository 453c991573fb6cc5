#!/usr/bin/env python3
"""Writes the example inputs that a program of torch.export holds beside it, as FILE.npz: in_0, in_1 ... in the order of the inputs.

    build/venv/bin/python scripts/example_inputs.py FILE.pt2...

Scripts that hold a converted network against another runtime give it these inputs where they are (NAME.npz beside NAME.*.onnx). The batch normalizations of
scripts/torch_models.py have the statistics of these inputs: others blow signals up, until rounding decides the results (EfficientNetV2-S, by a third in float32).
"""
import io
import sys
import zipfile
from pathlib import Path

import numpy as np


def write(path):
    import torch

    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if "/sample_inputs/" in name and name.endswith(".pt"))
        args, kwargs = torch.load(io.BytesIO(archive.read(name)), weights_only=True)
    values = [value.numpy() for value in (*args, *kwargs.values())]
    np.savez(path.with_suffix(".npz"), **{f"in_{i}": value for i, value in enumerate(values)})


def example_inputs(model):
    """Those beside a model, in order; None without such a file."""
    path = model.with_name(model.name.split(".")[0] + ".npz")
    if not path.exists():
        return None
    with np.load(path) as stored:
        return [stored[f"in_{i}"] for i in range(len(stored.files))]


if __name__ == "__main__":
    for file in sys.argv[1:] or sys.exit(__doc__):
        write(Path(file))
