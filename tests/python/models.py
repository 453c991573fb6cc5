"""Models for the tests, as text."""
import pathlib

import onnxkit

TESTDATA = pathlib.Path(__file__).resolve().parent.parent.parent / "testdata"
OPSET_17 = '<ir_version: 8, opset_import: ["": 17]>\n'
SCALED = OPSET_17 + """main (float[N] x, float[1] factor) => (float[N] y) <float[1] factor = {3}>
{ h = Mul (x, factor) y = Relu (h) }"""
ENDLESS = OPSET_17 + """main (float[1] x) => (float[1] y) { y = Loop (, , x)
<body = body (int64 i, bool go, float[1] a) => (bool again, float[1] b) { again = Identity (go) b = Add (a, a) }> }"""


def model(text):
    """A model written as text; without a header in opset 17."""
    return onnxkit.Model.from_bytes((text if text.startswith("<") else OPSET_17 + text).encode(), name="m.onnxtxt")
