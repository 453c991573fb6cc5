"""Programs of torch.export in testdata/torch: each becomes ONNX that `check` accepts and that gives what PyTorch gave, by the noise floor. Those in
testdata/torch/changes change buffers or inputs, whose contents afterwards are further outputs.

    tests/convert/torch.py --program onnxkit [NAME...]
"""
import sys

import recorded

if __name__ == "__main__":
    sys.exit(recorded.main(__doc__, "testdata/torch", ".pt2") or recorded.main(__doc__, "testdata/torch/changes", ".pt2"))
