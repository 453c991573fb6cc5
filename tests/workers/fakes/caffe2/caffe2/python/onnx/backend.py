"""Caffe2's ONNX importer, on the onnx package."""
from onnx.reference import ReferenceEvaluator


class Prepared:
    def __init__(self, model):
        self.evaluator = ReferenceEvaluator(model)

    def run(self, inputs):
        assert isinstance(inputs, list)
        return self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs)))


def prepare(model, device="CPU"):
    assert device == "CPU"
    return Prepared(model)
