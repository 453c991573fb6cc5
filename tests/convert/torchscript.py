"""Modules of TorchScript in testdata/torchscript: each becomes ONNX that `check` accepts and that gives what PyTorch gave, by the noise floor.

    tests/convert/torchscript.py --program onnxkit [NAME...]
"""
import sys

import recorded

SHAPES = {"calls": "x=3,4", "condition_met": "x=3,4", "condition_not_met": "x=N,4", "unrolled": "x=rows,4", "writes_through_dropout": "x=3,4", "sizes": "x=N,3,H,W",
          "lstm": "x=N,T,4", "encoder_layer": "src=N,T,8", "size_arithmetic": "x=N,3,5,7:float32"}

if __name__ == "__main__":
    sys.exit(recorded.main(__doc__, "testdata/torchscript", ".pt",
                           options_of=lambda name: ("--input-shape", SHAPES[name]) if name in SHAPES else ()))
