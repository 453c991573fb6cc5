"""Models of TensorFlow Lite in testdata/tflite: each becomes ONNX that `check` accepts and that gives what LiteRT gave, by the noise floor.

    tests/convert/tflite.py --program onnxkit [NAME...]
"""
import sys

import recorded

if __name__ == "__main__":
    sys.exit(recorded.main(__doc__, "testdata/tflite", ".tflite"))
