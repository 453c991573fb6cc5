"""Graphs of TensorFlow in testdata/tensorflow: each becomes ONNX that `check` accepts and that gives what TensorFlow gave, by the noise floor.

    tests/convert/tensorflow.py --program onnxkit [NAME...]
"""
import sys

import recorded

if __name__ == "__main__":
    sys.exit(recorded.main(__doc__, "testdata/tensorflow", ".pb", ".saved_model"))
