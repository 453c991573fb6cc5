"""Programs of torch.export in testdata/torch: each becomes ONNX that `check` accepts and that gives what PyTorch gave, by the noise floor. Those in
testdata/torch/changes change buffers or inputs, whose contents afterwards are further outputs; those in testdata/torch/older are archives of
PyTorch 2.4 to 2.7.

    tests/convert/torch.py --program onnxkit [NAME...]
"""
import sys

import recorded

if __name__ == "__main__":
    sys.exit(any([recorded.main(__doc__, folder, ".pt2") for folder in ("testdata/torch", "testdata/torch/changes", "testdata/torch/older")]))
